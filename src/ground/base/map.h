/* SPDX-License-Identifier: Apache-2.0 */
/* A table that callers fill: in shards, bounded, with shares (base/shares.h), a keyed hash (base/hash.h), entries that lapse.
 *
 * An entry begins with a struct map_entry. Where there is no room, entries that have lapsed are dropped; others never give way.
 *
 * Threads: any; each shard has one short lock: functions that take a shard are called between map_lock and map_unlock.
 * Owns: its entries, from map_add on.
 * Lifetime: map_new to map_free; an entry until it lapses or is dropped.
 * Errors: CODE_LIMIT: more than the caller's share, or none is left; CODE_NOMEM. */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/list.h"
#include "base/shares.h"

#include <pthread.h>

struct map_entry {
    struct map_entry *next; /* in the bucket */
    struct list by_turn;    /* in the order in which entries are looked at, to see whether they have lapsed */
    uint64_t hash;
    struct share whose;
    size_t weight;          /* what it takes of the map's cap */
    int64_t lapses_us;      /* on the caller's clock: from then on the entry means no more than if it were absent */
};

struct map_conf {
    size_t cap;        /* of all shards */
    uint32_t shards, buckets;         /* powers of two; buckets of each shard */
    size_t key_at, key_bytes;         /* where the key stands in an entry */
    void (*free)(struct map_entry *); /* NULL: mem_free */
};

struct map_shard {
    pthread_mutex_t lock;
    const struct map_conf *conf;
    struct map_entry **buckets;
    struct list by_turn;
    struct shares shares;
    uint64_t count;
    uint64_t refused; /* how often there was no room */
};

struct map {
    struct map_conf conf;
    struct map_shard *shards;
    struct map_entry **buckets; /* of all shards in one block: so large, it takes no memory before it is filled */
};

enum code map_new(const struct map_conf *conf, struct map **map) MUST_USE;
void map_free(struct map **map);
void map_clear(struct map_shard *shard);

uint64_t map_hash(const struct map *map, const void *key);
struct map_shard *map_shard(const struct map *map, uint64_t hash);
void map_lock(struct map_shard *shard);
void map_unlock(struct map_shard *shard);

/* The entry with this key, or NULL. */
struct map_entry *map_find(const struct map_shard *shard, uint64_t hash, const void *key);

/* Whether `whose` may add so much more, once entries that have lapsed are dropped. Takes: spared: an entry that
 * is never dropped; or NULL. */
bool map_allows(struct map_shard *shard, struct share whose, size_t weight, const struct map_entry *spared, int64_t now_us);

/* Adds an entry. Takes: entry: with its key, whose, weight and lapses_us set; no entry has that key yet. The map owns
 * it where this returns CODE_OK. */
enum code map_add(struct map_shard *shard, uint64_t hash, struct map_entry *entry, int64_t now_us) MUST_USE;
/* Makes an entry weigh so much more, within its owner's share. */
enum code map_grow(struct map_shard *shard, struct map_entry *entry, size_t more, int64_t now_us) MUST_USE;
/* The same, and gives the entry a block of so many bytes: *entry is another pointer then. */
enum code map_resize(struct map_shard *shard, struct map_entry **entry, size_t bytes, size_t more, int64_t now_us) MUST_USE;
void map_drop(struct map_shard *shard, struct map_entry *entry);
struct map_entry *map_first(const struct map_shard *shard); /* returns any entry; NULL: there is none */

#endif
