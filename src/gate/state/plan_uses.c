/* SPDX-License-Identifier: Apache-2.0 */
#include "state/plan_uses.h"

#include "base/map.h"
#include "base/hash.h"
#include "base/mem.h"
#include "state/keep_priv.h"

#include <stdatomic.h>
#include <string.h>

#define BLOCK_BYTES 16  /* what the heap adds to a block, about */
#define STEPS_EACH 8    /* by so many an entry grows, where only records say what was used */
#define TOLD_US (INT64_C(600) * 1000000) /* so long at least is remembered that a plan's text was recorded, also of one that
                                          * has ended */

struct entry {
    struct map_entry base;
    unsigned char digest[DIGEST_BYTES];
    uint16_t count;
    uint16_t open; /* uses of a strict plan's step of which it is not settled whether they stay: all are of one step */
    bool is_told;
    uint16_t used[]; /* `count`, of each step */
};

struct plan_uses {
    struct map *map;
    struct hash_key key; /* of shares */
    _Atomic int64_t lost_us; /* the latest of the recorded uses for which there was no room */
};

enum code plan_uses_new(size_t cap_bytes, const struct hash_key *key, struct plan_uses **out)
{
    const struct map_conf conf = {.cap = cap_bytes, .shards = PLAN_USES_PARTS, .buckets = 256,
                                  .key_at = offsetof(struct entry, digest), .key_bytes = DIGEST_BYTES};
    struct plan_uses *uses = mem_zalloc(sizeof *uses);
    enum code code = uses != NULL ? map_new(&conf, &uses->map) : CODE_NOMEM;

    *out = uses;
    if (code != CODE_OK)
        plan_uses_free(out);
    else
        atomic_store(&uses->lost_us, INT64_MIN);
    if (code == CODE_OK)
        uses->key = *key;
    return code;
}

static struct map_shard *lock_shard(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES])
{
    struct map_shard *shard = map_shard(uses->map, map_hash(uses->map, digest));

    map_lock(shard);
    return shard;
}

static struct entry *find_entry(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES])
{
    uint64_t hash = map_hash(uses->map, digest);

    return (struct entry *)map_find(map_shard(uses->map, hash), hash, digest);
}

static size_t bytes_of(uint32_t count)
{
    return sizeof(struct entry) + count * sizeof(uint16_t) + BLOCK_BYTES;
}

void plan_uses_clear(struct plan_uses *uses)
{
    for (uint32_t i = 0; i < uses->map->conf.shards; i++) {
        map_lock(&uses->map->shards[i]);
        map_clear(&uses->map->shards[i]);
        map_unlock(&uses->map->shards[i]);
    }
    atomic_store(&uses->lost_us, INT64_MIN);
}

void plan_uses_free(struct plan_uses **uses)
{
    struct plan_uses *gone = *uses;

    *uses = NULL;
    if (gone != NULL)
        map_free(&gone->map);
    mem_free(gone);
}

static struct entry *add_entry(struct plan_uses *uses, struct map_shard *shard, const unsigned char digest[DIGEST_BYTES],
                               struct share whose, uint32_t count, int64_t expires_us, int64_t now_us)
{
    struct entry *entry = mem_zalloc(bytes_of(count));

    if (entry == NULL)
        return NULL;
    entry->base = (struct map_entry){.whose = whose, .weight = bytes_of(count), .lapses_us = expires_us};
    memcpy(entry->digest, digest, DIGEST_BYTES);
    entry->count = (uint16_t)count;
    if (map_add(shard, map_hash(uses->map, digest), &entry->base, now_us) == CODE_OK)
        return entry;
    mem_free(entry);
    return NULL;
}

/* The plan's entry, made or made longer where need be. NULL: there is no room. */
static struct entry *entry_for(struct plan_uses *uses, struct map_shard *shard, const unsigned char digest[DIGEST_BYTES],
                               struct share whose, uint32_t count, int64_t expires_us, int64_t now_us)
{
    struct entry *entry = find_entry(uses, digest);
    struct map_entry *base;

    if (entry == NULL)
        return add_entry(uses, shard, digest, whose, count, expires_us, now_us);
    if (entry->count >= count)
        return entry;
    base = &entry->base;
    if (map_resize(shard, &base, bytes_of(count), bytes_of(count) - bytes_of(entry->count), now_us) != CODE_OK)
        return NULL;
    entry = (struct entry *)base;
    memset(entry->used + entry->count, 0, (count - entry->count) * sizeof *entry->used);
    entry->count = (uint16_t)count;
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

static uint32_t find_step(const struct entry *entry, const struct plan *plan, const struct plan_fit *fit, enum reason *why)
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
    struct map_shard *shard = lock_shard(uses, plan->digest);
    uint32_t step = find_step(find_entry(uses, plan->digest), plan, fit, why);

    map_unlock(shard);
    return step;
}

enum code plan_uses_take(struct plan_uses *uses, const struct plan *plan, struct span home, const struct plan_fit *fit,
                         int64_t now_us, uint32_t *step)
{
    bool is_lost = plan->not_before_us - PLAN_LEEWAY_US <= atomic_load(&uses->lost_us);
    struct map_shard *shard = lock_shard(uses, plan->digest);
    struct share whose = share_under(&uses->key, home, plan->principal);
    struct entry *entry =
        is_lost ? NULL : entry_for(uses, shard, plan->digest, whose, plan->step_count, plan->expires_us, now_us);
    enum code code = entry != NULL ? CODE_OK : CODE_NOMEM;
    enum reason why;

    *step = entry != NULL ? find_step(entry, plan, fit, &why) : 0;
    if (*step != 0) {
        entry->used[*step - 1]++;
        entry->open = (uint16_t)(entry->open + plan->is_strict);
    } else if (code == CODE_OK) {
        code = CODE_LIMIT;
    }
    map_unlock(shard);
    return code;
}

void plan_uses_give_back(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES], uint32_t step)
{
    struct map_shard *shard = lock_shard(uses, digest);
    struct entry *entry = find_entry(uses, digest);

    if (entry != NULL && step <= entry->count && entry->used[step - 1] > 0)
        entry->used[step - 1]--;
    if (entry != NULL && entry->open > 0)
        entry->open--;
    map_unlock(shard);
}

void plan_uses_settle(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES])
{
    struct map_shard *shard = lock_shard(uses, digest);
    struct entry *entry = find_entry(uses, digest);

    if (entry != NULL && entry->open > 0)
        entry->open--;
    map_unlock(shard);
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
    struct map_shard *shard;
    struct entry *entry;

    if (expires_us <= now_us || step == 0 || step > PLAN_STEPS_MAX)
        return CODE_OK;
    shard = lock_shard(uses, digest);
    entry = entry_for(uses, shard, digest, share_under(&uses->key, tenant, SPAN_NONE), count, expires_us, now_us);
    if (entry != NULL) {
        if (entry->used[step - 1] < UINT16_MAX)
            entry->used[step - 1]++;
        entry->base.lapses_us = expires_us > entry->base.lapses_us ? expires_us : entry->base.lapses_us;
    } else {
        plan_uses_lose(uses, used_us);
    }
    map_unlock(shard);
    return entry != NULL ? CODE_OK : CODE_NOMEM;
}

enum code plan_uses_learn(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES], struct span tenant,
                          const struct wish_used *used, uint32_t count, int64_t now_us)
{
    struct map_shard *shard = lock_shard(uses, digest);
    struct share whose = share_under(&uses->key, tenant, SPAN_NONE);
    struct entry *entry = find_entry(uses, digest);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t step = used[i].step;

        if (step == 0 || step > PLAN_STEPS_MAX)
            continue;
        entry = entry_for(uses, shard, digest, whose, (step + STEPS_EACH - 1) / STEPS_EACH * STEPS_EACH,
                          now_us + PLAN_LIFE_MAX_US + PLAN_LEEWAY_US, now_us);
        if (entry == NULL)
            break;
        if (entry->used[step - 1] < used[i].times)
            entry->used[step - 1] = used[i].times;
    }
    map_unlock(shard);
    return entry != NULL || count == 0 ? CODE_OK : CODE_NOMEM;
}

void plan_uses_write(struct plan_uses *uses, uint32_t part, int64_t now_us, struct buf *out)
{
    struct map_shard *shard = &uses->map->shards[part];

    map_lock(shard);
    for (const struct list *at = shard->by_turn.next; at != &shard->by_turn; at = at->next) {
        const struct entry *entry = (const struct entry *)LIST_ENTRY(at, struct map_entry, by_turn);
        struct wish_told told = {.take = {.kind = WISH_STEP, .per_us = entry->base.lapses_us}};

        memcpy(told.take.key, entry->digest, DIGEST_BYTES);
        for (uint32_t i = 0; entry->base.lapses_us > now_us && i < entry->count; i++) {
            told.take.most = i + 1;
            told.take.amount = entry->used[i];
            if (entry->used[i] > 0)
                (void)buf_add(out, &told, sizeof told);
        }
    }
    map_unlock(shard);
}

bool plan_uses_is_told(struct plan_uses *uses, const unsigned char digest[DIGEST_BYTES])
{
    struct map_shard *shard = lock_shard(uses, digest);
    const struct entry *entry = find_entry(uses, digest);
    bool is_told = entry != NULL && entry->is_told;

    map_unlock(shard);
    return is_told;
}

void plan_uses_told(struct plan_uses *uses, const struct plan *plan, struct span home, int64_t now_us)
{
    int64_t expires_us = plan->expires_us > now_us + TOLD_US ? plan->expires_us : now_us + TOLD_US;
    struct map_shard *shard = lock_shard(uses, plan->digest);
    struct share whose = share_under(&uses->key, home, plan->principal);
    struct entry *entry = entry_for(uses, shard, plan->digest, whose, plan->step_count, expires_us, now_us);

    if (entry != NULL)
        entry->is_told = true;
    map_unlock(shard);
}

/* ---- as bytes ---- */

static void keep_entry(struct buf *out, const struct entry *entry)
{
    keep_number(out, (uint64_t)entry->count + 1); /* 0: no more follow */
    (void)buf_add(out, entry->digest, DIGEST_BYTES);
    keep_number(out, entry->base.whose.tenant);
    keep_number(out, entry->base.whose.principal);
    keep_number(out, (uint64_t)entry->base.lapses_us);
    (void)buf_add(out, entry->used, entry->count * sizeof *entry->used);
}

void plan_uses_keep(struct plan_uses *uses, struct buf *out)
{
    for (uint32_t i = 0; i < uses->map->conf.shards; i++) {
        struct map_shard *shard = &uses->map->shards[i];

        map_lock(shard);
        for (const struct list *at = shard->by_turn.next; at != &shard->by_turn; at = at->next)
            keep_entry(out, (const struct entry *)LIST_ENTRY(at, struct map_entry, by_turn));
        map_unlock(shard);
    }
    keep_number(out, 0);
    keep_number(out, (uint64_t)atomic_load(&uses->lost_us));
}

static enum code read_entry(struct plan_uses *uses, struct keep_reader *reader, uint64_t count, int64_t over_us)
{
    unsigned char digest[DIGEST_BYTES];
    uint16_t used[PLAN_STEPS_MAX];
    struct map_shard *shard;
    struct entry *entry;
    struct share whose;
    int64_t lapses_us;

    keep_read(reader, digest, sizeof digest);
    whose.tenant = keep_read_number(reader);
    whose.principal = keep_read_number(reader);
    lapses_us = (int64_t)keep_read_number(reader);
    if (count > PLAN_STEPS_MAX)
        return CODE_INVALID;
    keep_read(reader, used, count * sizeof used[0]);
    if (reader->is_short || find_entry(uses, digest) != NULL)
        return CODE_INVALID;
    if (lapses_us <= over_us)
        return CODE_OK;
    shard = lock_shard(uses, digest);
    entry = add_entry(uses, shard, digest, whose, (uint32_t)count, lapses_us, over_us);
    if (entry != NULL)
        memcpy(entry->used, used, count * sizeof used[0]);
    map_unlock(shard);
    return entry != NULL ? CODE_OK : CODE_NOMEM;
}

enum code plan_uses_read(struct plan_uses *uses, struct span *kept, int64_t over_us)
{
    struct keep_reader reader = {.rest = *kept};
    enum code code = CODE_OK;
    uint64_t count;

    while (code == CODE_OK && !reader.is_short && (count = keep_read_number(&reader)) != 0)
        code = read_entry(uses, &reader, count - 1, over_us);
    plan_uses_lose(uses, (int64_t)keep_read_number(&reader));
    *kept = reader.rest;
    return code == CODE_OK && reader.is_short ? CODE_INVALID : code;
}
