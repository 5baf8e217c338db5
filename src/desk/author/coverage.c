/* SPDX-License-Identifier: Apache-2.0 */
#include "author/coverage.h"

#include "author/explain_priv.h"
#include "judgement/judgement.h"

#include <stdlib.h>

struct truths {
    uint64_t is_true, is_false, undecided;
};

struct rule_counts {
    const struct rule *rule;
    uint64_t applied, decided;
};

struct coverage {
    struct policy *policy;
    struct rule_counts *rules; /* by the policy's order, those for answers behind the others */
    struct truths *conditions; /* by their numbers */
};

static uint32_t count_of(const struct policy *policy)
{
    return policy->rule_count + policy->answer_count;
}

static struct rule_counts *counts_of(struct coverage *coverage, const struct rule *rule)
{
    const struct policy *policy = coverage->policy;

    return rule->answer == ANSWER_NONE ? &coverage->rules[rule - policy->rules]
                                       : &coverage->rules[policy->rule_count + (size_t)(rule - policy->answers)];
}

enum code coverage_new(struct policy *policy, struct coverage **coverage)
{
    struct coverage *made = mem_zalloc(sizeof *made);

    *coverage = made;
    if (made == NULL)
        return CODE_NOMEM;
    made->policy = policy_ref(policy);
    made->rules = mem_array(count_of(policy), sizeof *made->rules);
    made->conditions = mem_array(policy->condition_count, sizeof *made->conditions);
    if (made->rules == NULL || made->conditions == NULL) {
        coverage_free(coverage);
        return CODE_NOMEM;
    }
    for (uint32_t i = 0; i < count_of(policy); i++)
        made->rules[i].rule = i < policy->rule_count ? &policy->rules[i] : &policy->answers[i - policy->rule_count];
    return CODE_OK;
}

void coverage_free(struct coverage **coverage)
{
    struct coverage *gone = *coverage;

    *coverage = NULL;
    if (gone == NULL)
        return;
    policy_unref(&gone->policy);
    mem_free(gone->rules);
    mem_free(gone->conditions);
    mem_free(gone);
}

/* ---- counting ---- */

void coverage__rule(struct coverage *coverage, const struct rule *rule, bool applies)
{
    counts_of(coverage, rule)->applied += applies;
}

void coverage__condition(struct coverage *coverage, const struct condition *condition, enum truth truth)
{
    struct truths *truths;

    if (condition->number == CONDITION_UNCOUNTED) /* a server's schema */
        return;
    truths = &coverage->conditions[condition->number];
    truths->is_true += truth == TRUTH_TRUE;
    truths->is_false += truth == TRUTH_FALSE;
    truths->undecided += truth == TRUTH_UNDECIDED;
}

static void count_decided(struct coverage *coverage, struct span id)
{
    const struct rule *rule = id.at ? policy_rule_by_id(coverage->policy, id) : NULL;

    if (rule == NULL && id.at != NULL)
        rule = policy_answer_by_id(coverage->policy, id);
    if (rule != NULL)
        counts_of(coverage, rule)->decided++;
}

struct coverage_counting {
    struct coverage *coverage;
    policy_test_fn report;
    void *context;
};

static void count_test(void *context, const struct policy_test_result *result)
{
    const struct coverage_counting *counting = context;

    if (counting->coverage != NULL)
        count_decided(counting->coverage, result->rule);
    counting->report(counting->context, result);
}

enum code coverage_test(const struct policy *policy, const char *filter, struct coverage *coverage,
                        struct policy_scratch *scratch, policy_test_fn report, void *context, size_t *passed,
                        size_t *failed)
{
    struct telling telling = telling_to(NULL, NULL, NULL, coverage);
    struct coverage_counting counting = {coverage, report, context};

    enum code code = policy_test_some(policy, filter, coverage ? &telling.heard : NULL, scratch, count_test, &counting, passed,
                                      failed);

    buf_fini(&telling.text);
    return code;
}

/* ---- telling ---- */

static int by_place(const void *a, const void *b)
{
    const struct rule *left = (*(const struct rule_counts *const *)a)->rule;
    const struct rule *right = (*(const struct rule_counts *const *)b)->rule;

    if (left->source != right->source)
        return left->source < right->source ? -1 : 1;
    return left->line != right->line ? (left->line < right->line ? -1 : 1) : left->column - right->column;
}

struct telling_each {
    const struct coverage *coverage;
    coverage_condition_fn condition;
    void *context;
};

/* What has no members, in the order of the text: groups say nothing that these do not. */
static void tell_leaves(const struct telling_each *each, const struct condition *condition)
{
    const struct truths *truths = &each->coverage->conditions[condition->number];
    const struct coverage_condition seen = {
        .label = telling__short_label(condition), .line = condition->line, .is_true = truths->is_true,
        .is_false = truths->is_false, .undecided = truths->undecided};

    if (condition->count == 0)
        each->condition(each->context, &seen);
    for (uint32_t i = 0; i < condition->count; i++)
        tell_leaves(each, &condition->members[i]);
}

enum code coverage_each(const struct coverage *coverage, coverage_rule_fn rule, coverage_condition_fn condition, void *context)
{
    const struct telling_each each = {coverage, condition, context};
    uint32_t count = count_of(coverage->policy);
    const struct rule_counts **order = mem_array(count, sizeof *order);

    if (order == NULL)
        return CODE_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        order[i] = &coverage->rules[i];
    qsort(order, count, sizeof *order, by_place);
    for (uint32_t i = 0; i < count; i++) {
        const struct rule *of = order[i]->rule;
        const struct coverage_rule told = {
            .id = of->id, .file = of->source->path, .effect = words_effect(of), .monitor = of->monitor, .line = of->line,
            .applied = order[i]->applied, .decided = order[i]->decided};

        rule(context, &told);
        if (of->when != NULL)
            tell_leaves(&each, of->when);
        if (of->restricts_args)
            tell_leaves(&each, &of->only_args);
        if (of->by_schema)
            tell_leaves(&each, &of->schema);
    }
    mem_free(order);
    return CODE_OK;
}
