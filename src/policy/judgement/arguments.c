/* SPDX-License-Identifier: Apache-2.0 */
/* What a rule asks of all arguments together: that there are none but those listed (only_args), and that they fit the schema
 * of the tool's accepted definition (arguments: by_schema). */
#include "judgement/judge_priv.h"
#include "judgement/judgement.h"
#include "policy/schema.h"
#include "policy/trace.h"
#include "policy/walk.h"

#include <stdlib.h>

static bool is_listed(const struct span *list, uint32_t count, struct span key)
{
    return count > 0 && bsearch(&key, list, count, sizeof key, span_order) != NULL;
}

enum truth eval__takes_name(struct rule_walk *walk, const struct member_names *names, struct span key)
{
    enum truth named = truth_of(key.at != NULL && is_listed(names->listed, names->count, key));

    if (key.at == NULL) /* an element of an array */
        return TRUTH_FALSE;
    for (uint32_t i = 0; i < names->pattern_count && named != TRUTH_TRUE; i++) {
        const struct op *op = &names->patterns[i];

        named = truth_or(named, op->operator->of_text(walk, op, key));
    }
    return names->others ? truth_not(named) : named;
}

static enum truth only_args_truth(struct rule_walk *walk, const struct rule *rule)
{
    const struct json_node *root = walk->question->root;

    if (root == NULL)
        return TRUTH_TRUE;
    if (walk->question->hidden != NULL && question_is_hidden(walk->question->hidden, root))
        return walk_guess(walk, true);
    if (root->type != JSON_OBJECT)
        return TRUTH_UNDECIDED;
    for (const struct json_node *member = root->child; member != NULL; member = member->next)
        if (!is_listed(rule->args, rule->arg_count, member->key)) {
            if (walk->trace != NULL)
                walk->trace->value(walk->trace, &rule->only_args, member, TRUTH_FALSE);
            return TRUTH_FALSE;
        }
    return TRUTH_TRUE;
}

enum truth policy_schema_fits(struct rule_walk *walk, const struct policy_schema *schema, const struct json_node *value)
{
    static const struct json_node none = {.type = JSON_OBJECT, .raw = {"{}", 2}}; /* servers take missing arguments for this */

    return eval__truth_here(walk, policy_schema_condition(schema), value != NULL ? value : &none);
}

/* Several definitions may be meant, and it is enough that one fits. Without a definition nothing fits. */
static enum truth schema_truth(struct rule_walk *walk, const struct rule *rule)
{
    const struct policy_state *state = &walk->question->state;
    const struct policy_schema *schema = NULL;
    enum truth truth = TRUTH_FALSE;
    uint32_t at = 0;

    (void)rule;
    for (; state->past != NULL && state->past->schema_of != NULL && truth != TRUTH_TRUE; at++) {
        schema = state->past->schema_of(state->context, walk->question, at);
        if (schema == NULL)
            break;
        truth = truth_or(truth, policy_schema_fits(walk, schema, walk->question->root));
    }
    if (at > 0)
        return truth;
    if (walk->trace != NULL)
        walk->trace->fact(walk->trace, SPAN_LIT("no definition of this tool is accepted that has a usable schema"));
    return walk->question->hidden != NULL && walk->question->hidden->hints ? walk_guess(walk, true) : TRUTH_FALSE;
}

static enum truth traced(struct rule_walk *walk, const struct rule *rule, const struct condition *as,
                         enum truth (*ask)(struct rule_walk *, const struct rule *))
{
    enum truth truth;

    if (walk->trace != NULL)
        walk->trace->enter(walk->trace, as);
    truth = ask(walk, rule);
    if (walk->trace != NULL)
        walk->trace->leave(walk->trace, as, truth);
    return truth;
}

enum truth eval__arguments(struct rule_walk *walk, const struct rule *rule, struct span *undecided)
{
    enum truth truth = rule->restricts_args ? traced(walk, rule, &rule->only_args, only_args_truth) : TRUTH_TRUE, fit;

    *undecided = rule->only_args.label;
    if (!rule->by_schema || truth == TRUTH_FALSE)
        return truth;
    fit = traced(walk, rule, &rule->schema, schema_truth);
    if (truth == TRUTH_TRUE)
        *undecided = rule->schema.label;
    return truth_and(truth, fit);
}

enum truth policy_schema_holds(const struct policy_schema *schema, const struct json_node *arguments)
{
    struct question question = {.root = arguments};
    struct walk_alone alone;
    enum truth truth;

    walk_alone_init(&alone, &question);
    truth = policy_schema_fits(&alone.walk, schema, arguments);
    walk_alone_fini(&alone);
    return alone.walk.spent || alone.budget.spent ? TRUTH_UNDECIDED : truth;
}
