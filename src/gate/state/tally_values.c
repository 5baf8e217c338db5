/* SPDX-License-Identifier: Apache-2.0 */
/* Different values under a limit: each stands once, with the time at which it was taken last. They are at most
 * POLICY_VALUES_MAX, so that looking at all of them is as fast as any order among them. */
#include "state/tally_priv.h"

#include <stdlib.h>
#include <string.h>

struct tally_value *tally__find_value(const struct tally_entry *entry, const struct policy_value *value)
{
    for (uint32_t i = 0; entry != NULL && i < entry->count; i++)
        if (policy_value_equals(&entry->values[i].value, value))
            return &entry->values[i];
    return NULL;
}

static void drop(struct tally_entry *entry, struct tally_value *value)
{
    *value = entry->values[--entry->count];
}

void tally__forget_values(struct tally_entry *entry, int64_t gone_us)
{
    for (uint32_t i = entry->count; i-- > 0;)
        if (entry->values[i].time_us <= gone_us)
            drop(entry, &entry->values[i]);
}

uint64_t tally__other_values(const struct tally_entry *entry, const struct tally_take *take)
{
    return entry->count - (take->is_any ? entry->count > 0 : tally__find_value(entry, &take->value) != NULL);
}

static int by_time(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

/* So many of the others must go that it fits beside those that stay: the oldest go first. */
int64_t tally__wait_for_value(const struct tally_entry *entry, const struct tally_take *take, int64_t now_us)
{
    int64_t times[POLICY_VALUES_MAX];
    uint32_t count = 0;

    for (uint32_t i = 0; i < entry->count; i++)
        if (!policy_value_equals(&entry->values[i].value, &take->value))
            times[count++] = entry->values[i].time_us;
    if (take->most == 0 || count < take->most)
        return take->per_us;
    qsort(times, count, sizeof *times, by_time);
    return times[count - take->most] + take->per_us - now_us;
}

/* Where a record says more than there are places for, the oldest value gives way: it would have been the first to go, and the
 * limit has no room until all others but `most` have gone, too. */
static struct tally_value *oldest_of(struct tally_entry *entry)
{
    struct tally_value *oldest = &entry->values[0];

    for (uint32_t i = 1; i < entry->count; i++)
        if (entry->values[i].time_us < oldest->time_us)
            oldest = &entry->values[i];
    return oldest;
}

enum code tally__take_value(struct map_shard *shard, struct tally_entry *entry, struct tally_take *take, int64_t now_us)
{
    struct tally_value *value = tally__find_value(entry, &take->value);

    if (value != NULL) {
        take->before_us = value->time_us;
        value->is_shared = value->time_us == now_us;
        value->time_us = now_us;
        return CODE_OK;
    }
    if (entry->count == POLICY_VALUES_MAX)
        drop(entry, oldest_of(entry));
    else if (entry->count == entry->room && !tally__grow(shard, entry, now_us))
        return CODE_NOMEM;
    value = &entry->values[entry->count++];
    *value = (struct tally_value){.time_us = now_us, .value = take->value};
    take->before_us = INT64_MIN;
    return CODE_OK;
}

/* Only the last taking is undone. Where another has the same value meanwhile, it keeps its place. */
void tally__give_value_back(struct tally_entry *entry, const struct tally_take *take)
{
    struct tally_value *value = tally__find_value(entry, &take->value);

    if (value == NULL || value->time_us != take->taken_us || value->is_shared)
        return;
    if (take->before_us == INT64_MIN) {
        drop(entry, value);
    } else {
        value->time_us = take->before_us;
        value->is_shared = true;
    }
}
