/* SPDX-License-Identifier: Apache-2.0 */
/* What authors wrote, as nodes: whether two say the same, and one in words. */
#include "diff/diff_priv.h"
#include "author/words.h"
#include "words/compiler.h"

#define MEMBERS_SHOWN 12

const struct yaml_node *diff__definition(const struct diff_rule *rule, struct span key, const struct yaml_node *node)
{
    static const struct { const char *word, *map; } parts[] = {
        {"pattern", "patterns"}, {"list", "lists"}, {"label", "labels"}, {"labels", "labels"}, {"detect", "detectors"},
        {"none_of", "detectors"}, {"path", "paths"},
    };
    const struct yaml_node *map, *found = NULL;
    const char *named = NULL;

    for (size_t i = 0; i < sizeof parts / sizeof *parts && node->type == YAML_STRING; i++)
        named = span_is(key, parts[i].word) ? parts[i].map : named;
    if (named == NULL)
        return NULL;
    map = rule->root != NULL ? yaml_member(rule->root, named) : NULL;
    if (map != NULL)
        found = diff__member(map, node->text);
    for (uint32_t i = 0; i < rule->tree_count && found == NULL; i++) {
        map = compiler_shared(yaml_root(rule->trees[i]), named);
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

static bool is_same(const struct diff_rule *left, const struct yaml_node *a, const struct diff_rule *right,
                    const struct yaml_node *b, struct span key)
{
    const struct yaml_node *first = diff__definition(left, key, a), *second = diff__definition(right, key, b);
    const struct yaml_node *other = b->child;

    if (a->type != b->type || a->count != b->count || !span_equals(a->json, b->json))
        return false;
    if (first != NULL && second != NULL && first != a && !is_same(left, first, right, second, SPAN_NONE))
        return false;
    for (const struct yaml_node *member = a->child; member != NULL; member = member->next) {
        if (a->type == YAML_MAP)
            other = diff__member(b, member->key);
        if (other == NULL || !is_same(left, member, right, other, a->type == YAML_MAP ? member->key : key))
            return false;
        other = other->next;
    }
    return true;
}

/* What the capital words of forms stand for. */
static bool same_kinds(const struct diff_rule *left, const struct diff_rule *right)
{
    const struct yaml_node *a = left->root != NULL ? yaml_member(left->root, "kinds") : NULL;
    const struct yaml_node *b = right->root != NULL ? yaml_member(right->root, "kinds") : NULL;

    return a == b || (a != NULL && b != NULL && is_same(left, a, right, b, SPAN_NONE));
}

static bool has_words(const struct yaml_node *node)
{
    bool has = node->type == YAML_MAP && span_is(node->key, "words");

    for (const struct yaml_node *member = node->child; member != NULL && !has; member = member->next)
        has = has_words(member);
    return has;
}

bool diff__same(const struct diff_rule *left, const struct yaml_node *a, const struct diff_rule *right,
                const struct yaml_node *b)
{
    return is_same(left, a, right, b, a->key) && (!has_words(a) || same_kinds(left, right));
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
