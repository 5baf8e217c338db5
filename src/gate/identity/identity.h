/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks: credentials of a request -> principal and tenant. The first credential that is present decides.
 *
 * Threads: tables are immutable and shared; identity_decide runs on workers.
 * Owns: an identity_keys table owns its rows.
 * Lifetime: identity_keys_ref / _unref, atomic.
 * Errors: enum reason: CREDENTIAL_MISSING, CREDENTIAL_WRONG, TENANT_NOT_ALLOWED. There is no default principal. */
#ifndef IDENTITY_IDENTITY_H
#define IDENTITY_IDENTITY_H

#include "base/reason.h"
#include "base/span.h"
#include "base/why.h"
#include "crypto/digest.h"
#include "identity/proof.h"
#include "identity/provider.h"
#include "regex/regex.h"
#include "tls/tls.h"

enum identity_kind {
    IDENTITY_API_KEY = 0, IDENTITY_BEARER, IDENTITY_TOKEN, IDENTITY_CERTIFICATE, IDENTITY_LOGIN, IDENTITY_NONE
};

/* Which of a certificate's names is the principal. There must be exactly one of that kind, and one that has no second spelling:
 * a CN that RFC 4514 need not escape, a URI of visible ASCII (of scheme spiffe: as SPIFFE-ID, 2 has it), a DNS name in lower
 * case without a wildcard, an address with a domain in lower case. Anything else is CREDENTIAL_WRONG. */
enum identity_name { IDENTITY_CN = 0, IDENTITY_URI, IDENTITY_DNS, IDENTITY_EMAIL };
#define IDENTITY_NAME_MAX 128
#define IDENTITY_URI_MAX 255

/* A login of this machine. */
struct identity_login {
    uint32_t uid;
    const char *name;
};

/* One entry of a route's `identity:` list (schema/callgate.md). */
struct identity_source {
    enum identity_kind kind;
    const char *header;    /* API_KEY: the header's name; TOKEN: that of proofs; CERTIFICATE: the one in which a trusted proxy
                            * hands it on, or NULL */
    bool forward;          /* keep the credential for the upstream */
    const char *principal; /* NONE: fixed */
    const char *agent;     /* NONE: fixed; NULL: none */
    const struct identity_login *logins; /* LOGIN: those that the machine knows, the first of a uid first */
    size_t login_count;
    const char *tenant;    /* NONE, LOGIN: fixed; CERTIFICATE: fixed, or NULL: exactly one O of the subject */
    enum identity_name name;          /* CERTIFICATE: who is the principal; TOKEN with agent_by_certificate: the agent */
    bool agent_by_certificate;        /* TOKEN: a client certificate beside it names the agent; `handed_on` as `header` */
    const char *handed_on;            /* likewise: the header in which a trusted proxy hands it on; NULL: the connection's */
    struct regex *tenant_regex;       /* CERTIFICATE: over its only URI; the group `tenant` is the tenant; or NULL */
    const struct identity_provider *provider; /* TOKEN, as what follows */
    struct identity_token_rules rules;
    bool has_slug;         /* an audience has the mark `{slug}` */
    unsigned bound;        /* IDENTITY_BOUND_* that a token must be; 0: any */
    unsigned char salt[DIGEST_BYTES]; /* of this entry of this configuration: no other's verified tokens are its own */
};

/* One agent's key as the store holds it. */
struct identity_key {
    unsigned char digest[DIGEST_BYTES]; /* SHA-256 of the key */
    const char *principal;
    const char *tenant;
    const char *agent;            /* the program that acts by it for the principal; NULL: not said */
    const char *const *may_claim; /* NULL-terminated globs of further tenants */
    int64_t expires_us;           /* 0: never */
    int64_t id;
};

struct identity_keys;
enum code identity_keys_new(const struct identity_key *keys, size_t count, struct identity_keys **table) MUST_USE; /* copies */
struct identity_keys *identity_keys_ref(struct identity_keys *table);
void identity_keys_unref(struct identity_keys **table);

/* What a request presents. A header that is there is a credential that is present, whatever it holds. The caller looks
 * headers up; a span with at == NULL is absent. */
struct identity_request {
    struct span (*header)(const void *context, const char *name); /* value, or at == NULL */
    /* The request's URL: as it reached the gate or, is_public, as agents know it, who may speak to a proxy before the gate
     * (empty: the configuration does not say). at == NULL: no memory. */
    struct span (*url)(const void *context, bool is_public);
    const void *context;
    const struct tls_names *certificate; /* of this connection, verified; NULL: none */
    const uint32_t *uid;            /* whose process is at the other end of a socket of this machine; NULL: it is none */
    bool is_from_proxy;             /* the peer is a trusted proxy */
    struct arena *arena;            /* for what is read out of a header; lives as long as the identity is used */
    struct span method;
    struct span slug;                /* of the route; empty: it has none */
    uint64_t from;                   /* who asks, by whose share what providers are asked for is bounded; 0: by none */
    struct lookups *lookups;           /* what is known of tokens and providers; NULL where no source is a TOKEN */
    struct identity_proofs *proofs;  /* likewise */
    struct span claimed_tenant;      /* of the tenant header, or at == NULL */
    int64_t now_us;
};

struct identity {
    enum identity_kind kind;
    struct span principal;      /* borrowed from the table, the configuration or the request, as is the tenant */
    struct span tenant;         /* judged tenant: the claimed one where it may be claimed, else the key's own */
    struct span home;           /* the credential's own tenant, whatever it claims: who takes room is counted by it */
    struct span agent;          /* the program that acts for the principal, borrowed likewise; empty: nothing says which */
    struct span agent_from;     /* "token", "key", "certificate", "configuration"; at == NULL: no agent */
    struct span actors;         /* as the token has it */
    struct span authentication; /* "api_key", "bearer", "token", "certificate", "login", "none" */
    struct identity_token *token; /* that names principal and tenant, until identity_leave; NULL: no token does */
    const struct identity_provider *provider; /* the token's, as the configuration had it */
    const char *fault;          /* of a token, in words, for the log; NULL: none */
    const char *consumed;       /* header that must not go upstream, or NULL */
    int64_t key_id;             /* 0: no key */
    uint64_t ticket;            /* not 0: who asks is not known yet; ask again when `lookups` has settled it */
    uint64_t proof;             /* of possession, which identity_use_proof has to use up; 0: none is due */
    unsigned char key_digest[DIGEST_BYTES];
};

/* Where several sources read Authorization, its value decides which one does. What begins with `cg_` is one of the gate's
 * keys, and goes nowhere else. A text of a JSON Web Token's form is for the provider that it names as its issuer. All else
 * is for the provider that is asked about opaque tokens.
 *
 * Returns: REASON_PERMITTED with *identity, or why not; then *identity is for the record only (how it was tried and, with
 * TENANT_NOT_ALLOWED, whose credential it is). Only IDENTITY_NONE standing alone needs no credential. */
enum reason identity_decide(const struct identity_source *sources, size_t count, const struct identity_keys *keys,
                            const struct identity_request *request, struct identity *identity);

/* Reads a token as one TOKEN entry does: by keys, or by a provider's answer (at == NULL: by keys). Where the entry's audiences
 * have the slug in them, each slug is a resource of its own. The token's binding is not checked. */
enum identity_fault identity_source_read(const struct identity_source *source, struct span slug,
                                         const struct identity_key_set *keys, struct span text, struct span answer,
                                         int64_t now_us, struct identity_token **token) MUST_USE;

/* Uses up the proof that was shown, where one is due; until then nothing is permitted. All other bounds on who may ask
 * come first, since a proof counts once. Returns: PERMITTED, or why not. */
enum reason identity_use_proof(struct identity *identity, struct identity_proofs *proofs, int64_t now_us) MUST_USE;

void identity_leave(struct identity *identity); /* gives its token back, into which principal and tenant may point */

/* Whether the token that let somebody in would still do so, but for its binding: it has not ended, and its key is still among
 * its provider's. */
bool identity_token_holds(const struct identity_token *token, const struct identity_provider *provider, struct lookups *lookups,
                          int64_t now_us);

/* Whether who was let in by a key would still be, as the same: by the key's digest, since nobody keeps the key itself. */
bool identity_key_holds(const struct identity *identity, const struct identity_keys *keys, int64_t now_us);

/* Fills in source->logins from a file in the form of passwd(5); what is in it lies in the arena. Errors: as file_read;
 * CODE_NOMEM. */
enum code identity_logins_read(const char *path, struct arena *arena, struct identity_source *source, struct why *why) MUST_USE;

/* A new random key for an agent: "cg_" and 43 characters of base64url; its digest goes into the store. */
enum code identity_key_make(char text[48], unsigned char digest[DIGEST_BYTES]) MUST_USE;

#endif
