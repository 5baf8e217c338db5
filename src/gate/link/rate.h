/* SPDX-License-Identifier: Apache-2.0 */
/* How often somebody may ask: token buckets of fixed memory, shared by all workers.
 *
 * A bucket holds `burst` tokens and gets one more each `interval_ns`. All that is kept of it is when it will be full again (the
 * generic cell rate algorithm of ITU-T I.371); one that is full is forgotten, and another may take its place. Where there are
 * more buckets than places, the one that would be full first is forgotten early: addresses by the thousand refuse nobody.
 *
 * Threads: any; each taking holds one shard's short lock.
 * Owns: its shards.
 * Lifetime: rates_new to rates_free, after the workers have ended.
 * Errors: none but of memory, at the beginning. */
#ifndef LINK_RATE_H
#define LINK_RATE_H

#include "base/code.h"

#include <stdint.h>

struct rate {
    int64_t interval_ns; /* 0: any rate */
    uint32_t burst;      /* at least 1 */
};

struct rates;

enum code rates_new(struct rates **rates) MUST_USE;
void rates_free(struct rates **rates);

/* Takes: key: a hash under the process' own seed (base/hash.h) of who asks what; now_us: monotonic.
 * Returns: 0: a token is taken; else none was, and so many microseconds must pass until there is one. */
int64_t rates_take(struct rates *rates, uint64_t key, const struct rate *rate, int64_t now_us);

#endif
