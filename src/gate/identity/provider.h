/* SPDX-License-Identifier: Apache-2.0 */
/* An identity provider, as `providers:` of the configuration has it: whose tokens are taken, by which keys, and whom to ask.
 *
 * Threads: any; immutable.
 * Owns: nothing but its TLS and its secret (identity_provider_fini); its texts are the configuration's.
 * Lifetime: its configuration's.
 * Errors: none. */
#ifndef IDENTITY_PROVIDER_H
#define IDENTITY_PROVIDER_H

#include "base/buf.h"
#include "base/ref.h"
#include "http/authority.h"
#include "identity/token.h"
#include "identity/lookup.h"
#include "tls/tls.h"

#define IDENTITY_PROVIDERS_MAX 16

/* As whom the gate itself is known to a provider. */
struct identity_client {
    const char *id;     /* NULL: nobody */
    struct span secret; /* crypto/secret.h */
};

struct identity_provider {
    struct identity_provider_rules rules;
    const char *keys_url;       /* NULL: in keys_file, or where the issuer's metadata say */
    const char *keys_file;
    int64_t stale_us;           /* how old a set may get */
    struct tls_context *tls;    /* whom to believe; NULL: the system's authorities */
    const char *introspect_url; /* NULL: this provider's opaque tokens are not taken */
    struct identity_client introspect;
    unsigned char digest[DIGEST_BYTES]; /* of all that decides which keys are its own */
};

void identity_provider_seal(struct identity_provider *provider); /* makes the digest */
void identity_provider_fini(struct identity_provider *provider);

/* Where its metadata are: as OpenID Connect Discovery, 4 has it, or with `oauth` as RFC 8414, 3.1. */
#define IDENTITY_URL_BYTES 2048
void identity_metadata_url(const struct identity_provider *provider, bool oauth, char out[IDENTITY_URL_BYTES]);

/* What a provider said of an opaque token, and when. */
struct identity_introspection {
    struct ref ref;
    int64_t asked_us;
    struct buf answer; /* JSON */
};
struct identity_introspection *identity_introspection_new(struct buf *answer_take, int64_t asked_us) MUST_USE; /* or NULL */
#define IDENTITY_INTROSPECTION_US INT64_C(10000000) /* for so long what was told of a token that is not active stands */

/* How each kind of result is counted, for lookup_new. */
extern const struct lookup_type identity_keys_type, identity_token_type, identity_introspection_type;

/* A URL of a provider's: https, or http on this machine. Returns: what is wrong with it, or NULL. */
const char *identity_url_split(struct span text, struct http_authority *authority, bool *is_tls);
uint16_t identity_url_port(const char *url); /* of one that was read; 0: it is none */

#endif
