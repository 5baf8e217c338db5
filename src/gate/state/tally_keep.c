/* SPDX-License-Identifier: Apache-2.0 */
/* A tally as bytes. Entries stand in no order, each with its key; in which shard one is goes by the process' own hash, so that
 * what a shard has lost is lost to all when it is read again. */
#include "state/tally_priv.h"

#include "state/keep_priv.h"

#define ENTRY 1
#define LOSS 2
#define LOSS_OF_ALL 3
#define ENTRY_OF_VALUES 4
#define END 0

static void keep_entry(struct buf *out, const struct tally_entry *entry)
{
    keep_number(out, entry->of_values ? ENTRY_OF_VALUES : ENTRY);
    (void)buf_add(out, entry->key, sizeof entry->key);
    keep_number(out, entry->base.whose.tenant);
    keep_number(out, entry->base.whose.principal);
    keep_number(out, entry->of_fleet);
    keep_number(out, (uint64_t)entry->latest_us);
    keep_number(out, (uint64_t)entry->base.lapses_us);
    keep_number(out, entry->count);
    for (uint32_t i = 0; i < entry->count && entry->of_values; i++) {
        keep_number(out, (uint64_t)entry->values[i].time_us);
        (void)buf_add(out, entry->values[i].value.bytes, sizeof entry->values[i].value.bytes);
    }
    for (uint32_t i = 0; i < entry->count && !entry->of_values; i++) {
        keep_number(out, (uint64_t)tally__mark(entry, i)->time_us);
        keep_number(out, tally__mark(entry, i)->amount);
    }
}

static void keep_losses(struct buf *out, const struct tally_losses *losses)
{
    if (losses->all_until_us != INT64_MIN) {
        keep_number(out, LOSS_OF_ALL);
        keep_number(out, (uint64_t)losses->all_until_us);
    }
    for (uint32_t i = 0; i < losses->count; i++) {
        keep_number(out, LOSS);
        keep_number(out, losses->of[i].tenant);
        keep_number(out, (uint64_t)losses->of[i].until_us);
    }
}

void tally_keep(struct tally *tally, struct buf *out)
{
    for (uint32_t i = 0; i < TALLY_SHARDS; i++) {
        struct map_shard *shard = &tally->map->shards[i];

        map_lock(shard);
        for (const struct list *at = shard->by_turn.next; at != &shard->by_turn; at = at->next)
            keep_entry(out, (const struct tally_entry *)LIST_ENTRY(at, struct map_entry, by_turn));
        keep_losses(out, &tally->losses[i]);
        map_unlock(shard);
    }
    keep_number(out, END);
}

static int64_t not_behind(int64_t time_us, int64_t now_us)
{
    return time_us < now_us ? time_us : now_us;
}

/* Takes: over_us: stands for the time, since nothing that was read may give way to the rest. */
static enum code add_mark(struct map_shard *shard, struct tally_entry *entry, int64_t time_us, uint64_t amount, int64_t over_us)
{
    if (amount > UINT64_MAX - entry->total)
        return CODE_INVALID;
    if (entry->count == entry->room && !tally__grow(shard, entry, over_us))
        return CODE_NOMEM;
    entry->count++;
    *tally__mark(entry, entry->count - 1) = (struct tally_mark){time_us, amount};
    entry->total += amount;
    return CODE_OK;
}

static enum code add_value(struct map_shard *shard, struct tally_entry *entry, int64_t time_us,
                           const struct policy_value *value, int64_t over_us)
{
    if (entry->count == POLICY_VALUES_MAX)
        return CODE_INVALID;
    if (entry->count == entry->room && !tally__grow(shard, entry, over_us))
        return CODE_NOMEM;
    entry->values[entry->count++] = (struct tally_value){.time_us = time_us, .value = *value, .is_shared = true};
    return CODE_OK;
}

static enum code read_cell(struct keep_reader *reader, struct map_shard *shard, struct tally_entry *entry, int64_t over_us,
                           int64_t now_us)
{
    int64_t time_us = not_behind((int64_t)keep_read_number(reader), now_us);
    struct policy_value value;

    if (!entry->of_values)
        return add_mark(shard, entry, time_us, keep_read_number(reader), over_us);
    keep_read(reader, value.bytes, sizeof value.bytes);
    return add_value(shard, entry, time_us, &value, over_us);
}

static enum code skip_cells(struct keep_reader *reader, uint64_t count, bool of_values)
{
    size_t bytes = sizeof(int64_t) + (of_values ? sizeof(struct policy_value) : sizeof(uint64_t));

    reader->is_short = reader->is_short || count > reader->rest.len / bytes;
    if (!reader->is_short)
        reader->rest = span_part(reader->rest, (size_t)count * bytes, SIZE_MAX);
    return CODE_OK;
}

/* Where the clock was set back since, times that lie ahead are taken for now: no call was made in the future. */
static enum code read_entry(struct tally *tally, struct keep_reader *reader, bool of_values, int64_t over_us, int64_t now_us)
{
    struct tally_key key;
    struct tally_entry *entry;
    struct map_shard *shard;
    enum code code = CODE_OK;
    int64_t latest_us, lapses_us;
    bool of_fleet;
    uint64_t count;

    keep_read(reader, key.bytes, sizeof key.bytes);
    key.share.tenant = keep_read_number(reader);
    key.share.principal = keep_read_number(reader);
    of_fleet = keep_read_number(reader) != 0;
    latest_us = (int64_t)keep_read_number(reader);
    lapses_us = (int64_t)keep_read_number(reader);
    count = keep_read_number(reader);
    if (reader->is_short || tally__find(tally, &key) != NULL)
        return CODE_INVALID;
    if (latest_us > now_us)
        lapses_us -= latest_us - now_us;
    if (lapses_us <= over_us)
        return skip_cells(reader, count, of_values);
    shard = map_shard(tally->map, map_hash(tally->map, key.bytes));
    map_lock(shard);
    entry = tally__add(tally, shard, &key, over_us);
    if (entry != NULL) {
        entry->latest_us = not_behind(latest_us, now_us);
        entry->base.lapses_us = lapses_us;
        entry->of_values = of_values;
        entry->of_fleet = of_fleet;
    } else {
        code = CODE_NOMEM;
    }
    while (code == CODE_OK && count-- > 0 && !reader->is_short)
        code = read_cell(reader, shard, entry, over_us, now_us);
    map_unlock(shard);
    return code;
}

static void read_loss(struct tally *tally, uint64_t tenant, int64_t until_us, int64_t over_us)
{
    for (uint32_t i = 0; i < TALLY_SHARDS && until_us > over_us; i++) {
        map_lock(&tally->map->shards[i]);
        tally__doubt(&tally->losses[i], tenant, over_us, until_us - 1 - over_us);
        map_unlock(&tally->map->shards[i]);
    }
}

enum code tally_read(struct tally *tally, struct span *kept, int64_t over_us, int64_t now_us)
{
    struct keep_reader reader = {.rest = *kept};
    enum code code = CODE_OK;
    uint64_t kind = END, tenant;
    int64_t until_us;

    while (code == CODE_OK && !reader.is_short && (kind = keep_read_number(&reader)) != END) {
        switch (kind) {
        case ENTRY:
        case ENTRY_OF_VALUES:
            code = read_entry(tally, &reader, kind == ENTRY_OF_VALUES, over_us, now_us);
            break;
        case LOSS:
            tenant = keep_read_number(&reader);
            read_loss(tally, tenant, (int64_t)keep_read_number(&reader), over_us);
            break;
        case LOSS_OF_ALL:
            until_us = (int64_t)keep_read_number(&reader);
            if (until_us > over_us)
                tally_doubt_all(tally, over_us, until_us - 1 - over_us);
            break;
        default:
            code = CODE_INVALID;
        }
    }
    *kept = reader.rest;
    return code == CODE_OK && reader.is_short ? CODE_INVALID : code;
}
