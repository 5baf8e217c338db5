/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104), random bytes, constant-time comparison, base64 (RFC 4648).
 *
 * Threads: any; a struct digest belongs to one thread.
 * Owns: nothing.
 * Lifetime: digest_init to digest_final.
 * Errors: none of digests; of base64 CODE_INVALID, and the buffer's own. */
#ifndef CRYPTO_DIGEST_H
#define CRYPTO_DIGEST_H

#include "base/buf.h"
#include "base/code.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

#define DIGEST_BYTES 32

struct digest {
    _Alignas(16) unsigned char state[128]; /* OpenSSL's SHA256_CTX; checked at compile time in digest.c */
};

void digest_init(struct digest *digest);
void digest_add(struct digest *digest, const void *bytes, size_t len);
void digest_final(struct digest *digest, unsigned char out[DIGEST_BYTES]);
void digest_of(struct span bytes, unsigned char out[DIGEST_BYTES]);
void digest_of_two(struct span first, struct span second, unsigned char out[DIGEST_BYTES]); /* of the second behind the first */

void hmac_of(struct span key, struct span bytes, unsigned char out[DIGEST_BYTES]);

/* From the operating system's generator; aborts if there is none (a bug of the machine, not of a peer). */
void random_bytes(void *out, size_t len);

/* Compares in time that depends on the lengths only. */
bool secret_equals(struct span a, struct span b);

/* Reads and writes the standard alphabet with padding, or the URL-safe one without: exactly one spelling for each value. */
enum code base64_decode(struct span text, struct buf *out) MUST_USE;
enum code base64_encode(struct span bytes, struct buf *out); /* a failure of a writer sticks in the buffer */
/* Reads whatever some decoder reads: either alphabet or both mixed, with whole padding or none, with blanks and line ends. */
enum code base64_decode_loose(struct span text, struct buf *out) MUST_USE;
enum code base64url_encode(struct span bytes, struct buf *out);
/* What a letter of either alphabet stands for, 0 to 63; -1: it is none. */
extern const signed char base64_values[256];
static inline int base64_value(char c)
{
    return base64_values[(unsigned char)c];
}
enum code base64url_decode(struct span text, struct buf *out) MUST_USE;

/* The library behind this room and its version, for people. Threads: main. */
const char *crypto_library(void);

#endif
