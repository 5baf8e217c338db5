/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

#include "base/num.h"

#include <stdlib.h>

#define OPERAND_MAX_BYTES ((size_t)1 << 20)

const char *const policy__op_text[OP_COUNT] = {
#define X(name, word, reads_text) [OP_##name] = word,
    OPERATOR_TABLE(X)
#undef X
};

static const bool reads_texts[OP_COUNT] = {
#define X(name, word, reads_text) [OP_##name] = reads_text,
    OPERATOR_TABLE(X)
#undef X
};

int policy__op_of(struct span key)
{
    for (int i = 0; i < OP_COUNT; i++)
        if (span_is(key, policy__op_text[i]))
            return i;
    return -1;
}

bool policy__op_reads_text(enum op_kind kind)
{
    return reads_texts[kind];
}

/* {pattern: name} or {list: name}: the one member, or NULL with a fault. */
static const struct yaml_node *only_member(struct compiler *c, const struct yaml_node *map, const char *word)
{
    const struct yaml_node *member = yaml_member(map, word);

    if (member == NULL || map->count != 1) {
        FAULT(c, map, "a map here names a %s of this file; write {%s: name}", word, word);
        return NULL;
    }
    return member;
}

enum code policy__compile_matches(struct compiler *c, const struct yaml_node *node, bool whole, struct op *op)
{
    const struct yaml_node *text = node;
    enum code code;

    op->kind = OP_MATCHES;
    op->whole = whole;
    if (node->type == YAML_MAP) {
        text = only_member(c, node, "pattern");
        if (text != NULL)
            text = policy__named(c, text, c->patterns, c->pattern_used, "pattern");
        if (text == NULL || text->type != YAML_STRING)
            return CODE_OK;
    } else if (!policy__is_string(c, node)) {
        return CODE_OK;
    }
    code = policy__copy(c, text->text, &op->text);
    return code == CODE_OK ? policy__pattern(c, node, op->text, whole, &op->regex) : code;
}

static int by_type_and_text(const void *a, const void *b)
{
    const struct json_node *left = *(const struct json_node *const *)a, *right = *(const struct json_node *const *)b;

    if ((left->type == JSON_STRING) != (right->type == JSON_STRING))
        return left->type == JSON_STRING ? -1 : 1;
    return left->type == JSON_STRING ? span_compare(left->text, right->text) : 0;
}

static enum code compile_in(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    const struct json_node **values;
    const struct json_node *list = NULL;
    enum code code;

    if (node->type == YAML_MAP) {
        node = only_member(c, node, "list");
        if (node != NULL)
            node = policy__named(c, node, c->lists, c->list_used, "list");
        if (node == NULL || node->type != YAML_LIST)
            return CODE_OK;
    } else if (!policy__is_list(c, node)) {
        return CODE_OK;
    }
    if (node->count == 0)
        FAULT(c, node, "nothing is in an empty list; name at least one value");
    code = policy__value(c, node, &list);
    if (code != CODE_OK || list == NULL)
        return code;
    op->values = values = policy__alloc(c, list->count, sizeof *values);
    if (values == NULL)
        return CODE_NOMEM;
    for (const struct json_node *value = list->child; value != NULL; value = value->next) {
        values[op->value_count++] = value;
        op->string_count += value->type == JSON_STRING;
    }
    qsort(values, op->value_count, sizeof *values, by_type_and_text);
    return CODE_OK;
}

static void compile_is(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    static const char *const words[] = {"integer", "null", "boolean", "number", "string", "array", "object", NULL};
    static const enum json_type types[] = {IS_INTEGER, JSON_NULL, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT};
    /* Without quotes the word is YAML's own null; nobody can mean anything else. */
    bool is_null = node->type == YAML_NULL && span_is(node->text, "null");
    int word = is_null ? 1 : policy__word(c, node, words);

    if (word >= 0)
        op->is_type = types[word];
}

static void compile_count(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    if (node->type != YAML_INT || num_u64(node->json, &op->count) != CODE_OK)
        FAULT(c, node, "`%.*s` is a count; write a whole number from 0 on", SPAN_ARG(node->key));
}

static enum code compile_limit(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    if (node->type == YAML_INT || node->type == YAML_FLOAT)
        return policy__value(c, node, &op->value);
    FAULT(c, node, "`%.*s` compares numbers; write a number without quotes", SPAN_ARG(node->key));
    return CODE_OK;
}

static enum code compile_text(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    if (!policy__is_string(c, node))
        return CODE_OK;
    return policy__copy(c, node->text, &op->text);
}

enum code policy__written(struct compiler *c, const struct yaml_node *node, struct span *written)
{
    struct buf text;
    enum code code;

    buf_init(&text, OPERAND_MAX_BYTES);
    code = yaml_to_json(node, &text);
    if (code == CODE_OK)
        code = policy__copy(c, buf_peek(&text), written);
    buf_fini(&text);
    return code == CODE_NOMEM ? code : CODE_OK;
}

/* Operators whose compiled form no longer reads like what was written. */
static enum code compile_written(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    enum code code = policy__written(c, node, &op->written);

    if (code != CODE_OK)
        return code;
    if (op->kind == OP_UNDER)
        return policy__compile_under(c, node, op);
    if (op->kind == OP_URL)
        return policy__compile_url(c, node, op);
    if (op->kind == OP_CIDR)
        return policy__compile_cidr(c, node, op);
    policy__compile_format(c, node, op);
    return CODE_OK;
}

enum code policy__compile_op(struct compiler *c, const struct yaml_node *node, enum op_kind kind, struct op *op)
{
    op->kind = kind;
    switch (kind) {
    case OP_EQUALS:
    case OP_CONTAINS: return policy__value(c, node, &op->value);
    case OP_IN: return compile_in(c, node, op);
    case OP_MATCHES:
    case OP_COUNT: break; /* policy__compile_matches, which knows the anchor */
    case OP_GLOB:
    case OP_STARTS_WITH:
    case OP_ENDS_WITH: return compile_text(c, node, op);
    case OP_IS: compile_is(c, node, op); break;
    case OP_MIN:
    case OP_MAX: return compile_limit(c, node, op);
    case OP_MIN_LENGTH:
    case OP_MAX_LENGTH:
    case OP_MIN_ITEMS:
    case OP_MAX_ITEMS: compile_count(c, node, op); break;
    case OP_EXISTS:
        op->truth = node->truth;
        if (node->type != YAML_BOOL)
            FAULT(c, node, "`exists` asks yes or no; write true or false");
        break;
    case OP_UNDER:
    case OP_URL:
    case OP_CIDR:
    case OP_FORMAT: return compile_written(c, node, op);
    }
    return CODE_OK;
}
