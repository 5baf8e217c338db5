/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a part back took a microsecond a call, and pages of the cache that the calls want. */
#include "audit/fresh_priv.h"

#include "audit/part_priv.h"

static void begin(struct fresh *fresh, uint64_t number)
{
    if (fresh->filling != NULL) { /* one that nobody came for, nor for the one before it */
        part__free(&fresh->whole);
        fresh->whole = fresh->filling;
    }
    if (part__new(number, &fresh->filling) != CODE_OK)
        fresh->filling = NULL;
}

void fresh__add(struct fresh *fresh, const struct part_row *row)
{
    uint64_t seq = (uint64_t)row->seq, number = part__of(seq);

    if (seq != fresh->next) /* others were rolled back, or this is the first */
        fresh__drop(fresh);
    fresh->next = seq + 1;
    if (seq == number * LEDGER_PART_ROWS + 1)
        begin(fresh, number);
    if (fresh->filling != NULL && part__add(fresh->filling, row) != CODE_OK)
        part__free(&fresh->filling);
}

static struct part *take(struct part **part)
{
    struct part *taken = *part;

    *part = NULL;
    return taken;
}

struct part *fresh__take(struct fresh *fresh, uint64_t number)
{
    if (fresh->whole != NULL && part__number(fresh->whole) == number)
        return take(&fresh->whole);
    if (fresh->filling != NULL && part__number(fresh->filling) == number)
        return take(&fresh->filling);
    return NULL;
}

void fresh__drop(struct fresh *fresh)
{
    part__free(&fresh->filling);
    part__free(&fresh->whole);
    fresh->next = 0;
}
