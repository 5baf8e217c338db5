/* SPDX-License-Identifier: Apache-2.0 */
#include "author/coverage.h"

#include "author/explain_priv.h"

#include <stdlib.h>

struct counted {
    const struct condition *condition;
    struct coverage_condition seen;
};

struct rule_counts {
    const struct rule *rule;
    uint64_t applied, decided;
    struct counted *conditions; /* in the order of the text */
    uint32_t count;
};

struct coverage {
    struct policy *policy;
    struct arena arena;
    struct rule_counts *rules; /* by the policy's order */
    struct counted **found;    /* all conditions, by address */
    size_t count;
};

/* ---- making it ---- */

static uint32_t count_leaves(const struct condition *condition)
{
    uint32_t count = 0;

    if (condition->kind == CONDITION_LEAF || condition->kind == CONDITION_FACT)
        return 1;
    for (uint32_t i = 0; i < condition->count; i++)
        count += count_leaves(&condition->members[i]);
    return count;
}

static void add_leaf(struct rule_counts *counts, const struct condition *leaf)
{
    counts->conditions[counts->count++] = (struct counted){
        .condition = leaf, .seen = {.label = telling__short_label(leaf), .line = leaf->line}};
}

static void add_leaves(struct rule_counts *counts, const struct condition *condition)
{
    if (condition->kind == CONDITION_LEAF || condition->kind == CONDITION_FACT)
        add_leaf(counts, condition);
    for (uint32_t i = 0; condition->kind != CONDITION_LEAF && i < condition->count; i++)
        add_leaves(counts, &condition->members[i]);
}

static enum code take_rule(struct coverage *coverage, const struct rule *rule, struct rule_counts *counts)
{
    uint32_t leaves = (rule->when ? count_leaves(rule->when) : 0) + rule->restricts_args;

    *counts = (struct rule_counts){.rule = rule};
    counts->conditions = arena_alloc(&coverage->arena, leaves * sizeof *counts->conditions);
    if (counts->conditions == NULL)
        return CODE_NOMEM;
    if (rule->when != NULL)
        add_leaves(counts, rule->when);
    if (rule->restricts_args)
        add_leaf(counts, &rule->only_args);
    coverage->count += counts->count;
    return CODE_OK;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t left = (uintptr_t)(*(struct counted *const *)a)->condition;
    uintptr_t right = (uintptr_t)(*(struct counted *const *)b)->condition;

    return left < right ? -1 : left > right;
}

static enum code take_rules(struct coverage *coverage)
{
    const struct policy *policy = coverage->policy;
    size_t at = 0;

    coverage->rules = arena_alloc(&coverage->arena, policy->rule_count * sizeof *coverage->rules);
    if (coverage->rules == NULL)
        return CODE_NOMEM;
    for (uint32_t i = 0; i < policy->rule_count; i++) {
        enum code code = take_rule(coverage, &policy->rules[i], &coverage->rules[i]);

        if (code != CODE_OK)
            return code;
    }
    coverage->found = arena_alloc(&coverage->arena, coverage->count * sizeof(struct counted *));
    if (coverage->found == NULL)
        return CODE_NOMEM;
    for (uint32_t i = 0; i < policy->rule_count; i++)
        for (uint32_t c = 0; c < coverage->rules[i].count; c++)
            coverage->found[at++] = &coverage->rules[i].conditions[c];
    if (at > 1)
        qsort(coverage->found, at, sizeof(struct counted *), by_address);
    return CODE_OK;
}

enum code coverage_new(struct policy *policy, struct coverage **coverage)
{
    struct coverage *made = mem_zalloc(sizeof *made);
    enum code code;

    *coverage = NULL;
    if (made == NULL)
        return CODE_NOMEM;
    arena_init(&made->arena, (size_t)1 << 30);
    made->policy = policy_ref(policy);
    code = take_rules(made);
    if (code == CODE_OK)
        *coverage = made;
    else
        coverage_free(&made);
    return code;
}

void coverage_free(struct coverage **coverage)
{
    struct coverage *gone = *coverage;

    *coverage = NULL;
    if (gone == NULL)
        return;
    policy_unref(&gone->policy);
    arena_fini(&gone->arena);
    mem_free(gone);
}

/* ---- counting ---- */

void coverage__rule(struct coverage *coverage, const struct rule *rule, bool applies)
{
    coverage->rules[rule - coverage->policy->rules].applied += applies;
}

void coverage__condition(struct coverage *coverage, const struct condition *condition, enum truth truth)
{
    struct counted key = {.condition = condition}, *wanted = &key, **found;

    found = bsearch(&wanted, coverage->found, coverage->count, sizeof(struct counted *), by_address);
    if (found == NULL)
        return;
    (*found)->seen.is_true += truth == TRUTH_TRUE;
    (*found)->seen.is_false += truth == TRUTH_FALSE;
    (*found)->seen.undecided += truth == TRUTH_UNDECIDED;
}

static void count_decided(struct coverage *coverage, struct span id)
{
    const struct rule *rule = id.at ? policy__rule_by_id(coverage->policy, id) : NULL;

    if (rule != NULL)
        coverage->rules[rule - coverage->policy->rules].decided++;
}

struct counting {
    struct coverage *coverage;
    policy_test_fn report;
    void *context;
};

static void count_test(void *context, const struct policy_test_result *result)
{
    const struct counting *counting = context;

    if (counting->coverage != NULL)
        count_decided(counting->coverage, result->rule);
    counting->report(counting->context, result);
}

enum code coverage_test(const struct policy *policy, const char *filter, struct coverage *coverage,
                        struct policy_scratch *scratch, policy_test_fn report, void *context, size_t *passed,
                        size_t *failed)
{
    struct telling telling = telling_to(NULL, NULL, NULL, coverage);
    struct counting counting = {coverage, report, context};

    return policy_test_some(policy, filter, coverage ? &telling.heard : NULL, scratch, count_test, &counting, passed, failed);
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

enum code coverage_each(const struct coverage *coverage, coverage_rule_fn rule, coverage_condition_fn condition, void *context)
{
    uint32_t count = coverage->policy->rule_count;
    const struct rule_counts **order = mem_array(count, sizeof *order);

    if (order == NULL)
        return CODE_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        order[i] = &coverage->rules[i];
    qsort(order, count, sizeof *order, by_place);
    for (uint32_t i = 0; i < count; i++) {
        const struct rule *of = order[i]->rule;
        const struct coverage_rule told = {
            .id = of->id, .file = of->source->path, .effect = of->effect, .monitor = of->monitor, .line = of->line,
            .applied = order[i]->applied, .decided = order[i]->decided};

        rule(context, &told);
        for (uint32_t c = 0; c < order[i]->count; c++)
            condition(context, &order[i]->conditions[c].seen);
    }
    mem_free(order);
    return CODE_OK;
}
