/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

static enum code take_range(struct compiler *c, const struct yaml_node *text, void *part)
{
    const char *wrong = address_range_read(text->text, part);

    if (wrong != NULL)
        FAULT(c, text, "`%.*s` %s", SPAN_ARG(text->text), wrong);
    return CODE_OK;
}

enum code policy__compile_cidr(struct compiler *c, const struct yaml_node *node, struct op *op)
{
    void *ranges;
    enum code code = policy__texts(c, node, sizeof *op->ranges, take_range, &ranges, &op->part_count);

    op->ranges = ranges;
    return code;
}

/* What is no address has no place in a range or out of it. */
enum truth policy__op_cidr(const struct op *op, struct span text)
{
    struct address address;

    if (!address_read(text, &address))
        return TRUTH_UNDECIDED;
    address_unmap(&address);
    for (uint32_t i = 0; i < op->part_count; i++)
        if (address_range_holds(&op->ranges[i], &address))
            return TRUTH_TRUE;
    return TRUTH_FALSE;
}
