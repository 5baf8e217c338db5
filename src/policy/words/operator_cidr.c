/* SPDX-License-Identifier: Apache-2.0 */
/* cidr: whether an address lies in ranges; `client` reads its ranges here, too. */
#include "words/operator_priv.h"

static void take_range(struct compiler *c, const struct yaml_node *text, void *part)
{
    const char *wrong = address_range_read(text->text, part);

    if (wrong != NULL)
        FAULT(c, text, "`%.*s` %s", SPAN_ARG(text->text), wrong);
}

const struct address_range *compiler_ranges(struct compiler *c, const struct yaml_node *node, uint32_t *count)
{
    return compiler_texts(c, node, sizeof(struct address_range), take_range, count);
}

static void compile(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    op->written = compiler_written(c, node);
    op->terms = compiler_ranges(c, node, &op->term_count);
}

static enum truth cidr(struct rule_walk *walk, const struct op *op, struct span text)
{
    (void)walk;
    return address_in_ranges(op->terms, op->term_count, text);
}

static uint64_t cost(const struct op *op, struct span text)
{
    return op_text_cost(op, text) + op->term_count / 4;
}

static void sample(const struct op *op, struct samples *samples)
{
    samples->addresses(samples, op->written);
    samples->json(samples, SPAN_LIT("\"203.0.113.77\""));
    samples->json(samples, SPAN_LIT("\"2001:db8::77\""));
}

const struct operator operator__cidr = {
    .word = "cidr", .types = TYPES_SCALAR, .compile = compile, .of_text = cidr, .cost = cost, .sample = sample,
};
