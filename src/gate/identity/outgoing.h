/* SPDX-License-Identifier: Apache-2.0 */
/* What goes up in `Authorization` in place of whatever the agent showed: `upstream: {authorization:}` of a route; and what a
 * program says for another header.
 *
 * Secrets from files stand in a table that is made when the configuration is read. A caller's secret is looked up there, so
 * that no name of a file is ever made from an agent's name. Tokens that a provider gives for such a secret (RFC 6749, 4.4),
 * or for the agent's own token (RFC 8693), are asked for by way of identity/lookup.h.
 *
 * Threads: immutable once the configuration is sealed, but for its health, which has a lock; any may look.
 * Owns: the secrets of its entries (crypto/secret.h); a token its bytes, which are wiped; the rest is the configuration's.
 * Lifetime: the configuration's; tokens are counted.
 * Errors: enum code with a sentence that holds nothing of a token or secret. */
#ifndef IDENTITY_OUTGOING_H
#define IDENTITY_OUTGOING_H

#include "base/buf.h"
#include "base/ref.h"
#include "base/why.h"
#include "identity/lookup.h"

#include <pthread.h>

#define OUTGOING_TOKEN_BYTES_MAX 8000 /* a header's line holds it */
#define ACCOUNT_DOCUMENT "/client.json" /* behind where browsers come back, the document of the client that connects */
#define OUTGOING_LONGEST_US INT64_C(86400000000)

/* NONE: the agent's own header goes up, unless the credential in it was consumed. */
enum outgoing_kind { OUTGOING_NONE = 0, OUTGOING_FILE, OUTGOING_PROGRAM, OUTGOING_CLIENT, OUTGOING_EXCHANGE, OUTGOING_ACCOUNT };

/* Invariant: the names that outgoing.per_* leaves out are empty. */
struct outgoing_entry {
    struct span tenant;
    struct span principal;
    struct span value; /* FILE: the whole value of the header; PROGRAM: what stands before what it says; else the client's
                        * secret */
    int64_t since_us;  /* when its file was last changed */
};

/* How fetching went, for people. */
struct outgoing_report {
    uint64_t fetched, failed;
    int64_t failed_us; /* the last time; 0: never */
    bool is_failing;   /* none was fetched since; a caller's token that a provider refuses is no failure */
    char why[192];     /* of the last failure */
};
struct outgoing_health {
    pthread_mutex_t lock;
    struct outgoing_report report;
    enum { OUTGOING_UNSAID = 0, OUTGOING_WORKS, OUTGOING_FAILS } said; /* by outgoing_news */
};

struct identity_provider;

struct outgoing {
    enum outgoing_kind kind;
    bool per_tenant;
    bool per_principal;        /* of a tenant: two may have principals of one name */
    bool is_posted;            /* id and secret of the client stand in the form (client_secret_post) */
    bool is_document;          /* ACCOUNT: its client's id is where the console says who it is (draft-ietf-oauth-client-id-
                                * metadata-document) */
    bool takes_opaque;         /* EXCHANGE: an answer that is no JWT, on the provider's word */
    const char *file;          /* as it was written, for people; PROGRAM: its path */
    struct span program;       /* PROGRAM: by which its runner knows it; likewise what follows */
    struct span header;        /* in which it goes up */
    int64_t ttl_us;
    struct outgoing_entry *entries; /* sorted by outgoing_sort */
    size_t count;
    const struct identity_provider *provider; /* CLIENT, EXCHANGE, ACCOUNT; likewise what follows */
    const char *token_url;     /* NULL: where the provider's metadata say */
    const char *page_url;      /* ACCOUNT: where a person lets the gate in; likewise */
    const char *back_url;      /* ACCOUNT: where his browser comes back */
    const char *client;        /* its id; with "{tenant}" where per_tenant. ACCOUNT: its entry is empty where it has none */
    const char *scopes, *audience, *resource; /* NULL: not asked for */
    unsigned char digest[DIGEST_BYTES]; /* of all that decides what is asked for, but for the bytes of secrets */
    struct outgoing_health *health;
};

/* Reads from a file's name whom it is for. Letters, digits and what stands in names without meaning anything to a file system
 * stand for themselves; other visible characters are written as %2F, which plain ones never are, so that nobody has two names.
 * Takes: name: written.len bytes. Returns: how many it has; 0: it is nobody's. */
size_t outgoing_name_read(struct span written, char *name);
void outgoing_sort(struct outgoing *outgoing);
/* Takes: issuer: the provider's. */
void outgoing_seal(struct outgoing *outgoing, const char *issuer);
/* Returns: the entry's value, or at == NULL: there is none for whoever asks. */
struct span outgoing_find(const struct outgoing *outgoing, struct span tenant, struct span principal);
void outgoing_fini(struct outgoing *outgoing);

/* ---- what is asked of a provider ---- */

struct outgoing_wish {
    unsigned char outgoing[DIGEST_BYTES]; /* digest of its configuration, which a reload may have replaced by now */
    int64_t until_us;    /* EXCHANGE: the agent's token ends then */
    struct span tenant;  /* where per_tenant; ACCOUNT: whose account it is */
    struct span subject; /* EXCHANGE: whom the answer must be for; ACCOUNT: likewise whose */
    struct span token;   /* EXCHANGE: the agent's; ACCOUNT: for which a newer one is asked, not packed */
    struct span login;   /* ACCOUNT: the issuer of the caller's token; empty: he has shown none */
    struct span code, verifier; /* ACCOUNT: what a person's browser brought, and what PKCE proves; not packed */
};
enum code outgoing_pack(const struct outgoing_wish *wish, struct buf *out) MUST_USE;
bool outgoing_unpack(struct span payload, struct outgoing_wish *wish); /* into the payload */
/* Takes: secret: of its entry, so that a new one gets a new token; token: the agent's, or empty. */
void outgoing_key(const struct outgoing *outgoing, struct span secret, struct span tenant, struct span token,
                  struct lookup_key *key);
/* Of an ACCOUNT. Takes: login: the issuer of the token that the caller has shown; at == NULL: he has shown none. */
void outgoing_account_key(const struct outgoing *outgoing, struct span tenant, struct span principal, struct span login,
                          struct lookup_key *key);

/* `Basic …` of a client (RFC 6749, 2.3.1: both are encoded before they are joined). */
enum code outgoing_write_basic(struct span id, struct span secret, struct buf *out);
/* The form that is posted, and the header Authorization of the client; of one whose secret is posted, empty. */
enum code outgoing_write_request(const struct outgoing *outgoing, const struct outgoing_wish *wish, struct span secret,
                                 struct buf *form, struct buf *authorization) MUST_USE;

/* Notes how a fetch went; any thread. Returns: whether that is worth a line in the log: of failures, at most ten a second; of
 * what was fetched, the first after failures. Takes: is_callers: the provider refused the caller's token. */
bool outgoing_failed(const struct outgoing *outgoing, const char *why, bool is_callers, int64_t now_us);
bool outgoing_fetched(const struct outgoing *outgoing);
void outgoing_look(const struct outgoing *outgoing, struct outgoing_report *report);
/* Returns: whether it has begun to work, or to fail, since the last such question. */
bool outgoing_news(const struct outgoing *outgoing, struct outgoing_report *report);

/* ---- what it gives ---- */

struct outgoing_token {
    struct ref ref;
    int64_t got_us, renew_us, until_us;
    size_t len;
    char value[]; /* "Bearer ", or another prefix, and the token */
};
extern const struct lookup_type outgoing_token_type;
void outgoing_token_unref(struct outgoing_token **token); /* NULL is fine */
/* Of what was asked for then. Takes: prefix: what stands before it. Returns: NULL: no memory. */
struct outgoing_token *outgoing_token_new(struct span prefix, struct span text, int64_t asked_us, int64_t life_us) MUST_USE;
/* It goes up until then at most. To be called before another thread has the token. */
void outgoing_token_shorten(struct outgoing_token *token, int64_t until_us);

/* Reads an answer with status 200. Takes: asked_us: when it was asked for: its life counts from then. */
enum code outgoing_read_answer(const struct outgoing *outgoing, struct span body, int64_t asked_us, int64_t now_us,
                               struct outgoing_token **token, struct why *why) MUST_USE;
/* Reads an answer with any other status: error is "invalid_client" and the like, or "". */
void outgoing_read_error(struct span body, char error[64]);
/* Appends what an answer with status 200 has besides, where it has it: the token for newer ones, and the scopes given. */
void outgoing_read_refresh(struct span body, struct buf *refresh, struct buf *scopes);

/* ---- a person lets the gate in (RFC 6749, 4.1; RFC 7636) ---- */

/* Where the browser goes. Takes: page: the provider's, which may have a query; verifier: the page gets its SHA-256. */
enum code outgoing_write_page(const struct outgoing *outgoing, struct span page, struct span state, struct span verifier,
                              struct buf *out) MUST_USE;

#endif
