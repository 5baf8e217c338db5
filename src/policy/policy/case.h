/* SPDX-License-Identifier: Apache-2.0 */
/* The tests of a policy: a call, what is known of the past, and what is expected.
 *
 * Threads: immutable once compiled.
 * Owns: nothing; all of it lives in the snapshot's arena.
 * Lifetime: the snapshot's.
 * Errors: none. */
#ifndef POLICY_CASE_H
#define POLICY_CASE_H

#include "policy/policy.h"
#include "policy/rule.h"

/* What counts under a limit already. */
struct case_amount {
    bool is_number;
    uint64_t number; /* in millionths, also of calls and values */
    const struct policy_value *values; /* listed one by one: not NULL, though there may be none */
    uint32_t value_count;
};

/* A rule that a test names. */
struct case_rule {
    struct span rule;
    struct case_amount spent[POLICY_LIMITS_MAX]; /* of each of its limits */
    uint32_t spent_count;                        /* may exceed POLICY_LIMITS_MAX, where the list is none of amounts */
    struct case_amount listed; /* all that is listed, as the values of one limit */
    int line, column;
};

/* A call that was permitted before; what it does not say is as in the call that is tested. */
struct case_earlier {
    struct question question;
    struct verdict_rule met; /* a rule that applied to it; id.at == NULL: none is known */
    int64_t ago_us;
};

/* Stand for a tenant, principal, upstream or method that a test does not name: a span that begins at this very place was
 * written by nobody. */
extern const char policy_unsaid_name[], policy_unsaid_method[];

/* What counts under the rule's limit. Where that is its only one, and of different values, a list names those. */
static inline const struct case_amount *case_spent(const struct case_rule *spent, const struct policy_limit *limit)
{
    bool is_only = limit->kind == LIMIT_DISTINCT && limit->at == 0 && limit->next == NULL;

    return is_only && spent->listed.values != NULL ? &spent->listed : &spent->spent[limit->at];
}

/* One of `tests:`. */
struct policy_case {
    const struct policy_source *source;
    struct span name;
    int line, column;
    struct question question;
    const struct case_rule *approved; /* rules whose approval a person has given */
    uint32_t approved_count;
    const struct case_earlier *earlier;
    uint32_t earlier_count;
    const struct case_rule *spent;
    uint32_t spent_count;
    enum policy_known hints[POLICY_HINT_COUNT];
    struct policy_schema *schema; /* of the tool's accepted definition; NULL: none is. The snapshot's end gives it back */
    enum verdict_kind verdict;
    bool has_rule, has_reason;
    struct span rule; /* at == NULL: none may decide */
    enum reason reason;
    bool has_answer; /* an answer is tested, not a call */
    struct policy_answer answer;
    enum answer_effect effect;
    const struct json_node *left; /* what goes on; NULL: not asked */
};

#endif
