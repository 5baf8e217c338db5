/* SPDX-License-Identifier: Apache-2.0 */
/* Downwards: what the fleet decided comes to this node as numbered, signed changes, and what people decided here goes up as
 * such.
 *
 * The centre is not believed. A change counts by its signature, of a node that the roster names, and by its place behind the
 * one that this node took last. Where the centre shows anything else, nothing beyond is taken, and the node says so until the
 * centre shows the true one. Where the centre has lost changes, it gets them again, as they were signed.
 *
 * Threads: the courier's one.
 * Owns: what it holds between two turns.
 * Lifetime: down_new to down_free.
 * Errors: enum code with a sentence. CODE_IO: the centre is away; CODE_INVALID, CODE_EXISTS: what it shows is refused. */
#ifndef COURIER_DOWN_H
#define COURIER_DOWN_H

#include "courier/down_roster.h"
#include "crypto/digest.h"

#define DOWN_CHANNEL "callgate_change" /* notified of each change */

struct down;

/* Who this node is. All of it is borrowed for the life of a struct down. */
struct down_self {
    struct db *store;           /* to write */
    struct span fleet, node;    /* the fleet's id, hexadecimal; this node's name */
    const struct sign_key *key; /* this node's */
    const struct down_roster *roster;
};

/* Notes in the store whose it is, so that commands know. */
enum code down_new(const struct down_self *self, struct down **out, struct why *why) MUST_USE;
void down_free(struct down **down); /* NULL is fine */

/* One turn: takes what is new, gives what was lost, compiles what others want to make active, and carries the outbox on.
 * Takes: now_us: the clock that only goes on. Returns: CODE_OK: this node has all that the centre has. Blocks. */
enum code down_turn(struct down *down, struct pg *pg, int64_t now_us, struct why *why) MUST_USE;

/* Whether a command waits to hear which nodes have what it led to. */
bool down_waits(const struct down *down);

/* Where this node stands: the number of the last change that it took, its SHA-256 in hexadecimal, and the version that is
 * active, where it does not compile here, or 0. It needs no centre. */
struct down_state {
    int64_t change, behind;
    char hash[2 * DIGEST_BYTES + 1];
};
enum code down_state(struct down *down, struct down_state *state, struct why *why) MUST_USE;

#endif
