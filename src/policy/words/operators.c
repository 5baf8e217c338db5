/* SPDX-License-Identifier: Apache-2.0 */
#include "words/operators.h"

#include "words/operator_priv.h"

static const struct operator *const operators[] = {
#define X(word) &operator__##word,
    OPERATOR_TABLE(X)
#undef X
};

const struct operator *policy_operator(struct span word)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if (span_is(word, operators[i]->word))
            return operators[i];
    return NULL;
}

static bool is_container(const struct json_node *value)
{
    return value->type == JSON_ARRAY || value->type == JSON_OBJECT;
}

enum truth policy_op(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    const struct operator *operator = op->operator;
    struct span text = value->type == JSON_STRING ? value->text : value->raw;

    if (operator->of_text == NULL || is_container(value))
        return operator->of_value != NULL ? operator->of_value(walk, op, value) : TRUTH_UNDECIDED;
    if ((op->types & TYPE_BIT(value->type)) == 0) /* it is asked of texts alone: no number is one */
        return TRUTH_FALSE;
    if (!walk_charge(walk, operator->cost != NULL ? operator->cost(op, text) : 0))
        return TRUTH_UNDECIDED;
    return operator->of_text(walk, op, text);
}

bool policy_leaf_skips(const struct condition *leaf, const struct json_node *value)
{
    if (!leaf->skips_containers || !is_container(value))
        return false;
    for (uint32_t i = 0; i < leaf->op_count; i++)
        if (leaf->ops[i].operator->of_text != NULL && (leaf->ops[i].types & TYPE_BIT(value->type)) == 0)
            return true;
    return false;
}

/* Operators that do not look inside can decide about an array or object of which only a part is hidden: its
 * type and size are known. */
bool policy_leaf_is_blind(const struct question_hidden *hidden, const struct condition *leaf, const struct json_node *value)
{
    bool itself;

    if (!question_hides(hidden, value))
        return false;
    itself = question_is_hidden(hidden, value);
    for (uint32_t i = 0; i < leaf->op_count; i++) {
        const struct operator *operator = leaf->ops[i].operator;

        if (!operator->decides_absence && (itself || operator->looks_inside))
            return true;
    }
    return false;
}
