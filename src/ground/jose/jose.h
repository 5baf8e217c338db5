/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures of JOSE (RFC 7515, 7518): RSA and elliptic curves. This room uses cjose over OpenSSL, which brings jansson along
 * as its reader of JSON.
 *
 * cjose takes more than this room does: any algorithm that a header names (here the caller says which), ES256 with another
 * curve, signatures shorter or longer than the key's, RSA of any size. It would also crash where memory is short.
 *
 * Threads: any; a key is immutable and shared.
 * Owns: a key owns cjose's key.
 * Lifetime: jose_key_* to jose_key_free.
 * Errors: CODE_INVALID: no such key; CODE_NOMEM. */
#ifndef JOSE_JOSE_H
#define JOSE_JOSE_H

#include "base/code.h"
#include "base/span.h"

#include <stdbool.h>

struct jose_key;

/* Takes: big-endian numbers. RSA: 2,048 to 8,192 bits, an odd exponent of 3 to 2^32-1; EC: the bits of P-256, P-384, P-521 and
 * a point on that curve, each half in full length. */
enum code jose_key_rsa(struct span modulus, struct span exponent, struct jose_key **key) MUST_USE;
enum code jose_key_ec(unsigned bits, struct span x, struct span y, struct jose_key **key) MUST_USE;
void jose_key_free(struct jose_key **key); /* NULL is fine */

/* Takes: compact: three parts of unpadded base64url, which the caller has decoded strictly, with a header of at most
 * JOSE_HEADER_VALUES_MAX values in it; algorithm: what the header names and the caller has found fit for the key.
 * Returns: whether it is signed with that key; false without memory, too. */
#define JOSE_HEADER_VALUES_MAX 128
bool jose_is_signed(const struct jose_key *key, const char *algorithm, struct span compact);

/* The library behind this room and its version, for people. Threads: main. */
const char *jose_library(void);

#endif
