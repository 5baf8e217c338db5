/* SPDX-License-Identifier: Apache-2.0 */
/* The trail's way up: every row of this node's audit to the centre, once, in its order. Where the centre stands is asked there,
 * and nothing is remembered here: whoever is killed, or restored from an older copy, goes on from what the centre has.
 *
 * One transaction moves the centre's cursor from (number, hash) to (number, hash), where it stands as was said, and puts the
 * rows in between. So two couriers of one node, and a commit whose answer was lost, put no row twice. A row at the cursor that
 * is not the one here is a fork: two nodes with one name, or a trail that somebody changed or cut.
 *
 * Threads: one, with a connection of its own.
 * Owns: what it has read, and knows of the trail's files.
 * Lifetime: up_new to up_free.
 * Errors: enum code with a sentence: CODE_IO and all else but CODE_NOMEM may pass, so the caller waits and calls again, with a
 *   new connection where pg_is_lost. */
#ifndef SHIP_UP_H
#define SHIP_UP_H

#include "pg/pg.h"

struct up;

/* How far it is. Numbers are rows' in the trail. */
struct up_figures {
    int64_t shipped_seq; /* all up to here is at the centre, as was last known */
    int64_t lag_rows;    /* rows here that are not there */
    int64_t lag_us;      /* since when the first of them waits */
    uint64_t rows;       /* shipped since the start */
    uint64_t missed;     /* rows that were given away before they were shipped */
    uint64_t hollow;     /* rows of which the centre refused more than number and hash */
    bool is_forked;
};

/* Takes: audit: the audit's path, the caller's; digests: arguments, answers and all else that can be erased stay at home;
 * shipped_seq: as the store knows it from before. */
enum code up_new(const char *audit, bool digests, int64_t shipped_seq, struct up **up, struct why *why) MUST_USE;
void up_free(struct up **up);

/* Forgets where the centre stands: the connection is another one, and may lead to another server. */
void up_anew(struct up *up);

/* Ships what fits into one transaction. *more: call again at once. */
enum code up_turn(struct up *up, struct pg *pg, bool *more, struct why *why) MUST_USE;
/* Looks how far the trail is; also while there is no connection. */
enum code up_look(struct up *up, struct why *why) MUST_USE;
const struct up_figures *up_figures(const struct up *up);

#endif
