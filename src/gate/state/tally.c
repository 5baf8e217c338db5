/* SPDX-License-Identifier: Apache-2.0 */
#include "state/tally_priv.h"

#include "base/mem.h"

#include <string.h>

/* Of a limit's entry. */
#define FIRST_BYTES (sizeof(struct tally_entry) + 2 * TALLY_BLOCK_BYTES + TALLY_FIRST_ROOM * sizeof(struct tally_mark))

static void forget_losses(struct tally *tally)
{
    for (size_t i = 0; i < TALLY_SHARDS; i++) {
        tally->losses[i].all_until_us = INT64_MIN;
        tally->losses[i].count = 0;
    }
}

static void free_entry(struct map_entry *base)
{
    mem_free(((struct tally_entry *)base)->marks);
    mem_free(base);
}

enum code tally_new(size_t cap_bytes, struct tally **out)
{
    const struct map_conf conf = {.cap = cap_bytes, .shards = TALLY_SHARDS, .buckets = TALLY_BUCKETS,
                                  .key_at = offsetof(struct tally_entry, key), .key_bytes = TALLY_KEY_BYTES,
                                  .free = free_entry};
    struct tally *tally = mem_zalloc(sizeof *tally);
    enum code code = tally != NULL ? map_new(&conf, &tally->map) : CODE_NOMEM;

    *out = tally;
    if (code != CODE_OK)
        tally_free(out);
    else
        forget_losses(tally);
    return code;
}

void tally_free(struct tally **tally)
{
    struct tally *gone = *tally;

    *tally = NULL;
    if (gone != NULL)
        map_free(&gone->map);
    mem_free(gone);
}

void tally_clear(struct tally *tally)
{
    for (uint32_t i = 0; i < TALLY_SHARDS; i++) {
        map_lock(&tally->map->shards[i]);
        map_clear(&tally->map->shards[i]);
        tally->losses[i].all_until_us = INT64_MIN;
        tally->losses[i].count = 0;
        map_unlock(&tally->map->shards[i]);
    }
}

/* ---- entries ---- */

static struct map_shard *shard_of(struct tally *tally, const struct tally_key *key)
{
    return map_shard(tally->map, map_hash(tally->map, key->bytes));
}

static struct map_shard *lock_shard(struct tally *tally, const struct tally_key *key)
{
    struct map_shard *shard = shard_of(tally, key);

    map_lock(shard);
    return shard;
}

struct tally_entry *tally__find(struct tally *tally, const struct tally_key *key)
{
    uint64_t hash = map_hash(tally->map, key->bytes);

    return (struct tally_entry *)map_find(map_shard(tally->map, hash), hash, key->bytes);
}

struct tally_entry *tally__add(struct tally *tally, struct map_shard *shard, const struct tally_key *key, int64_t now_us)
{
    struct tally_entry *entry = mem_zalloc(sizeof *entry);

    if (entry == NULL)
        return NULL;
    memcpy(entry->key, key->bytes, sizeof entry->key);
    entry->base.whose = key->share;
    entry->base.weight = sizeof *entry + TALLY_BLOCK_BYTES;
    entry->latest_us = INT64_MIN;
    if (map_add(shard, map_hash(tally->map, key->bytes), &entry->base, now_us) != CODE_OK) {
        mem_free(entry);
        return NULL;
    }
    return entry;
}

/* ---- limits ---- */

static void forget_old_marks(struct tally_entry *entry, int64_t per_us, int64_t now_us)
{
    while (entry->count > 0 && (tally__mark(entry, 0)->time_us <= now_us - per_us || tally__mark(entry, 0)->amount == 0)) {
        entry->total -= tally__mark(entry, 0)->amount;
        entry->first = (entry->first + 1) % entry->room;
        entry->count--;
    }
}

/* Time stands still where it would run backwards. */
static int64_t time_for(const struct tally_entry *entry, int64_t now_us)
{
    return now_us > entry->latest_us ? now_us : entry->latest_us;
}

static size_t growth_bytes(const struct tally_entry *entry)
{
    return entry->room > 0 ? entry->room * sizeof *entry->marks : TALLY_FIRST_ROOM * sizeof *entry->marks + TALLY_BLOCK_BYTES;
}

static bool is_same_stretch(int64_t per_us, int64_t a_us, int64_t b_us)
{
    return a_us / (per_us / TALLY_EXACT) == b_us / (per_us / TALLY_EXACT);
}

/* Whether what is taken now goes to the last mark. */
static bool joins(const struct tally_entry *entry, int64_t per_us, int64_t now_us)
{
    int64_t last_us = entry->count > 0 ? tally__mark(entry, entry->count - 1)->time_us : now_us - 1;

    return last_us == now_us || (entry->count >= TALLY_EXACT && is_same_stretch(per_us, last_us, now_us));
}

/* An amount that was given back may leave an empty mark. Without those there are no more marks than amounts, or stretches of
 * the window. */
static void close_gaps(struct tally_entry *entry)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < entry->count; i++)
        if (tally__mark(entry, i)->amount > 0)
            *tally__mark(entry, kept++) = *tally__mark(entry, i);
    entry->count = kept;
}

bool tally__grow(struct map_shard *shard, struct tally_entry *entry, int64_t now_us)
{
    uint32_t room = entry->room > 0 ? entry->room * 2 : TALLY_FIRST_ROOM;
    struct tally_mark *marks;

    close_gaps(entry);
    if (entry->count < entry->room)
        return true;
    marks = mem_array(room, sizeof *marks);
    if (marks == NULL || map_grow(shard, &entry->base, growth_bytes(entry), now_us) != CODE_OK) {
        mem_free(marks);
        return false;
    }
    for (uint32_t i = 0; i < entry->count; i++)
        marks[i] = *tally__mark(entry, i);
    mem_free(entry->marks);
    entry->marks = marks;
    entry->first = 0;
    entry->room = room;
    return true;
}

static bool fits(uint64_t total, const struct tally_take *take)
{
    return total <= take->most && take->amount <= take->most - total;
}

/* How long until so much has come back that it fits. What is more than `most` never fits, and is told the whole window. */
static int64_t wait_for(const struct tally_entry *entry, const struct tally_take *take, int64_t now_us)
{
    uint64_t total = entry->total;

    for (uint32_t i = 0; i < entry->count; i++) {
        total -= tally__mark(entry, i)->amount;
        if (fits(total, take))
            return tally__mark(entry, i)->time_us + take->per_us - now_us;
    }
    return take->per_us;
}

static enum policy_known has_room(struct tally *tally, struct map_shard *shard, const struct tally_take *take, int64_t now_us,
                                  int64_t *wait_us)
{
    static const struct tally_entry nobody;
    struct tally_entry *entry = tally__find(tally, &take->key);

    *wait_us = 1000000;
    if (entry != NULL) {
        now_us = time_for(entry, now_us);
        forget_old_marks(entry, take->per_us, now_us);
    }
    if (!take->beyond && !fits(entry != NULL ? entry->total : 0, take)) {
        *wait_us = wait_for(entry != NULL ? entry : &nobody, take, now_us);
        return POLICY_NO;
    }
    if (entry == NULL)
        return map_allows(shard, take->key.share, FIRST_BYTES, NULL, now_us) ? POLICY_YES : POLICY_UNKNOWN;
    if (entry->count < entry->room || joins(entry, take->per_us, now_us))
        return POLICY_YES;
    return map_allows(shard, entry->base.whose, growth_bytes(entry), &entry->base, now_us) ? POLICY_YES : POLICY_UNKNOWN;
}

enum policy_known tally_has_room(struct tally *tally, const struct tally_take *take, int64_t now_us, int64_t *wait_us)
{
    struct map_shard *shard = lock_shard(tally, &take->key);
    enum policy_known known = has_room(tally, shard, take, now_us, wait_us);

    map_unlock(shard);
    return known;
}

static enum code take_one(struct tally *tally, struct map_shard *shard, struct tally_take *take, int64_t now_us)
{
    struct tally_entry *entry = tally__find(tally, &take->key);

    if (entry == NULL)
        entry = tally__add(tally, shard, &take->key, now_us);
    if (entry == NULL)
        return CODE_NOMEM;
    now_us = time_for(entry, now_us);
    take->taken_us = now_us;
    forget_old_marks(entry, take->per_us, now_us);
    if ((!take->beyond && !fits(entry->total, take)) || take->amount > UINT64_MAX - entry->total)
        return CODE_LIMIT;
    if (take->amount == 0)
        return CODE_OK;
    if (!joins(entry, take->per_us, now_us)) {
        if (entry->count == entry->room && !tally__grow(shard, entry, now_us))
            return CODE_NOMEM;
        entry->count++;
        *tally__mark(entry, entry->count - 1) = (struct tally_mark){.amount = 0};
    }
    tally__mark(entry, entry->count - 1)->time_us = now_us;
    tally__mark(entry, entry->count - 1)->amount += take->amount;
    entry->total += take->amount;
    entry->latest_us = now_us;
    if (entry->base.lapses_us < now_us + take->per_us)
        entry->base.lapses_us = now_us + take->per_us;
    return CODE_OK;
}

/* Its mark is the first that is not older: a mark's time is that of the last that it holds. */
static void give_back(struct tally *tally, const struct tally_take *take)
{
    struct tally_entry *entry = tally__find(tally, &take->key);
    uint32_t at = entry != NULL ? entry->count : 0;

    while (at > 0 && tally__mark(entry, at - 1)->time_us >= take->taken_us)
        at--;
    if (entry != NULL && at < entry->count && is_same_stretch(take->per_us, tally__mark(entry, at)->time_us, take->taken_us) &&
        tally__mark(entry, at)->amount >= take->amount) {
        tally__mark(entry, at)->amount -= take->amount;
        entry->total -= take->amount;
    }
}

void tally_give_back(struct tally *tally, const struct tally_take *take)
{
    struct map_shard *shard = lock_shard(tally, &take->key);

    give_back(tally, take);
    map_unlock(shard);
}

/* Their shards, each once, in the order in which all threads lock them. Returns: how many. */
static uint32_t shards_of(struct tally *tally, const struct tally_take *takes, uint32_t count, struct map_shard **shards)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct map_shard *shard = shard_of(tally, &takes[i].key);
        uint32_t at = found;

        while (at > 0 && shards[at - 1] > shard)
            at--;
        if (at > 0 && shards[at - 1] == shard)
            continue;
        memmove(&shards[at + 1], &shards[at], (found - at) * sizeof(struct map_shard *));
        shards[at] = shard;
        found++;
    }
    return found;
}

enum code tally_take(struct tally *tally, struct tally_take *takes, uint32_t count, int64_t now_us)
{
    struct map_shard *shards[TALLY_TAKES_MAX + 1];
    uint32_t locked = shards_of(tally, takes, count, shards), taken = 0;
    enum code code = CODE_OK;

    for (uint32_t i = 0; i < locked; i++)
        map_lock(shards[i]);
    while (taken < count && code == CODE_OK) {
        code = take_one(tally, shard_of(tally, &takes[taken].key), &takes[taken], now_us);
        taken += code == CODE_OK;
    }
    for (uint32_t i = 0; i < taken && code != CODE_OK; i++)
        give_back(tally, &takes[i]);
    for (uint32_t i = 0; i < locked; i++)
        map_unlock(shards[i]);
    return code;
}

/* ---- notes ---- */

static struct tally_losses *losses_of(struct tally *tally, const struct map_shard *shard)
{
    return &tally->losses[shard - tally->map->shards];
}

static void set_later(int64_t *until_us, int64_t last_us)
{
    if (*until_us <= last_us)
        *until_us = last_us + 1;
}

/* Where more tenants have lost something than are told apart, all have. */
void tally__doubt(struct tally_losses *losses, uint64_t tenant, int64_t now_us, int64_t keep_us)
{
    uint32_t at = 0;

    while (at < losses->count && losses->of[at].tenant != tenant && losses->of[at].until_us > now_us)
        at++;
    if (at == TALLY_LOSERS) {
        set_later(&losses->all_until_us, now_us + keep_us);
        return;
    }
    if (at == losses->count || losses->of[at].tenant != tenant)
        losses->of[at].until_us = INT64_MIN;
    losses->of[at].tenant = tenant;
    losses->count += at == losses->count;
    set_later(&losses->of[at].until_us, now_us + keep_us);
}

static bool is_in_doubt(const struct tally_losses *losses, uint64_t tenant, int64_t now_us)
{
    bool is_lost = now_us < losses->all_until_us;

    for (uint32_t i = 0; i < losses->count && !is_lost; i++)
        is_lost = losses->of[i].tenant == tenant && now_us < losses->of[i].until_us;
    return is_lost;
}

void tally_note(struct tally *tally, const struct tally_key *key, int64_t now_us, int64_t keep_us)
{
    struct map_shard *shard = lock_shard(tally, key);
    struct tally_entry *entry = tally__find(tally, key);

    if (entry == NULL)
        entry = tally__add(tally, shard, key, now_us);
    if (entry != NULL) {
        entry->latest_us = time_for(entry, now_us);
        set_later(&entry->base.lapses_us, entry->latest_us + keep_us);
    } else {
        tally__doubt(losses_of(tally, shard), key->tenant, now_us, keep_us);
    }
    map_unlock(shard);
}

void tally_doubt(struct tally *tally, const struct tally_key *key, int64_t now_us, int64_t keep_us)
{
    struct map_shard *shard = lock_shard(tally, key);

    tally__doubt(losses_of(tally, shard), key->tenant, now_us, keep_us);
    map_unlock(shard);
}

void tally_doubt_all(struct tally *tally, int64_t now_us, int64_t keep_us)
{
    for (size_t i = 0; i < TALLY_SHARDS; i++) {
        map_lock(&tally->map->shards[i]);
        set_later(&tally->losses[i].all_until_us, now_us + keep_us);
        map_unlock(&tally->map->shards[i]);
    }
}

enum policy_known tally_was_noted(struct tally *tally, const struct tally_key *key, int64_t now_us, int64_t within_us)
{
    struct map_shard *shard = lock_shard(tally, key);
    const struct tally_entry *entry = tally__find(tally, key);
    enum policy_known known = is_in_doubt(losses_of(tally, shard), key->tenant, now_us) ? POLICY_UNKNOWN : POLICY_NO;

    if (entry != NULL && now_us - entry->latest_us <= within_us)
        known = POLICY_YES;
    map_unlock(shard);
    return known;
}

void tally_stats(struct tally *tally, struct tally_stats *stats)
{
    *stats = (struct tally_stats){0};
    for (size_t i = 0; i < TALLY_SHARDS; i++) {
        struct map_shard *shard = &tally->map->shards[i];

        map_lock(shard);
        stats->keys += shard->count;
        stats->bytes += shard->shares.held;
        stats->refused += shard->refused;
        map_unlock(shard);
    }
}
