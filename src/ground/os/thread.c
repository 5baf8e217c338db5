/* SPDX-License-Identifier: Apache-2.0 */
#include "os/thread.h"

#include "base/bug.h"
#include "base/mem.h"
#include "os/clock.h"
#include "os/park.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SHORT_SLICE_NS 100000 /* the least that the scheduler grants */
#define STACK_BYTES ((size_t)8 << 20) /* nested SQL may need 2 MiB of it (sql/sql.h); musl's own choice would be 128 KiB */

/* What the kernel calls struct sched_attr, in its first form; the C library has no name for it yet. */
struct slice_request {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

static void *run_thread(void *argument)
{
    struct thread *thread = argument;

    (void)pthread_setname_np(pthread_self(), thread->name); /* a missing name harms nothing */
    thread->run(thread->argument);
    mem_spare_drop();
    return NULL;
}

enum code thread_start(struct thread *thread, const char *name, thread_fn fn, void *argument, struct why *why)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    int error;

    BUG_ON(thread->started);
    thread->run = fn;
    thread->argument = argument;
    (void)snprintf(thread->name, sizeof thread->name, "%s", name);
    sigfillset(&all);
    BUG_ON(pthread_sigmask(SIG_SETMASK, &all, &before) != 0);
    BUG_ON(pthread_attr_init(&attributes) != 0 || pthread_attr_setstacksize(&attributes, STACK_BYTES) != 0);
    error = pthread_create(&thread->id, &attributes, run_thread, thread);
    BUG_ON(pthread_attr_destroy(&attributes) != 0);
    BUG_ON(pthread_sigmask(SIG_SETMASK, &before, NULL) != 0);
    if (error != 0)
        return why_set(why, CODE_IO, "the thread %s cannot be started: %s; raise the limit of processes", name,
                       strerror(error));
    thread->started = true;
    return CODE_OK;
}

void thread_join(struct thread *thread)
{
    if (!thread->started)
        return;
    BUG_ON(pthread_join(thread->id, NULL) != 0);
    thread->started = false;
}

void thread_poke(struct thread *thread)
{
    if (atomic_exchange(&thread->poked, 1) == 0)
        park_wake(&thread->poked);
}

bool thread_rest(struct thread *thread, int most_ms)
{
    if (!atomic_load(&thread->is_stopping))
        park_sleep(&thread->poked, 0, most_ms < 0 ? -1 : (int64_t)most_ms * 1000);
    (void)atomic_exchange(&thread->poked, 0);
    return !atomic_load(&thread->is_stopping);
}

void thread_stop(struct thread *thread)
{
    atomic_store(&thread->is_stopping, true);
    thread_poke(thread);
    thread_join(thread);
}

bool thread_join_within(struct thread *thread, unsigned wait_ms)
{
    int64_t until_us = clock_monotonic_us() + (int64_t)wait_ms * 1000;

    if (!thread->started)
        return true;
    /* The C library's timed join goes by a wall clock that may jump, or is unknown to the thread sanitizer. */
    while (pthread_tryjoin_np(thread->id, NULL) != 0) {
        if (clock_monotonic_us() >= until_us)
            return false;
        (void)usleep(1000);
    }
    thread->started = false;
    return true;
}

void thread_detach(struct thread *thread)
{
    if (!thread->started)
        return;
    BUG_ON(pthread_detach(thread->id) != 0);
    thread->started = false;
}

void thread_ask_short_slices(void)
{
    struct slice_request request = {0};

    if (syscall(SYS_sched_getattr, 0, &request, sizeof request, 0) != 0 || request.policy != SCHED_OTHER)
        return;
    request.runtime_ns = SHORT_SLICE_NS;
    (void)syscall(SYS_sched_setattr, 0, &request, 0); /* an older kernel refuses, and all stays as it was */
}

unsigned thread_cores(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

    return count > 0 ? (unsigned)count : 1;
}
