/* SPDX-License-Identifier: Apache-2.0 */
/* Operands that name a value in place of being one: {arg: PATH}, {claim: PATH}, now. */
#include "words/operator_priv.h"

#include "base/num.h"
#include "texts/date.h"

#define PLUS_MAX_MS (UINT64_C(36525) * 86400000) /* a hundred years */

static bool is_root(struct span key)
{
    return span_is(key, "arg") || span_is(key, "claim");
}

bool operand_names_value(const struct yaml_node *node)
{
    return node->type == YAML_MAP && node->count == 1 && is_root(node->child->key) && node->child->type == YAML_STRING;
}

void operand_doubt(struct compiler *c, const struct yaml_node *node)
{
    static const char *const names[] = {"arg", "claim", "meta", "param", "now", "plus"};
    bool is_named = c->warnings != NULL && node->type == YAML_MAP && node->count > 0;

    for (const struct yaml_node *member = node->child; is_named && member != NULL; member = member->next) {
        is_named = false;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            is_named = is_named || span_is(member->key, names[i]);
    }
    if (is_named)
        WARN(c, node, "this is compared as the object that it is, and names no value; write {arg: PATH} or {claim: PATH} "
             "alone, outside of a list, and bounds of times with `min` and `max`");
}

void operand_value(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    struct op_other *other = compiler_alloc(c, 1, sizeof *other);

    op->written = compiler_written(c, node);
    op->other = other;
    if (other == NULL)
        return;
    other->next = c->others;
    c->others = other;
    other->from = span_is(node->child->key, "claim") ? FROM_CLAIM : FROM_ARG;
    compiler_path(c, node->child, &other->path);
    if (other->path.text.at != NULL && !path_is_single(&other->path))
        FAULT(c, node->child, "`%.*s` may select several values, and one is compared; write a path without `*`, `..` and "
              "slices", SPAN_ARG(other->path.text));
}

/* "31d", "-7d". */
static void read_plus(struct compiler *c, const struct yaml_node *plus, struct op_other *other)
{
    bool is_back = plus->type == YAML_STRING && span_starts_with(plus->text, SPAN_LIT("-"));
    uint64_t ms = 0;

    if (plus->type != YAML_STRING || num_duration(span_part(plus->text, is_back, SIZE_MAX), &ms) != CODE_OK || ms > PLUS_MAX_MS)
        FAULT(c, plus, "`plus` is how much later, or earlier; write 31d, 2h or -7d, at most 36525d");
    other->plus_us = (int64_t)ms * (is_back ? -1000 : 1000);
}

static void named_moment(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    static const char *const known[] = {"arg", "claim", "now", "plus", NULL};
    const struct yaml_node *now = yaml_member(node, "now"), *plus = yaml_member(node, "plus"), *path = NULL;
    struct yaml_node alone = {.type = YAML_MAP, .count = 1};
    struct span written = compiler_written(c, node);

    yaml_check_keys(c->tree, node, known, "a moment", c->faults);
    for (const struct yaml_node *member = node->child; member != NULL; member = member->next)
        if (is_root(member->key))
            path = member;
    if ((now != NULL) + (yaml_member(node, "arg") != NULL) + (yaml_member(node, "claim") != NULL) != 1 ||
        (now != NULL && !(now->type == YAML_BOOL && now->truth))) {
        FAULT(c, node, "a moment is that of one thing; write {arg: PATH}, {claim: PATH} or {now: true}, with `plus: 31d` or "
              "without");
        return;
    }
    if (path != NULL) {
        alone.child = path;
        operand_value(c, &alone, op);
    } else {
        op->other = compiler_alloc(c, 1, sizeof *op->other);
    }
    op->written = written;
    if (op->other == NULL)
        return;
    op->other->kind = path != NULL ? OTHER_VALUE : OTHER_NOW;
    if (plus != NULL)
        read_plus(c, plus, op->other);
}

void operand_moment(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    struct op_other *other;

    if (node->type == YAML_MAP) {
        named_moment(c, node, op);
        return;
    }
    op->written = compiler_written(c, node);
    op->other = other = compiler_alloc(c, 1, sizeof *other);
    if (other == NULL)
        return;
    other->kind = node->type == YAML_STRING && span_is(node->text, "now") ? OTHER_NOW : OTHER_MOMENT;
    if (other->kind == OTHER_MOMENT && (node->type != YAML_STRING || !date_time_read(node->text, &other->plus_us)))
        FAULT(c, node, "beside `is: time` a bound is a moment; write now, {arg: PATH}, {now: true, plus: 31d} or a time with "
              "its offset, as in '2026-12-31T18:00:00+01:00'");
}
