/* SPDX-License-Identifier: Apache-2.0 */
/* Folding of floods: refusals beyond 10 a second for a reason and a network or principal become one counted event.
 *
 * Threads: one fold is shared by all workers; each call takes its short lock.
 * Owns: a table of fixed size; where it is full, the reason alone is counted.
 * Lifetime: fold_new to fold_free, after the workers have ended.
 * Errors: none that lose a count: what cannot be put into a ring stays counted until the next tick. */
#ifndef AUDIT_FOLD_H
#define AUDIT_FOLD_H

#include "audit/ring.h"

#define FOLD_ROWS_A_SECOND 10

struct fold;

enum code fold_new(struct fold **fold) MUST_USE;
void fold_free(struct fold **fold);

/* Called for each refusal that came before an identity was known, before its row is put.
 * Takes: client: the address as text; networks are /24 for IPv4 and /64 for IPv6; now_us: monotonic; wall_us: UTC.
 * Returns: true: it is counted here, put no row. */
bool fold_takes(struct fold *fold, enum reason reason, struct span client, int64_t now_us, int64_t wall_us);

/* Likewise for refusals of one whose identity is known, over the rate that it was given. */
bool fold_takes_principal(struct fold *fold, enum reason reason, struct span tenant, struct span principal, int64_t now_us,
                          int64_t wall_us);

/* Puts a `folded` event for every count whose second is over (with `all`, for every count). About once a second, from any
 * worker, and once more at the end. */
void fold_tick(struct fold *fold, struct audit_ring *ring, int64_t now_us, int64_t wall_us, bool all);

#endif
