/* SPDX-License-Identifier: Apache-2.0 */
#include "words/operators.h"

#include "words/operator_priv.h"

#include "base/utf8.h"
#include "unicode/unicode.h"

#define FOLDED_MAX_BYTES ((size_t)64 << 20)

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

bool operator__fold(struct rule_walk *walk, struct span text, struct span *folded)
{
    enum code code = CODE_LIMIT;
    struct buf out;

    if (!walk_charge(walk, utf8_plain(text) == text.len ? text.len / 16 : text.len)) /* Unicode's tables cost */
        return false;
    buf_init(&out, FOLDED_MAX_BYTES);
    code = unicode_fold(text, &out);
    folded->len = buf_len(&out);
    folded->at = code == CODE_OK ? arena_dup(walk->arena, buf_peek(&out).at, folded->len) : NULL;
    walk->no_memory |= code == CODE_NOMEM || (code == CODE_OK && folded->at == NULL);
    buf_fini(&out);
    return folded->at != NULL;
}

/* Variables are folded before they are put into a glob, since folding must not give it wildcards, and once more with what
 * stands around them. */
bool operator__said(struct rule_walk *walk, const struct op *op, struct span text, enum variable_place place, struct span *said)
{
    const struct question *asked = walk->question;
    struct question folded = *asked;
    bool is_said;

    if (!op->folds)
        return variable_said(walk, text, place, said);
    if (!operator__fold(walk, asked->principal, &folded.principal) || !operator__fold(walk, asked->tenant, &folded.tenant) ||
        !operator__fold(walk, asked->upstream, &folded.upstream) || !operator__fold(walk, asked->agent, &folded.agent))
        return false;
    walk->question = &folded;
    is_said = variable_said(walk, text, place, said);
    walk->question = asked;
    return is_said && operator__fold(walk, *said, said);
}

static bool is_container(const struct json_node *value)
{
    return value->type == JSON_ARRAY || value->type == JSON_OBJECT;
}

enum truth policy_op(struct rule_walk *walk, const struct op *op, const struct json_node *value)
{
    const struct operator *operator = op->operator;
    struct span text = value->type == JSON_STRING ? value->text : value->raw;
    struct json_node folded;

    if (op->folds && !is_container(value)) {
        if (!operator__fold(walk, text, &text))
            return TRUTH_UNDECIDED;
        folded = *value;
        folded.text = value->type == JSON_STRING ? text : value->text;
        value = &folded;
    }
    if (operator->of_text == NULL || is_container(value))
        return operator->of_value != NULL ? operator->of_value(walk, op, value) : TRUTH_UNDECIDED;
    if ((op->types & TYPE_BIT(value->type)) == 0) /* the operator is asked of texts alone: no number is one */
        return TRUTH_FALSE;
    if (!walk_charge(walk, operator->cost != NULL ? operator->cost(op, text) : 0))
        return TRUTH_UNDECIDED;
    return operator->of_text(walk, op, text);
}

bool policy_leaf_skips(const struct condition *leaf, const struct path *path, const struct json_node *value)
{
    if (!path->ends_everywhere || !is_container(value))
        return false;
    if (leaf->links)
        return true;
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
