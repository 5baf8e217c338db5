/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/rule_stops.h"

#include "base/lock.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct rule_stops {
    pthread_mutex_t lock;
    atomic_size_t count; /* so that main need not take the lock where nothing waits */
    struct {
        struct rule_stop what;
        char *texts;
    } of[RULE_STOPS_MAX];
};

enum code rule_stops_new(struct rule_stops **stops)
{
    *stops = mem_zalloc(sizeof **stops);
    if (*stops == NULL)
        return CODE_NOMEM;
    lock_init(&(*stops)->lock);
    return CODE_OK;
}

void rule_stops_free(struct rule_stops **stops)
{
    if (*stops == NULL)
        return;
    for (size_t i = 0; i < atomic_load(&(*stops)->count); i++)
        mem_free((*stops)->of[i].texts);
    (void)pthread_mutex_destroy(&(*stops)->lock);
    mem_free(*stops);
    *stops = NULL;
}

/* Whether none waits that holds as long, and few of its tenant's and kind do: a client can make up sessions without end. */
static bool has_place(const struct rule_stops *stops, const struct rule_stop *stop)
{
    size_t alike = 0;

    for (size_t i = 0; i < atomic_load(&stops->count); i++) {
        const struct rule_stop *one = &stops->of[i].what;
        bool is_alike = one->by == stop->by && span_equals(one->tenant, stop->tenant);

        if (is_alike && one->lasts_us >= stop->lasts_us && span_equals(one->name, stop->name))
            return false;
        alike += is_alike;
    }
    return alike < RULE_STOPS_MAX / 8;
}

void rule_stops_put(struct rule_stops *stops, const struct rule_stop *stop)
{
    char *at = NULL;
    size_t count;

    lock_take(&stops->lock);
    count = atomic_load(&stops->count);
    if (count < RULE_STOPS_MAX && has_place(stops, stop))
        at = mem_alloc(stop->rule.len + stop->tenant.len + stop->name.len + 1);
    if (at != NULL) {
        struct rule_stop *kept = &stops->of[count].what;
        struct span *texts[] = {&kept->rule, &kept->tenant, &kept->name};

        stops->of[count].texts = at;
        *kept = *stop;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            if (texts[i]->len > 0)
                memcpy(at, texts[i]->at, texts[i]->len);
            texts[i]->at = at;
            at += texts[i]->len;
        }
        atomic_store(&stops->count, count + 1);
    }
    lock_give(&stops->lock);
}

bool rule_stops_first(struct rule_stops *stops, struct rule_stop *stop)
{
    if (atomic_load(&stops->count) == 0)
        return false;
    lock_take(&stops->lock);
    *stop = stops->of[0].what;
    lock_give(&stops->lock);
    return true;
}

void rule_stops_drop(struct rule_stops *stops)
{
    size_t count;

    lock_take(&stops->lock);
    count = atomic_load(&stops->count) - 1;
    mem_free(stops->of[0].texts);
    memmove(&stops->of[0], &stops->of[1], count * sizeof stops->of[0]);
    atomic_store(&stops->count, count);
    lock_give(&stops->lock);
}
