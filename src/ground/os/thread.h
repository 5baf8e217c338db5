/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: started with a name and every signal blocked, so that signals reach the main thread's signalfd alone; poked when
 * there is something to do, and stopped.
 *
 * Four threads rest in another way. A worker sleeps in a loop, which watches descriptors (os/inbox.h). The audit's writer
 * sleeps at two depths, of which an outcome ends one only (rows/ring_drain.h). Who asks servers sleeps in libcurl, which
 * watches descriptors, too (web/web.c). The resolver may hang in the C library for ever, so that nobody waits for its end.
 *
 * Threads: start, join and stop from one thread; thread_poke from any.
 * Owns: the thread, until it is joined.
 * Lifetime: struct thread outlives the thread it started.
 * Errors: CODE_IO when the system has no thread left; joining cannot fail. */
#ifndef OS_THREAD_H
#define OS_THREAD_H

#include "base/why.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef void (*thread_fn)(void *argument);

/* A zeroed one counts as not started. */
struct thread {
    pthread_t id;
    bool started;
    thread_fn run;
    void *argument;
    atomic_int poked;
    atomic_bool is_stopping;
    char name[16]; /* the kernel's limit, NUL included; longer names are cut */
};

enum code thread_start(struct thread *thread, const char *name, thread_fn run, void *argument,
                       struct why *why) MUST_USE;

/* Blocks: until the thread has returned. A thread that was not started, or was joined, is fine. */
void thread_join(struct thread *thread);

/* Lets it end its rest, or its next one at once. What the caller wrote before is seen behind that rest. */
void thread_poke(struct thread *thread);

/* For the thread itself: sleeps until it is poked or is to stop, or so long; most_ms < 0: until then. It may end earlier.
 * Returns: whether the thread is to go on. */
bool thread_rest(struct thread *thread, int most_ms) MUST_USE;

/* Asks it to stop, and joins it; fine where it was not started. */
void thread_stop(struct thread *thread);

/* Waits at most wait_ms. Returns: whether it has ended (and is joined then). */
bool thread_join_within(struct thread *thread, unsigned wait_ms) MUST_USE;

/* Lets the thread end by itself, whenever that is; it must own what it uses. */
void thread_detach(struct thread *thread);

/* For a thread that works in short bursts which others wait for: asks the scheduler for short slices, so that the calling
 * thread gets its turn soon after it wakes, also where all processors are busy (Linux 6.12 and later; before that nothing
 * changes). Its share of the processors stays the same. */
void thread_ask_short_slices(void);

/* How many processors this process may run on; at least 1. */
unsigned thread_cores(void);

#endif
