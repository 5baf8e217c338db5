/* SPDX-License-Identifier: Apache-2.0 */
/* What the audit knows of the past: a gate that starts counts the calls of the last windows again, so that no restart gives
 * tokens away or lets an agent forget what it read; and a recorded call is explained by what came before it.
 *
 * Threads: one, before others use the state.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence; what was counted until then stays. */
#ifndef GATE_REMEMBER_H
#define GATE_REMEMBER_H

#include "base/why.h"
#include "gate/gate.h"

#define REMEMBER_ROWS_MAX 1000000 /* numbers of the audit, the last ones: two or three seconds of work at most */
#define REMEMBER_NEW_ROWS_MAX 200000 /* while the gate runs: half a second */

struct remembered {
    uint64_t calls;   /* that counted for something */
    bool is_cut;      /* the windows hold more rows than are looked at, or than there is room for */
};

/* The rules that a row names, of its call or of its answer; where that cannot be read, whichever is asked may be one.
 * Returns: what sums counted, by their paths; NULL: nothing. Both live as long as arena and canonical are left alone. */
const struct json_node *gate_recorded_met(struct span text, struct arena *arena, struct buf *canonical,
                                          struct verdict_rule named[VERDICT_RULES_MAX], struct policy_met *met);

/* Takes: path: of an audit.db, sealed files beside it included; now_us: UTC; before_seq: only rows with smaller numbers,
 * INT64_MAX for all; rows_max: of the last ones; of those before them the sums count, however many there are. */
enum code gate_state_remember(struct gate_state *state, const struct policy *policy, const char *path, int64_t now_us,
                              int64_t before_seq, int64_t rows_max, struct remembered *remembered, struct why *why) MUST_USE;

/* All rows, for a gate's own state and the policy that is published. Threads: main, before there are workers. */
enum code gate_remember(struct gate_shared *shared, const char *path, int64_t now_us, struct remembered *remembered,
                        struct why *why) MUST_USE;

/* The steps of plans that were used within a day. Does nothing from the second time on: the state knows what came since.
 * Threads: main, before a configuration with plans is published. */
enum code gate_remember_plans(struct gate_shared *shared, const char *path, int64_t now_us, struct remembered *remembered,
                              struct why *why) MUST_USE;

/* Before a version is published that watches other tools than the one in force: who called them before. Limits that are new
 * count from now on. Threads: main. */
enum code gate_remember_watches(struct gate_shared *shared, const struct policy *coming, const char *path, int64_t now_us,
                                struct why *why) MUST_USE;

#endif
