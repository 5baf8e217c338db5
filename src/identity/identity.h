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

/* A verified client certificate names principal and tenant by its subject: exactly one CN is the principal, exactly one O
 * the tenant. Names of 1 to 128 characters that RFC 4514 need not escape; any other subject is CREDENTIAL_WRONG. */
enum identity_kind { IDENTITY_API_KEY = 0, IDENTITY_BEARER, IDENTITY_CERTIFICATE, IDENTITY_NONE };

/* One entry of a route's `identity:` list (schema/callgate.md). */
struct identity_source {
    enum identity_kind kind;
    const char *header;    /* API_KEY: the header's name */
    bool forward;          /* keep the credential for the upstream */
    const char *principal; /* NONE: fixed */
    const char *tenant;    /* NONE: fixed */
};

/* One agent's key as the store holds it. */
struct identity_key {
    unsigned char digest[DIGEST_BYTES]; /* SHA-256 of the key */
    const char *principal;
    const char *tenant;
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
    const void *context;
    struct span certificate_subject; /* verified client certificate's subject (RFC 4514 text), or at == NULL */
    struct span claimed_tenant;      /* of the tenant header, or at == NULL */
    int64_t now_us;
};

struct identity {
    enum identity_kind kind;
    struct span principal;      /* borrowed from the table, the configuration or the request, as is the tenant */
    struct span tenant;         /* judged tenant: the claimed one where it may be claimed, else the key's own */
    struct span home;           /* the credential's own tenant, whatever it claims: who takes room is counted by it */
    struct span authentication; /* "api_key", "bearer", "certificate", "none" */
    const char *consumed;       /* header that must not go upstream, or NULL */
    int64_t key_id;             /* 0: no key */
    uint64_t ticket;            /* not 0: it is not known yet; ask again when `wanted` has settled this */
    unsigned char key_digest[DIGEST_BYTES];
};

/* Returns: REASON_PERMITTED with *identity, or why not; then *identity is for the record only (how it was tried and, with
 * TENANT_NOT_ALLOWED, whose credential it is).
 * Only IDENTITY_NONE standing alone needs no credential. */
enum reason identity_decide(const struct identity_source *sources, size_t count, const struct identity_keys *keys,
                            const struct identity_request *request, struct identity *identity);

/* Whether who was let in by a key would still be, as the same: by the key's digest, since nobody keeps the key itself. */
bool identity_key_holds(const struct identity *identity, const struct identity_keys *keys, int64_t now_us);

/* A new random key for an agent: "cg_" and 43 characters of base64url; its digest goes into the store. */
enum code identity_key_make(char text[48], unsigned char digest[DIGEST_BYTES]) MUST_USE;

#endif
