/* SPDX-License-Identifier: Apache-2.0 */
/* Signals as events of a loop, by signalfd(2).
 *
 * Threads: the main thread; signals_block before any other thread is started.
 * Owns: the signalfd.
 * Lifetime: signals_fini before the loop is freed.
 * Errors: enum code at creation. */
#ifndef OS_SIGNAL_H
#define OS_SIGNAL_H

#include "base/why.h"
#include "os/loop.h"

typedef void (*signals_fn)(void *context, int signo);

struct signals {
    struct loop_watch watch;
    struct loop *loop;
    signals_fn arrived;
    void *context;
    int fd;
};

/* Blocks SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1 and SIGUSR2 in this thread and those it will start; ignores SIGPIPE. */
void signals_block(void);
/* Whether a blocked signal has come and waits to be received. */
bool signal_is_waiting(int signo);

/* Takes: signos ends with 0; each must be one that signals_block blocks. */
enum code signals_init(struct signals *signals, struct loop *loop, const int *signos, signals_fn arrived,
                       void *context, struct why *why) MUST_USE;
void signals_fini(struct signals *signals);

#endif
