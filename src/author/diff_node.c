/* SPDX-License-Identifier: Apache-2.0 */
/* What authors wrote, as nodes: whether two say the same, and one in words. */
#include "author/diff_priv.h"
#include "author/words.h"

#define MEMBERS_SHOWN 12

const struct yaml_node *diff__definition(const struct diff_rule *rule, const struct yaml_node *node)
{
    bool is_pattern = span_is(node->key, "pattern");
    bool is_named = node->type == YAML_STRING && (is_pattern || span_is(node->key, "list"));
    const struct yaml_node *map = is_pattern ? rule->patterns : rule->lists, *found = NULL;

    if (is_named && map != NULL)
        found = diff__member(map, node->text);
    for (uint32_t i = 0; i < rule->tree_count && is_named && found == NULL; i++) {
        map = policy__shared(yaml_root(rule->trees[i]), is_pattern ? "patterns" : "lists");
        found = map != NULL ? diff__member(map, node->text) : NULL;
    }
    return found;
}

const struct yaml_node *diff__member(const struct yaml_node *map, struct span key)
{
    for (const struct yaml_node *member = map->child; member != NULL; member = member->next)
        if (span_equals(member->key, key))
            return member;
    return NULL;
}

bool diff__same(const struct diff_rule *left, const struct yaml_node *a, const struct diff_rule *right,
                const struct yaml_node *b)
{
    const struct yaml_node *first = diff__definition(left, a), *second = diff__definition(right, b), *other = b->child;

    if (a->type != b->type || a->count != b->count || !span_equals(a->json, b->json))
        return false;
    if (first != NULL && second != NULL && first != a && !diff__same(left, first, right, second))
        return false;
    for (const struct yaml_node *member = a->child; member != NULL; member = member->next) {
        if (a->type == YAML_MAP)
            other = diff__member(b, member->key);
        if (other == NULL || !diff__same(left, member, right, other))
            return false;
        other = other->next;
    }
    return true;
}

bool diff__reads_alike(const struct yaml_node *a, const struct yaml_node *b)
{
    static const struct diff_rule nobody;

    return diff__same(&nobody, a, &nobody, b);
}

/* ---- words ---- */

void diff__say_members(struct buf *out, const struct yaml_node *node, const char *between, bool with_keys, const char *but)
{
    uint32_t said = 0;

    for (const struct yaml_node *member = node->child; member != NULL; member = member->next) {
        if (but != NULL && span_is(member->key, but))
            continue;
        if (said == MEMBERS_SHOWN) {
            buf_addf(out, "%s%u more", between, node->count - said - (but != NULL));
            return;
        }
        buf_addf(out, "%s", said++ > 0 ? between : "");
        if (with_keys)
            buf_addf(out, "%.*s ", SPAN_ARG(member->key));
        diff__say(out, member);
    }
}

void diff__say(struct buf *out, const struct yaml_node *node)
{
    const struct yaml_node *arg = node->type == YAML_MAP ? yaml_member(node, "arg") : NULL;

    if (node->type == YAML_STRING) {
        words_text(out, node->text);
    } else if (node->type == YAML_LIST && (span_is(node->key, "any") || span_is(node->key, "all"))) {
        buf_addf(out, "of (");
        diff__say_members(out, node, "; ", false, NULL);
        buf_addf(out, ")");
    } else if (node->type == YAML_LIST) {
        buf_addf(out, "[");
        diff__say_members(out, node, ", ", false, NULL);
        buf_addf(out, "]");
    } else if (arg != NULL && arg->type == YAML_STRING) {
        buf_addf(out, "`%.*s`: ", SPAN_ARG(span_part(arg->text, 0, 200)));
        diff__say_members(out, node, ", ", true, "arg");
    } else if (node->type == YAML_MAP && node->count == 1) {
        diff__say_members(out, node, "", true, NULL);
    } else if (node->type == YAML_MAP) {
        buf_addf(out, "{");
        diff__say_members(out, node, ", ", true, NULL);
        buf_addf(out, "}");
    } else {
        buf_addf(out, "%.*s", SPAN_ARG(node->json));
    }
}
