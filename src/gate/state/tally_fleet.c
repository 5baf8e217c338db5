/* SPDX-License-Identifier: Apache-2.0 */
/* What a tally has to do with a fleet's: where that has no room, and what of it this node has used. */
#include "state/tally_priv.h"
#include "wish/wish.h"

#include <string.h>

/* An entry that went meanwhile is not made again: whoever asks next asks the fleet. */
void tally_refuse(struct tally *tally, const struct tally_take *take, int64_t now_us, int64_t wait_us, uint64_t taken)
{
    struct map_shard *shard = map_shard(tally->map, map_hash(tally->map, take->key.bytes));
    struct tally_entry *entry;

    map_lock(shard);
    entry = tally__find(tally, &take->key);
    if (entry != NULL) {
        now_us = now_us > entry->latest_us ? now_us : entry->latest_us;
        entry->refused_until_us = now_us + wait_us;
        entry->refused_amount = take->amount;
        entry->refused_value = take->value;
        entry->refused_taken = taken;
    }
    map_unlock(shard);
}

#define SETTLED_US (2 * WISH_WAIT_US) /* by then a use was given or was not */
#define PART_OFF 32 /* a part of the window: so much faster the fleet's time may go, and marks of a 256th come back together */

uint64_t tally_settled(struct tally *tally, const struct tally_take *take)
{
    int64_t first_us = take->taken_us - take->per_us + take->per_us / PART_OFF + SETTLED_US;
    struct map_shard *shard = map_shard(tally->map, map_hash(tally->map, take->key.bytes));
    const struct tally_entry *entry;
    uint64_t settled = 0;

    map_lock(shard);
    entry = tally__find(tally, &take->key);
    for (uint32_t i = 0; entry != NULL && i < entry->count; i++)
        if (tally__mark(entry, i)->time_us > first_us && tally__mark(entry, i)->time_us <= take->taken_us - SETTLED_US)
            settled += tally__mark(entry, i)->amount;
    map_unlock(shard);
    return settled;
}

static void write_cell(const struct tally_entry *entry, uint32_t at, int64_t now_us, struct buf *out)
{
    int64_t time_us = entry->of_values ? entry->values[at].time_us : tally__mark(entry, at)->time_us;
    /* a record's time is that of judging, behind which the fleet was asked */
    int64_t age_us = now_us - time_us - WISH_WAIT_US - WISH_SEEN_US;
    struct wish_told told = {.age_us = age_us > 0 ? age_us : 0,
                             .take = {.kind = entry->of_values ? WISH_VALUE : WISH_AMOUNT, .amount = 1,
                                      .per_us = entry->base.lapses_us - entry->latest_us}};

    memcpy(told.take.key, entry->key, TALLY_KEY_BYTES);
    if (entry->of_values)
        memcpy(told.take.key + TALLY_KEY_BYTES, &entry->values[at].value, sizeof entry->values[at].value);
    else
        told.take.amount = tally__mark(entry, at)->amount;
    if (told.age_us < told.take.per_us && told.take.amount > 0)
        (void)buf_add(out, &told, sizeof told);
}

void tally_write_uses(struct tally *tally, uint32_t part, int64_t now_us, struct buf *out)
{
    struct map_shard *shard = &tally->map->shards[part];

    map_lock(shard);
    for (const struct list *at = shard->by_turn.next; at != &shard->by_turn; at = at->next) {
        const struct tally_entry *entry = (const struct tally_entry *)LIST_ENTRY(at, struct map_entry, by_turn);

        for (uint32_t i = 0; entry->of_fleet && i < entry->count; i++)
            write_cell(entry, i, now_us, out);
    }
    map_unlock(shard);
}
