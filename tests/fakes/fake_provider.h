/* SPDX-License-Identifier: Apache-2.0 */
/* A provider's keys, and texts signed with them: any header over any claims, as an attacker would make them too.
 *
 * Threads: one.
 * Owns: a key OpenSSL's.
 * Lifetime: fake_key_make to fake_key_free.
 * Errors: ends the program. */
#ifndef FAKES_FAKE_PROVIDER_H
#define FAKES_FAKE_PROVIDER_H

#include "base/buf.h"

struct fake_key;

/* Takes: kind: "RSA2048" and other sizes, "P-256", "P-384", "P-521", "Ed25519". */
struct fake_key *fake_key_make(const char *kind);
void fake_key_free(struct fake_key **key);

/* Appends the public half as a JWK. Takes: more: further members, with a comma before; or "". */
void fake_jwk(const struct fake_key *key, const char *more, struct buf *out);
/* Appends a set of one. */
void fake_set(const struct fake_key *key, const char *more, struct buf *out);

/* Appends a compact JWS. Takes: algorithm: how it is signed, whatever the header says: RS256, PS256, ES256, EdDSA, ...; "none";
 * HS256: with `secret`. */
void fake_sign(const struct fake_key *key, const char *algorithm, struct span secret, struct span header, struct span claims,
               struct buf *out);

/* The same with texts and no secret; what was in `out` goes. Returns: the token. */
struct span fake_token(const struct fake_key *key, const char *algorithm, const char *header, const char *claims,
                       struct buf *out);

/* The key's modulus or public key in PEM, as a secret of HS256. */
void fake_pem(const struct fake_key *key, struct buf *out);

#endif
