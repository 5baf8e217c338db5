/* SPDX-License-Identifier: Apache-2.0 */
/* The tally from inside: what its files share.
 *
 * Threads: an entry and the losses of a shard under that shard's lock.
 * Owns: as tally.h says.
 * Lifetime: as tally.h says.
 * Errors: as tally.h says. */
#ifndef STATE_TALLY_PRIV_H
#define STATE_TALLY_PRIV_H

#include "base/map.h"
#include "state/tally.h"

#define TALLY_SHARDS TALLY_PARTS
#define TALLY_BUCKETS 1024
#define TALLY_BLOCK_BYTES 16  /* what the heap adds to a block, about */
#define TALLY_FIRST_ROOM 4    /* marks */
#define TALLY_LOSERS 256      /* tenants of a shard whose losses are told apart */

/* Amounts under a limit that come back together. */
struct tally_mark {
    int64_t time_us; /* of the last of it */
    uint64_t amount;
};

/* One of the different values under a limit, and when it was taken last. */
struct tally_value {
    int64_t time_us;
    struct policy_value value;
    bool is_shared; /* more than one taking may be at that time: who gives one back changes nothing */
};

struct tally_entry {
    struct map_entry base;
    unsigned char key[TALLY_KEY_BYTES];
    int64_t latest_us;
    uint64_t total;     /* of all marks */
    union {             /* NULL: only noted */
        struct tally_mark *marks;   /* a ring */
        struct tally_value *values; /* in no order */
        char *cells;
    };
    uint32_t first, count, room;
    bool of_values, of_fleet;
    int64_t refused_until_us; /* until then there is no room elsewhere, */
    uint64_t refused_amount;  /* for so much, */
    struct policy_value refused_value; /* or for this value, */
    uint64_t refused_taken;   /* where the window holds so much */
};

/* Until when a note may be missing: one of a tenant, or anybody's. Under the shard's lock. */
struct tally_losses {
    int64_t all_until_us;
    uint32_t count;
    struct {
        uint64_t tenant;
        int64_t until_us;
    } of[TALLY_LOSERS];
};

struct tally {
    struct map *map;
    struct tally_losses losses[TALLY_SHARDS];
};

struct tally_entry *tally__find(struct tally *tally, const struct tally_key *key);
/* NULL: there is no room, or no memory. */
struct tally_entry *tally__add(struct tally *tally, struct map_shard *shard, const struct tally_key *key, int64_t now_us);
bool tally__grow(struct map_shard *shard, struct tally_entry *entry, int64_t now_us); /* room for one more mark or value */
/* For so long, all questions of the tenant in this shard are answered with UNKNOWN. */
void tally__doubt(struct tally_losses *losses, uint64_t tenant, int64_t now_us, int64_t keep_us);

static inline size_t tally__cell_bytes(bool of_values)
{
    return of_values ? sizeof(struct tally_value) : sizeof(struct tally_mark);
}

/* tally_values.c: of an entry of values, under the shard's lock. NULL stands for one that has none yet. */
struct tally_value *tally__find_value(const struct tally_entry *entry, const struct policy_value *value);
void tally__forget_values(struct tally_entry *entry, int64_t gone_us); /* those taken up to then */
uint64_t tally__other_values(const struct tally_entry *entry, const struct tally_take *take);
int64_t tally__wait_for_value(const struct tally_entry *entry, const struct tally_take *take, int64_t now_us);
enum code tally__take_value(struct map_shard *shard, struct tally_entry *entry, struct tally_take *take, int64_t now_us);
void tally__give_value_back(struct tally_entry *entry, const struct tally_take *take);

static inline struct tally_mark *tally__mark(const struct tally_entry *entry, uint32_t at)
{
    return &entry->marks[(entry->first + at) % entry->room];
}

#endif
