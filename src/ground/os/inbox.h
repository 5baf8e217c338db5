/* SPDX-License-Identifier: Apache-2.0 */
/* An inbox: an eventfd in a loop, by which other threads wake its thread.
 *
 * Threads: inbox_poke from any; the rest from the loop's thread.
 * Owns: the eventfd.
 * Lifetime: freed after every thread that pokes has ended.
 * Errors: enum code at creation; pokes cannot fail and are coalesced. */
#ifndef OS_INBOX_H
#define OS_INBOX_H

#include "os/loop.h"

#include <stdatomic.h>

struct inbox {
    struct loop_watch watch;
    struct loop *loop;
    void (*arrived)(void *context);
    void *context;
    int fd;
    atomic_bool poked; /* a poke is on its way, so that further ones need no system call */
};

/* `arrived` is called once a turn in which at least one poke came; what arrived is in the caller's own atomics. */
enum code inbox_init(struct inbox *inbox, struct loop *loop, void (*arrived)(void *context), void *context) MUST_USE;
void inbox_fini(struct inbox *inbox);
void inbox_poke(struct inbox *inbox);

#endif
