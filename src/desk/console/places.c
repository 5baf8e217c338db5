/* SPDX-License-Identifier: Apache-2.0 */
#include "console/places.h"

#include "base/lock.h"
#include "os/clock.h"

struct waiter {
    struct list link; /* first */
    uint64_t whose;
};

void places_init(struct places *places, unsigned count, unsigned waits)
{
    *places = (struct places){.count = count, .waits_max = waits};
    lock_init(&places->lock);
    lock_sign_init(&places->moved);
    list_init(&places->waiting);
}

static unsigned held_by(const struct places *places, uint64_t whose)
{
    unsigned held = 0;

    for (unsigned i = 0; i < places->taken; i++)
        held += places->holders[i] == whose;
    return held;
}

static bool may_have(const struct places *places, uint64_t whose)
{
    return held_by(places, whose) < places->count - places->taken;
}

/* Whether it is his turn: of those who came before him none may have one. */
static bool is_next(const struct places *places, const struct waiter *waiter)
{
    struct list *at = places->waiting.next;

    while (at != &waiter->link && !may_have(places, LIST_ENTRY(at, struct waiter, link)->whose))
        at = at->next;
    return at == &waiter->link && may_have(places, waiter->whose);
}

/* An address, or a person, waits for no more turns than are left to others; alone he may. */
static unsigned waits_of(const struct places *places, uint64_t whose)
{
    unsigned waits = 0;

    for (struct list *at = places->waiting.next; at != &places->waiting; at = at->next)
        waits += LIST_ENTRY(at, struct waiter, link)->whose == whose;
    return waits;
}

bool places_take(struct places *places, uint64_t whose, unsigned wait_ms)
{
    const struct timespec until = clock_after_ms(wait_ms);
    struct waiter waiter = {.whose = whose};
    bool is_his;

    lock_take(&places->lock);
    is_his = waits_of(places, whose) < places->waits_max - places->waits;
    if (is_his) {
        list_append(&places->waiting, &waiter.link);
        places->waits++;
        while (!(is_his = is_next(places, &waiter)) && pthread_cond_timedwait(&places->moved, &places->lock, &until) == 0)
            continue;
        is_his = is_his || is_next(places, &waiter);
        list_remove(&waiter.link);
        places->waits--;
    }
    if (is_his)
        places->holders[places->taken++] = whose;
    pthread_cond_broadcast(&places->moved); /* who stood behind may be the next */
    lock_give(&places->lock);
    return is_his;
}

void places_leave(struct places *places, uint64_t whose)
{
    unsigned at = 0;

    lock_take(&places->lock);
    while (places->holders[at] != whose)
        at++;
    places->holders[at] = places->holders[--places->taken];
    pthread_cond_broadcast(&places->moved);
    lock_give(&places->lock);
}
