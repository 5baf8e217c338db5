/* SPDX-License-Identifier: Apache-2.0 */
/* Folding of floods: refusals beyond so many a second for a reason and a network or principal become one counted event.
 *
 * Threads: one fold is shared by all workers; each call takes its short lock.
 * Owns: a table of fixed size; where it is full, the reason alone is counted.
 * Lifetime: fold_new to fold_free, after the workers have ended.
 * Errors: none that lose a count: what cannot be put into a ring stays counted until the next tick. */
#ifndef ROWS_FOLD_H
#define ROWS_FOLD_H

#include "rows/ring.h"

#define FOLD_ROWS_A_SECOND 10     /* for a reason and a network, or a principal over its rate */
#define FOLD_DENIALS_A_SECOND 250 /* for a reason and a principal: more rows than that nobody can read */

struct fold;

enum code fold_new(struct fold **fold) MUST_USE;
void fold_free(struct fold **fold);

/* Called for each refusal that came before an identity was known, before its row is put.
 * Takes: client: the address as text; networks are /24 for IPv4 and /64 for IPv6; now_us: monotonic; wall_us: UTC.
 * Returns: true: it is counted here, put no row. */
bool fold_takes(struct fold *fold, enum reason reason, struct span client, int64_t now_us, int64_t wall_us);

struct fold_call {
    enum reason reason;
    struct span tenant, principal;
    struct span tool, rule; /* the event names one where all calls that it counts had it, and it is 128 bytes at most */
};

/* Called for each denied call of a principal that is known. Takes: rows: how many of them have rows in a second. */
bool fold_takes_call(struct fold *fold, const struct fold_call *call, uint32_t rows, int64_t now_us, int64_t wall_us);

/* Puts a `folded` event for every count whose second is over (with `all`, for every count). About once a second, from any
 * worker, and once more at the end. */
void fold_tick(struct fold *fold, struct audit_ring *ring, int64_t now_us, int64_t wall_us, bool all);

#endif
