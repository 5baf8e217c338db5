/* SPDX-License-Identifier: Apache-2.0 */
/* A lock between threads, and a sign: a condition variable that goes by a clock which nobody sets.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: lock_init to pthread_mutex_destroy.
 * Errors: none; what cannot be taken or given is a bug, and aborts. */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include "base/bug.h"

#include <pthread.h>
#include <time.h>

static inline void lock_init(pthread_mutex_t *lock)
{
    BUG_ON(pthread_mutex_init(lock, NULL) != 0);
}

static inline void lock_take(pthread_mutex_t *lock)
{
    BUG_ON(pthread_mutex_lock(lock) != 0);
}

static inline void lock_give(pthread_mutex_t *lock)
{
    BUG_ON(pthread_mutex_unlock(lock) != 0);
}

static inline void lock_sign_init(pthread_cond_t *sign)
{
    pthread_condattr_t monotonic;

    BUG_ON(pthread_condattr_init(&monotonic) != 0 || pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) != 0);
    BUG_ON(pthread_cond_init(sign, &monotonic) != 0);
    (void)pthread_condattr_destroy(&monotonic);
}

#endif
