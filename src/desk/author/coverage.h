/* SPDX-License-Identifier: Apache-2.0 */
/* Which rules decided a test, and which of their conditions the tests saw true and false.
 *
 * Threads: belongs to one thread.
 * Owns: its counters; holds a reference to the policy.
 * Lifetime: policy_coverage_free.
 * Errors: CODE_NOMEM. */
#ifndef AUTHOR_COVERAGE_H
#define AUTHOR_COVERAGE_H

#include "judgement/judgement.h"

struct coverage;

enum code coverage_new(struct policy *policy, struct coverage **coverage) MUST_USE;
void coverage_free(struct coverage **coverage);

struct coverage_rule {
    struct span id, file;
    const char *effect; /* static */
    bool monitor;
    int line;
    uint64_t applied, decided; /* tests */
};

/* A leaf of `when`, or `only_args`. Each test that got so far counts once. */
struct coverage_condition {
    struct span label; /* without the rule's id */
    int line;
    uint64_t is_true, is_false, undecided;
};

/* By file and line. Conditions follow their rule. */
typedef void (*coverage_rule_fn)(void *context, const struct coverage_rule *rule);
typedef void (*coverage_condition_fn)(void *context, const struct coverage_condition *condition);
enum code coverage_each(const struct coverage *coverage, coverage_rule_fn rule, coverage_condition_fn condition,
                        void *context) MUST_USE;

/* policy_test, counted. Takes: filter, a glob over names, or NULL; coverage NULL: not counted. Others are not run. */
enum code coverage_test(const struct policy *policy, const char *filter, struct coverage *coverage,
                        struct policy_scratch *scratch, policy_test_fn report, void *context, size_t *passed,
                        size_t *failed) MUST_USE;

#endif
