/* SPDX-License-Identifier: Apache-2.0 */
/* cut: a text in two at the first of one character, each part asked a condition of its own: `HEAD:src/a.c`. */
#include "words/operator_priv.h"
#include "words/text_condition.h"
#include "policy/trace.h"

#include "unicode/unicode.h"

#include <stdio.h>

enum half { FRONT = 0, REST, PARTS };

static const char *const part_text[PARTS] = {"front", "rest"};

struct cut_terms {
    struct span mark;
    const struct condition *part[PARTS]; /* NULL: it may be anything */
};

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    struct cut_terms *terms = compiler_alloc(c, 1, sizeof *terms);
    const struct yaml_node *condition = c->condition;
    struct buf written;

    op->terms = terms;
    if (terms == NULL || !compiler_is_string(c, node))
        return;
    terms->mark = compiler_copy(c, node->text);
    if (unicode_count(node->text) != 1)
        FAULT(c, node, "a text is cut at one character; write it in quotes, as in ':'");
    buf_init(&written, (size_t)1 << 20);
    (void)yaml_to_json(node, &written);
    for (enum half part = FRONT; part < PARTS; part++) {
        const struct yaml_node *asked = yaml_member(condition, part_text[part]);

        if (asked == NULL)
            continue;
        terms->part[part] = compiler_text_condition(c, asked, op->opening);
        op->varies |= terms->part[part] != NULL && text_condition_varies(terms->part[part]);
        buf_addf(&written, ", %s ", part_text[part]);
        (void)yaml_to_json(asked, &written);
    }
    c->no_memory |= buf_code(&written) == CODE_NOMEM;
    if (buf_code(&written) == CODE_OK)
        op->written = compiler_copy(c, buf_peek(&written));
    buf_fini(&written);
    if (yaml_member(condition, "front") == NULL && yaml_member(condition, "rest") == NULL)
        FAULT_KEY(c, node, "`cut` alone asks nothing; say what the parts are, as in {cut: ':', front: {...}, rest: {...}}");
}

/* Whoever listens hears of the first part that does not hold. */
static void tell(struct rule_walk *walk, const char *part, struct span mark, enum truth truth)
{
    char text[96];

    if (walk->trace == NULL || truth == TRUTH_TRUE)
        return;
    snprintf(text, sizeof text, "the %s of the text, cut at `%.*s`, is %s", part, SPAN_ARG(mark), policy_truth_text(truth));
    walk->trace->fact(walk->trace, span_text(text));
}

/* A text without the mark is no text in two, whatever its parts are asked. */
static enum truth cut(struct rule_walk *walk, const struct op *op, struct span text)
{
    const struct cut_terms *terms = op->terms;
    const char *at = text.len > 0 ? memmem(text.at, text.len, terms->mark.at, terms->mark.len) : NULL;
    enum truth truth = TRUTH_TRUE;
    struct span parts[PARTS];

    if (at == NULL)
        return TRUTH_FALSE;
    parts[FRONT] = span_of(text.at, (size_t)(at - text.at));
    parts[REST] = span_part(text, parts[FRONT].len + terms->mark.len, SIZE_MAX);
    for (enum half part = FRONT; part < PARTS && truth != TRUTH_FALSE; part++) {
        enum truth one = terms->part[part] != NULL ? text_condition_truth(walk, terms->part[part], parts[part]) : TRUTH_TRUE;

        tell(walk, part_text[part], terms->mark, one);
        truth = truth_and(truth, one);
    }
    return truth;
}

static void sample(const struct op *op, struct samples *samples)
{
    const struct cut_terms *terms = op->terms;

    samples->text(samples, "a", terms->mark, "b");
    samples->text(samples, "", terms->mark, "");
    for (enum half part = FRONT; part < PARTS; part++)
        if (terms->part[part] != NULL)
            text_condition_sample(terms->part[part], samples);
}

const struct operator operator__cut = {
    .word = "cut", .types = TYPES_SCALAR, .compile = compile, .of_text = cut, .cost = op_text_cost, .sample = sample,
};
