/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy_priv.h"

static enum truth condition_truth(struct walk *walk, const struct condition *condition, struct span *undecided);

/* ---- leaves: one path, its values, one quantifier ---- */

struct leaf_walk {
    struct path_walk path;
    struct walk *walk;
    const struct condition *leaf;
    enum truth truth;
    bool has_value;
};

static enum truth value_truth(struct walk *walk, const struct condition *leaf, const struct json_node *value)
{
    enum truth all = TRUTH_TRUE;

    for (uint32_t i = 0; i < leaf->op_count && all != TRUTH_FALSE; i++)
        all = truth_and(all, policy__op(walk, leaf, &leaf->ops[i], value));
    return all;
}

/* Meaning 6: every selected value, or any. Kleene's words decide early: false of `every`, true of `any`. */
static void fold(struct leaf_walk *leaf, enum truth truth)
{
    bool every = leaf->leaf->every;

    leaf->truth = !leaf->has_value ? truth : every ? truth_and(leaf->truth, truth) : truth_or(leaf->truth, truth);
    leaf->has_value = true;
    if (leaf->truth == (every ? TRUTH_FALSE : TRUTH_TRUE))
        leaf->path.stop = true;
}

static bool visit(struct path_walk *path, const struct json_node *value)
{
    struct leaf_walk *leaf = path->context;
    enum truth truth;

    if (policy__leaf_skips(leaf->leaf, value))
        return false;
    truth = value_truth(leaf->walk, leaf->leaf, value);
    policy__trace_value(leaf->walk->trace, leaf->leaf, value, truth);
    fold(leaf, truth);
    return true;
}

static enum truth leaf_truth(struct walk *walk, const struct condition *condition)
{
    struct leaf_walk leaf = {.walk = walk, .leaf = condition, .truth = TRUTH_FALSE};
    uint64_t visits = walk->visits_left;

    leaf.path = (struct path_walk){
        .path = &condition->path, .visit = visit, .context = &leaf, .visits_left = &walk->visits_left};
    if (!walk->budget->spent) /* else the call is denied, whatever was still to be seen */
        path_run(&leaf.path, walk->question->root);
    if (leaf.path.spent || walk->spent || !regex_budget_spend(walk->budget, (visits - walk->visits_left) * VISIT_WORK)) {
        walk->spent = true;
        return TRUTH_UNDECIDED;
    }
    if (condition->counts_lacks && leaf.path.element_lacks) {
        policy__trace_absent(walk->trace, condition, true);
        fold(&leaf, condition->absent);
    } else if (!leaf.has_value) {
        policy__trace_absent(walk->trace, condition, false);
        fold(&leaf, condition->absent);
    }
    return leaf.truth;
}

/* ---- all, any, not ---- */

/* Meaning 3. The first undecided member is named only where the group stays undecided. */
static enum truth group_truth(struct walk *walk, const struct condition *group, struct span *undecided)
{
    bool all = group->kind == CONDITION_ALL;
    enum truth truth = all ? TRUTH_TRUE : TRUTH_FALSE;
    struct span first = SPAN_NONE;

    for (uint32_t i = 0; i < group->count; i++) {
        struct span inner = SPAN_NONE;
        enum truth member = condition_truth(walk, &group->members[i], &inner);

        if (member == TRUTH_UNDECIDED && first.at == NULL)
            first = inner;
        truth = all ? truth_and(truth, member) : truth_or(truth, member);
        if (truth == (all ? TRUTH_FALSE : TRUTH_TRUE))
            break;
    }
    if (truth == TRUTH_UNDECIDED)
        *undecided = first;
    return truth;
}

static enum truth condition_truth(struct walk *walk, const struct condition *condition, struct span *undecided)
{
    enum truth truth = TRUTH_UNDECIDED;

    policy__trace_enter(walk->trace, condition);
    switch (condition->kind) {
    case CONDITION_LEAF:
        truth = leaf_truth(walk, condition);
        *undecided = condition->label;
        break;
    case CONDITION_ALL:
    case CONDITION_ANY: truth = group_truth(walk, condition, undecided); break;
    case CONDITION_NOT: truth = truth_not(condition_truth(walk, condition->members, undecided)); break;
    }
    policy__trace_leave(walk->trace, condition, truth);
    return truth;
}

/* ---- only_args ---- */

static bool is_listed(const struct rule *rule, struct span key)
{
    uint32_t from = 0, to = rule->arg_count;

    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int order = span_compare(rule->args[middle], key);

        if (order == 0)
            return true;
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return false;
}

static enum truth only_args_truth(struct walk *walk, const struct rule *rule)
{
    const struct json_node *root = walk->question->root;

    if (root == NULL)
        return TRUTH_TRUE;
    if (root->type != JSON_OBJECT)
        return TRUTH_UNDECIDED;
    for (const struct json_node *member = root->child; member != NULL; member = member->next)
        if (!is_listed(rule, member->key)) {
            policy__trace_value(walk->trace, &rule->only_args, member, TRUTH_FALSE);
            return TRUTH_FALSE;
        }
    return TRUTH_TRUE;
}

enum truth policy__rule_conditions(struct walk *walk, const struct rule *rule, struct span *undecided)
{
    enum truth truth = TRUTH_TRUE, args;

    if (rule->when != NULL)
        truth = group_truth(walk, rule->when, undecided);
    if (!rule->restricts_args || truth == TRUTH_FALSE)
        return truth;
    policy__trace_enter(walk->trace, &rule->only_args);
    args = only_args_truth(walk, rule);
    policy__trace_leave(walk->trace, &rule->only_args, args);
    if (args == TRUTH_UNDECIDED && truth == TRUTH_TRUE)
        *undecided = rule->only_args.label;
    return truth_and(truth, args);
}
