/* SPDX-License-Identifier: Apache-2.0 */
/* Places that a few may have at once, in turn: who comes first goes first, and nobody has more of them than are free, so that
 * he who asks most keeps nobody else waiting.
 *
 * Threads: any.
 * Owns: nothing; who waits stands on his own stack.
 * Lifetime: places_init, and then the process's.
 * Errors: false where there was none in time. */
#ifndef CONSOLE_PLACES_H
#define CONSOLE_PLACES_H

#include "base/list.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define PLACES_MAX 8

struct places {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    unsigned count, taken;       /* count: at most PLACES_MAX */
    uint64_t holders[PLACES_MAX]; /* of those that are taken */
    struct list waiting;
    unsigned waits, waits_max;
};

/* Takes: waits: how many may wait; the next is told at once that there is no place. */
void places_init(struct places *places, unsigned count, unsigned waits);

/* Takes: whose: a hash of who it is. Blocks: so long at most. Returns: whether he has one, which he leaves by places_leave. */
bool places_take(struct places *places, uint64_t whose, unsigned wait_ms);
void places_leave(struct places *places, uint64_t whose);

#endif
