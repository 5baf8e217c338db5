/* SPDX-License-Identifier: Apache-2.0 */
/* What a value is, and whether there is one: is, exists. */
#include "texts/date.h"
#include "words/operator_priv.h"

/* ---- is ---- */

enum { INTEGER = 0, NUMBER = 3, STRING = 4, TIME = 7 };
static const char *const words[] = {"integer", "null", "boolean", "number", "string", "array", "object", "time", NULL};

static void add_type(struct op *op, int word)
{
    static const unsigned types[] = {
        TYPE_BIT(JSON_NUMBER), TYPE_BIT(JSON_NULL), TYPE_BIT(JSON_TRUE) | TYPE_BIT(JSON_FALSE), TYPE_BIT(JSON_NUMBER),
        TYPE_BIT(JSON_STRING), TYPE_BIT(JSON_ARRAY), TYPE_BIT(JSON_OBJECT), TYPE_BIT(JSON_STRING),
    };
    bool is_number = types[word] == TYPE_BIT(JSON_NUMBER);

    op->whole = is_number && (op->types & types[word]) == 0 ? word == INTEGER : op->whole && word != NUMBER;
    if (word == STRING || word == TIME)
        op->truth = word == TIME && ((op->types & TYPE_BIT(JSON_STRING)) == 0 || op->truth);
    op->types |= types[word];
}

bool operator_type_add(struct op *op, struct span word)
{
    for (int i = 0; i < TIME; i++)
        if (span_is(word, words[i])) {
            add_type(op, i);
            return true;
        }
    return false;
}

static void compile_is(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    op->types = 0;
    if (node->type == YAML_LIST && node->count == 0)
        FAULT(c, node, "nothing is in an empty list; name at least one type");
    if (node->type == YAML_LIST)
        op->written = compiler_written(c, node);
    YAML_EACH(one, node) {
        /* Without quotes the word is YAML's own null; nobody can mean anything else. */
        bool is_null = one->type == YAML_NULL && span_is(one->text, "null");
        int word = is_null ? 1 : compiler_word(c, one, words);

        if (word < 0)
            continue;
        add_type(op, word);
        op->text = span_text(words[word]);
    }
}

/* `integer` asks for a number without a fractional part, `time` for a text that is one by RFC 3339. */
static enum truth is(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    (void)walk;
    return truth_of((op->types & TYPE_BIT(value->type)) != 0 &&
                    (!op->whole || value->type != JSON_NUMBER || json_number_is_integer(value->raw)) &&
                    (!op->truth || value->type != JSON_STRING || date_time_is(value->text)));
}

const struct operator operator__is = {
    .word = "is", .types = TYPES_ALL, .compile = compile_is, .of_value = is, .is_decided = true,
};

/* ---- exists ---- */

static void compile_exists(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    op->truth = node->truth;
    op->text = node->truth ? SPAN_LIT("true") : SPAN_LIT("false");
    if (node->type != YAML_BOOL)
        FAULT(c, node, "`exists` is true or false%s", yaml_bool_words(node));
}

/* An operator is asked of values alone, so that one exists here. */
static enum truth exists(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    (void)walk;
    (void)value;
    return truth_of(op->truth);
}

const struct operator operator__exists = {
    .word = "exists", .types = TYPES_ALL, .compile = compile_exists, .of_value = exists, .decides_absence = true,
};
