/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/tally.h"

#include "base/bug.h"
#include "base/list.h"
#include "base/mem.h"

#include <pthread.h>
#include <string.h>

#define SHARDS 64
#define BUCKETS 1024    /* of a shard */
#define SWEEP_EACH 4    /* entries looked at for every new one: more than come, so that those whose time is over go */
#define SWEEP_FULL 256  /* and where there is no room */
#define BLOCK_BYTES 16  /* what the heap adds to a block, about */
#define FIRST_ROOM 4    /* marks */

/* What comes back together. */
struct mark {
    int64_t time_us; /* of the last of it */
    uint64_t amount;
};

struct entry {
    struct list by_turn;
    struct entry *next; /* in the bucket */
    struct tally_key key;
    int64_t latest_us;
    int64_t expires_us; /* from then on it says no more than its absence */
    uint64_t total;     /* of all marks */
    struct mark *marks; /* a ring; NULL: only noted */
    uint32_t first, count, room;
};

#define FIRST_BYTES (sizeof(struct entry) + 2 * BLOCK_BYTES + FIRST_ROOM * sizeof(struct mark)) /* of a limit's entry */

struct shard {
    pthread_mutex_t lock;
    struct list by_turn; /* whom the sweep looks at next, first */
    struct entry *buckets[BUCKETS];
    uint64_t keys, refused;
    size_t bytes;
    size_t of_owner[TALLY_OWNERS];
    int64_t lost_until_us[TALLY_OWNERS]; /* until then a note may be missing */
};

struct tally {
    size_t cap_bytes; /* of one shard */
    struct shard shards[SHARDS];
};

static void forget_losses(struct shard *shard)
{
    for (size_t i = 0; i < TALLY_OWNERS; i++)
        shard->lost_until_us[i] = INT64_MIN;
}

enum code tally_new(size_t cap_bytes, struct tally **out)
{
    struct tally *tally = mem_zalloc(sizeof *tally);

    *out = tally;
    if (tally == NULL)
        return CODE_NOMEM;
    tally->cap_bytes = cap_bytes / SHARDS;
    for (size_t i = 0; i < SHARDS; i++) {
        BUG_ON(pthread_mutex_init(&tally->shards[i].lock, NULL) != 0);
        forget_losses(&tally->shards[i]);
        list_init(&tally->shards[i].by_turn);
    }
    return CODE_OK;
}

static size_t bytes_of(const struct entry *entry)
{
    return sizeof *entry + BLOCK_BYTES + (entry->room > 0 ? entry->room * sizeof *entry->marks + BLOCK_BYTES : 0);
}

static void weigh(struct shard *shard, const struct entry *entry, bool comes)
{
    size_t bytes = comes ? bytes_of(entry) : 0 - bytes_of(entry);

    shard->bytes += bytes;
    shard->of_owner[entry->key.owner] += bytes;
}

static uint64_t number_of(const struct tally_key *key)
{
    uint64_t number;

    memcpy(&number, key->bytes, sizeof number);
    return number;
}

static struct entry **place_of(struct shard *shard, const struct tally_key *key)
{
    struct entry **at = &shard->buckets[number_of(key) / SHARDS % BUCKETS];

    while (*at != NULL && memcmp(&(*at)->key, key, sizeof *key) != 0)
        at = &(*at)->next;
    return at;
}

static void drop(struct shard *shard, struct entry *entry)
{
    *place_of(shard, &entry->key) = entry->next;
    list_remove(&entry->by_turn);
    weigh(shard, entry, false);
    shard->keys--;
    mem_free(entry->marks);
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
    forget_losses(shard);
}

void tally_free(struct tally **tally)
{
    struct tally *gone = *tally;

    *tally = NULL;
    if (gone == NULL)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        clear(&gone->shards[i]);
        pthread_mutex_destroy(&gone->shards[i].lock);
    }
    mem_free(gone);
}

static struct shard *shard_of(struct tally *tally, const struct tally_key *key)
{
    return &tally->shards[number_of(key) % SHARDS];
}

static struct shard *lock_shard(struct tally *tally, const struct tally_key *key)
{
    struct shard *shard = shard_of(tally, key);

    BUG_ON(pthread_mutex_lock(&shard->lock) != 0);
    return shard;
}

static void unlock_shard(struct shard *shard)
{
    BUG_ON(pthread_mutex_unlock(&shard->lock) != 0);
}

void tally_clear(struct tally *tally)
{
    for (size_t i = 0; i < SHARDS; i++) {
        BUG_ON(pthread_mutex_lock(&tally->shards[i].lock) != 0);
        clear(&tally->shards[i]);
        unlock_shard(&tally->shards[i]);
    }
}

/* ---- room ---- */

/* Whoever still counts goes to the end of the row and stays. */
static void sweep(struct shard *shard, const struct entry *spared, int64_t now_us, unsigned most)
{
    for (unsigned i = 0; i < most && !list_is_empty(&shard->by_turn); i++) {
        struct entry *entry = first_by_turn(shard);

        if (entry != spared && entry->expires_us <= now_us) {
            drop(shard, entry);
            continue;
        }
        list_remove(&entry->by_turn);
        list_append(&shard->by_turn, &entry->by_turn);
    }
}

static bool has_bytes(const struct tally *tally, const struct shard *shard, uint32_t owner, size_t bytes)
{
    return shard->bytes + bytes <= tally->cap_bytes && shard->of_owner[owner] + bytes <= tally->cap_bytes - shard->bytes;
}

static bool makes_room(struct tally *tally, struct shard *shard, const struct entry *spared, uint32_t owner, size_t bytes,
                       int64_t now_us)
{
    if (!has_bytes(tally, shard, owner, bytes))
        sweep(shard, spared, now_us, SWEEP_FULL);
    if (has_bytes(tally, shard, owner, bytes))
        return true;
    shard->refused++;
    return false;
}

static struct entry *add_entry(struct tally *tally, struct shard *shard, const struct tally_key *key, int64_t now_us)
{
    struct entry *entry, **at;

    sweep(shard, NULL, now_us, SWEEP_EACH);
    if (!makes_room(tally, shard, NULL, key->owner, sizeof *entry + BLOCK_BYTES, now_us))
        return NULL;
    entry = mem_zalloc(sizeof *entry);
    if (entry == NULL)
        return NULL;
    entry->key = *key;
    entry->latest_us = INT64_MIN;
    at = place_of(shard, key);
    *at = entry;
    list_append(&shard->by_turn, &entry->by_turn);
    weigh(shard, entry, true);
    shard->keys++;
    return entry;
}

/* ---- limits ---- */

static struct mark *mark_at(const struct entry *entry, uint32_t at)
{
    return &entry->marks[(entry->first + at) % entry->room];
}

static void forget_old_marks(struct entry *entry, int64_t per_us, int64_t now_us)
{
    while (entry->count > 0 && (mark_at(entry, 0)->time_us <= now_us - per_us || mark_at(entry, 0)->amount == 0)) {
        entry->total -= mark_at(entry, 0)->amount;
        entry->first = (entry->first + 1) % entry->room;
        entry->count--;
    }
}

/* Time stands still where it would run backwards. */
static int64_t time_for(const struct entry *entry, int64_t now_us)
{
    return now_us > entry->latest_us ? now_us : entry->latest_us;
}

static size_t growth_bytes(const struct entry *entry)
{
    size_t marks = entry->room > 0 ? entry->room : FIRST_ROOM;

    return marks * sizeof *entry->marks + BLOCK_BYTES;
}

static bool is_same_stretch(int64_t per_us, int64_t a_us, int64_t b_us)
{
    return a_us / (per_us / TALLY_EXACT) == b_us / (per_us / TALLY_EXACT);
}

/* Whether what is taken now goes to the last mark. */
static bool joins(const struct entry *entry, int64_t per_us, int64_t now_us)
{
    int64_t last_us = entry->count > 0 ? mark_at(entry, entry->count - 1)->time_us : now_us - 1;

    return last_us == now_us || (entry->count >= TALLY_EXACT && is_same_stretch(per_us, last_us, now_us));
}

/* Given back, an amount leaves an empty mark: without them there are no more marks than amounts, or stretches of the window. */
static void close_gaps(struct entry *entry)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < entry->count; i++)
        if (mark_at(entry, i)->amount > 0)
            *mark_at(entry, kept++) = *mark_at(entry, i);
    entry->count = kept;
}

static bool grow(struct tally *tally, struct shard *shard, struct entry *entry, int64_t now_us)
{
    uint32_t room = entry->room > 0 ? entry->room * 2 : FIRST_ROOM;
    struct mark *marks;

    close_gaps(entry);
    if (entry->count < entry->room)
        return true;
    if (!makes_room(tally, shard, entry, entry->key.owner, growth_bytes(entry), now_us))
        return false;
    marks = mem_array(room, sizeof *marks);
    if (marks == NULL)
        return false;
    for (uint32_t i = 0; i < entry->count; i++)
        marks[i] = *mark_at(entry, i);
    weigh(shard, entry, false);
    mem_free(entry->marks);
    entry->marks = marks;
    entry->first = 0;
    entry->room = room;
    weigh(shard, entry, true);
    return true;
}

static bool fits(uint64_t total, const struct tally_take *take)
{
    return total <= take->most && take->amount <= take->most - total;
}

/* Until so much has come back that it fits; what is more than all can never be, and is told the whole window. */
static int64_t wait_for(const struct entry *entry, const struct tally_take *take, int64_t now_us)
{
    uint64_t total = entry->total;

    for (uint32_t i = 0; i < entry->count; i++) {
        total -= mark_at(entry, i)->amount;
        if (fits(total, take))
            return mark_at(entry, i)->time_us + take->per_us - now_us;
    }
    return take->per_us;
}

static enum policy_known has_room(struct tally *tally, struct shard *shard, const struct tally_take *take, int64_t now_us,
                                  int64_t *wait_us)
{
    static const struct entry nobody;
    struct entry *entry = *place_of(shard, &take->key);

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
        return makes_room(tally, shard, NULL, take->key.owner, FIRST_BYTES, now_us) ? POLICY_YES : POLICY_UNKNOWN;
    if (entry->count < entry->room || joins(entry, take->per_us, now_us))
        return POLICY_YES;
    return makes_room(tally, shard, entry, entry->key.owner, growth_bytes(entry), now_us) ? POLICY_YES : POLICY_UNKNOWN;
}

enum policy_known tally_has_room(struct tally *tally, const struct tally_take *take, int64_t now_us, int64_t *wait_us)
{
    struct shard *shard = lock_shard(tally, &take->key);
    enum policy_known known = has_room(tally, shard, take, now_us, wait_us);

    unlock_shard(shard);
    return known;
}

static enum code take_one(struct tally *tally, struct shard *shard, struct tally_take *take, int64_t now_us)
{
    struct entry *entry = *place_of(shard, &take->key);

    if (entry == NULL)
        entry = add_entry(tally, shard, &take->key, now_us);
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
        if (entry->count == entry->room && !grow(tally, shard, entry, now_us))
            return CODE_NOMEM;
        entry->count++;
        *mark_at(entry, entry->count - 1) = (struct mark){.amount = 0};
    }
    mark_at(entry, entry->count - 1)->time_us = now_us;
    mark_at(entry, entry->count - 1)->amount += take->amount;
    entry->total += take->amount;
    entry->latest_us = now_us;
    if (entry->expires_us < now_us + take->per_us)
        entry->expires_us = now_us + take->per_us;
    return CODE_OK;
}

/* Its mark is the first that is not older: a mark's time is that of the last that it holds. */
static void give_back(struct shard *shard, const struct tally_take *take)
{
    struct entry *entry = *place_of(shard, &take->key);
    uint32_t at = entry != NULL ? entry->count : 0;

    while (at > 0 && mark_at(entry, at - 1)->time_us >= take->taken_us)
        at--;
    if (entry != NULL && at < entry->count && is_same_stretch(take->per_us, mark_at(entry, at)->time_us, take->taken_us) &&
        mark_at(entry, at)->amount >= take->amount) {
        mark_at(entry, at)->amount -= take->amount;
        entry->total -= take->amount;
    }
}

void tally_give_back(struct tally *tally, const struct tally_take *take)
{
    struct shard *shard = lock_shard(tally, &take->key);

    give_back(shard, take);
    unlock_shard(shard);
}

/* Their shards, each once, in the order in which all threads lock them. Returns: how many. */
static uint32_t shards_of(struct tally *tally, const struct tally_take *takes, uint32_t count, struct shard **shards)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct shard *shard = shard_of(tally, &takes[i].key);
        uint32_t at = found;

        while (at > 0 && shards[at - 1] > shard)
            at--;
        if (at > 0 && shards[at - 1] == shard)
            continue;
        memmove(&shards[at + 1], &shards[at], (found - at) * sizeof(struct shard *));
        shards[at] = shard;
        found++;
    }
    return found;
}

enum code tally_take(struct tally *tally, struct tally_take *takes, uint32_t count, int64_t now_us)
{
    struct shard *shards[TALLY_TAKES_MAX + 1];
    uint32_t locked = shards_of(tally, takes, count, shards), taken = 0;
    enum code code = CODE_OK;

    for (uint32_t i = 0; i < locked; i++)
        BUG_ON(pthread_mutex_lock(&shards[i]->lock) != 0);
    while (taken < count && code == CODE_OK) {
        code = take_one(tally, shard_of(tally, &takes[taken].key), &takes[taken], now_us);
        taken += code == CODE_OK;
    }
    for (uint32_t i = 0; i < taken && code != CODE_OK; i++)
        give_back(shard_of(tally, &takes[i].key), &takes[i]);
    for (uint32_t i = 0; i < locked; i++)
        unlock_shard(shards[i]);
    return code;
}

/* ---- notes ---- */

static void doubt(struct shard *shard, uint32_t owner, int64_t now_us, int64_t keep_us)
{
    if (shard->lost_until_us[owner] <= now_us + keep_us)
        shard->lost_until_us[owner] = now_us + keep_us + 1;
}

void tally_note(struct tally *tally, const struct tally_key *key, int64_t now_us, int64_t keep_us)
{
    struct shard *shard = lock_shard(tally, key);
    struct entry *entry = *place_of(shard, key);

    if (entry == NULL)
        entry = add_entry(tally, shard, key, now_us);
    if (entry != NULL) {
        entry->latest_us = time_for(entry, now_us);
        if (entry->expires_us <= entry->latest_us + keep_us)
            entry->expires_us = entry->latest_us + keep_us + 1;
    } else {
        doubt(shard, key->owner, now_us, keep_us);
    }
    unlock_shard(shard);
}

void tally_doubt(struct tally *tally, const struct tally_key *key, int64_t now_us, int64_t keep_us)
{
    struct shard *shard = lock_shard(tally, key);

    doubt(shard, key->owner, now_us, keep_us);
    unlock_shard(shard);
}

void tally_doubt_all(struct tally *tally, int64_t now_us, int64_t keep_us)
{
    for (size_t i = 0; i < SHARDS; i++) {
        BUG_ON(pthread_mutex_lock(&tally->shards[i].lock) != 0);
        for (uint32_t owner = 0; owner < TALLY_OWNERS; owner++)
            doubt(&tally->shards[i], owner, now_us, keep_us);
        unlock_shard(&tally->shards[i]);
    }
}

enum policy_known tally_was_noted(struct tally *tally, const struct tally_key *key, int64_t now_us, int64_t within_us)
{
    struct shard *shard = lock_shard(tally, key);
    const struct entry *entry = *place_of(shard, key);
    enum policy_known known = now_us < shard->lost_until_us[key->owner] ? POLICY_UNKNOWN : POLICY_NO;

    if (entry != NULL && now_us - entry->latest_us <= within_us)
        known = POLICY_YES;
    unlock_shard(shard);
    return known;
}

void tally_stats(struct tally *tally, struct tally_stats *stats)
{
    *stats = (struct tally_stats){0};
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = &tally->shards[i];

        BUG_ON(pthread_mutex_lock(&shard->lock) != 0);
        stats->keys += shard->keys;
        stats->bytes += shard->bytes;
        stats->refused += shard->refused;
        unlock_shard(shard);
    }
}
