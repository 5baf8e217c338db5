/* SPDX-License-Identifier: Apache-2.0 */
/* What all workers share as numbers: connections, memory, and requests in flight of each principal.
 *
 * Threads: any; relaxed atomics, no lock.
 * Owns: the slots of principals.
 * Lifetime: outlives every worker that was handed it.
 * Errors: false: over the limit. A limit of 0 means none. */
#ifndef LINK_BUDGET_H
#define LINK_BUDGET_H

#include "base/code.h"
#include "base/span.h"

#include <stdatomic.h>
#include <stdint.h>

#define BUDGET_SLOTS 16384 /* principals with requests in flight at one time */

struct budget {
    atomic_uint_fast32_t connections;
    uint32_t connections_max;
    atomic_uint_fast64_t memory_bytes;
    uint64_t memory_max_bytes;
    atomic_uint_fast64_t *slots; /* 44 bits of a hash, 20 bits of a count */
};

enum code budget_init(struct budget *budget, uint32_t connections_max, uint64_t memory_max_bytes) MUST_USE;
void budget_fini(struct budget *budget);

bool budget_take_connection(struct budget *budget);
void budget_give_connection(struct budget *budget);

/* Tells how much somebody holds now; `held` is what it told last time. */
void budget_hold(struct budget *budget, uint64_t *held_bytes, uint64_t now_bytes);
bool budget_is_tight(const struct budget *budget); /* over the limit: nothing large may begin */

/* One more request of this principal, at most `limit` at once (0: any number). *slot is handed back to budget_leave. */
bool budget_enter(struct budget *budget, struct span tenant, struct span principal, uint32_t limit, uint32_t *slot);
void budget_leave(struct budget *budget, uint32_t slot);

#endif
