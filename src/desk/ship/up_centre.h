/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the centre for the trail: where it stands, a batch put into it, what its days need.
 *
 * Threads: the connection's.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: enum code with a sentence, as pg/pg.h has them. */
#ifndef SHIP_UP_CENTRE_H
#define SHIP_UP_CENTRE_H

#include "ship/up_trail.h"

enum code up_centre_cursor(struct pg *pg, struct up_place *place, struct why *why) MUST_USE;

/* Moves the cursor and puts the rows in, or does neither; where the commit's answer did not come, nobody knows which.
 * *moved: false: the cursor stands elsewhere than at `from`, so ask for it. state: the SQLSTATE of what failed. */
enum code up_centre_put(struct pg *pg, const struct up_place *from, const struct up_batch *batch,
                        const struct up_table tables[ROW_TABLES], bool *moved, char state[6], struct why *why) MUST_USE;
/* Moves the cursor over rows that are nowhere any more. */
enum code up_centre_pass(struct pg *pg, const struct up_place *from, const struct up_place *to, bool *moved,
                         struct why *why) MUST_USE;
/* Opens the day's partitions; a day that the centre opens none for has its place all the same. */
enum code up_centre_open(struct pg *pg, int32_t day, struct why *why) MUST_USE;
/* Drops those indices of a day that is over which do not take every row; up_centre_tend makes them anew. */
enum code up_centre_unindex(struct pg *pg, int32_t day, struct why *why) MUST_USE;
/* Says that here stands another row than at the centre. */
enum code up_centre_fork(struct pg *pg, const struct up_place *there, const struct up_place *here, struct why *why) MUST_USE;
/* Empties some of what this node's events `erased` name. *seq: of the one that is done now; 0: none. *more: ask again. */
enum code up_centre_erase(struct pg *pg, int64_t *seq, bool *more, struct why *why) MUST_USE;
/* Does a piece of what days need; makes of an index take as long as it takes. *more: ask again. */
enum code up_centre_tend(struct pg *pg, bool *more, struct why *why) MUST_USE;

#endif
