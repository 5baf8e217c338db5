/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of a fleet's changes as its centre shows it, which is not believed: a change counts by its signature, of a node
 * that the roster names for its number, and by its place behind the one before.
 *
 * The key of a node that has left still counts for the changes up to the one with which it left. Whoever has it, and the
 * database, could show a node that is new another chain up to there. So each roster says which change was the last when it was
 * signed, with that one's hash: a chain counts only where it comes by that.
 *
 * Threads: any; what was read belongs to one thread.
 * Owns: a struct chain_read what it read.
 * Lifetime: chain_read to chain_done.
 * Errors: enum code with a sentence. CODE_DENIED: not signed by whose it is; CODE_INVALID: not in its place, or no change. */
#ifndef FLEET_CHAIN_H
#define FLEET_CHAIN_H

#include "fleet/change.h"
#include "fleet/roster.h"

/* A row of the centre. signer: whose key is tried; the text must say the same. */
struct chain_shown {
    struct span text, signature, signer;
};

struct chain_read {
    struct arena arena;
    struct buf bytes;
    struct change change;
};

/* Reads a text that is believed: of this node's own store. */
enum code chain_read_own(struct chain_read *read, struct span text, struct why *why) MUST_USE;
void chain_done(struct chain_read *read);

/* Verifies the change that is next behind `end`, and only then reads it. chain_done is due whatever it returns. */
enum code chain_verify(const struct roster *roster, const struct store_fleet_end *end, const struct chain_shown *shown,
                       struct chain_read *read, struct why *why) MUST_USE;
/* Likewise, and moves `end` on to it: for whoever looks along a chain and uses nothing of it. */
enum code chain_pass(const struct roster *roster, struct store_fleet_end *end, const struct chain_shown *shown,
                     struct why *why) MUST_USE;

/* Whether a chain that is at `end` is the one that the roster's signer has seen. CODE_DENIED: it is at that place, and another
 * one; CODE_OK too where it is elsewhere. */
enum code chain_is_rosters(const struct roster *roster, const struct store_fleet_end *end, struct why *why) MUST_USE;

#endif
