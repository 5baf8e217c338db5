/* SPDX-License-Identifier: Apache-2.0 */
/* What an approval is bound to besides the call: the rule as its author wrote it, without what it says to people. */
#include "language/compile_priv.h"

#include "crypto/parts.h"

/* The entry of `patterns:`, `lists:`, `labels:` or `detectors:` that a text under this key names; NULL: it names none. */
static const struct yaml_node *named_by(const struct compiler *c, struct span key, const struct yaml_node *node)
{
    const struct part *part = span_is(key, "pattern")                         ? &c->patterns
                              : span_is(key, "list")                          ? &c->lists
                              : span_is(key, "label") || span_is(key, "labels") ? &c->labels
                              : span_is(key, "detect")                        ? &c->detectors
                                                                              : NULL;

    return part != NULL && node->type == YAML_STRING ? compiler_definition(c, part, node->text) : NULL;
}

/* Whether the member only says something to people, and so decides nothing. */
static bool is_said(const struct yaml_node *member, bool is_rule)
{
    return is_rule && (span_is(member->key, "reason") || span_is(member->key, "say"));
}

/* Hashes types, keys and texts. Blanks, comments and quotes are not part of what a rule says. */
static void add_node(const struct compiler *c, struct digest *digest, struct span key, const struct yaml_node *node,
                     bool is_named, bool is_rule)
{
    const struct yaml_node *named = is_named ? NULL : named_by(c, key, node);
    uint64_t count = node->count;

    for (const struct yaml_node *member = node->child; member != NULL; member = member->next)
        count -= is_said(member, is_rule);
    parts_add_number(digest, node->type);
    parts_add_number(digest, node->truth);
    parts_add_number(digest, count);
    parts_add(digest, node->key);
    parts_add(digest, node->text);
    for (const struct yaml_node *member = node->child; member != NULL; member = member->next)
        if (!is_said(member, is_rule))
            add_node(c, digest, member->key.len > 0 ? member->key : key, member, is_named, false);
    if (named != NULL)
        add_node(c, digest, SPAN_NONE, named, true, false);
}

void compile__hash_rule(const struct compiler *c, const struct yaml_node *node, unsigned char hash[DIGEST_BYTES])
{
    struct digest digest;

    digest_init(&digest);
    add_node(c, &digest, SPAN_NONE, node, false, true);
    digest_final(&digest, hash);
}
