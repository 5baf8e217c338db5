/* SPDX-License-Identifier: Apache-2.0 */
/* What is legal in a set of policies but hardly meant: rules that never apply or decide, names that look alike, what no test
 * decides. What can be seen of one place alone the compiler says by itself.
 *
 * Threads: any one.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_NOMEM. */
#ifndef AUTHOR_WARN_H
#define AUTHOR_WARN_H

#include "policy/policy.h"

/* Takes: route_count: of a configuration, if there is one at hand, or 0; warnings: behind those of policy_compile, of which the
 * most frequent kind comes last: only so many are told. */
enum code warn_policy(const struct policy *policy, size_t route_count, struct faults *warnings) MUST_USE;

/* Rules whose `until` is over, among those warnings: a version may come to hold some long after it was loaded. */
void warn_ended(const struct policy *policy, struct faults *warnings);

/* What it means otherwise, or costs, where many gates have it. */
void warn_fleet(const struct policy *policy, struct faults *warnings);

#endif
