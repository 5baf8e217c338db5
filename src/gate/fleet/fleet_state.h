/* SPDX-License-Identifier: Apache-2.0 */
/* What the courier has last heard of the fleet's centre, as the store keeps it: the gate goes by that, also when it starts anew
 * while the centre is away.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef FLEET_FLEET_STATE_H
#define FLEET_FLEET_STATE_H

#include "db/db.h"
#include "os/clock.h"

#define FLEET_PROBLEM_BYTES 512

struct fleet_state {
    /* The last beat that the centre took, in a turn in which this node had all changes of the centre: when it was sent, by the
     * wall clock and since the machine's start. 0: there was none yet. */
    int64_t beat_us, beat_up_us;
    char start[CLOCK_START_BYTES]; /* which start of the machine */
    int64_t spent_us;              /* so much time has surely passed since then; the gate's */
    int64_t change;                /* number of the last change that this node took; 0: none */
    char hash[65];                 /* SHA-256 of its text, hexadecimal */
    int64_t behind;                /* the version that is active in the fleet and was not taken here; 0: none */
    int64_t forked;                /* 1: the centre has another record of this node */
    int64_t lag_rows, lag_us;      /* what of the trail is not at the centre yet: rows, age of the oldest */
    int64_t shipped_seq;           /* up to this row it is */
    int64_t refused;               /* so often the centre showed what no node takes; it only grows */
    char problem[FLEET_PROBLEM_BYTES]; /* what is wrong, as a sentence; "": nothing */
};

/* What was never written is 0 or "". */
enum code fleet_state_load(struct db *store, struct fleet_state *out, struct why *why) MUST_USE;
/* All of it at once, also within a transaction of the caller's. */
enum code fleet_state_save(struct db *store, const struct fleet_state *state, struct why *why) MUST_USE;
/* The number of the last change whose rows this store has, whatever the courier has saved since; 0: none. */
enum code fleet_state_change(struct db *store, int64_t *number, struct why *why) MUST_USE;
/* Notes that so much time has passed since the beat, unless there was another one meanwhile. It only grows. */
enum code fleet_state_spend(struct db *store, const struct fleet_state *state, int64_t age_us, struct why *why) MUST_USE;

#define FLEET_NEVER INT64_MAX
/* How long ago the last beat was, in microseconds; FLEET_NEVER: nobody can know. While the machine runs, no clock that is set
 * changes it. After the machine's own restart it goes by the wall clock, but is never less than what was spent before, and
 * a clock that is behind the beat tells nothing. Takes: start: which start of the machine this is. */
int64_t fleet_state_age(const struct fleet_state *state, int64_t wall_us, int64_t up_us, const char *start);

#endif
