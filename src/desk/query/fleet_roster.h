/* SPDX-License-Identifier: Apache-2.0 */
/* The newest roster that a fleet's centre shows, of those that the fleet's key has signed.
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. CODE_NOT_FOUND: there is none that is signed. */
#ifndef QUERY_FLEET_ROSTER_H
#define QUERY_FLEET_ROSTER_H

#include "fleet/roster.h"
#include "pg/pg.h"

/* Takes: refused: where what is wrong with a row that stands above the newest good one goes; "": nothing. *out is
 * the caller's. */
enum code fleet_roster_newest(struct pg *pg, const unsigned char root[SIGN_PUBLIC_BYTES], const char *fleet,
                              struct roster **out, struct why *refused, struct why *why) MUST_USE;

#endif
