/* SPDX-License-Identifier: Apache-2.0 */
/* Ed25519 (RFC 8032): keys in PEM files as `openssl genpkey` makes them, signatures, their verification.
 *
 * Threads: any; a key belongs to one thread at a time.
 * Owns: a struct sign_key its OpenSSL key.
 * Lifetime: sign_key_make or sign_key_read to sign_key_free.
 * Errors: CODE_INVALID for text that holds no such key, CODE_NOMEM otherwise. */
#ifndef CRYPTO_SIGN_H
#define CRYPTO_SIGN_H

#include "base/buf.h"

#define SIGN_PUBLIC_BYTES 32
#define SIGN_BYTES 64
#define SIGN_SEED_BYTES 32

struct sign_key;

/* A new key; its private half is appended to `pem`, which the caller wipes. */
enum code sign_key_make(struct buf *pem) MUST_USE;

/* Reads a PEM text with a private key. */
enum code sign_key_read(struct span pem, struct sign_key **key) MUST_USE;
/* The key whose private half is this seed (RFC 8032, 5.1.5), as 32 random bytes are. */
enum code sign_key_of_seed(const unsigned char seed[SIGN_SEED_BYTES], struct sign_key **key) MUST_USE;
void sign_key_free(struct sign_key **key); /* NULL is fine */
enum code sign_key_public(const struct sign_key *key, unsigned char out[SIGN_PUBLIC_BYTES]) MUST_USE;
enum code sign_text(const struct sign_key *key, struct span text, unsigned char out[SIGN_BYTES]) MUST_USE;

/* Public halves as PEM, for `openssl pkeyutl`. Text before the PEM is passed over. A weak key is read, too: whoever keeps a
 * key asks sign_public_is_weak, so that its owner hears of it before anything was signed. */
enum code sign_public_write(const unsigned char key[SIGN_PUBLIC_BYTES], struct buf *pem) MUST_USE;
enum code sign_public_read(struct span pem, unsigned char key[SIGN_PUBLIC_BYTES]) MUST_USE;

/* Whether a public key vouches for nothing: a point of small order, under which signatures of any text can be made, or a second
 * spelling of a point. */
bool sign_public_is_weak(const unsigned char key[SIGN_PUBLIC_BYTES]);

/* Whether it is the key's signature of the text. False under a weak key, and without memory. */
bool sign_is_good(const unsigned char key[SIGN_PUBLIC_BYTES], struct span text, const unsigned char signature[SIGN_BYTES]);

#endif
