/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

/* What is seen of one place while it is read; what takes the whole set is author/warn.c's. */

#define WARN(c, node, ...) \
    faults_add((c)->warnings, (c)->source->path_text, (node)->line, (node)->column, __VA_ARGS__)

static void warn_unused(struct compiler *c, const struct part *part)
{
    size_t at = 0;

    for (const struct yaml_node *member = part->map ? part->map->child : NULL; member != NULL; member = member->next, at++)
        if (!part->used[at])
            faults_add(c->warnings, c->source->path_text, member->key_line, member->key_column,
                       "the %s `%.*s` is used by no rule; use it or leave it out", part->word, SPAN_ARG(member->key));
}

void policy__warn_file(struct compiler *c)
{
    if (c->warnings == NULL)
        return;
    warn_unused(c, &c->patterns);
    warn_unused(c, &c->lists);
}

/* `..` looks everywhere; that it finds nothing is no absent argument. */
void policy__warn_absence(struct compiler *c, const struct yaml_node *node, const struct condition *leaf)
{
    if (c->warnings != NULL && !leaf->path.descends && !span_is(leaf->path.text, "$"))
        WARN(c, node, "where `%.*s` is absent this %s does not apply; write `absent: applies` if it should, "
             "`absent: ignored` if that is meant", SPAN_ARG(leaf->path.text), effect_text(c->effect));
}

/* Readings are of strings, for operators that look at strings. */
void policy__warn_decode(struct compiler *c, const struct yaml_node *node, const struct condition *leaf)
{
    bool concerns = leaf->decoders == 0;

    for (uint32_t i = 0; i < leaf->op_count; i++)
        concerns |= op_reads_decoded(&leaf->ops[i]);
    if (c->warnings != NULL && !concerns)
        WARN(c, node, "`decode` changes nothing for operators that do not read strings; leave it out");
}

void policy__warn_closing(struct compiler *c, const struct yaml_node *node, const struct condition *leaf)
{
    for (uint32_t i = 0; i < leaf->op_count; i++) {
        const struct op *op = &leaf->ops[i];
        bool may_doubt = c->warnings != NULL && !c->no_memory && !leaf->opening && op->operator->closing_doubt != NULL;
        const char *doubt = may_doubt ? op->operator->closing_doubt(op) : NULL;

        if (doubt != NULL)
            WARN(c, node, "%s", doubt);
    }
}
