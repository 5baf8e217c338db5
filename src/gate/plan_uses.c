/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/plan_uses.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define SHARDS 64
#define BUCKETS 256     /* of a shard */
#define OWNERS 256      /* tenants that are told apart */
#define SWEEP_EACH 4    /* entries looked at for every new one */
#define SWEEP_FULL 256  /* and where there is no room */
#define BLOCK_BYTES 16  /* what the heap adds to a block, about */
#define STEPS_EACH 8    /* that make an entry longer, of what is recorded */
#define TOLD_US (INT64_C(600) * 1000000) /* a plan that nobody can use is told of again after so long */

struct entry {
    struct list by_turn;
    struct entry *next; /* in the bucket */
    unsigned char digest[DIGEST_BYTES];
    int64_t expires_us;
    uint32_t owner;
    uint16_t count;
    uint16_t open; /* uses of a strict plan's step of which it is not settled whether they stay: all are of one step */
    bool is_told;
    uint16_t used[]; /* `count`, of each step */
};

struct shard {
    pthread_mutex_t lock;
    struct list by_turn; /* whom the sweep looks at next, first */
    struct entry *buckets[BUCKETS];
    size_t bytes;
    size_t of_owner[OWNERS];
};

struct plan_uses {
    size_t cap_bytes; /* of one shard */
    _Atomic int64_t lost_us; /* the latest of the recorded uses for which there was no room */
    struct shard shards[SHARDS];
};

enum code plan_uses_new(size_t cap_bytes, struct plan_uses **out)
{
    struct plan_uses *uses = mem_zalloc(sizeof *uses);

    *out = uses;
    if (uses == NULL)
        return CODE_NOMEM;
    uses->cap_bytes = cap_bytes / SHARDS;
    atomic_store(&uses->lost_us, INT64_MIN);
    for (size_t i = 0; i < SHARDS; i++) {
        BUG_ON(pthread_mutex_init(&uses->shards[i].lock, NULL) != 0);
        list_init(&uses->shards[i].by_turn);
    }
    return CODE_OK;
}

static struct shard *lock_shard(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES])
{
    struct shard *shard = &uses->shards[digest[0] % SHARDS];

    BUG_ON(pthread_mutex_lock(&shard->lock) != 0);
    return shard;
}

static void unlock_shard(struct shard *shard)
{
    BUG_ON(pthread_mutex_unlock(&shard->lock) != 0);
}

static struct entry **place_of(struct shard *shard, const unsigned char digest[DIGEST_BYTES])
{
    struct entry **at = &shard->buckets[digest[1] % BUCKETS];

    while (*at != NULL && memcmp((*at)->digest, digest, DIGEST_BYTES) != 0)
        at = &(*at)->next;
    return at;
}

static size_t bytes_of(uint32_t count)
{
    return sizeof(struct entry) + count * sizeof(uint16_t) + BLOCK_BYTES;
}

static void drop(struct shard *shard, struct entry *entry)
{
    *place_of(shard, entry->digest) = entry->next;
    list_remove(&entry->by_turn);
    shard->bytes -= bytes_of(entry->count);
    shard->of_owner[entry->owner] -= bytes_of(entry->count);
    mem_free(entry);
}

static struct entry *first_by_turn(const struct shard *shard)
{
    return list_is_empty(&shard->by_turn) ? NULL : LIST_ENTRY(shard->by_turn.next, struct entry, by_turn);
}

static void clear(struct shard *shard)
{
    struct entry *entry;

    while ((entry = first_by_turn(shard)) != NULL)
        drop(shard, entry);
}

void plan_uses_clear(struct plan_uses *uses)
{
    for (size_t i = 0; i < SHARDS; i++) {
        BUG_ON(pthread_mutex_lock(&uses->shards[i].lock) != 0);
        clear(&uses->shards[i]);
        unlock_shard(&uses->shards[i]);
    }
    atomic_store(&uses->lost_us, INT64_MIN);
}

void plan_uses_free(struct plan_uses **uses)
{
    struct plan_uses *gone = *uses;

    *uses = NULL;
    if (gone == NULL)
        return;
    plan_uses_clear(gone);
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_destroy(&gone->shards[i].lock);
    mem_free(gone);
}

/* Who still counts goes to the end of the row and stays. */
static void sweep(struct shard *shard, int64_t now_us, unsigned most)
{
    for (unsigned i = 0; i < most && !list_is_empty(&shard->by_turn); i++) {
        struct entry *entry = first_by_turn(shard);

        if (entry->expires_us <= now_us) {
            drop(shard, entry);
            continue;
        }
        list_remove(&entry->by_turn);
        list_append(&shard->by_turn, &entry->by_turn);
    }
}

static bool has_bytes(const struct plan_uses *uses, const struct shard *shard, uint32_t owner, size_t bytes)
{
    return shard->bytes + bytes <= uses->cap_bytes && shard->of_owner[owner] + bytes <= uses->cap_bytes - shard->bytes;
}

/* The plan's own, made or made longer where need be. NULL: there is no room. */
static struct entry *entry_for(struct plan_uses *uses, struct shard *shard, const unsigned char digest[DIGEST_BYTES],
                               struct span tenant, uint32_t count, int64_t expires_us, int64_t now_us)
{
    struct entry **at = place_of(shard, digest), *entry = *at;
    uint32_t owner = entry != NULL ? entry->owner : (uint32_t)(hash_span(tenant) % OWNERS);
    size_t more = bytes_of(count) - (entry != NULL ? bytes_of(entry->count) : 0);

    if (entry != NULL && entry->count >= count)
        return entry;
    if (entry != NULL) {
        list_remove(&entry->by_turn); /* the sweep leaves it alone */
        expires_us = entry->expires_us;
    }
    sweep(shard, now_us, has_bytes(uses, shard, owner, more) ? SWEEP_EACH : SWEEP_FULL);
    at = place_of(shard, digest); /* the sweep may have dropped who stood before it */
    entry = has_bytes(uses, shard, owner, more) ? mem_resize(*at, bytes_of(count)) : NULL;
    if (entry == NULL) {
        if (*at != NULL)
            list_append(&shard->by_turn, &(*at)->by_turn);
        return NULL;
    }
    if (*at == NULL)
        *entry = (struct entry){.owner = owner, .expires_us = expires_us};
    memset(entry->used + entry->count, 0, (count - entry->count) * sizeof *entry->used);
    memcpy(entry->digest, digest, DIGEST_BYTES);
    entry->count = (uint16_t)count;
    *at = entry;
    list_append(&shard->by_turn, &entry->by_turn);
    shard->bytes += more;
    shard->of_owner[owner] += more;
    return entry;
}

/* Of a strict plan: every earlier step was used, for good, and no later one. */
static bool is_in_order(const struct entry *entry, uint32_t step)
{
    if (entry != NULL && entry->open > 0 && (step >= entry->count || entry->used[step] == 0))
        return false;
    for (uint32_t i = 0; entry != NULL && (i < entry->count || i < step); i++)
        if (i != step && (i < entry->count && entry->used[i] > 0) != (i < step))
            return false;
    return entry != NULL || step == 0;
}

static uint32_t find(const struct entry *entry, const struct plan *plan, const struct plan_fit *fit, enum reason *why)
{
    *why = REASON_PLAN_STEP;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        bool is_left = entry == NULL || i >= entry->count || entry->used[i] < plan->step[i].times;

        if (!plan_fits(fit, i))
            continue;
        if (is_left && (!plan->is_strict || is_in_order(entry, i)))
            return i + 1;
        if (*why == REASON_PLAN_STEP)
            *why = is_left ? REASON_PLAN_ORDER : REASON_PLAN_USED;
    }
    return 0;
}

uint32_t plan_uses_find(struct plan_uses *uses, const struct plan *plan, const struct plan_fit *fit, enum reason *why)
{
    struct shard *shard = lock_shard(uses, plan->digest);
    uint32_t step = find(*place_of(shard, plan->digest), plan, fit, why);

    unlock_shard(shard);
    return step;
}

enum code plan_uses_take(struct plan_uses *uses, const struct plan *plan, const struct plan_fit *fit, int64_t now_us,
                         uint32_t *step)
{
    bool is_lost = plan->not_before_us - PLAN_LEEWAY_US <= atomic_load(&uses->lost_us);
    struct shard *shard = lock_shard(uses, plan->digest);
    struct entry *entry = is_lost ? NULL : entry_for(uses, shard, plan->digest, plan->tenant, plan->step_count,
                                                     plan->expires_us, now_us);
    enum code code = entry != NULL ? CODE_OK : CODE_NOMEM;
    enum reason why;

    *step = entry != NULL ? find(entry, plan, fit, &why) : 0;
    if (*step != 0) {
        entry->used[*step - 1]++;
        entry->open = (uint16_t)(entry->open + plan->is_strict);
    } else if (code == CODE_OK) {
        code = CODE_LIMIT;
    }
    unlock_shard(shard);
    return code;
}

void plan_uses_give_back(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES], uint32_t step)
{
    struct shard *shard = lock_shard(uses, digest);
    struct entry *entry = *place_of(shard, digest);

    if (entry != NULL && step <= entry->count && entry->used[step - 1] > 0)
        entry->used[step - 1]--;
    if (entry != NULL && entry->open > 0)
        entry->open--;
    unlock_shard(shard);
}

void plan_uses_settle(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES])
{
    struct shard *shard = lock_shard(uses, digest);
    struct entry *entry = *place_of(shard, digest);

    if (entry != NULL && entry->open > 0)
        entry->open--;
    unlock_shard(shard);
}

void plan_uses_lose(struct plan_uses *uses, int64_t used_us)
{
    int64_t latest_us = atomic_load(&uses->lost_us);

    while (used_us > latest_us && !atomic_compare_exchange_weak(&uses->lost_us, &latest_us, used_us))
        ;
}

enum code plan_uses_count(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES], uint32_t step, struct span tenant,
                          int64_t used_us, int64_t now_us)
{
    int64_t expires_us = used_us + PLAN_LIFE_MAX_US + PLAN_LEEWAY_US;
    uint32_t count = (step + STEPS_EACH - 1) / STEPS_EACH * STEPS_EACH; /* how many the plan has, no record says */
    struct shard *shard;
    struct entry *entry;

    if (expires_us <= now_us || step == 0 || step > PLAN_STEPS_MAX)
        return CODE_OK;
    shard = lock_shard(uses, digest);
    entry = entry_for(uses, shard, digest, tenant, count, expires_us, now_us);
    if (entry != NULL) {
        if (entry->used[step - 1] < UINT16_MAX)
            entry->used[step - 1]++;
        entry->expires_us = expires_us > entry->expires_us ? expires_us : entry->expires_us;
    } else {
        plan_uses_lose(uses, used_us);
    }
    unlock_shard(shard);
    return entry != NULL ? CODE_OK : CODE_NOMEM;
}

bool plan_uses_is_told(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES])
{
    struct shard *shard = lock_shard(uses, digest);
    const struct entry *entry = *place_of(shard, digest);
    bool is_told = entry != NULL && entry->is_told;

    unlock_shard(shard);
    return is_told;
}

void plan_uses_told(struct plan_uses *uses, const struct plan *plan, int64_t now_us)
{
    int64_t expires_us = plan->expires_us > now_us + TOLD_US ? plan->expires_us : now_us + TOLD_US;
    struct shard *shard = lock_shard(uses, plan->digest);
    struct entry *entry = entry_for(uses, shard, plan->digest, plan->tenant, plan->step_count, expires_us, now_us);

    if (entry != NULL)
        entry->is_told = true;
    unlock_shard(shard);
}
