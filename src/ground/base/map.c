/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include "base/lock.h"
#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

#define SWEEP_EACH 4   /* looked at for each new entry; more than one, so that lapsed ones go faster than new ones come */
#define SWEEP_FULL 256 /* likewise where there is no room */

enum code map_new(const struct map_conf *conf, struct map **out)
{
    struct map *map = mem_zalloc(sizeof *map);

    *out = map;
    if (map == NULL)
        return CODE_NOMEM;
    map->conf = *conf;
    hash_seed();
    map->buckets = mem_array((size_t)conf->shards * conf->buckets, sizeof(struct map_entry *));
    map->shards = map->buckets != NULL ? mem_array(conf->shards, sizeof *map->shards) : NULL;
    if (map->shards == NULL) {
        map_free(out);
        return CODE_NOMEM;
    }
    for (uint32_t i = 0; i < conf->shards; i++) {
        struct map_shard *shard = &map->shards[i];

        lock_init(&shard->lock);
        shard->conf = &map->conf;
        list_init(&shard->by_turn);
        shares_init(&shard->shares, conf->cap / conf->shards);
        shard->buckets = map->buckets + (size_t)i * conf->buckets;
    }
    return CODE_OK;
}

void map_free(struct map **map)
{
    struct map *gone = *map;

    *map = NULL;
    if (gone == NULL)
        return;
    for (uint32_t i = 0; gone->shards != NULL && i < gone->conf.shards; i++) {
        map_clear(&gone->shards[i]);
        shares_fini(&gone->shards[i].shares);
        pthread_mutex_destroy(&gone->shards[i].lock);
    }
    mem_free((void *)gone->buckets);
    mem_free(gone->shards);
    mem_free(gone);
}

uint64_t map_hash(const struct map *map, const void *key)
{
    return hash_bytes(key, map->conf.key_bytes);
}

struct map_shard *map_shard(const struct map *map, uint64_t hash)
{
    return &map->shards[hash & (map->conf.shards - 1)];
}

void map_lock(struct map_shard *shard)
{
    lock_take(&shard->lock);
}

void map_unlock(struct map_shard *shard)
{
    lock_give(&shard->lock);
}

/* ---- entries ---- */

static struct map_entry **bucket_of(const struct map_shard *shard, uint64_t hash)
{
    return &shard->buckets[(hash >> 32) & (shard->conf->buckets - 1)];
}

struct map_entry *map_find(const struct map_shard *shard, uint64_t hash, const void *key)
{
    struct map_entry *entry = *bucket_of(shard, hash);

    while (entry != NULL && (entry->hash != hash ||
                             memcmp((char *)entry + shard->conf->key_at, key, shard->conf->key_bytes) != 0))
        entry = entry->next;
    return entry;
}

static void link_in(struct map_shard *shard, struct map_entry *entry)
{
    struct map_entry **bucket = bucket_of(shard, entry->hash);

    entry->next = *bucket;
    *bucket = entry;
    list_append(&shard->by_turn, &entry->by_turn);
}

static void take_out(struct map_shard *shard, struct map_entry *entry)
{
    struct map_entry **at = bucket_of(shard, entry->hash);

    while (*at != entry)
        at = &(*at)->next;
    *at = entry->next;
    list_remove(&entry->by_turn);
}

void map_drop(struct map_shard *shard, struct map_entry *entry)
{
    take_out(shard, entry);
    shares_give(&shard->shares, entry->whose, entry->weight);
    shard->count--;
    if (shard->conf->free != NULL)
        shard->conf->free(entry);
    else
        mem_free(entry);
}

struct map_entry *map_first(const struct map_shard *shard)
{
    return list_is_empty(&shard->by_turn) ? NULL : LIST_ENTRY(shard->by_turn.next, struct map_entry, by_turn);
}

void map_clear(struct map_shard *shard)
{
    struct map_entry *entry;

    while ((entry = map_first(shard)) != NULL)
        map_drop(shard, entry);
}

/* ---- room ---- */

/* Looks at entries in turn and drops those that have lapsed; the others go to the end of the row. */
static void sweep(struct map_shard *shard, const struct map_entry *spared, int64_t now_us, unsigned most)
{
    for (unsigned i = 0; i < most && !list_is_empty(&shard->by_turn); i++) {
        struct map_entry *entry = map_first(shard);

        if (entry != spared && entry->lapses_us <= now_us) {
            map_drop(shard, entry);
            continue;
        }
        list_remove(&entry->by_turn);
        list_append(&shard->by_turn, &entry->by_turn);
    }
}

bool map_allows(struct map_shard *shard, struct share whose, size_t weight, const struct map_entry *spared, int64_t now_us)
{
    if (!shares_allow(&shard->shares, whose, weight))
        sweep(shard, spared, now_us, SWEEP_FULL);
    if (shares_allow(&shard->shares, whose, weight))
        return true;
    shard->refused++;
    return false;
}

static enum code take(struct map_shard *shard, struct share whose, size_t weight, const struct map_entry *spared,
                      int64_t now_us)
{
    return map_allows(shard, whose, weight, spared, now_us) ? shares_take(&shard->shares, whose, weight) : CODE_LIMIT;
}

enum code map_add(struct map_shard *shard, uint64_t hash, struct map_entry *entry, int64_t now_us)
{
    enum code code;

    sweep(shard, NULL, now_us, SWEEP_EACH);
    code = take(shard, entry->whose, entry->weight, NULL, now_us);
    if (code != CODE_OK)
        return code;
    entry->hash = hash;
    link_in(shard, entry);
    shard->count++;
    return CODE_OK;
}

enum code map_grow(struct map_shard *shard, struct map_entry *entry, size_t more, int64_t now_us)
{
    enum code code = take(shard, entry->whose, more, entry, now_us);

    if (code == CODE_OK)
        entry->weight += more;
    return code;
}

enum code map_resize(struct map_shard *shard, struct map_entry **entry, size_t bytes, size_t more, int64_t now_us)
{
    enum code code = map_grow(shard, *entry, more, now_us);
    struct map_entry *longer;

    if (code != CODE_OK)
        return code;
    take_out(shard, *entry);
    longer = mem_resize(*entry, bytes);
    if (longer == NULL) {
        (*entry)->weight -= more;
        shares_give(&shard->shares, (*entry)->whose, more);
        code = CODE_NOMEM;
    } else {
        *entry = longer;
    }
    link_in(shard, *entry);
    return code;
}
