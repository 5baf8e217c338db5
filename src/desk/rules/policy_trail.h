/* SPDX-License-Identifier: Apache-2.0 */
/* The audit's files that a policy command reads: the one that is named or configured, after the sealed ones that lead to it.
 *
 * Threads: main.
 * Owns: the paths.
 * Lifetime: policy_trail_fini.
 * Errors: exit statuses, told on stderr. */
#ifndef RULES_POLICY_TRAIL_H
#define RULES_POLICY_TRAIL_H

#include "files/trail.h"
#include "policy/policy.h"
#include "cli/asked.h"

struct policy_trail {
    struct trail trail;
    const char **files; /* oldest first */
    size_t count;
    int missing;        /* STATUS_NEGATIVE: a file is not here, which was told; what is there can be read */
};

/* Returns: OPTIONS_GO, or the exit status after a sentence. */
int policy_trail_find(struct policy_trail *trail, const struct asked *asked);

/* Warns of limits whose windows reach back to where files of the configured audit are missing, of which a gate that starts
 * counts nothing. Where there is no audit, or it cannot be read, nothing is said. */
void policy_trail_warn(const struct policy *policy, const struct asked *asked, struct faults *warnings);
void policy_trail_fini(struct policy_trail *trail);

#endif
