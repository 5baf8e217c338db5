/* SPDX-License-Identifier: Apache-2.0 */
/* What the courier does so that others can prove what this node recorded: its checkpoints go up, those of the node before it
 * are looked at and cosigned, and it hears whether there are two records of this node.
 *
 * Forked is forgotten by nobody: it stands in the store with the name under which the node was that, so that a centre which
 * says nothing of it any more changes nothing. A node comes back under another name.
 *
 * Threads: the courier's one.
 * Owns: what it remembers.
 * Lifetime: evidence_new to evidence_free.
 * Errors: enum code with a sentence, as of pg/pg.h. */
#ifndef COURIER_EVIDENCE_H
#define COURIER_EVIDENCE_H

#include "courier/down_roster.h"

struct evidence;

struct evidence_self {
    struct db *store;             /* all borrowed */
    const char *audit;
    struct span fleet, node;
    const struct sign_key *key;
    struct down_roster *roster;
};

enum code evidence_new(const struct evidence_self *self, struct evidence **out, struct why *why) MUST_USE;
void evidence_free(struct evidence **evidence); /* NULL is fine */
void evidence_anew(struct evidence *evidence);  /* the connection is another one */

/* Takes: now_us: the clock that only goes on; shipped_seq: up to which this node's rows are at the centre. */
enum code evidence_turn(struct evidence *evidence, struct pg *pg, int64_t now_us, int64_t shipped_seq,
                        struct why *why) MUST_USE;

bool evidence_is_forked(const struct evidence *evidence);
const char *evidence_problem(const struct evidence *evidence); /* with what this node sees of another one; "": nothing */

#endif
