/* SPDX-License-Identifier: Apache-2.0 */
/* The newest roster that this node has seen: of its membership file, of its store, of the centre. None of a lower number is
 * taken, so that a node that has left stays out, whoever shows the roster of before.
 *
 * Threads: the courier's one.
 * Owns: the roster.
 * Lifetime: down_roster_open to down_roster_close.
 * Errors: enum code with a sentence. CODE_DENIED: not signed by the fleet's root; CODE_INVALID: another one than it says. */
#ifndef COURIER_DOWN_ROSTER_H
#define COURIER_DOWN_ROSTER_H

#include "db/db.h"
#include "fleet/roster.h"
#include "pg/pg.h"

struct down_roster {
    struct db *store;
    const unsigned char *root;
    const char *fleet;
    struct roster *now;
    bool is_put;        /* the centre has it, as far as this connection knows */
    int64_t looked;     /* rosters behind this number are looked at next, too; 0: none */
    struct why refused; /* what the centre shows that is no roster; "": nothing */
};

/* Takes: text, signature: of the membership file; what root and fleet point to is borrowed. */
enum code down_roster_open(struct down_roster *roster, struct db *store, const unsigned char root[SIGN_PUBLIC_BYTES],
                           const char *fleet, struct span text, struct span signature, struct why *why) MUST_USE;
void down_roster_close(struct down_roster *roster);

/* There is another connection: the centre may have been restored from an older copy. */
void down_roster_anew(struct down_roster *roster);
/* Takes the newest good one that the centre shows, and keeps it; brings it this node's where it lacks that. */
enum code down_roster_turn(struct down_roster *roster, struct pg *pg, struct why *why) MUST_USE;

#endif
