/* SPDX-License-Identifier: Apache-2.0 */
#include "state/tally_priv.h"

#include "base/mem.h"

#include <string.h>

static void forget_losses(struct tally *tally)
{
    for (size_t i = 0; i < TALLY_SHARDS; i++) {
        tally->losses[i].all_until_us = INT64_MIN;
        tally->losses[i].count = 0;
    }
}

static void free_entry(struct map_entry *base)
{
    mem_free(((struct tally_entry *)base)->cells);
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

static void forget_old(struct tally_entry *entry, int64_t per_us, int64_t now_us)
{
    if (entry->of_values) {
        tally__forget_values(entry, now_us - per_us);
        return;
    }
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

static size_t growth_bytes(const struct tally_entry *entry, bool of_values)
{
    size_t bytes = tally__cell_bytes(of_values);

    return entry != NULL && entry->room > 0 ? entry->room * bytes : TALLY_FIRST_ROOM * bytes + TALLY_BLOCK_BYTES;
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
    size_t bytes = tally__cell_bytes(entry->of_values);
    char *cells;

    if (!entry->of_values)
        close_gaps(entry);
    if (entry->count < entry->room)
        return true;
    cells = mem_array(room, bytes);
    if (cells == NULL || map_grow(shard, &entry->base, growth_bytes(entry, entry->of_values), now_us) != CODE_OK) {
        mem_free(cells);
        return false;
    }
    for (uint32_t i = 0; i < entry->count; i++)
        memcpy(cells + i * bytes, entry->cells + (entry->first + i) % entry->room * bytes, bytes);
    mem_free(entry->cells);
    entry->cells = cells;
    entry->first = 0;
    entry->room = room;
    return true;
}

static bool fits(uint64_t total, const struct tally_take *take)
{
    return total <= take->most && take->amount <= take->most - total;
}

/* What the window's takings leave no room for. */
static uint64_t total_beside(const struct tally_entry *entry, const struct tally_take *take)
{
    if (entry == NULL)
        return 0;
    return take->of_values ? tally__other_values(entry, take) : entry->total;
}

/* How long until so much has come back that it fits. What is more than `most` never fits, and is told the whole window. */
static int64_t wait_for(const struct tally_entry *entry, const struct tally_take *take, int64_t now_us)
{
    uint64_t total = entry->total;

    if (take->of_values)
        return tally__wait_for_value(entry, take, now_us);

    for (uint32_t i = 0; i < entry->count; i++) {
        total -= tally__mark(entry, i)->amount;
        if (fits(total, take))
            return tally__mark(entry, i)->time_us + take->per_us - now_us;
    }
    return take->per_us;
}

/* Whether it needs no further mark or value. */
static bool has_cell(const struct tally_entry *entry, const struct tally_take *take, int64_t now_us)
{
    if (entry->count < entry->room)
        return true;
    return take->of_values ? tally__find_value(entry, &take->value) != NULL : joins(entry, take->per_us, now_us);
}

static bool is_refused(const struct tally_entry *entry, const struct tally_take *take, int64_t now_us)
{
    return entry != NULL && now_us < entry->refused_until_us && !take->beyond &&
           (take->of_values ? memcmp(&entry->refused_value, &take->value, sizeof take->value) == 0
                            : take->amount >= entry->refused_amount);
}

static enum policy_known has_room(struct tally *tally, struct map_shard *shard, const struct tally_take *take, int64_t now_us,
                                  struct policy_room *room)
{
    static const struct tally_entry nobody;
    struct tally_entry *entry = tally__find(tally, &take->key);
    size_t first_bytes = sizeof *entry + TALLY_BLOCK_BYTES + growth_bytes(NULL, take->of_values);
    uint64_t beside;

    *room = (struct policy_room){.wait_us = 1000000};
    if (entry != NULL) {
        now_us = time_for(entry, now_us);
        forget_old(entry, take->per_us, now_us);
    }
    beside = total_beside(entry, take);
    room->has_value = entry != NULL && take->of_values && entry->count > beside;
    room->taken = beside + room->has_value;
    if (!take->beyond && !fits(beside, take)) {
        room->wait_us = wait_for(entry != NULL ? entry : &nobody, take, now_us);
        return POLICY_NO;
    }
    if (is_refused(entry, take, now_us) && !room->has_value) {
        room->taken = entry->refused_taken > room->taken ? entry->refused_taken : room->taken;
        room->wait_us = entry->refused_until_us - now_us;
        return POLICY_NO;
    }
    if (entry == NULL)
        return map_allows(shard, take->key.share, first_bytes, NULL, now_us) ? POLICY_YES : POLICY_UNKNOWN;
    if (has_cell(entry, take, now_us))
        return POLICY_YES;
    return map_allows(shard, entry->base.whose, growth_bytes(entry, take->of_values), &entry->base, now_us) ? POLICY_YES
                                                                                                            : POLICY_UNKNOWN;
}

enum policy_known tally_has_room(struct tally *tally, const struct tally_take *take, int64_t now_us, struct policy_room *room)
{
    struct map_shard *shard = lock_shard(tally, &take->key);
    enum policy_known known = has_room(tally, shard, take, now_us, room);

    map_unlock(shard);
    return known;
}

static enum code add_mark(struct map_shard *shard, struct tally_entry *entry, struct tally_take *take, int64_t now_us)
{
    if (take->amount > UINT64_MAX - entry->total)
        return CODE_LIMIT;
    if (!joins(entry, take->per_us, now_us)) {
        if (entry->count == entry->room && !tally__grow(shard, entry, now_us))
            return CODE_NOMEM;
        entry->count++;
        *tally__mark(entry, entry->count - 1) = (struct tally_mark){.amount = 0};
    }
    tally__mark(entry, entry->count - 1)->time_us = now_us;
    tally__mark(entry, entry->count - 1)->amount += take->amount;
    entry->total += take->amount;
    return CODE_OK;
}

static enum code take_one(struct tally *tally, struct map_shard *shard, struct tally_take *take, int64_t now_us)
{
    struct tally_entry *entry = tally__find(tally, &take->key);
    bool is_beyond;
    enum code code;

    if (entry == NULL && (entry = tally__add(tally, shard, &take->key, now_us)) != NULL)
        entry->of_values = take->of_values;
    if (entry == NULL)
        return CODE_NOMEM;
    entry->of_fleet = take->of_fleet;
    now_us = time_for(entry, now_us);
    take->taken_us = now_us;
    forget_old(entry, take->per_us, now_us);
    is_beyond = !fits(total_beside(entry, take), take);
    if (is_beyond && !take->beyond && !take->is_past)
        return CODE_LIMIT;
    if (take->of_values && is_beyond && !take->is_past) {
        take->taken_us = INT64_MIN; /* so that nothing is given back */
        return CODE_OK;
    }
    if (take->amount == 0)
        return CODE_OK;
    code = (take->of_values ? tally__take_value : add_mark)(shard, entry, take, now_us);
    if (code != CODE_OK)
        return code;
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

    if (take->of_values) {
        tally__give_value_back(entry, take);
        return;
    }
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

/* Sets shards: those of the takes, each once, in the order in which all threads lock them. Returns: how many. */
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
