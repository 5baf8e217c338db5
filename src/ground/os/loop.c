/* SPDX-License-Identifier: Apache-2.0 */
#include "os/loop.h"

#include "base/bug.h"
#include "base/log.h"
#include "base/mem.h"
#include "os/clock.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS_A_TURN 256
#define AHEAD_BYTES 192 /* a watch and what lies behind it, which is mostly the rest of its owner */

struct loop {
    int epoll_fd;
    bool again;
    int64_t now_us;
    loop_clock_fn clock_us; /* NULL: the system's */
    void *clock_context;
    struct list changed; /* watches whose wanted may differ from polled */

    /* A binary heap by due_us; timer->place is its index + 1. */
    struct loop_timer **heap;
    uint32_t heap_count;
    size_t heap_room;

    /* The batch that is being handed out; a removed watch is blanked from it. */
    struct epoll_event events[EVENTS_A_TURN];
    int event_count;
};

/* ---- the clock ---- */

static void read_clock(struct loop *loop)
{
    loop->now_us = loop->clock_us ? loop->clock_us(loop->clock_context) : clock_monotonic_us();
}

int64_t loop_now_us(const struct loop *loop)
{
    return loop->now_us;
}

void loop_use_clock(struct loop *loop, loop_clock_fn clock_us, void *context)
{
    loop->clock_us = clock_us;
    loop->clock_context = context;
    read_clock(loop);
}

/* ---- making and freeing ---- */

enum code loop_new(struct loop **out)
{
    struct loop *loop = mem_zalloc(sizeof *loop);

    *out = NULL;
    if (loop == NULL)
        return CODE_NOMEM;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd == -1) {
        mem_free(loop);
        return CODE_IO;
    }
    list_init(&loop->changed);
    read_clock(loop);
    *out = loop;
    return CODE_OK;
}

void loop_free(struct loop **loop)
{
    if (*loop == NULL)
        return;
    close((*loop)->epoll_fd);
    mem_free((*loop)->heap);
    mem_free(*loop);
    *loop = NULL;
}

void loop_again(struct loop *loop)
{
    loop->again = true;
}

/* ---- watches ---- */

void loop_watch_init(struct loop_watch *watch, int fd, loop_ready_fn ready, void *context)
{
    memset(watch, 0, sizeof *watch);
    watch->fd = fd;
    watch->ready = ready;
    watch->context = context;
}

void loop_watch_want(struct loop *loop, struct loop_watch *watch, unsigned wanted)
{
    BUG_ON((wanted & ~(unsigned)(LOOP_READ | LOOP_WRITE)) != 0);
    watch->wanted = wanted;
    /* A change of mind within one turn costs nothing: the difference is looked at before the next wait. */
    if (wanted != watch->polled || !watch->added) {
        if (!list_is_linked(&watch->changed))
            list_append(&loop->changed, &watch->changed);
    }
}

static void forget(struct loop *loop, struct loop_watch *watch)
{
    if (watch->added && epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL) == -1)
        BUG_ON(errno == EBADF); /* it was closed before it was removed, and its number may be another's by now */
    watch->added = false;
    watch->polled = 0;
}

void loop_watch_remove(struct loop *loop, struct loop_watch *watch)
{
    list_remove(&watch->changed);
    forget(loop, watch);
    watch->wanted = 0;
    for (int i = 0; i < loop->event_count; i++)
        if (loop->events[i].data.ptr == watch)
            loop->events[i].data.ptr = NULL;
}

static uint32_t epoll_bits(const struct loop_watch *watch)
{
    return (watch->wanted & LOOP_READ ? (uint32_t)EPOLLIN : 0) | (watch->wanted & LOOP_WRITE ? (uint32_t)EPOLLOUT : 0) |
           (watch->is_edge ? (uint32_t)EPOLLET : 0);
}

static bool set_epoll(struct loop *loop, struct loop_watch *watch)
{
    struct epoll_event event = {.events = epoll_bits(watch), .data.ptr = watch};

    if (epoll_ctl(loop->epoll_fd, watch->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, watch->fd, &event) == -1) {
        BUG_ON(errno == EBADF);
        return false;
    }
    watch->added = true;
    watch->polled = watch->wanted;
    return true;
}

enum code loop_watch_begin(struct loop *loop, struct loop_watch *watch, unsigned wanted)
{
    BUG_ON(watch->added || wanted == 0);
    watch->wanted = wanted;
    if (set_epoll(loop, watch))
        return CODE_OK;
    watch->wanted = 0;
    return CODE_IO;
}

static void tell_epoll(struct loop *loop, struct loop_watch *watch)
{
    if (watch->added ? watch->wanted == watch->polled : watch->wanted == 0)
        return;
    if (set_epoll(loop, watch))
        return;
    log_warn("os", "epoll refuses a descriptor: %s; its connection ends", strerror(errno));
    forget(loop, watch);
    watch->wanted = 0;
    watch->ready(watch->context, LOOP_HANGUP);
}

static void tell_changes(struct loop *loop)
{
    while (!list_is_empty(&loop->changed)) {
        struct loop_watch *watch = LIST_ENTRY(loop->changed.next, struct loop_watch, changed);

        list_remove(&watch->changed);
        tell_epoll(loop, watch);
    }
}

static void hand_out(struct loop *loop, int index)
{
    struct loop_watch *watch = loop->events[index].data.ptr;
    uint32_t bits = loop->events[index].events;
    unsigned ready = 0;

    if (bits & EPOLLIN)
        ready |= LOOP_READ;
    if (bits & EPOLLOUT)
        ready |= LOOP_WRITE;
    if (bits & (EPOLLERR | EPOLLHUP))
        ready |= LOOP_HANGUP | watch->wanted;
    ready &= watch->wanted | LOOP_HANGUP; /* the watch may have changed what it wants earlier in this turn */
    if (ready == 0)
        return;
    watch->ready(watch->context, ready);
    /* Level-triggered epoll would report it for ever to one who does not want to hear anything. */
    if ((ready & LOOP_HANGUP) && loop->events[index].data.ptr == watch && watch->wanted == 0)
        forget(loop, watch);
}

/* ---- timers ---- */

static void put(struct loop *loop, uint32_t index, struct loop_timer *timer)
{
    loop->heap[index] = timer;
    timer->place = index + 1;
}

static void sift_up(struct loop *loop, uint32_t index)
{
    struct loop_timer *timer = loop->heap[index];

    while (index > 0) {
        uint32_t above = (index - 1) / 2;

        if (loop->heap[above]->due_us <= timer->due_us)
            break;
        put(loop, index, loop->heap[above]);
        index = above;
    }
    put(loop, index, timer);
}

static void sift_down(struct loop *loop, uint32_t index)
{
    struct loop_timer *timer = loop->heap[index];

    for (;;) {
        uint32_t below = 2 * index + 1;

        if (below >= loop->heap_count)
            break;
        if (below + 1 < loop->heap_count && loop->heap[below + 1]->due_us < loop->heap[below]->due_us)
            below++;
        if (timer->due_us <= loop->heap[below]->due_us)
            break;
        put(loop, index, loop->heap[below]);
        index = below;
    }
    put(loop, index, timer);
}

void loop_timer_init(struct loop_timer *timer, loop_timer_fn fire, void *context)
{
    *timer = (struct loop_timer){.fire = fire, .context = context};
}

enum code loop_timer_arm(struct loop *loop, struct loop_timer *timer, int64_t after_us)
{
    /* With no delay a timer fires in this turn, where it is armed while events are handed out. While timers fire it is armed at
     * least a microsecond ahead, so that one that arms itself cannot keep the turn from ending. */
    int64_t due_us, least_us = loop->event_count > 0 ? 0 : 1;

    if (__builtin_add_overflow(loop->now_us, after_us > least_us ? after_us : least_us, &due_us))
        due_us = INT64_MAX;
    timer->due_us = due_us;
    if (timer->place == 0) {
        struct loop_timer **heap = mem_room(loop->heap, &loop->heap_room, (size_t)loop->heap_count + 1, sizeof *heap);

        if (heap == NULL)
            return CODE_NOMEM;
        loop->heap = heap;
        put(loop, loop->heap_count++, timer);
    }
    sift_up(loop, timer->place - 1);
    sift_down(loop, timer->place - 1);
    return CODE_OK;
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    uint32_t index = timer->place - 1;
    struct loop_timer *last;

    if (timer->place == 0)
        return;
    BUG_ON(index >= loop->heap_count || loop->heap[index] != timer);
    timer->place = 0;
    last = loop->heap[--loop->heap_count];
    if (last == timer)
        return;
    put(loop, index, last);
    sift_up(loop, index);
    sift_down(loop, last->place - 1);
}

static void fire_timers(struct loop *loop)
{
    while (loop->heap_count > 0 && loop->heap[0]->due_us <= loop->now_us) {
        struct loop_timer *timer = loop->heap[0];

        loop_timer_cancel(loop, timer);
        timer->fire(timer->context);
    }
}

/* ---- the turn ---- */

static int wait_ms(const struct loop *loop, int64_t max_wait_us)
{
    int64_t us = max_wait_us < 0 ? INT64_MAX : max_wait_us;

    if (loop->again || loop->clock_us != NULL)
        return 0;
    if (loop->heap_count > 0) {
        int64_t until_us = loop->heap[0]->due_us - loop->now_us;

        /* One microsecond means that it was armed without delay for the next turn, which must not wait a millisecond for it. */
        if (until_us < us)
            us = until_us > 1 ? until_us : 0;
    }
    if (us == INT64_MAX)
        return -1;
    /* Rounded up: a wait that ends a little too early would turn the loop for nothing. */
    return us / 1000 >= INT_MAX ? INT_MAX : (int)((us + 999) / 1000);
}

enum code loop_turn(struct loop *loop, int64_t max_wait_us)
{
    int count;

    tell_changes(loop);
    count = epoll_wait(loop->epoll_fd, loop->events, EVENTS_A_TURN, wait_ms(loop, max_wait_us));
    if (count == -1) {
        if (errno != EINTR)
            return CODE_IO;
        count = 0;
    }
    loop->again = false;
    read_clock(loop);
    loop->event_count = count;
    for (int i = 0; i < count; i++) {
        if (i + 1 < count)
            mem_fetch_ahead(loop->events[i + 1].data.ptr, AHEAD_BYTES);
        if (loop->events[i].data.ptr != NULL)
            hand_out(loop, i);
    }
    loop->event_count = 0;
    fire_timers(loop);
    return CODE_OK;
}
