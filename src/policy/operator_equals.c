/* SPDX-License-Identifier: Apache-2.0 */
/* What is compared with values that the policy holds: equals, in, contains. */
#include "policy/compile_priv.h"

#include <stdlib.h>

#define SAMPLES_MAX 12 /* of a list, and its last one */

/* ---- equals ---- */

static void compile_value(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    op->value = policy__value(c, node);
}

static enum truth equals(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    (void)walk;
    return truth_of(json_equal(op->value, value));
}

static void sample_equals(const struct op *op, struct samples *samples)
{
    samples->json(samples, op->value->raw);
}

const struct operator policy__op_equals = {
    .word = "equals", .types = TYPES_ALL, .compile = compile_value, .of_value = equals, .reads_decoded = true,
    .looks_inside = true, .is_decided = true, .sample = sample_equals,
};

/* ---- in ---- */

static int by_type_and_text(const void *a, const void *b)
{
    const struct json_node *left = *(const struct json_node *const *)a, *right = *(const struct json_node *const *)b;

    if ((left->type == JSON_STRING) != (right->type == JSON_STRING))
        return left->type == JSON_STRING ? -1 : 1;
    return left->type == JSON_STRING ? span_compare(left->text, right->text) : 0;
}

static void compile_in(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    const struct json_node **values;
    const struct json_node *list;

    if (node->type == YAML_MAP)
        node = policy__named(c, node, &c->lists);
    else if (!policy__is_list(c, node))
        return;
    if (node == NULL || node->type != YAML_LIST)
        return;
    if (node->count == 0)
        FAULT(c, node, "nothing is in an empty list; name at least one value");
    list = policy__value(c, node);
    op->values = values = list != NULL ? policy__alloc(c, list->count, sizeof *values) : NULL;
    if (values == NULL)
        return;
    for (const struct json_node *value = list->child; value != NULL; value = value->next) {
        values[op->value_count++] = value;
        op->string_count += value->type == JSON_STRING;
    }
    qsort(values, op->value_count, sizeof *values, by_type_and_text);
}

static int text_against(const void *text, const void *value)
{
    return span_compare(*(const struct span *)text, (*(const struct json_node *const *)value)->text);
}

static enum truth in(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    if (value->type == JSON_STRING)
        return truth_of(bsearch(&value->text, op->values, op->string_count, sizeof *op->values, text_against) != NULL);
    if (!policy__charge(walk, op->value_count - op->string_count))
        return TRUTH_UNDECIDED;
    for (uint32_t i = op->string_count; i < op->value_count; i++)
        if (json_equal(op->values[i], value))
            return TRUTH_TRUE;
    return TRUTH_FALSE;
}

static void sample_in(const struct op *op, struct samples *samples)
{
    for (uint32_t i = 0; i < op->value_count; i++)
        if (i < SAMPLES_MAX || i + 1 == op->value_count)
            samples->json(samples, op->values[i]->raw);
}

const struct operator policy__op_in = {
    .word = "in", .types = TYPES_ALL, .compile = compile_in, .of_value = in, .reads_decoded = true, .looks_inside = true,
    .is_decided = true, .sample = sample_in,
};

/* ---- contains ---- */

static enum truth contains_text(struct rule_walk *walk, const struct op *op, struct span text)
{
    struct span part = op->value->text;

    (void)walk;
    if (op->value->type != JSON_STRING)
        return TRUTH_UNDECIDED;
    return truth_of(part.len == 0 || (text.len > 0 && memmem(text.at, text.len, part.at, part.len) != NULL));
}

static enum truth contains_member(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    if (value->type != JSON_ARRAY || !policy__charge(walk, value->count))
        return TRUTH_UNDECIDED;
    for (const struct json_node *member = value->child; member != NULL; member = member->next)
        if (json_equal(member, op->value))
            return TRUTH_TRUE;
    return TRUTH_FALSE;
}

static void sample_contains(const struct op *op, struct samples *samples)
{
    samples->json(samples, op->value->raw);
    if (op->value->type == JSON_STRING)
        samples->text(samples, "x", op->value->text, "x");
}

const struct operator policy__op_contains = {
    .word = "contains", .types = TYPES_SCALAR | TYPE_BIT(JSON_ARRAY), .compile = compile_value, .of_text = contains_text,
    .of_value = contains_member, .cost = policy__text_cost, .looks_inside = true, .sample = sample_contains,
};
