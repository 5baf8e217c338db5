/* SPDX-License-Identifier: Apache-2.0 */
/* Signed texts (JWS, RFC 7515, compact) and the keys that check them: what tokens and proofs share.
 *
 * Threads: any; a struct belongs to one thread until it is finished.
 * Owns: a key its library's key; a jws its buffers.
 * Lifetime: identity__key_read to _fini; identity__jws_open (whatever it returns) to _fini.
 * Errors: enum identity_fault, or a code. */
#ifndef IDENTITY_JWS_PRIV_H
#define IDENTITY_JWS_PRIV_H

#include "identity/proof.h"
#include "jose/jose.h"

struct identity__key {
    struct span key_id;     /* in the arena; empty: none */
    uint32_t fits;          /* algorithms that it may be used with */
    struct jose_key *jose;  /* NULL: Ed25519 */
    unsigned char ed25519[32];
    unsigned char thumbprint[DIGEST_BYTES]; /* RFC 7638 */
};

/* Takes: jwk: any value. Returns: CODE_INVALID: no public key of ours for signatures. */
enum code identity__key_read(const struct json_node *jwk, struct arena *arena, struct identity__key *key) MUST_USE;
void identity__key_fini(struct identity__key *key);

size_t identity__key_set_keys(const struct identity_key_set *set, const struct identity__key **keys);

extern const struct json_rules identity__claims_rules;

struct identity__jws {
    struct span text;
    const struct json_node *header, *claims;
    struct span key_id;    /* empty: none */
    uint32_t algorithm;    /* its bit; 0: none of ours */
    struct span signed_text;
    struct buf header_text, claims_text, signature;
};

/* Reads, and verifies nothing. */
enum identity_fault identity__jws_open(struct identity__jws *jws, struct span text, struct arena *arena) MUST_USE;
void identity__jws_fini(struct identity__jws *jws);

/* Takes: a key that fits jws->algorithm. */
bool identity__jws_is_signed(const struct identity__jws *jws, const struct identity__key *key);

/* The decoded bytes of unpadded base64url, exactly `len` of them. */
bool identity__read_bytes(const struct json_node *text, unsigned char *out, size_t len);

/* Seconds since 1970 as microseconds. Returns: false: no such number; a node that is NULL is none. */
bool identity__read_time(const struct json_node *number, int64_t *us);

#endif
