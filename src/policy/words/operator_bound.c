/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds: of numbers (min, max, multiple_of), of the length of a text (min_length, max_length), of the members of an array or
 * object (min_items, max_items). */
#include "words/operator_priv.h"

#include "base/num.h"
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

/* Readers differ on integers beyond +-(2^53-1), so that nobody can say what the upstream will see. */
static bool is_comparable(const struct json_node *value)
{
    return value->type == JSON_NUMBER && !json_number_is_unsafe(value->raw);
}

static enum truth min(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    (void)walk;
    return is_comparable(value) ? truth_of(json_number_compare(value->raw, op->value->raw) >= 0) : TRUTH_UNDECIDED;
}

static enum truth max(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    (void)walk;
    return is_comparable(value) ? truth_of(json_number_compare(value->raw, op->value->raw) <= 0) : TRUTH_UNDECIDED;
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

const struct operator operator__min = {
    .word = "min", .types = TYPE_BIT(JSON_NUMBER), .compile = compile_number, .of_value = min, .sample = sample_number,
    .upper = &operator__max,
};

const struct operator operator__max = {
    .word = "max", .types = TYPE_BIT(JSON_NUMBER), .compile = compile_number, .of_value = max, .sample = sample_number,
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
    .sample = sample_number,
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
