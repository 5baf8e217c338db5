/* SPDX-License-Identifier: Apache-2.0 */
/* callgate-courier: the process between a gate and its fleet's centre. The gate is linked without a client of PostgreSQL, and
 * waits for the centre in no call but those that ask it (fleet/courier_end.h). What the centre says is not believed.
 *
 * One loop, a turn a second and whenever somebody has something to say: it connects, with pauses that grow, tells the centre
 * that this node lives and by what its gate judges, takes what the fleet decided, and writes into the store what it has
 * heard, by which the gate goes (fleet/fleet_state.h).
 *
 * Threads: one.
 * Owns: all that it opens.
 * Lifetime: the process's; it is killed when its parent ends, and loses nothing by that: what is left goes up at the next
 *   start.
 * Errors: the centre away: it tries again; its own files: it ends, and is started again. */
#ifndef COURIER_COURIER_H
#define COURIER_COURIER_H

#include "conf/conf.h"
#include "courier/approvals.h"
#include "courier/down.h"
#include "courier/down_roster.h"
#include "courier/evidence.h"
#include "courier/seat.h"
#include "ship/shipper.h"
#include "fleet/courier_end.h"
#include "fleet/fleet_state.h"
#include "fleet/member.h"
#include "pg/pg.h"
#include "uses/uses.h"

#include <time.h>

struct courier {
    const struct conf *conf;     /* as it was at the start */
    struct member *member;
    struct db *store;            /* to write */
    struct down_roster roster;
    struct down *down;
    struct why refused;             /* what of the centre was refused last */
    int64_t refused_us;             /* and when that was noted; by the monotonic clock */
    struct timespec nodes_asked; /* the mark that was seen last of those who ask how all nodes are */
    int64_t store_seen, asked_last; /* when the outbox was looked at, and its last number then */
    struct shipper *shipper;     /* NULL: it has not begun */
    struct uses *uses;           /* likewise */
    struct evidence *evidence;
    struct approvals_way approvals;
    struct why up_fault;         /* what the trail's way up does not get on with; "": nothing */
    struct why evidence_fault;   /* likewise what proves it */
    struct pg *pg;               /* NULL: the centre is away */
    int64_t retry_us, pause_us;  /* when it is tried again, and after how long then; by the monotonic clock */
    struct fleet_state state;
    struct uses_in_force in_force; /* here: what it takes counts once the gate goes by it */
    int64_t told_change, told_version; /* as the last beat told them */
    struct fleet_state saved;    /* what the store has of it */
    int64_t erasures_at;         /* the change up to which the audit was asked for what the fleet erases; -1: it was not */
    int64_t saved_us;            /* when it was written last, by the monotonic clock */
    int64_t begun_us, turn_us;   /* the last turn's beginning, and the next one's */
    bool is_told;                /* the centre has told something since; it is heard at the next turn */
    char start[CLOCK_START_BYTES];
    unsigned char instance[SEAT_INSTANCE_BYTES]; /* which process this is, at the centre */
    bool is_seated;              /* it has been the one of its name there */
    int gate;                    /* a socket; -1: nobody is there any more */
};

/* Reads the files that the configuration names. Takes: conf: borrowed. */
enum code courier_open(struct courier *courier, const struct conf *conf, int gate, struct why *why) MUST_USE;
void courier_close(struct courier *courier);
/* Whether courier_open would get on with what the configuration names; changes nothing. */
enum code courier_check(const struct conf *conf, struct why *why) MUST_USE;
/* Where its centre is, and as whom it comes. */
struct pg_place courier_place(const struct courier *courier);
/* Shuts the process in: the folders of the store, the audit and the database's authority, the database's ports, names. */
enum code courier_confine(const struct courier *courier, struct why *why) MUST_USE;
/* Until the gate ends, or a file of its own fails, which `why` tells. */
enum code courier_run(struct courier *courier, struct why *why) MUST_USE;
/* Brings to the centre what the gate recorded last, and the checkpoints over it; then says so to the gate, which waits for
 * that, and not for long. So the trail of a gate that was stopped ends at the centre as it does in its file. */
void courier_finish(struct courier *courier);

/* Asks this gate's audit for what the changes that were taken say is to be erased. */
enum code courier_ask_erasures(struct courier *courier, struct why *why) MUST_USE;

/* Notes for the audit what of the centre was refused, if that is what failed. */
void courier_note_refused(struct courier *courier, enum code code, const struct why *why);
/* Whether somebody here has begun to ask something of the fleet: a command, or a call that waits for an approval. */
bool courier_is_asked(struct courier *courier);

/* Puts beside the store how all nodes are, where somebody has asked since. The centre must be there. */
void courier_tell_nodes(struct courier *courier);

/* Tells the centre that this node lives, and by what its gate judges. CODE_IO: it is away. */
enum code courier_beat(struct courier *courier, struct why *why) MUST_USE;
/* Whether it judges by something else than the last beat said. */
bool courier_judges_anew(struct courier *courier);

#endif
