/* SPDX-License-Identifier: Apache-2.0 */
/* What this node, as a witness, saw last of another node's log: it stays in the store, since the centre, which shows it all, is
 * not believed.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef FLEET_WITNESS_MEMORY_H
#define FLEET_WITNESS_MEMORY_H

#include "db/db.h"
#include "proof/witness.h"

/* CODE_NOT_FOUND: nothing was seen of that node yet, or what is there cannot be read. */
enum code witness_memory_load(struct db *store, struct span node, struct witness *witness, struct why *why) MUST_USE;
/* A node of which there are two records; noted once for each name and place. */
enum code witness_memory_fork(struct db *store, struct span node, struct span told_by, int64_t seq, struct span what,
                              struct why *why) MUST_USE;
enum code witness_memory_is_forked(struct db *store, struct span node, bool *is, struct why *why) MUST_USE;
enum code witness_memory_save(struct db *store, struct span node, const struct witness *witness, struct why *why) MUST_USE;

#endif
