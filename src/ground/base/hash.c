/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include "base/bug.h"

#include <endian.h>
#include <pthread.h>
#include <sys/random.h>

static struct hash_key seed;
static pthread_once_t seeded = PTHREAD_ONCE_INIT;

static void draw(void)
{
    /* getrandom waits until the kernel's pool is ready, and then 16 bytes always come whole */
    BUG_ON(getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed);
}

void hash_seed(void)
{
    BUG_ON(pthread_once(&seeded, draw) != 0);
}

static uint64_t rotate(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

static inline __attribute__((always_inline)) void sip_round(uint64_t v[4]) /* in a function of its own it costs twice as much */
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

/* Reads the last bytes, fewer than eight, in one load that takes in bytes before them where there are any. */
static uint64_t rest_of(const unsigned char *at, size_t left, size_t len)
{
    uint64_t word = 0;

    if (left == 0)
        return 0;
    if (len < sizeof word) {
        for (size_t i = 0; i < left; i++)
            word |= (uint64_t)at[i] << (8 * i);
        return word;
    }
    memcpy(&word, at + left - sizeof word, sizeof word);
    return le64toh(word) >> 8 * (sizeof word - left);
}

static uint64_t sip(const struct hash_key *key, const unsigned char *at, size_t len)
{
    uint64_t v[4], word;
    size_t left = len;

    v[0] = key->half[0] ^ UINT64_C(0x736f6d6570736575);
    v[1] = key->half[1] ^ UINT64_C(0x646f72616e646f6d);
    v[2] = key->half[0] ^ UINT64_C(0x6c7967656e657261);
    v[3] = key->half[1] ^ UINT64_C(0x7465646279746573);
    for (; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = (uint64_t)len << 56 | rest_of(at, left, len);
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    sip_round(v);
    sip_round(v);
    sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash_bytes(const void *bytes, size_t len)
{
    hash_seed();
    return sip(&seed, bytes, len);
}

uint64_t hash_under(const struct hash_key *key, struct span span)
{
    return sip(key, (const unsigned char *)span.at, span.len);
}

uint64_t hash__mix_text(uint64_t hash, struct span span)
{
    const unsigned char *at = (const unsigned char *)span.at;
    size_t left = span.len;
    uint64_t word;

    hash = hash_mix(hash, span.len);
    for (; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash = hash_mix(hash, word);
    }
    return left > 0 ? hash_mix(hash, rest_of(at, left, span.len)) : hash;
}
