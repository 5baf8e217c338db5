/* SPDX-License-Identifier: Apache-2.0 */
/* What limits and sequences knew when a recorded call was judged, read from the calls before it, and what a person said of it.
 *
 * Threads: main.
 * Owns: the state that it fills.
 * Lifetime: recall_make to recall_fini; the question borrows from it.
 * Errors: enum code. */
#ifndef PAST_RECALL_H
#define PAST_RECALL_H

#include "enforce/remember.h"
#include "past/recorded.h"

struct recall { /* all zero: nothing is recalled */
    struct gate_state *state;
    struct gate_moment moment;
};

/* Takes: definitions: that are accepted, or NULL; the path of the audit, sealed files beside it included; a question, whose
 * state is set where the policy asks the past. */
enum code recall_make(struct recall *recall, const struct policy *policy, const struct definition_set *definitions,
                      const char *trail, const struct recorded *recorded, struct question *question, struct why *why) MUST_USE;
void recall_fini(struct recall *recall);

#endif
