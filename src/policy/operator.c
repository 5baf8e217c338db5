/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/snapshot.h"

#include "base/glob.h"
#include "unicode/unicode.h"

static enum truth truth_of(bool is)
{
    return is ? TRUTH_TRUE : TRUTH_FALSE;
}

static bool is_container(const struct json_node *value)
{
    return value->type == JSON_ARRAY || value->type == JSON_OBJECT;
}

bool policy__spend_visits(struct walk *walk)
{
    uint64_t work = (walk->visits_told - walk->visits_left) * VISIT_WORK;

    walk->visits_told = walk->visits_left;
    walk->spent |= !regex_budget_spend(walk->budget, work);
    return !walk->spent;
}

bool policy__charge(struct walk *walk, uint64_t visits)
{
    if (visits > walk->visits_left) {
        walk->visits_left = 0;
        walk->spent = true;
        return false;
    }
    walk->visits_left -= visits;
    return walk->visits_told - walk->visits_left < VISITS_EACH || policy__spend_visits(walk);
}

static enum truth op_in(struct walk *walk, const struct op *op, const struct json_node *value)
{
    uint32_t from = 0, to = op->string_count;

    if (value->type != JSON_STRING) {
        if (!policy__charge(walk, op->value_count - op->string_count))
            return TRUTH_UNDECIDED;
        for (uint32_t i = op->string_count; i < op->value_count; i++)
            if (json_equal(op->values[i], value))
                return TRUTH_TRUE;
        return TRUTH_FALSE;
    }
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int order = span_compare(op->values[middle]->text, value->text);

        if (order == 0)
            return TRUTH_TRUE;
        if (order < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return TRUTH_FALSE;
}

static enum truth op_is(const struct op *op, const struct json_node *value)
{
    if (op->is_type == IS_INTEGER)
        return truth_of(value->type == JSON_NUMBER && json_number_is_integer(value->raw));
    if (op->is_type == JSON_TRUE)
        return truth_of(value->type == JSON_TRUE || value->type == JSON_FALSE);
    return truth_of(value->type == op->is_type);
}

/* Readers differ on integers beyond +-(2^53-1), so that nobody can say what the upstream will see. */
static enum truth op_limit(const struct op *op, const struct json_node *value)
{
    int order;

    if (value->type != JSON_NUMBER || json_number_is_unsafe(value->raw))
        return TRUTH_UNDECIDED;
    order = json_number_compare(value->raw, op->value->raw);
    return truth_of(op->kind == OP_MIN ? order >= 0 : order <= 0);
}

static enum truth op_items(const struct op *op, const struct json_node *value)
{
    if (!is_container(value))
        return TRUTH_UNDECIDED;
    return truth_of(op->kind == OP_MIN_ITEMS ? value->count >= op->count : value->count <= op->count);
}

static enum truth contains_member(struct walk *walk, const struct op *op, const struct json_node *array)
{
    if (!policy__charge(walk, array->count))
        return TRUTH_UNDECIDED;
    for (const struct json_node *member = array->child; member != NULL; member = member->next)
        if (json_equal(member, op->value))
            return TRUTH_TRUE;
    return TRUTH_FALSE;
}

static enum truth contains_text(const struct op *op, struct span text)
{
    if (op->value->type != JSON_STRING)
        return TRUTH_UNDECIDED;
    return truth_of(op->value->text.len == 0 ||
                    (text.len > 0 && memmem(text.at, text.len, op->value->text.at, op->value->text.len) != NULL));
}

/* In visits, for what reads the whole text; regexes count for themselves. A glob may try its pattern at each place; a path
 * is read for each directory. */
static uint64_t cost_of(const struct op *op, struct span text)
{
    uint64_t times = 1, length = (uint64_t)text.len / 16;

    if (op->kind == OP_MATCHES || op->kind == OP_STARTS_WITH || op->kind == OP_ENDS_WITH)
        return 0;
    if (op->kind == OP_GLOB && op->text.len > 0)
        times = op->text.len;
    else if (op->kind == OP_UNDER)
        times = 2 + op->part_count;
    else if (op->kind == OP_URL)
        return length + policy__url_cost(op);
    else if (op->kind == OP_CIDR)
        return length + op->part_count / 4;
    return length * times;
}

/* Meaning 4: string operators read scalars as the text that was sent. */
static enum truth op_text(struct walk *walk, const struct condition *leaf, const struct op *op, const struct json_node *value)
{
    struct span text = value->type == JSON_STRING ? value->text : value->raw;
    size_t count;

    if (op->kind == OP_CONTAINS && value->type == JSON_ARRAY)
        return contains_member(walk, op, value);
    if (is_container(value) || !policy__charge(walk, cost_of(op, text)))
        return TRUTH_UNDECIDED;
    if (op->kind == OP_MATCHES)
        return policy__regex(op->regex, leaf->opening, text, op->whole, walk->budget);
    if (op->kind == OP_GLOB)
        return truth_of(glob_matches(op->text, text));
    if (op->kind == OP_STARTS_WITH)
        return truth_of(span_starts_with(text, op->text));
    if (op->kind == OP_ENDS_WITH)
        return truth_of(span_ends_with(text, op->text));
    if (op->kind == OP_CONTAINS)
        return contains_text(op, text);
    if (op->kind == OP_UNDER)
        return policy__op_under(walk, op, text);
    if (op->kind == OP_URL)
        return policy__op_url(op, text);
    if (op->kind == OP_CIDR)
        return policy__op_cidr(op, text);
    if (op->kind == OP_FORMAT)
        return policy__op_format(op, text);
    count = unicode_count(text);
    return truth_of(op->kind == OP_MIN_LENGTH ? count >= op->count : count <= op->count);
}

enum truth policy__op(struct walk *walk, const struct condition *leaf, const struct op *op, const struct json_node *value)
{
    switch (op->kind) {
    case OP_EQUALS: return truth_of(json_equal(op->value, value));
    case OP_IN: return op_in(walk, op, value);
    case OP_MATCHES:
    case OP_GLOB:
    case OP_STARTS_WITH:
    case OP_ENDS_WITH:
    case OP_CONTAINS:
    case OP_MIN_LENGTH:
    case OP_MAX_LENGTH:
    case OP_UNDER:
    case OP_URL:
    case OP_CIDR:
    case OP_FORMAT: return op_text(walk, leaf, op, value);
    case OP_IS: return op_is(op, value);
    case OP_MIN:
    case OP_MAX: return op_limit(op, value);
    case OP_MIN_ITEMS:
    case OP_MAX_ITEMS: return op_items(op, value);
    case OP_EXISTS: return truth_of(op->truth);
    case OP_COUNT: break;
    }
    return TRUTH_UNDECIDED;
}

bool policy__leaf_skips(const struct condition *leaf, const struct json_node *value)
{
    if (!leaf->skips_containers || !is_container(value))
        return false;
    for (uint32_t i = 0; i < leaf->op_count; i++) {
        enum op_kind kind = leaf->ops[i].kind;

        if (policy__op_reads_text(kind) && !(kind == OP_CONTAINS && value->type == JSON_ARRAY))
            return true;
    }
    return false;
}
