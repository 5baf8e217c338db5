/* SPDX-License-Identifier: Apache-2.0 */
/* What an approval is bound to besides the call: the rule as its author wrote it, without what it says to people. */
#include "language/compile_priv.h"

#include "crypto/parts.h"

#include <stdlib.h>

#define DEPTH_MAX 4 /* of definitions that name others, as a path names detectors */

/* The part of a file of which a text under this key names an entry; NULL: it names none. */
static const struct part *part_of(const struct compiler *c, struct span key)
{
    const struct { const char *key; const struct part *part; } parts[] = {
        {"pattern", &c->patterns}, {"label", &c->labels}, {"labels", &c->labels},
        {"detect", &c->detectors}, {"none_of", &c->detectors}, {"path", &c->paths},
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (span_is(key, parts[i].key))
            return parts[i].part;
    return NULL;
}

/* Whether the member only says something to people, and so decides nothing. */
static bool is_said(const struct yaml_node *member, bool is_rule)
{
    return is_rule && (span_is(member->key, "reason") || span_is(member->key, "say") || span_is(member->key, "alert"));
}

static int by_key(const void *a, const void *b)
{
    return span_compare((*(const struct yaml_node *const *)a)->key, (*(const struct yaml_node *const *)b)->key);
}

/* The members: of a map by their keys, since their order says nothing. Returns: NULL without memory, or without members. */
static const struct yaml_node **members_of(struct compiler *c, const struct yaml_node *node)
{
    const struct yaml_node **members = node->count > 0 ? compiler_alloc(c, node->count, sizeof(struct yaml_node *)) : NULL;
    size_t count = 0;

    for (const struct yaml_node *member = node->child; members != NULL && member != NULL; member = member->next)
        members[count++] = member;
    if (members != NULL && node->type == YAML_MAP)
        qsort(members, count, sizeof *members, by_key);
    return members;
}

/* Hashes types, keys and texts, and behind a name what it names; what lists hold is in its place by now. Blanks, comments,
 * quotes and the order of keys are not part of what a rule says. Takes: key: under which the node stands, or the list in
 * which it does. */
static void add_node(struct compiler *c, struct digest *digest, struct span key, const struct yaml_node *node,
                     uint32_t depth, bool is_rule)
{
    const struct part *part = depth < DEPTH_MAX && node->type == YAML_STRING ? part_of(c, key) : NULL;
    const struct yaml_node *named = part != NULL ? compiler_definition(c, part, node->text) : NULL;
    const struct yaml_node **members = members_of(c, node);
    uint64_t count = node->count;

    for (const struct yaml_node *member = node->child; member != NULL; member = member->next)
        count -= is_said(member, is_rule);
    parts_add_number(digest, node->type);
    parts_add_number(digest, node->truth);
    parts_add_number(digest, count);
    parts_add(digest, node->key);
    parts_add(digest, node->text);
    for (size_t i = 0; members != NULL && i < node->count; i++)
        if (!is_said(members[i], is_rule))
            add_node(c, digest, members[i]->key.len > 0 ? members[i]->key : key, members[i], depth, false);
    if (named != NULL)
        add_node(c, digest, SPAN_NONE, named, depth + 1, false);
}

static bool has_words(const struct yaml_node *node)
{
    bool has = span_is(node->key, "words");

    for (const struct yaml_node *member = node->child; member != NULL && !has; member = member->next)
        has = has_words(member);
    return has;
}

struct span compile__hash_rule(struct compiler *c, const struct yaml_node *node)
{
    unsigned char hash[DIGEST_BYTES];
    struct digest digest;

    digest_init(&digest);
    add_node(c, &digest, SPAN_NONE, node, 0, true);
    if (c->kinds.map != NULL && has_words(node)) /* which of them its forms name stands in texts */
        add_node(c, &digest, SPAN_NONE, c->kinds.map, 0, false);
    digest_final(&digest, hash);
    return compiler_copy(c, span_of((const char *)hash, sizeof hash));
}
