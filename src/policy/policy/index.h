/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the rules of a policy that could concern a call by one exact name.
 *
 * Threads: built by one thread; immutable then.
 * Owns: nothing; it lives in the snapshot's arena.
 * Lifetime: the snapshot's.
 * Errors: CODE_NOMEM. */
#ifndef POLICY_INDEX_H
#define POLICY_INDEX_H

#include "policy/snapshot.h"

/* Makes policy->index, when all rules are in the policy. */
enum code policy_index_build(struct policy *policy) MUST_USE;

/* Calls `add` with each rule that could concern the question, in no order, some twice. */
enum code policy_index_each(const struct policy *policy, const struct question *question,
                            enum code (*add)(void *context, const uint32_t *rules, uint32_t count), void *context) MUST_USE;
/* Whether some rule names the method for this upstream: literally, by glob or by `protocol`. */
bool policy_names_method(const struct policy *policy, const struct question *question, struct regex_budget *budget);

#endif
