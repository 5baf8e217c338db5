/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the way downwards share.
 *
 * Threads: the courier's one.
 * Owns: see courier/down.h.
 * Lifetime: likewise.
 * Errors: likewise. */
#ifndef COURIER_DOWN_PRIV_H
#define COURIER_DOWN_PRIV_H

#include "courier/down.h"
#include "fleet/change.h"
#include "store/store_fleet.h"

#define DOWN_COMMANDS 16 /* that wait for others at a time; more wait for these */

/* A command of this node that others have to answer first. */
struct down_pending {
    int64_t command;  /* 0: the place is free */
    int64_t ask;      /* what the centre calls our question; 0: not asked yet */
    int64_t asked_us; /* since when they are asked to compile; 0: not yet */
    int64_t done_us;  /* since when it counts here; 0: not yet */
};

struct down {
    struct down_self self;
    struct down_pending pending[DOWN_COMMANDS];
    int64_t compiled;  /* the active version that was tried last, and whether it failed */
    bool is_behind;
};

/* The text of a change, for as long as it is looked at. */
struct down_text {
    struct arena arena;
    struct buf bytes;
    struct change change;
};
enum code down__read(struct down_text *text, struct span from, struct why *why) MUST_USE;
void down__done(struct down_text *text);

/* Verifies a change and puts it into the store, all of it or nothing. */
enum code down__take(struct down *down, struct span text, struct span signature, struct why *why) MUST_USE;

/* Makes a change of rows, signs it, puts it to the centre behind ours and takes it. */
struct down_making {
    struct span kind, by, rows; /* rows: JSON */
    int64_t outbox, time_us;
    int64_t number;             /* out; 0: somebody else was quicker, and the next turn tries again */
};
enum code down__make(struct down *down, struct pg *pg, struct down_making *making, struct why *why) MUST_USE;

/* All that the store has already, as the first changes. */
enum code down__adopt(struct down *down, struct pg *pg, struct why *why) MUST_USE;
/* Whether an adoption was begun that has not ended. */
enum code down__adopting(struct down *down, bool *is, struct why *why) MUST_USE;

/* Compiles a version that the centre asks about, and tells it. */
enum code down__compile(struct down *down, struct pg *pg, int64_t ask, int64_t version, struct why *why) MUST_USE;

/* Carries what waits in the outbox one step on. */
enum code down__outbox(struct down *down, struct pg *pg, int64_t now_us, struct why *why) MUST_USE;

#endif
