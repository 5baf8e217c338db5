/* SPDX-License-Identifier: Apache-2.0 */
/* The audit's files that a policy command reads: the one that is named or configured, after the sealed ones that lead to it.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: exit statuses, told on stderr. */
#ifndef RULES_POLICY_TRAIL_H
#define RULES_POLICY_TRAIL_H

#include "files/trail.h"
#include "policy/policy.h"
#include "cli/asked.h"

/* Returns: OPTIONS_GO with *trail, the caller's in any case, or the exit status after a sentence. *missing: STATUS_NEGATIVE: a
 * file is not here, which was told; what is there can be read. */
int policy_trail_find(struct trail *trail, const struct asked *asked, int *missing);

/* Warns of limits whose windows reach back to where files of the configured audit are missing, of which a gate that starts
 * counts nothing. Where there is no audit, or it cannot be read, nothing is said. */
void policy_trail_warn(const struct policy *policy, const struct asked *asked, struct faults *warnings);

#endif
