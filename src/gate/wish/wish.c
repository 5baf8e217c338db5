/* SPDX-License-Identifier: Apache-2.0 */
#include "wish/wish.h"

#include "base/lock.h"
#include "base/mem.h"
#include "os/clock.h"

#include <string.h>

struct wishes {
    pthread_mutex_t lock;
    struct list put;       /* in the order in which they came; what was sent stands before the rest */
    struct list *unsent;   /* the first that was not; or &put */
    uint64_t ticket;       /* the last one; whoever starts anew begins anywhere */
    void (*work)(void *context);
    void *context;
};

enum code wishes_new(struct wishes **out)
{
    struct wishes *wishes = mem_zalloc(sizeof *wishes);

    *out = wishes;
    if (wishes == NULL)
        return CODE_NOMEM;
    lock_init(&wishes->lock);
    list_init(&wishes->put);
    wishes->unsent = &wishes->put;
    random_bytes(&wishes->ticket, sizeof wishes->ticket);
    wishes->ticket >>= 2; /* the centre's numbers have a sign */
    return CODE_OK;
}

void wishes_free(struct wishes **wishes)
{
    struct wishes *gone = *wishes;

    *wishes = NULL;
    if (gone == NULL)
        return;
    BUG_ON(!list_is_empty(&gone->put));
    (void)pthread_mutex_destroy(&gone->lock);
    mem_free(gone);
}

enum code wish_add(struct wish **wish, const struct wish_take *take)
{
    struct wish_take *takes;

    if (*wish == NULL && (*wish = mem_zalloc(sizeof **wish)) == NULL)
        return CODE_NOMEM;
    if ((*wish)->count == WISH_TAKES_MAX)
        return CODE_LIMIT;
    takes = mem_room((*wish)->takes, &(*wish)->room, (*wish)->count + 1, sizeof *takes);
    if (takes == NULL)
        return CODE_NOMEM;
    (*wish)->takes = takes;
    (*wish)->takes[(*wish)->count++] = *take;
    return CODE_OK;
}

bool wish_is_put(const struct wish *wish)
{
    return wish->answer.ticket != 0;
}

void wishes_put(struct wishes *wishes, struct wish *wish, struct inbox *inbox)
{
    lock_take(&wishes->lock);
    wish->inbox = inbox;
    wish->put_us = clock_monotonic_us();
    wish->answer.ticket = ++wishes->ticket;
    list_append(&wishes->put, &wish->link);
    if (wishes->unsent == &wishes->put)
        wishes->unsent = &wish->link;
    lock_give(&wishes->lock);
    if (wishes->work != NULL)
        wishes->work(wishes->context);
}

enum wish_fate wishes_fate(struct wishes *wishes, const struct wish *wish)
{
    enum wish_fate fate;

    lock_take(&wishes->lock);
    fate = wish->answer.fate;
    lock_give(&wishes->lock);
    return fate == WISH_WAITING && clock_monotonic_us() - wish->put_us > WISH_WAIT_US ? WISH_AWAY : fate;
}

void wishes_drop(struct wishes *wishes, struct wish **wish)
{
    struct wish *gone = *wish;

    *wish = NULL;
    if (gone == NULL)
        return;
    lock_take(&wishes->lock);
    if (wishes->unsent == &gone->link)
        wishes->unsent = gone->link.next;
    list_remove(&gone->link);
    lock_give(&wishes->lock);
    mem_free(gone->takes);
    mem_free(gone);
}

void wishes_carry(struct wishes *wishes, void (*work)(void *context), void *context)
{
    wishes->context = context;
    wishes->work = work;
}

uint32_t wishes_next(struct wishes *wishes, uint64_t *ticket, struct wish_take takes[WISH_TAKES_MAX])
{
    uint32_t count = 0;

    lock_take(&wishes->lock);
    if (wishes->unsent != &wishes->put) {
        const struct wish *wish = LIST_ENTRY(wishes->unsent, struct wish, link);

        wishes->unsent = wishes->unsent->next;
        *ticket = wish->answer.ticket;
        count = wish->count;
        memcpy(takes, wish->takes, count * sizeof *takes);
    }
    lock_give(&wishes->lock);
    return count;
}

/* Who waits is found soon: answers come about in the order in which was asked. */
void wishes_answer(struct wishes *wishes, const struct wish_answer *answer)
{
    lock_take(&wishes->lock);
    for (struct list *at = wishes->put.next; at != wishes->unsent; at = at->next) {
        struct wish *wish = LIST_ENTRY(at, struct wish, link);

        if (wish->answer.ticket != answer->ticket)
            continue;
        wish->answer = *answer;
        list_remove(&wish->link);
        if (wish->inbox != NULL)
            inbox_poke(wish->inbox);
        break;
    }
    lock_give(&wishes->lock);
}
