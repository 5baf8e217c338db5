/* SPDX-License-Identifier: Apache-2.0 */
/* The event loop: level-triggered epoll(7), but for inboxes, told once a turn what changed, with timers.
 *
 * Threads: one loop, one thread; other threads reach it through an inbox.
 * Owns: the epoll descriptor; watches and timers are embedded in their users.
 * Lifetime: a watch is removed before its descriptor is closed.
 * Errors: enum code; a descriptor that epoll refuses is reported to its watch as LOOP_HANGUP, so that one connection
 *   ends and not the loop. */
#ifndef OS_LOOP_H
#define OS_LOOP_H

#include "base/code.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* HANGUP is reported, never asked for, together with what was asked for, so that a read or write learns the error.
 * Where nothing is wanted it is reported once. */
enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HANGUP = 4 };

/* Called with what is ready. It only fills, drains and marks; nothing is freed in it. */
typedef void (*loop_ready_fn)(void *context, unsigned ready);

struct loop_watch {
    loop_ready_fn ready;
    void *context;
    int fd;
    unsigned wanted; /* what the user wants */
    unsigned polled; /* what epoll knows */
    bool added;
    bool is_edge;    /* set after loop_watch_init: each write is reported once, not until all was read */
    struct list changed;
};

typedef void (*loop_timer_fn)(void *context);

struct loop_timer {
    loop_timer_fn fire;
    void *context;
    int64_t due_us; /* monotonic */
    uint32_t place; /* in the heap, from 1; 0: not armed */
};

enum code loop_new(struct loop **loop) MUST_USE;
void loop_free(struct loop **loop);

/* The time at the start of this turn, monotonic; one clock read a turn. */
int64_t loop_now_us(const struct loop *loop);

void loop_watch_init(struct loop_watch *watch, int fd, loop_ready_fn ready, void *context);
void loop_watch_want(struct loop *loop, struct loop_watch *watch, unsigned wanted); /* takes effect before the next wait */

/* As loop_watch_want, but epoll is told at once, so that a failure shows: for watches on which the whole program
 * depends. On failure nothing is watched. */
enum code loop_watch_begin(struct loop *loop, struct loop_watch *watch, unsigned wanted) MUST_USE;

void loop_watch_remove(struct loop *loop, struct loop_watch *watch);                /* at once; callable twice */

void loop_timer_init(struct loop_timer *timer, loop_timer_fn fire, void *context);
/* Arms a timer. Arming an armed one again cannot fail. */
enum code loop_timer_arm(struct loop *loop, struct loop_timer *timer, int64_t after_us) MUST_USE;
void loop_timer_cancel(struct loop *loop, struct loop_timer *timer);

/* Work that must run once more this turn although no descriptor reports (bytes pending inside TLS): the next wait does
 * not sleep. */
void loop_again(struct loop *loop);

/* One turn: tell epoll, wait at most `max_wait_us` (-1: until something is due), run events and then due timers. */
enum code loop_turn(struct loop *loop, int64_t max_wait_us) MUST_USE;

/* For tests in virtual time: the loop asks this clock instead of the system's, and never sleeps. */
typedef int64_t (*loop_clock_fn)(void *context);
void loop_use_clock(struct loop *loop, loop_clock_fn clock_us, void *context);

#endif
