/* SPDX-License-Identifier: Apache-2.0 */
/* A provider's public keys (JSON Web Key Set, RFC 7517), read once.
 *
 * What is no key for signatures that we check (encryption, symmetric, RSA under 2,048 bits, other curves, a private half) is
 * passed over, as the RFC has it, and counted.
 *
 * Threads: any; a set is immutable and shared.
 * Owns: its keys.
 * Lifetime: identity_key_set_ref / _unref, atomic.
 * Errors: CODE_INVALID with a sentence; CODE_LIMIT: too many keys; CODE_NOMEM. */
#ifndef IDENTITY_KEY_SET_H
#define IDENTITY_KEY_SET_H

#include "base/span.h"
#include "base/why.h"
#include "crypto/digest.h"

/* RS256 PS256 ES256 ... EdDSA: the bit of an algorithm in `algorithms`; 0: none of ours (`none` and HS* never are). */
uint32_t identity_algorithm_bit(struct span name);
const char *const *identity_algorithm_names(void); /* NULL-terminated, bit by bit */

#define IDENTITY_KEY_SET_KEYS_MAX 256
#define IDENTITY_KEY_SET_BYTES_MAX (512 * 1024)

struct identity_key_set;

/* Takes: text: a set's JSON, at most IDENTITY_KEY_SET_BYTES_MAX. A set without any key that we take is CODE_INVALID. */
enum code identity_key_set_read(struct span text, struct identity_key_set **set, struct why *why) MUST_USE;
struct identity_key_set *identity_key_set_ref(const struct identity_key_set *set);
void identity_key_set_unref(struct identity_key_set **set); /* NULL is fine */

size_t identity_key_set_count(const struct identity_key_set *set);       /* keys that can check a token */
size_t identity_key_set_passed_over(const struct identity_key_set *set); /* others that stood in the text */
/* Whether there is a key of that name and thumbprint. Takes: key_id: empty: whatever its name; thumbprint: NULL: any. */
bool identity_key_set_has(const struct identity_key_set *set, struct span key_id, const unsigned char thumbprint[DIGEST_BYTES]);

#endif
