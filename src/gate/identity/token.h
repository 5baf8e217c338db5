/* SPDX-License-Identifier: Apache-2.0 */
/* Access tokens: the bytes of a JWT (RFC 7519, 9068), or what a provider says of opaque ones (RFC 7662), by its rules
 * and keys and a route's rules -> who asks, or why not.
 *
 * Header and claims are read by json/ from the very bytes that were signed; the algorithm must be among the provider's and fit
 * the key. What a header says of keys (jku, x5u, x5c, jwk) is no source of keys.
 *
 * Threads: any; a token is immutable and shared.
 * Owns: a token its bytes; rules are the caller's (the configuration's) and hold no pointer to a token.
 * Lifetime: identity_token_ref / _unref, atomic.
 * Errors: enum identity_fault; no I/O, no clock. */
#ifndef IDENTITY_TOKEN_H
#define IDENTITY_TOKEN_H

#include "base/mem.h"
#include "base/why.h"
#include "crypto/digest.h"
#include "identity/fault_tbl.h"
#include "identity/key_set.h"
#include "json/json.h"

enum identity_fault {
#define X(name, text) IDENTITY_FAULT_##name,
    IDENTITY_FAULT_TABLE(X)
#undef X
};

/* One sentence for people; it names no value of the token. */
const char *identity_fault_text(enum identity_fault fault);

#define IDENTITY_TOKEN_BYTES_MAX 16384
#define IDENTITY_PRINCIPAL_BYTES_MAX 256
#define IDENTITY_KEY_ID_BYTES_MAX 256
#define IDENTITY_ISSUER_BYTES_MAX 512

/* RFC 6750, 2.1: b64token. Nothing in it ends a header's line or begins another value. */
bool identity_is_token(struct span text);

/* ---- rules ---- */

/* A place in the claims: `$.sub`, `$.realm_access.roles`, `$['https://acme.com/groups']`; no wildcards, no escapes. */
struct identity_path {
    uint32_t count;            /* 0: no path */
    struct span steps[8];      /* into text */
};

/* Takes: text: lives as long as the path. Returns: CODE_OK; CODE_INVALID with a sentence. */
enum code identity_path_read(const char *text, struct identity_path *path, struct why *why) MUST_USE;
const struct json_node *identity_path_find(const struct identity_path *path, const struct json_node *claims); /* or NULL */

/* How a name is made: a constant, a claim's text or, with a table, the name that the table has for that text. */
struct identity_naming {
    const char *constant; /* NULL: the claim's */
    struct identity_path claim;
    const struct identity_rename {
        const char *claim, *name;
    } *table; /* NULL: as it is */
    size_t table_count;
};

/* A provider, as the configuration's `providers:` has it. */
struct identity_provider_rules {
    const char *name;
    const char *issuer;
    uint32_t algorithms;  /* of identity_algorithm_bit */
    int64_t leeway_us;    /* 60 s */
    int64_t longest_us;   /* a token's life at most: 24 h */
    bool id_token_like;   /* any `typ`, so long as no mark of an ID token is there */
};

/* A route's `- token:`. */
struct identity_token_rules {
    const char *const *audiences; /* NULL-terminated; `aud` must name one */
    struct identity_naming principal;
    struct identity_naming tenant;
    struct identity_path groups; /* count 0: none */
    struct identity_path agent;  /* the program that acts for the principal; count 0: the token does not say which */
    const struct identity_require {
        struct identity_path claim;
        const char *equals; /* a text, or how true, false or a number is written */
    } *require;
    size_t require_count;
    bool is_login; /* an ID token is asked for, by which a person logs in at `audiences`, and nothing else */
};

/* ---- tokens ---- */

/* What a token is bound to; a bound token whose binding was not checked lets nobody in. */
enum { IDENTITY_BOUND_CERTIFICATE = 1, IDENTITY_BOUND_KEY = 2 };

struct identity_token {
    struct span principal, tenant;
    struct span agent;   /* empty: it names none */
    struct span actors;  /* JSON: who acts for whom, the one who acts first (RFC 8693, 4.1); at == NULL: it says nothing */
    struct span issuer, subject, key_id; /* empty where the token has none */
    const struct span *groups;
    const struct span *scopes;
    size_t group_count, scope_count;
    const struct json_node *claims;    /* the whole object */
    int64_t expires_us;                /* as written; leeway is not in it */
    int64_t issued_us;                 /* 0: not said */
    unsigned char sha256[DIGEST_BYTES]; /* of the token's bytes */
    unsigned char signed_by[DIGEST_BYTES]; /* thumbprint of the key that checked it (RFC 7638) */
    bool is_signed;                    /* false: its provider was asked */
    unsigned bound;                    /* IDENTITY_BOUND_*; 0: a bearer */
    unsigned char bound_certificate[DIGEST_BYTES]; /* cnf.x5t#S256: SHA-256 of the certificate's DER */
    unsigned char bound_key[DIGEST_BYTES];         /* cnf.jkt: SHA-256 thumbprint (RFC 7638) */
    size_t held_bytes;                 /* of memory, about */
};

struct identity_token *identity_token_ref(const struct identity_token *token);
void identity_token_unref(struct identity_token **token); /* NULL is fine */

/* What a text says of itself, unverified: good for choosing a provider, and for nothing else. */
struct identity_token_hint {
    char issuer[IDENTITY_ISSUER_BYTES_MAX + 1]; /* "": none, or too long a one */
    char key_id[IDENTITY_KEY_ID_BYTES_MAX + 1]; /* "": none */
};

/* Whether it looks like a JWT: three parts with dots between, and a header that begins as a JSON object.
 * What does not is opaque. */
bool identity_token_looks(struct span text, struct identity_token_hint *hint);

/* Verifies all but the binding.
 * Takes: keys may be NULL (none are known: UNKNOWN_KEY).
 * Returns: NONE with *token; UNKNOWN_KEY: the set may be old, fetch it; any other: no. */
enum identity_fault identity_token_read(const struct identity_provider_rules *provider,
                                        const struct identity_token_rules *rules, const struct identity_key_set *keys,
                                        struct span text, int64_t now_us, struct identity_token **token) MUST_USE;

/* The same of a provider's answer about an opaque token. Its `expires_us` is no later than 60 s from now.
 * Takes: text: the token, for its digest; answer: the body, which must say active, for whom (`aud`) and, where it says by
 * whom (`iss`), the provider. */
enum identity_fault identity_token_introspected(const struct identity_provider_rules *provider,
                                                const struct identity_token_rules *rules, struct span text, struct span answer,
                                                int64_t now_us, struct identity_token **token) MUST_USE;

/* Whether the certificate of this connection is the one that the token is bound to, where it is bound to one.
 * Takes: certificate: SHA-256 of its DER; NULL: the connection shows none, or an unverified one. */
enum identity_fault identity_token_check_certificate(const struct identity_token *token,
                                                     const unsigned char certificate[DIGEST_BYTES]) MUST_USE;

/* A credential's name as all of the house takes it: visible ASCII, no blank, 1 to `max` bytes. */
bool identity_name_is_good(struct span name, size_t max);

#endif
