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
#include "fleet/chain.h"

#define DOWN_COMMANDS 16 /* that wait for others at a time; more wait for these */

/* A command of this node that others have to answer first. */
struct down_pending {
    int64_t command;  /* 0: the place is free */
    int64_t ask;      /* the random number of our question; 0: not asked yet */
    int64_t asked_us; /* since when they are asked to compile; 0: not yet */
    int64_t done_us;  /* since when the centre has it; 0: not yet */
    bool is_here;     /* it waits in the outbox still */
};

/* What a node says of a version that another one wants to make active. */
struct down_answer {
    struct span node, asked_by;
    int64_t ask, version;
    struct span problem; /* empty: it compiles there */
};
struct down_told {
    int64_t ask, us;
};

struct down {
    struct down_self self;
    struct down_pending pending[DOWN_COMMANDS];
    int64_t compiled;  /* the active version that was tried last, and whether it failed */
    bool is_behind;
    int64_t tried;     /* the version that somebody asked about last, and what is wrong with it */
    struct why tried_fault;
    struct down_told told[DOWN_COMMANDS]; /* which questions were answered, and when */
    char asks_behind[FLEET_NAME_BYTES];   /* questions are looked at from this name on */
    int64_t compared;  /* the roster whose last change was held against this node's chain; 0: none */
    struct buf pinned; /* hashes of the changes behind `pinned_behind`, 32 bytes each, up to the roster's last one */
    int64_t pinned_behind;
};

/* Makes a change of rows, signs it, puts it to the centre behind ours and takes it. */
struct down_making {
    struct span kind, by, rows; /* rows: JSON */
    int64_t outbox, time_us;
    int64_t number;             /* out; 0: somebody else was quicker, and the next turn tries again */
};
enum code down__make(struct down *down, struct pg *pg, struct down_making *making, struct why *why) MUST_USE;

/* Whether a version compiles here: fault->text is empty, or what is wrong with it. CODE_NOT_FOUND: it has not come yet. */
enum code down__compile(struct down *down, int64_t version, struct why *fault, struct why *why) MUST_USE;
/* Answers those who ask whether a version compiles here. */
enum code down__answer(struct down *down, struct pg *pg, int64_t now_us, struct why *why) MUST_USE;
/* Whether a node of the roster has said so. */
bool down__is_answer(const struct down *down, const struct down_answer *answer, struct span signature);

/* Carries what waits in the outbox one step on. */
enum code down__outbox(struct down *down, struct pg *pg, int64_t now_us, struct why *why) MUST_USE;

#endif
