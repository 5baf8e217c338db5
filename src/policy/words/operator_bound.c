/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds: of numbers (min, max, multiple_of), of the length of a text (min_length, max_length), of the members of an array or
 * object (min_items, max_items). */
#include "words/operator_priv.h"

#include "base/num.h"
#include "texts/date.h"
#include "unicode/unicode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLE_LENGTH_MAX 4096
#define SAMPLE_ITEMS_MAX 256

/* ---- min, max ---- */

static void compile_number(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    if (node->type == YAML_INT || node->type == YAML_FLOAT)
        op->value = compiler_value(c, node);
    else
        FAULT(c, node, "`%.*s` compares numbers; write a number without quotes", SPAN_ARG(node->key));
}

/* A number, or another argument that is one; beside `is: time` a moment. */
static void compile_bound(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    op->types = op->moments ? TYPE_BIT(JSON_STRING) : TYPE_BIT(JSON_NUMBER);
    if (op->moments)
        operand_moment(c, node, op);
    else if (operand_names_value(node))
        operand_value(c, node, op);
    else if (node->type == YAML_MAP || node->type == YAML_STRING)
        FAULT(c, node, "`%.*s` compares numbers, and this is a %s; write a number in digits alone, without quotes or a unit, "
              "{arg: PATH} for another argument, and `is: time` beside it where times are meant", SPAN_ARG(node->key),
              node->type == YAML_MAP ? "map" : "text");
    else
        compile_number(c, node, op);
}

/* Readers differ on integers beyond +-(2^53-1), so that nobody can say what the upstream will see. */
static bool is_comparable(const struct json_node *value)
{
    return value->type == JSON_NUMBER && !json_number_is_unsafe(value->raw);
}

/* Sets *order to how the value stands to the bound: below 0, 0, above. Returns: false: *instead. */
static bool compare(struct rule_walk *walk, const struct op *op, const struct json_node *value, int *order, enum truth *instead)
{
    const struct json_node *bound = op->value;
    int64_t time_us, bound_us;

    *instead = TRUTH_UNDECIDED;
    if (op->moments) {
        if (value->type != JSON_STRING || !date_time_read(value->text, &time_us) ||
            !other_moment(walk, op, &bound_us, instead))
            return false;
        *order = time_us < bound_us ? -1 : time_us > bound_us;
        return true;
    }
    if (!is_comparable(value))
        return false;
    if (op->other != NULL)
        bound = other_value(walk, op, instead);
    if (bound == NULL || (op->other != NULL && !is_comparable(bound)))
        return false;
    *order = json_number_compare(value->raw, bound->raw);
    return true;
}

static enum truth min(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    enum truth instead;
    int order;

    return compare(walk, op, value, &order, &instead) ? truth_of(order >= 0) : instead;
}

static enum truth max(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    enum truth instead;
    int order;

    return compare(walk, op, value, &order, &instead) ? truth_of(order <= 0) : instead;
}

/* Adds the bound, and the numbers one below and one above it. */
static void sample_number(const struct op *op, struct samples *samples)
{
    struct span bound = op->value->raw;
    char text[64];
    int64_t whole;
    int len;

    samples->json(samples, bound);
    for (int by = -1; by <= 1; by += 2) {
        if (num_i64(bound, &whole) == CODE_OK && whole > INT64_MIN && whole < INT64_MAX) {
            len = snprintf(text, sizeof text, "%" PRId64, whole + by);
        } else {
            snprintf(text, sizeof text, "%.*s", SPAN_ARG(span_part(bound, 0, sizeof text - 1)));
            len = snprintf(text, sizeof text, "%.15g", strtod(text, NULL) + by);
        }
        samples->json(samples, span_of(text, (size_t)len));
    }
}

/* Nothing is known of another argument. Of moments one long ago, one far ahead and the one that is written are worth asking. */
static void sample_bound(const struct op *op, struct samples *samples)
{
    if (op->value != NULL)
        sample_number(op, samples);
    if (!op->moments)
        return;
    samples->json(samples, SPAN_LIT("\"2001-01-01T00:00:00Z\""));
    samples->json(samples, SPAN_LIT("\"2999-01-01T00:00:00Z\""));
    if (op->other->kind == OTHER_MOMENT)
        samples->json(samples, op->written);
}

const struct operator operator__min = {
    .word = "min", .types = TYPE_BIT(JSON_NUMBER) | TYPE_BIT(JSON_STRING), .compile = compile_bound, .of_value = min,
    .sample = sample_bound, .upper = &operator__max,
};

const struct operator operator__max = {
    .word = "max", .types = TYPE_BIT(JSON_NUMBER) | TYPE_BIT(JSON_STRING), .compile = compile_bound, .of_value = max,
    .sample = sample_bound,
};

/* ---- multiple_of ---- */

#define PLACES_MAX 19 /* a uint64_t holds no more */

static void compile_multiple(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    compile_number(c, node, op);
    if (op->value != NULL && json_number_compare(op->value->raw, SPAN_LIT("0")) <= 0)
        FAULT(c, node, "`multiple_of` asks for multiples of a number; write one above 0");
}

/* Both numbers are scaled by one power of ten that makes them whole; undecided where 64 bits do not hold them. */
static enum truth multiple_of(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    struct span magnitude = span_part(value->raw, value->raw.len > 0 && value->raw.at[0] == '-', SIZE_MAX);
    enum code code = CODE_INVALID;
    uint64_t whole, of = 0;

    (void)walk;
    if (!is_comparable(value))
        return TRUTH_UNDECIDED;
    for (unsigned places = 0; places <= PLACES_MAX && code == CODE_INVALID; places++) {
        code = json_number_scaled(op->value->raw, places, &of);
        if (code == CODE_OK)
            code = json_number_scaled(magnitude, places, &whole);
    }
    return code == CODE_OK && of > 0 ? truth_of(whole % of == 0) : TRUTH_UNDECIDED;
}

const struct operator operator__multiple_of = {
    .word = "multiple_of", .types = TYPE_BIT(JSON_NUMBER), .compile = compile_multiple, .of_value = multiple_of,
    .sample = sample_number, .shape = SHAPE_MULTIPLE,
};

/* ---- min_length, max_length ---- */

static void compile_count(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    if (node->type == YAML_INT && num_u64(node->json, &op->count) == CODE_OK)
        op->value = compiler_value(c, node);
    else
        FAULT(c, node, "`%.*s` is a count; write a whole number from 0 on", SPAN_ARG(node->key));
}

static enum truth min_length(struct rule_walk *walk, const struct op *op, struct span text)
{
    (void)walk;
    return truth_of(unicode_count(text) >= op->count);
}

static enum truth max_length(struct rule_walk *walk, const struct op *op, struct span text)
{
    (void)walk;
    return truth_of(unicode_count(text) <= op->count);
}

static void sample_length(const struct op *op, struct samples *samples)
{
    samples->around(samples, op->count, SAMPLE_LENGTH_MAX, "\"", "x", "\"");
}

const struct operator operator__min_length = {
    .word = "min_length", .types = TYPES_SCALAR, .compile = compile_count, .of_text = min_length, .cost = op_text_cost,
    .sample = sample_length, .upper = &operator__max_length,
};

const struct operator operator__max_length = {
    .word = "max_length", .types = TYPES_SCALAR, .compile = compile_count, .of_text = max_length, .cost = op_text_cost,
    .sample = sample_length,
};

/* ---- min_items, max_items ---- */

#define TYPES_OF_MANY (TYPE_BIT(JSON_ARRAY) | TYPE_BIT(JSON_OBJECT))

static enum truth min_items(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    (void)walk;
    return (TYPE_BIT(value->type) & TYPES_OF_MANY) != 0 ? truth_of(value->count >= op->count) : TRUTH_UNDECIDED;
}

static enum truth max_items(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    (void)walk;
    return (TYPE_BIT(value->type) & TYPES_OF_MANY) != 0 ? truth_of(value->count <= op->count) : TRUTH_UNDECIDED;
}

static void sample_items(const struct op *op, struct samples *samples)
{
    samples->around(samples, op->count, SAMPLE_ITEMS_MAX, "[", "\"x\"", "]");
}

const struct operator operator__min_items = {
    .word = "min_items", .types = TYPES_OF_MANY, .compile = compile_count, .of_value = min_items, .sample = sample_items,
    .upper = &operator__max_items,
};

const struct operator operator__max_items = {
    .word = "max_items", .types = TYPES_OF_MANY, .compile = compile_count, .of_value = max_items, .sample = sample_items,
};
