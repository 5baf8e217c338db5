/* SPDX-License-Identifier: Apache-2.0 */
/* detect: whether something that one of the named detectors finds is in a text (texts/detector.h). */
#include "words/operator_priv.h"
#include "texts/detector.h"

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    op->written = compiler_written(c, node);
    op->terms = compiler_detect(c, node);
}

static enum truth detect(struct rule_walk *walk, const struct op *op, struct span text)
{
    return detector_find(op->terms, text, walk->budget, NULL);
}

static enum truth find_all(struct rule_walk *walk, const struct op *op, struct span text, op_found_fn found, void *context)
{
    struct finding one;
    struct buf all;
    enum truth truth;

    buf_init(&all, SIZE_MAX / 2);
    truth = detector_find(op->terms, text, walk->budget, &all);
    walk->no_memory |= buf_code(&all) != CODE_OK;
    for (size_t at = 0; buf_code(&all) == CODE_OK && at + sizeof one <= buf_len(&all); at += sizeof one) {
        memcpy(&one, buf_peek(&all).at + at, sizeof one);
        found(context, one.detector->name, one.at, one.len);
    }
    buf_fini(&all);
    return truth;
}

static void sample(const struct op *op, struct samples *samples)
{
    uint32_t count;
    const struct detector *const *list = detector_list(op->terms, &count);

    for (uint32_t i = 0; i < count; i++)
        samples->text(samples, "", list[i]->example, "");
}

/* Tells which detectors found something and where, but not what: explanations are kept in places that must hold no secrets. */
static void tell_places(const struct op *op, const struct json_node *value, struct buf *out)
{
    struct regex_budget budget;
    struct finding one;
    struct buf found;
    const char *before = "";

    buf_init(&found, (size_t)1 << 20);
    regex_budget_init(&budget);
    if (detector_find(op->terms, value->text, &budget, &found) == TRUTH_UNDECIDED)
        buf_add_text(out, "what cannot be decided");
    for (size_t at = 0; buf_code(&found) == CODE_OK && at + sizeof one <= buf_len(&found); at += sizeof one, before = ", ") {
        memcpy(&one, buf_peek(&found).at + at, sizeof one);
        buf_addf(out, "%s%.*s at byte %zu", before, SPAN_ARG(one.detector->name), one.at + 1);
    }
    if (buf_is_empty(&found))
        buf_add_text(out, "nothing");
    buf_fini(&found);
}

const struct operator operator__detect = {
    .word = "detect", .types = TYPES_SCALAR, .compile = compile, .of_text = detect, .find = find_all,
    .sample = sample, .tell = tell_places,
};
