/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the past from the audit. A gate that starts counts the calls of the last windows again, so that a restart neither
 * gives tokens away nor forgets what an agent has read. Explaining a recorded call counts what came before it.
 *
 * Threads: one; others may use the state meanwhile.
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
    uint64_t rows;    /* rows that were read: permits within the windows, and their outcomes */
    uint64_t calls;   /* calls that counted for a limit or a sequence */
    uint64_t steps;   /* steps of plans that were used */
    bool lacks_room;  /* there is no room for all plans that were used; those of that time can use no more steps */
    int64_t gap_us;   /* files are missing that may hold calls of the windows from before this time; 0: none is missing */
    uint64_t from;    /* the row up to which a kept file had counted; 0: no kept file could be used */
};

/* Reads the rules that a row names, of its call or of its answer; where the text cannot be read, any rule may be one of them.
 * Returns: the rules, for question_recorded_sum; or NULL. Both live until arena or canonical are used again. */
const struct json_node *gate_recorded_met(struct span text, struct arena *arena, struct buf *canonical,
                                          struct verdict_rule named[VERDICT_RULES_MAX], struct policy_met *met);

/* Counts all that the windows of `policy` reach, however many rows that are. Where files are missing that a window reaches,
 * sequences are undecided as long as it does; limits count what is there.
 * Takes: path: of an audit.db, sealed files beside it included; now_us: UTC; before_seq: only rows with smaller numbers,
 * INT64_MAX for all. */
enum code gate_state_remember(struct gate_state *state, const struct policy *policy, const char *path, int64_t now_us,
                              int64_t before_seq, struct remembered *remembered, struct why *why) MUST_USE;

/* What is to be read for a running gate, by a thread beside it. */
struct remembering {
    const char *path;        /* as in gate_state_remember */
    const atomic_bool *stop; /* ends it early when it is set: CODE_BUSY. NULL: nothing does */
    int64_t now_us;          /* UTC */
    bool with_plans;         /* also the steps of plans that were used within a day */
    struct past_place kept;  /* what was counted before, to go on from */
    uint64_t last;           /* at a start: a durable row, up to which the count is kept where it read many rows; 0: it is
                              * not kept */
};

/* Counts anew for the published policy, and forgets what was counted in this process. It goes on from the newest kept file
 * whose row is in the trail and which has all that the policy asks for; without one it counts the whole windows. Nothing may be
 * judged meanwhile (gate_hold_back). Threads: any, one at a time. */
enum code gate_remember(struct gate_shared *shared, const struct remembering *remembering, struct remembered *remembered,
                        struct why *why) MUST_USE;

/* Counts the steps of plans. From the second time on it does nothing, since the state knows what came since. Threads: any,
 * one at a time. */
enum code gate_remember_plans(struct gate_shared *shared, const struct remembering *remembering,
                              struct remembered *remembered, struct why *why) MUST_USE;

/* Counts for a version that watches other tools than the one in force, before it is published: who called them before.
 * Limits that are new count from now on. Threads: any, one at a time. */
enum code gate_remember_watches(struct gate_shared *shared, const struct policy *coming, const struct remembering *remembering,
                                struct remembered *remembered, struct why *why) MUST_USE;

/* Counts up to the row `last`, which is durable, and keeps the result in the older of the two files, from which a start goes
 * on. It counts rows of the trail, not what is judged meanwhile, so that what is kept is what the trail says. *kept: the row
 * that is kept; 0: the policy asks for nothing. Threads: any, one at a time. */
enum code gate_remember_keep(struct gate_shared *shared, const struct remembering *remembering, uint64_t last, uint64_t *kept,
                             struct why *why) MUST_USE;

#endif
