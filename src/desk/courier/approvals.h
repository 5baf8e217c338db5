/* SPDX-License-Identifier: Apache-2.0 */
/* Held calls of a fleet: what this node has of them goes to the others, what others say comes here, and an approval that the
 * gate wants to use is asked for at the centre, which gives it to one node, once.
 *
 * Threads: the courier's one.
 * Owns: what it holds between two turns.
 * Lifetime: the courier's.
 * Errors: enum code with a sentence. What one node's words are wrong in keeps nothing from the others'. */
#ifndef COURIER_APPROVALS_H
#define COURIER_APPROVALS_H

#include "courier/down_roster.h"
#include "courier/words.h"

#define APPROVALS_STUCK 16 /* so many nodes whose words are wrong are passed over for a moment */

struct approvals_way {
    struct db *store;
    const struct member *self;
    const struct down_roster *roster;
    bool is_compared; /* the centre has all words that it had, as far as this connection knows */
    struct {
        char node[FLEET_NAME_BYTES];
        int64_t until_us;
    } stuck[APPROVALS_STUCK];
    struct why fault; /* what another's word was wrong in last, and whether one was in the last turn */
    bool is_fault;
};

/* There is another connection: the centre may have been restored from an older copy. */
void approvals_anew(struct approvals_way *way);

/* Takes: now_us: monotonic; may_use: this node is none of a trail that forked. */
enum code approvals_turn(struct approvals_way *way, struct pg *pg, int64_t now_us, bool may_use, struct why *why) MUST_USE;

#endif
