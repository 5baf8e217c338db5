/* SPDX-License-Identifier: Apache-2.0 */
/* This node as a witness of the node before it by name: it looks whether each of that one's checkpoints goes on from the last
 * that it saw, by the rows' hashes that the centre has, and cosigns those that do. Where one does not, it says so.
 *
 * Neither the node nor the centre is believed. A checkpoint counts with the node's own signature, of the key that the roster
 * has; what was seen last stands in this node's own store.
 *
 * Threads: the courier's one.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence, as of pg/pg.h. */
#ifndef COURIER_WITNESSING_H
#define COURIER_WITNESSING_H

#include "crypto/sign.h"
#include "db/db.h"
#include "pg/pg.h"
#include "proof/note.h"

struct witnessing {
    struct db *store;            /* all borrowed */
    struct span fleet, node;     /* the fleet's id; this node */
    const struct sign_key *key;
    bool (*key_of)(void *context, struct span node, unsigned char key[SIGN_PUBLIC_BYTES]); /* as the roster has it */
    void *context;
};

/* Looks at the nodes before this one, a piece of each. *more: call again at once. Takes: time_s: Unix seconds. What is wrong
 * with what it saw stands in `problem` ("": nothing), and is no failure. */
enum code witnessing_turn(const struct witnessing *self, struct pg *pg, uint64_t time_s, bool *more, struct why *problem,
                          struct why *why) MUST_USE;

#endif
