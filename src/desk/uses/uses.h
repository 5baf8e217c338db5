/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and steps of plans that count over the fleet: a thread with a connection of its own reads what the gate wishes, asks
 * the centre for all that waits at once, in one transaction, and says what came of it.
 *
 * A commit that was not answered is asked for again, by the same number, which is the same use; what has waited for long is
 * not, since nobody waits for it any more. Keys, values and tickets go there as digests under a secret of the fleet's.
 *
 * Threads: uses_start and uses_stop from the courier's; the rest is its own. It alone reads the socket to the gate.
 * Owns: its connection and its thread.
 * Lifetime: uses_start, once this process is known to be the one of its node, to uses_stop.
 * Errors: the centre away: what is wished is answered so at once, and it is tried again. */
#ifndef USES_USES_H
#define USES_USES_H

#include "fleet/courier_end.h"
#include "pg/pg.h"

#include <stdatomic.h>

struct uses;

/* By what the gate judges, as it has said last. Threads: any. */
struct uses_in_force {
    atomic_int_least64_t change, version; /* as struct fleet_in_force has them */
};
/* Returns: whether the message says that. */
bool uses_hear_in_force(struct uses_in_force *in_force, const void *message, size_t bytes);

struct uses_conf {
    struct pg_place place; /* borrowed */
    const char *name;      /* the node's; borrowed */
    const unsigned char *secret; /* DIGEST_BYTES, that all nodes have; borrowed */
    int gate;
    struct uses_in_force *in_force; /* kept; borrowed */
};

enum code uses_start(const struct uses_conf *conf, struct uses **uses, struct why *why) MUST_USE;
bool uses_are_over(const struct uses *uses); /* the gate is gone, or has recorded its last row */
/* *uses may be NULL. Returns: false: it waits for the database; nothing of it may be freed. */
bool uses_stop(struct uses **uses) MUST_USE;

/* Reads a row of the centre's, whatever it holds: the database is not believed. Takes: numbers: ticket, status, at, wait_us and
 * taken, as limit_use returns them; used: likewise. */
#define USES_NUMBERS 5
void uses_read_answer(const int64_t numbers[USES_NUMBERS], struct span used, struct wish_answer *answer);

#endif
