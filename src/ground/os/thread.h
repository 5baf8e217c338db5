/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: started with a name and every signal blocked, so that signals reach the main thread's signalfd alone.
 *
 * Threads: start and join from one thread.
 * Owns: the thread, until it is joined.
 * Lifetime: struct thread outlives the thread it started.
 * Errors: CODE_IO when the system has no thread left; joining cannot fail. */
#ifndef OS_THREAD_H
#define OS_THREAD_H

#include "base/why.h"

#include <pthread.h>
#include <stdbool.h>

typedef void (*thread_fn)(void *argument);

/* A zeroed one counts as not started. */
struct thread {
    pthread_t id;
    bool started;
    thread_fn run;
    void *argument;
    char name[16]; /* the kernel's limit, NUL included; longer names are cut */
};

enum code thread_start(struct thread *thread, const char *name, thread_fn run, void *argument,
                       struct why *why) MUST_USE;

/* Blocks: until the thread has returned. One that was not started, or was joined, is fine. */
void thread_join(struct thread *thread);

/* Waits at most wait_ms. Returns: whether it has ended (and is joined then). */
bool thread_join_within(struct thread *thread, unsigned wait_ms) MUST_USE;

/* Lets it end by itself, whenever that is; what it uses must then be its own. */
void thread_detach(struct thread *thread);

/* For a thread that works in short bursts which others wait for: asks the scheduler for short slices, so that the calling
 * thread gets its turn soon after it wakes, also where all processors are busy (Linux 6.12 and later; before that nothing
 * changes). Its share of the processors stays the same. */
void thread_ask_short_slices(void);

/* How many processors this process may run on; at least 1. */
unsigned thread_cores(void);

#endif
