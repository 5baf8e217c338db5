/* SPDX-License-Identifier: Apache-2.0 */
/* SipHash-1-3 for tables, under a seed that is random per process, so that no peer can choose collisions.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. Not a digest: nothing stored or compared across processes may use it. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/span.h"

#include <stdint.h>

/* Draws the seed from getrandom(2), as the first hash would; a second call changes nothing. */
void hash_seed(void);

uint64_t hash_bytes(const void *bytes, size_t len);

/* The same hash under a key of the caller's. Such hashes may be stored as long as the key is. */
struct hash_key {
    uint64_t half[2];
};
uint64_t hash_under(const struct hash_key *key, struct span span);

static inline uint64_t hash_span(struct span span)
{
    return hash_bytes(span.at, span.len);
}

/* Folds a further value into a hash. */
static inline uint64_t hash_mix(uint64_t a, uint64_t b)
{
    a ^= b + UINT64_C(0x9e3779b97f4a7c15) + (a << 6) + (a >> 2);
    return a * UINT64_C(0xff51afd7ed558ccd);
}

/* Folds a text into a hash, a few times as fast as hash_span. For caches only: whoever chooses the texts can make them
 * collide, which in a cache only has them push out each other. */
uint64_t hash__mix_text(uint64_t hash, struct span span);

static inline uint64_t hash_mix_span(uint64_t hash, struct span span) /* most of a call's texts are empty */
{
    return span.len == 0 ? hash_mix(hash, 0) : hash__mix_text(hash, span);
}

#endif
