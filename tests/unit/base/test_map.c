/* SPDX-License-Identifier: Apache-2.0 */
/* The rule of shares, and the table that keeps it. Number: 10.3 */
#include "base/map.h"

#include "base/hash.h"
#include "base/mem.h"
#include "fakes/cm.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct share who(uint64_t tenant, uint64_t principal)
{
    char names[2][20];
    int lens[2] = {snprintf(names[0], sizeof names[0], "t%llu", (unsigned long long)tenant),
                   snprintf(names[1], sizeof names[1], "p%llu", (unsigned long long)principal)};

    return share_of(span_of(names[0], (size_t)lens[0]), span_of(names[1], principal != 0 ? (size_t)lens[1] : 0));
}

static size_t take_all(struct shares *shares, struct share one)
{
    size_t taken = 0;

    while (shares_take(shares, one, 1) == CODE_OK)
        taken++;
    assert_false(shares_allow(shares, one, 1));
    return taken;
}

/* As much as each of them has is free for the next, however many take all that they can. */
TEST_CASE(test_tenants)
{
    struct shares shares;

    shares_init(&shares, 1 << 20);
    for (uint64_t n = 1; n < 12; n++) {
        size_t left = shares.cap - shares.held;

        assert_in_range(take_all(&shares, who(n, 0)), left / 2 - 1, left / 2 + 1);
    }
    shares_fini(&shares);
}

/* A principal alone a third, and never what would leave his tenant's others nothing; all of them no more than one tenant. */
TEST_CASE(test_principals)
{
    struct shares shares;
    size_t all = 0;

    shares_init(&shares, 3000);
    assert_in_range(take_all(&shares, who(1, 1)), 999, 1001);
    assert_in_range(all = take_all(&shares, who(1, 2)), 320, 340);
    for (uint64_t n = 3; n < 3000; n++)
        all += take_all(&shares, who(1, n));
    assert_in_range(shares.held, 1490, 1501);
    assert_in_range(take_all(&shares, who(2, 1)), 490, 510);
    shares_fini(&shares);
}

/* Whatever comes and goes, each account is what it holds, and who holds nothing has none. */
TEST_CASE(test_accounts)
{
    enum { WHO = 40, STEPS = 20000 };
    static size_t held[WHO];
    struct shares shares;
    uint64_t random = 7;
    size_t sum = 0;

    memset(held, 0, sizeof held);
    shares_init(&shares, 5000);
    for (int i = 0; i < STEPS; i++) {
        uint64_t one = (random = random * UINT64_C(6364136223846793005) + 1442695040888963407u) >> 33, at = one % WHO;
        struct share share = who(at / 4, at + 1);

        if ((one >> 10) % 3 != 0 && shares_take(&shares, share, one % 50) == CODE_OK) {
            held[at] += one % 50;
            sum += one % 50;
        } else {
            sum -= held[at];
            shares_give(&shares, share, held[at]);
            held[at] = 0;
        }
        assert_int_equal(shares.held, sum);
        assert_true(shares.count <= WHO + WHO / 4);
    }
    for (uint64_t at = 0; at < WHO; at++)
        shares_give(&shares, who(at / 4, at + 1), held[at]);
    assert_true(shares.held == 0 && shares.count == 0);
    shares_give(&shares, who(1, 1), 5); /* nothing of it was taken */
    assert_int_equal(shares.held, 0);
    shares_fini(&shares);
}

struct thing {
    struct map_entry base;
    uint64_t key;
    char more[];
};

static struct map *make(size_t cap, uint32_t shards)
{
    struct map *map;

    assert_ok(map_new(&(struct map_conf){.cap = cap, .shards = shards, .buckets = 16, .key_at = offsetof(struct thing, key),
                                         .key_bytes = sizeof(uint64_t)}, &map));
    return map;
}

static enum code add(struct map *map, uint64_t key, struct share whose, int64_t lapses_us, int64_t now_us)
{
    uint64_t hash = map_hash(map, &key);
    struct map_shard *shard = map_shard(map, hash);
    struct thing *thing = mem_zalloc(sizeof *thing);
    enum code code;

    thing->key = key;
    thing->base.whose = whose;
    thing->base.weight = 1;
    thing->base.lapses_us = lapses_us;
    map_lock(shard);
    code = map_add(shard, hash, &thing->base, now_us);
    map_unlock(shard);
    if (code != CODE_OK)
        mem_free(thing);
    return code;
}

static struct thing *find(struct map *map, uint64_t key)
{
    uint64_t hash = map_hash(map, &key);

    return (struct thing *)map_find(map_shard(map, hash), hash, &key);
}

TEST_CASE(test_entries)
{
    struct map *map = make(4000, 4);

    for (uint64_t key = 0; key < 1000; key++)
        assert_ok(add(map, key, who(key, 1), INT64_MAX, 0));
    for (uint64_t key = 0; key < 1000; key += 2)
        map_drop(map_shard(map, find(map, key)->base.hash), &find(map, key)->base);
    for (uint64_t key = 0; key < 1100; key++)
        assert_int_equal(find(map, key) != NULL, key < 1000 && key % 2 == 1);
    map_clear(&map->shards[0]);
    assert_null(map_first(&map->shards[0]));
    assert_int_equal(map->shards[0].shares.held, 0);
    map_free(&map);
}

/* Those whose time is over make room; others never do. */
TEST_CASE(test_lapses)
{
    struct map *map = make(100, 1);
    uint64_t key = 0;

    while (add(map, key, who(1, 0), 1000, 0) == CODE_OK)
        key++;
    assert_in_range(key, 49, 51);
    assert_true(map->shards[0].refused > 0);
    assert_int_equal(add(map, 1000, who(1, 0), 2000, 999), CODE_LIMIT);
    assert_non_null(find(map, 0));
    for (key = 1000; add(map, key, who(1, 0), 2000, 1000) == CODE_OK; key++)
        continue;
    assert_in_range(key, 1049, 1051);
    assert_null(find(map, 0));
    map_free(&map);
}

TEST_CASE(test_growing)
{
    struct map *map = make(100, 1);
    struct map_shard *shard = &map->shards[0];
    struct map_entry *entry;

    assert_ok(add(map, 1, who(1, 0), INT64_MIN, 0)); /* over already, but spared while it is the one that grows */
    entry = &find(map, 1)->base;
    assert_ok(map_grow(shard, entry, 20, 1));
    assert_ok(map_resize(shard, &entry, sizeof(struct thing) + 4096, 20, 1));
    assert_ptr_equal(entry, &find(map, 1)->base);
    memset(((struct thing *)entry)->more, 1, 4096);
    assert_int_equal(map_resize(shard, &entry, sizeof(struct thing) + 8192, 40, 1), CODE_LIMIT);
    mem_fail_at(1, 0);
    assert_int_equal(map_resize(shard, &entry, sizeof(struct thing) + 8192, 5, 1), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_true(entry->weight == 41 && shard->shares.held == 41 && find(map, 1) != NULL);
    map_free(&map);
}

TEST_CASE(test_without_memory)
{
    struct map *map;

    for (uint64_t n = 1; n <= 3; n++) {
        mem_fail_at(n, 0);
        assert_int_equal(map_new(&(struct map_conf){.cap = 1, .shards = 4, .buckets = 4}, &map), CODE_NOMEM);
        assert_null(map);
    }
    mem_fail_at(0, 0);
}

/* 10.3: what one tenant's calls fill, whichever keys they choose, another's find room in: the flood stands in turn with 50 calls. */
TEST_CASE(test_another_keeps_his_room)
{
    struct map *map = make(64 * 64, 64);
    uint64_t kept = 0;

    for (uint64_t i = 0; i < 50; i++) {
        for (uint64_t n = 0; n < 1000; n++)
            (void)!add(map, i * 1000 + n, who(1, n), INT64_MAX, 0);
        kept += add(map, UINT64_C(1) << 40 | i, who(2, 1), INT64_MAX, 0) == CODE_OK;
    }
    assert_true(kept >= 49);
    map_free(&map);
}

struct worker {
    struct map *map;
    uint64_t number;
};

static void *work(void *context)
{
    const struct worker *worker = context;

    for (uint64_t i = 0; i < 20000; i++)
        (void)!add(worker->map, i << 8 | worker->number, who(worker->number, i % 3), (int64_t)i + 100, (int64_t)i);
    return NULL;
}

TEST_CASE(test_threads)
{
    struct map *map = make(4096, 16);
    struct worker workers[4];
    pthread_t threads[4];

    for (uint64_t i = 0; i < 4; i++) {
        workers[i] = (struct worker){map, i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(map->shards[i].count, map->shards[i].shares.held);
    map_free(&map);
}

TEST_MAIN(NULL, NULL)
