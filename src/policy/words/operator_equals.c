/* SPDX-License-Identifier: Apache-2.0 */
/* What is compared with values that the policy holds, or with each other: equals, in, contains, unique. */
#include "words/operator_priv.h"
#include "policy/variable.h"

#include <stdlib.h>

#define SAMPLES_MAX 12 /* of a list, besides its last one */

/* ---- equals ---- */

/* A string as it is compared; any other value as it is. */
static const struct json_node *folded(struct compiler *c, const struct op *op, const struct json_node *value)
{
    bool is_text = op->folds && value != NULL && value->type == JSON_STRING;
    struct json_node *copy = is_text ? compiler_alloc(c, 1, sizeof *copy) : NULL;

    if (copy == NULL)
        return value;
    *copy = *value;
    copy->text = compiler_folded(c, value->text);
    return copy;
}

static void compile_value(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    if (op->operator == &operator__equals && operand_names_value(node)) {
        operand_value(c, node, op);
        return;
    }
    op->value = folded(c, op, compiler_value(c, node));
    op->varies = compiler_varies(c, node);
    operand_doubt(c, node);
    if (op->folds && node->type != YAML_STRING)
        FAULT(c, node, "`ignore_case` compares texts; write one here, or leave `ignore_case` out");
}

/* What a string that varies says in this call. Returns: false: undecided. */
static bool say(struct rule_walk *walk, const struct op *op, const struct json_node *string, struct json_node *said)
{
    *said = (struct json_node){.type = JSON_STRING};
    return operator__said(walk, op, string->text, VARIABLE_TEXT, &said->text);
}

static bool is_bool(const struct json_node *value)
{
    return value->type == JSON_TRUE || value->type == JSON_FALSE;
}

/* Of two arguments of two types nobody can say whether they mean the same. */
static enum truth equals_other(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    enum truth instead;
    const struct json_node *other = other_value(walk, op, &instead);
    struct json_node plain;

    if (other == NULL)
        return instead;
    plain = *other;
    if (plain.type != value->type && !(is_bool(&plain) && is_bool(value)))
        return TRUTH_UNDECIDED;
    if (op->folds && plain.type == JSON_STRING && !operator__fold(walk, plain.text, &plain.text))
        return TRUTH_UNDECIDED;
    return walk_charge(walk, 1 + plain.raw.len / 16) ? truth_of(json_equal(&plain, value)) : TRUTH_UNDECIDED;
}

static enum truth equals(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    struct json_node said;

    if (op->other != NULL)
        return equals_other(walk, op, value);
    if (!op->varies)
        return truth_of(json_equal(op->value, value));
    return say(walk, op, op->value, &said) ? truth_of(json_equal(&said, value)) : TRUTH_UNDECIDED;
}

static void sample_equals(const struct op *op, struct samples *samples)
{
    if (op->value != NULL)
        samples->json(samples, op->value->raw);
}

const struct operator operator__equals = {
    .word = "equals", .types = TYPES_ALL, .compile = compile_value, .of_value = equals, .reads_decoded = true,
    .looks_inside = true, .is_decided = true, .sample = sample_equals, .can_fold = true,
};

/* ---- in ---- */

/* Sorts strings before strings with variables, and those before all else. */
static int sort_of(const struct json_node *value)
{
    return value->type != JSON_STRING ? 2 : variable_in(value->text) ? 1 : 0;
}

static int by_sort_and_text(const void *a, const void *b)
{
    const struct json_node *left = *(const struct json_node *const *)a, *right = *(const struct json_node *const *)b;

    if (sort_of(left) != sort_of(right))
        return sort_of(left) - sort_of(right);
    return left->type == JSON_STRING ? span_compare(left->text, right->text) : 0;
}

static void compile_in(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    const struct json_node **values;
    const struct json_node *list;

    if (operand_names_value(node)) {
        operand_value(c, node, op);
        return;
    }
    if (node->type == YAML_MAP)
        FAULT(c, node, "a map here names a list; write {list: name}");
    else if (compiler_is_list(c, node) && node->count == 0)
        FAULT(c, node, "nothing is in an empty list; name at least one value");
    if (node->type != YAML_LIST)
        return;
    list = compiler_value(c, node);
    op->values = values = list != NULL ? compiler_alloc(c, list->count, sizeof *values) : NULL;
    if (values == NULL)
        return;
    for (const struct json_node *value = list->child; value != NULL; value = value->next) {
        values[op->value_count++] = folded(c, op, value);
        op->string_count += sort_of(value) == 0;
        op->varying_count += sort_of(value) == 1;
    }
    op->varies = op->varying_count > 0;
    for (const struct yaml_node *one = node->child; one != NULL; one = one->next) {
        (void)compiler_varies(c, one); /* for its warnings */
        operand_doubt(c, one);
    }
    qsort(values, op->value_count, sizeof *values, by_sort_and_text);
}

static int text_against(const void *text, const void *value)
{
    return span_compare(*(const struct span *)text, (*(const struct json_node *const *)value)->text);
}

static bool is_among(const struct op *op, const struct json_node *value)
{
    if (value->type == JSON_STRING)
        return bsearch(&value->text, op->values, op->string_count, sizeof *op->values, text_against) != NULL;
    for (uint32_t i = op->string_count + op->varying_count; i < op->value_count; i++)
        if (json_equal(op->values[i], value))
            return true;
    return false;
}

/* Whether the value is an element of the array that is named. */
static enum truth in_other(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    enum truth instead;
    const struct json_node *other = other_value(walk, op, &instead);

    if (other == NULL)
        return instead;
    if (other->type != JSON_ARRAY)
        return TRUTH_UNDECIDED;
    for (const struct json_node *element = other->child; element != NULL; element = element->next) {
        struct json_node plain = *element;

        if (!walk_charge(walk, 1 + element->raw.len / 16) ||
            (op->folds && plain.type == JSON_STRING && !operator__fold(walk, plain.text, &plain.text)))
            return TRUTH_UNDECIDED;
        if (json_equal(&plain, value))
            return TRUTH_TRUE;
    }
    return TRUTH_FALSE;
}

static enum truth in(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    enum truth truth;

    if (op->other != NULL)
        return in_other(walk, op, value);
    if (value->type != JSON_STRING && !walk_charge(walk, op->value_count - op->string_count))
        return TRUTH_UNDECIDED;
    truth = truth_of(is_among(op, value));
    for (uint32_t i = 0; i < op->varying_count && truth != TRUTH_TRUE; i++) {
        struct json_node said;

        truth = truth_or(truth, say(walk, op, op->values[op->string_count + i], &said) ? truth_of(json_equal(&said, value))
                                                                                  : TRUTH_UNDECIDED);
    }
    return truth;
}

static void sample_in(const struct op *op, struct samples *samples)
{
    for (uint32_t i = 0; i < op->value_count; i++)
        if (i < SAMPLES_MAX || i + 1 == op->value_count)
            samples->json(samples, op->values[i]->raw);
}

const struct operator operator__in = {
    .word = "in", .types = TYPES_ALL, .compile = compile_in, .of_value = in, .reads_decoded = true, .looks_inside = true,
    .is_decided = true, .sample = sample_in, .can_fold = true,
};

/* ---- contains ---- */

static enum truth contains_text(struct rule_walk *walk, const struct op *op, struct span text)
{
    struct span part = op->value->text;

    if (op->value->type != JSON_STRING || (op->varies && !operator__said(walk, op, op->value->text, VARIABLE_TEXT, &part)))
        return TRUTH_UNDECIDED;
    return truth_of(part.len == 0 || (text.len > 0 && memmem(text.at, text.len, part.at, part.len) != NULL));
}

static enum truth find_contained(struct rule_walk *walk, const struct op *op, struct span text, op_found_fn found,
                                 void *context)
{
    struct span part = op->value->text, left = text;
    const char *at;

    if (op->value->type != JSON_STRING || (op->varies && !operator__said(walk, op, op->value->text, VARIABLE_TEXT, &part)))
        return TRUTH_UNDECIDED;
    while (left.at != NULL && part.len > 0 && (at = memmem(left.at, left.len, part.at, part.len)) != NULL) {
        found(context, SPAN_NONE, (size_t)(at - text.at), part.len);
        left = span_part(text, (size_t)(at - text.at) + part.len, SIZE_MAX);
    }
    return truth_of(left.len < text.len);
}

static enum truth contains_member(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    const struct json_node *wanted = op->value;
    struct json_node said;

    if (value->type != JSON_ARRAY || !walk_charge(walk, value->count) || (op->varies && !say(walk, op, op->value, &said)))
        return TRUTH_UNDECIDED;
    if (op->varies)
        wanted = &said;
    for (const struct json_node *member = value->child; member != NULL; member = member->next) {
        struct json_node plain = *member;

        if (op->folds && member->type == JSON_STRING && !operator__fold(walk, member->text, &plain.text))
            return TRUTH_UNDECIDED;
        if (json_equal(&plain, wanted))
            return TRUTH_TRUE;
    }
    return TRUTH_FALSE;
}

static void sample_contains(const struct op *op, struct samples *samples)
{
    samples->json(samples, op->value->raw);
    if (op->value->type == JSON_STRING)
        samples->text(samples, "x", op->value->text, "x");
}

const struct operator operator__contains = {
    .word = "contains", .types = TYPES_SCALAR | TYPE_BIT(JSON_ARRAY), .compile = compile_value, .of_text = contains_text,
    .of_value = contains_member, .find = find_contained, .cost = op_text_cost, .looks_inside = true,
    .sample = sample_contains, .can_fold = true, .shape = SHAPE_PART,
};

/* ---- unique ---- */

static void compile_unique(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    op->text = SPAN_LIT("true");
    if (node->type != YAML_BOOL || !node->truth)
        FAULT(c, node, "`unique` is true: no two elements are equal; where they may be, leave it out%s", yaml_bool_words(node));
}

/* What comparing the two may cost: each member of one object is looked for in the other. */
static uint64_t pair_cost(const struct json_node *a, const struct json_node *b)
{
    if (a->type != b->type || a->count != b->count || a->raw.len < 64)
        return 1;
    return 1 + (uint64_t)a->raw.len * (a->type == JSON_STRING ? 1 : b->raw.len) / 16;
}

static enum truth unique(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    (void)op;
    if (value->type != JSON_ARRAY)
        return TRUTH_UNDECIDED;
    for (const struct json_node *a = value->child; a != NULL; a = a->next)
        for (const struct json_node *b = a->next; b != NULL; b = b->next) {
            if (!walk_charge(walk, pair_cost(a, b)))
                return TRUTH_UNDECIDED;
            if (json_equal(a, b))
                return TRUTH_FALSE;
        }
    return TRUTH_TRUE;
}

static void sample_unique(const struct op *op, struct samples *samples)
{
    (void)op;
    samples->json(samples, SPAN_LIT("[1]"));
    samples->json(samples, SPAN_LIT("[1,1]"));
}

const struct operator operator__unique = {
    .word = "unique", .types = TYPE_BIT(JSON_ARRAY), .compile = compile_unique, .of_value = unique, .looks_inside = true,
    .sample = sample_unique,
};
