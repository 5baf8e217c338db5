/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that count the past share.
 *
 * Threads: as remember.h says.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef ENFORCE_REMEMBER_PRIV_H
#define ENFORCE_REMEMBER_PRIV_H

#include "files/trail.h"
#include "enforce/gate_priv.h"
#include "enforce/remember.h"

struct remember_range {
    int64_t after, after_plans; /* rows up to these are counted already, for limits and sequences, and for plans; 0: none */
    int64_t before;             /* only rows with smaller numbers */
    int64_t now_us;             /* from which windows reach back */
    int64_t latest_us;          /* later times count as this one */
};

/* Counts into the state what the policy asks for, and steps of plans where remembering asks for them. */
enum code remember__count(struct gate_state *state, const struct policy *policy, const struct remembering *remembering,
                          const struct remember_range *range, struct remembered *remembered, struct why *why) MUST_USE;

int64_t remember__now(const struct gate_shared *shared, const struct remembering *remembering);

/* Finds the files that hold rows behind `after`, most often only the newest. */
enum code remember__find_trail(const char *path, int64_t after, struct trail *trail, struct why *why) MUST_USE;

#endif
