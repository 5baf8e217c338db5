/* SPDX-License-Identifier: Apache-2.0 */
#include "link/rate.h"

#include "base/lock.h"
#include "base/mem.h"

#include <pthread.h>

#define SHARDS 64
#define SHARD_BUCKETS 1024
#define PLACES 8 /* a bucket stands in one of so many places behind its hash */

struct bucket {
    uint64_t key;
    int64_t full_ns; /* monotonic; in the past: it is full */
};

struct shard {
    pthread_mutex_t lock;
    struct bucket buckets[SHARD_BUCKETS];
};

struct rates {
    struct shard shards[SHARDS];
};

enum code rates_new(struct rates **rates)
{
    *rates = mem_zalloc(sizeof **rates);
    if (*rates == NULL)
        return CODE_NOMEM;
    for (unsigned i = 0; i < SHARDS; i++)
        lock_init(&(*rates)->shards[i].lock);
    return CODE_OK;
}

void rates_free(struct rates **rates)
{
    for (unsigned i = 0; *rates != NULL && i < SHARDS; i++)
        pthread_mutex_destroy(&(*rates)->shards[i].lock);
    mem_free(*rates);
    *rates = NULL;
}

/* The bucket of this key, else the place of the one that is full first: where many come, nobody is refused for it, and who
 * has taken most keeps its bucket. One that was never used was full long ago. */
static struct bucket *find_bucket(struct shard *shard, uint64_t key, int64_t now_ns)
{
    size_t home = (size_t)(key >> 32) % SHARD_BUCKETS;
    struct bucket *first = &shard->buckets[home];

    for (size_t i = 0; i < PLACES; i++) {
        struct bucket *bucket = &shard->buckets[(home + i) % SHARD_BUCKETS];

        if (bucket->key == key && bucket->full_ns > now_ns)
            return bucket;
        if (bucket->full_ns < first->full_ns)
            first = bucket;
    }
    *first = (struct bucket){.key = key, .full_ns = now_ns};
    return first;
}

static int64_t take(struct shard *shard, uint64_t key, const struct rate *rate, int64_t now_ns)
{
    struct bucket *bucket = find_bucket(shard, key, now_ns);
    int64_t most_ns = rate->interval_ns * rate->burst;
    int64_t early_ns;

    if (bucket->full_ns - now_ns > most_ns)
        bucket->full_ns = now_ns + most_ns; /* it was emptied at another rate, before a reload: now it is empty, and no more */
    early_ns = bucket->full_ns - now_ns - rate->interval_ns * (rate->burst - 1);
    if (early_ns > 0)
        return early_ns / 1000 + 1;
    bucket->full_ns += rate->interval_ns;
    return 0;
}

int64_t rates_take(struct rates *rates, uint64_t key, const struct rate *rate, int64_t now_us)
{
    struct shard *shard = &rates->shards[key % SHARDS];
    int64_t wait_us;

    if (rate->interval_ns == 0)
        return 0;
    lock_take(&shard->lock);
    wait_us = take(shard, key, rate, now_us * 1000);
    lock_give(&shard->lock);
    return wait_us;
}
