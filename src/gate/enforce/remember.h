/* SPDX-License-Identifier: Apache-2.0 */
/* What the audit knows of the past: a gate that starts counts the calls of the last windows again, so that no restart gives
 * tokens away or lets an agent forget what it read; and a recorded call is explained by what came before it.
 *
 * Threads: one, which others that use the state do not disturb.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence; what was counted until then stays. */
#ifndef ENFORCE_REMEMBER_H
#define ENFORCE_REMEMBER_H

#include "base/why.h"
#include "enforce/gate.h"
#include "enforce/past_file.h"

#include <stdatomic.h>

struct remembered {
    uint64_t rows;    /* that were looked at: permits within the windows, and what came of them */
    uint64_t calls;   /* that counted for something */
    uint64_t steps;   /* of plans, that were used */
    bool lacks_room;  /* for all plans that were used: those of then use no more steps */
    int64_t gap_us;   /* files are missing that may hold calls of the windows, from before this time; 0: none is */
    uint64_t from;    /* the row up to which what was kept had it counted; 0: nothing was kept that could be gone on from */
};

/* The rules that a row names, of its call or of its answer; where that cannot be read, whichever is asked may be one.
 * Returns: what sums counted, by their paths; NULL: nothing. Both live as long as arena and canonical are left alone. */
const struct json_node *gate_recorded_met(struct span text, struct arena *arena, struct buf *canonical,
                                          struct verdict_rule named[VERDICT_RULES_MAX], struct policy_met *met);

/* All that the windows of `policy` reach, whatever stands between: no number of rows ends the reading. Where files are missing
 * that a window reaches, sequences are undecided for as long as it does; limits count what is there.
 * Takes: path: of an audit.db, sealed files beside it included; now_us: UTC; before_seq: only rows with smaller numbers,
 * INT64_MAX for all. */
enum code gate_state_remember(struct gate_state *state, const struct policy *policy, const char *path, int64_t now_us,
                              int64_t before_seq, struct remembered *remembered, struct why *why) MUST_USE;

/* What is read for a running gate, by a thread beside it. */
struct remembering {
    const char *path;        /* as above */
    const atomic_bool *stop; /* ends it early when it is set: CODE_BUSY. NULL: nothing does */
    int64_t now_us;          /* UTC */
    bool with_plans;         /* also the steps of plans that were used within a day */
    struct past_place kept;  /* what was counted before, to go on from */
    uint64_t last;           /* of a start: a durable row, as of which what it counts is kept where that was much; 0: not */
};

/* For the policy that is published: what was counted in this process is forgotten. It goes on from the newest of the two files
 * whose row is in the trail and which has all that the policy asks for; without one it counts the whole windows. Nothing may be
 * judged meanwhile (gate_hold_back). Threads: any, one at a time. */
enum code gate_remember(struct gate_shared *shared, const struct remembering *remembering, struct remembered *remembered,
                        struct why *why) MUST_USE;

/* The steps of plans. Does nothing from the second time on: the state knows what came since. Threads: any, one at a time. */
enum code gate_remember_plans(struct gate_shared *shared, const struct remembering *remembering,
                              struct remembered *remembered, struct why *why) MUST_USE;

/* Before a version is published that watches other tools than the one in force: who called them before. Limits that are new
 * count from now on. Threads: any, one at a time. */
enum code gate_remember_watches(struct gate_shared *shared, const struct policy *coming, const struct remembering *remembering,
                                struct remembered *remembered, struct why *why) MUST_USE;

/* Counts up to the row `last`, which is durable, and keeps that in the older of the two files: from there a start goes on. It
 * counts the trail's rows anew and not what is judged meanwhile, so that what is kept is what the trail says.
 * *kept: the row that is kept; 0: the policy asks for nothing. Threads: any, one at a time. */
enum code gate_remember_keep(struct gate_shared *shared, const struct remembering *remembering, uint64_t last, uint64_t *kept,
                             struct why *why) MUST_USE;

#endif
