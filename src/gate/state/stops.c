/* SPDX-License-Identifier: Apache-2.0 */
#include "state/stops.h"

#include "base/mem.h"
#include "base/ref.h"

#include <stdlib.h>

const char *const stop_by_text[STOP_BY_COUNT] = {"tenant", "principal", "agent", "upstream", "tool", "session"};

/* A stop stands in the list of the last name that it gives, in the order of that name: sessions are many, tenants few. So a
 * call looks at stops of its own names alone, however many rules have made. */
struct stops {
    struct ref ref;
    struct arena arena;
    struct stop *of[STOP_BY_COUNT + 1]; /* the last: those that give no name */
    size_t count[STOP_BY_COUNT + 1];
    bool is_empty, names_sessions;
};

static size_t list_of(const struct stop *stop)
{
    for (size_t by = STOP_BY_COUNT; by > 0; by--)
        if (stop->by[by - 1].at != NULL)
            return by - 1;
    return STOP_BY_COUNT;
}

static int order(const void *a, const void *b)
{
    const struct stop *left = a, *right = b;
    size_t list = list_of(left); /* both are in it */

    return list == STOP_BY_COUNT ? 0 : span_compare(left->by[list], right->by[list]);
}

static enum code add(struct stops *set, const struct stop *from)
{
    size_t list = list_of(from);
    struct stop *stop = &set->of[list][set->count[list]++];

    *stop = *from;
    for (size_t by = 0; by < STOP_BY_COUNT; by++) {
        if (from->by[by].at == NULL)
            continue;
        stop->by[by] = span_of(arena_dup(&set->arena, from->by[by].at, from->by[by].len), from->by[by].len);
        if (stop->by[by].at == NULL)
            return CODE_NOMEM;
    }
    set->names_sessions = set->names_sessions || from->by[STOP_SESSION].at != NULL;
    return CODE_OK;
}

enum code stops_new(const struct stop *stops, size_t count, struct stops **out)
{
    struct stops *set = mem_zalloc(sizeof *set);
    size_t room[STOP_BY_COUNT + 1] = {0};
    enum code code = CODE_OK;

    *out = set;
    if (set == NULL)
        return CODE_NOMEM;
    ref_init(&set->ref);
    set->is_empty = count == 0;
    arena_init(&set->arena, SIZE_MAX);
    for (size_t i = 0; i < count; i++)
        room[list_of(&stops[i])]++;
    for (size_t list = 0; list <= STOP_BY_COUNT && code == CODE_OK; list++) {
        set->of[list] = room[list] > 0 ? arena_alloc(&set->arena, room[list] * sizeof *stops) : NULL;
        code = room[list] > 0 && set->of[list] == NULL ? CODE_NOMEM : CODE_OK;
    }
    for (size_t i = 0; i < count && code == CODE_OK; i++)
        code = add(set, &stops[i]);
    if (code != CODE_OK) {
        stops_unref(out);
        return code;
    }
    for (size_t list = 0; list < STOP_BY_COUNT; list++)
        if (set->count[list] > 1)
            qsort(set->of[list], set->count[list], sizeof *stops, order);
    return CODE_OK;
}

struct stops *stops_ref(struct stops *set)
{
    if (set != NULL)
        ref_take(&set->ref);
    return set;
}

void stops_unref(struct stops **set)
{
    struct stops *gone = *set;

    *set = NULL;
    if (gone == NULL || !ref_drop(&gone->ref))
        return;
    arena_fini(&gone->arena);
    mem_free(gone);
}

bool stops_are_none(const struct stops *set)
{
    return set->is_empty;
}

bool stops_name_sessions(const struct stops *set)
{
    return set->names_sessions;
}

static bool stands(const struct stop *stop, int64_t now_us)
{
    return stop->until_us == 0 || now_us < stop->until_us;
}

size_t stops_count(const struct stops *set, int64_t now_us)
{
    size_t count = 0;

    for (size_t list = 0; set != NULL && list <= STOP_BY_COUNT; list++)
        for (size_t i = 0; i < set->count[list]; i++)
            count += stands(&set->of[list][i], now_us);
    return count;
}

bool stops_all(const struct stops *set, int64_t now_us)
{
    for (size_t i = 0; i < set->count[STOP_BY_COUNT]; i++)
        if (stands(&set->of[STOP_BY_COUNT][i], now_us))
            return true;
    return false;
}

static bool is_of(const struct stop *stop, const struct span by[STOP_BY_COUNT], int64_t now_us)
{
    for (size_t i = 0; i < STOP_BY_COUNT; i++)
        if (stop->by[i].at != NULL && (by[i].at == NULL || !span_equals(stop->by[i], by[i])))
            return false;
    return stands(stop, now_us);
}

/* The first of a list that has this name, or would stand behind it. */
static size_t first_of(const struct stops *set, size_t list, struct span name)
{
    size_t low = 0, high = set->count[list];

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (span_compare(set->of[list][middle].by[list], name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const struct stop *stops_find(const struct stops *set, const struct span by[STOP_BY_COUNT], int64_t now_us)
{
    for (size_t list = 0; list <= STOP_BY_COUNT; list++) {
        bool is_named = list < STOP_BY_COUNT;

        if (set->count[list] == 0 || (is_named && by[list].at == NULL))
            continue;
        for (size_t i = is_named ? first_of(set, list, by[list]) : 0; i < set->count[list]; i++) {
            if (is_named && !span_equals(set->of[list][i].by[list], by[list]))
                break;
            if (is_of(&set->of[list][i], by, now_us))
                return &set->of[list][i];
        }
    }
    return NULL;
}
