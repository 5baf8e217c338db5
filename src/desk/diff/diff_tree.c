/* SPDX-License-Identifier: Apache-2.0 */
#include "diff/diff_priv.h"

struct diff_tree {
    enum json_type type;      /* OBJECT and ARRAY have members; anything else is `json` */
    struct span key, json;
    struct diff_tree *child, *next;
};

#define INDEX_MAX 16

struct diff_tree *diff__tree_new(struct arena *arena, const struct json_node *from)
{
    struct diff_tree *tree = arena_zalloc(arena, sizeof *tree), **last;

    if (tree == NULL)
        return NULL;
    tree->type = JSON_OBJECT;
    if (from == NULL)
        return tree;
    tree->type = from->type;
    tree->key = from->key;
    tree->json = from->raw;
    last = &tree->child;
    for (const struct json_node *member = from->child; member != NULL; member = member->next) {
        *last = diff__tree_new(arena, member);
        if (*last == NULL)
            return NULL;
        last = &(*last)->next;
    }
    return tree;
}

/* Where a step leads, made where it is missing; NULL without memory or where there is no such place. */
static struct diff_tree **step(struct arena *arena, struct diff_tree *tree, const struct path_segment *segment)
{
    const struct path_selector *selector = &segment->selectors[0];
    bool by_name = selector->kind == SELECTOR_NAME;
    bool anywhere = segment->descends || selector->kind == SELECTOR_WILD || selector->kind == SELECTOR_SLICE;
    struct span name = by_name ? selector->name : SPAN_LIT("probe");
    struct diff_tree **at = &tree->child;
    int64_t index = selector->kind == SELECTOR_INDEX && selector->index > 0 ? selector->index : 0;

    if (tree->type != JSON_OBJECT && tree->type != JSON_ARRAY) {
        tree->type = by_name || segment->descends ? JSON_OBJECT : JSON_ARRAY;
        tree->child = NULL;
    }
    if (index > INDEX_MAX)
        return NULL;
    if (tree->type == JSON_OBJECT)
        while (*at != NULL && !span_equals((*at)->key, name) && !(anywhere && !by_name))
            at = &(*at)->next;
    for (; tree->type == JSON_ARRAY && index > 0 && *at != NULL; index--)
        at = &(*at)->next;
    if (*at != NULL)
        return at;
    if (tree->type == JSON_ARRAY && by_name)
        return NULL;
    *at = arena_zalloc(arena, sizeof **at);
    if (*at == NULL)
        return NULL;
    **at = (struct diff_tree){.type = JSON_NULL, .key = name, .json = SPAN_LIT("null")};
    return at;
}

enum code diff__tree_set(struct arena *arena, struct diff_tree *tree, const struct path *path, struct span json)
{
    struct diff_tree **at = &tree;

    if (path->count == 0)
        return CODE_NOT_FOUND;
    for (uint32_t i = 0; i < path->count; i++) {
        at = step(arena, *at, &path->segments[i]);
        if (at == NULL)
            return CODE_NOT_FOUND;
    }
    if (json.at == NULL) {
        *at = (*at)->next;
        return CODE_OK;
    }
    (*at)->type = JSON_NULL;
    (*at)->child = NULL;
    (*at)->json = json;
    return CODE_OK;
}

void diff__tree_write(const struct diff_tree *tree, struct buf *out)
{
    bool is_object = tree->type == JSON_OBJECT;

    if (!is_object && tree->type != JSON_ARRAY) {
        buf_add_span(out, tree->json);
        return;
    }
    buf_add_byte(out, is_object ? '{' : '[');
    for (const struct diff_tree *member = tree->child; member != NULL; member = member->next) {
        if (member != tree->child)
            buf_add_byte(out, ',');
        if (is_object) {
            json_write_string(out, member->key);
            buf_add_byte(out, ':');
        }
        diff__tree_write(member, out);
    }
    buf_add_byte(out, is_object ? '}' : ']');
}
