/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/path.h"

#include <stdlib.h>

/* ---- walking ---- */

static bool walk_from(struct path_walk *walk, uint32_t segment, const struct json_node *node);
static bool walk_into(struct path_walk *walk, uint32_t segment, const struct path_inside *inside);

/* Counts one more node. Returns: false when the walk must end. */
static inline bool count_visit(struct path_walk *walk)
{
    if (*walk->visits_left == 0 ||
        (walk->look != NULL && *walk->visits_left <= walk->look_at && !walk->stop && !walk->look(walk))) {
        walk->spent = walk->stop = true;
        return false;
    }
    *walk->visits_left -= 1;
    return !walk->stop;
}

/* A stand-in's own members are not those that the path asks about, so the walk ends there. */
static bool meets_hidden(struct path_walk *walk, const struct json_node *node)
{
    if (walk->hidden != NULL && question_is_hidden(walk->hidden, node))
        walk->met_hidden = walk->stop = true;
    return walk->met_hidden;
}

static bool walk_named(struct path_walk *walk, uint32_t segment, const struct json_node *node, struct span name)
{
    const struct json_node *child;

    if (node->type != JSON_OBJECT)
        return false;
    for (child = node->child; child != NULL; child = child->next) {
        if (!count_visit(walk))
            return false;
        if (span_equals(child->key, name))
            return walk_from(walk, segment + 1, child);
    }
    return false;
}

static bool walk_wild(struct path_walk *walk, uint32_t segment, const struct json_node *node)
{
    bool is_inner = segment + 1 < walk->path->count && !walk->path->segments[segment].descends;
    bool got = false;

    for (const struct json_node *child = node->child; child != NULL && !walk->stop; child = child->next) {
        bool has = walk_from(walk, segment + 1, child);

        if (is_inner && !has && !walk->stop)
            walk->element_lacks = true;
        got |= has;
    }
    return got;
}

static bool walk_index(struct path_walk *walk, uint32_t segment, const struct json_node *node, int64_t index)
{
    const struct json_node *child = node->child;

    if (node->type != JSON_ARRAY)
        return false;
    if (index < 0)
        index += node->count;
    if (index < 0 || index >= node->count)
        return false;
    for (; index > 0; index--) {
        if (!count_visit(walk))
            return false;
        child = child->next;
    }
    return walk_from(walk, segment + 1, child);
}

/* RFC 9535, 2.3.4.2.2: the bounds of a slice over `len` elements, lower included for a positive step, upper for a
 * negative one. */
static void slice_bounds(const struct path_selector *slice, int64_t len, int64_t *lower, int64_t *upper)
{
    int64_t begin = slice->has_begin ? slice->index : slice->step > 0 ? 0 : len - 1;
    int64_t end = slice->has_end ? slice->end : slice->step > 0 ? len : -len - 1;
    int64_t least = slice->step > 0 ? 0 : -1, most = slice->step > 0 ? len : len - 1;

    if (begin < 0)
        begin += len;
    if (end < 0)
        end += len;
    begin = begin < least ? least : begin > most ? most : begin;
    end = end < least ? least : end > most ? most : end;
    *lower = slice->step > 0 ? begin : end;
    *upper = slice->step > 0 ? end : begin;
}

/* Visits in document order also where the step is negative: nothing here depends on the order of a selection. */
static bool walk_slice(struct path_walk *walk, uint32_t segment, const struct json_node *node,
                       const struct path_selector *slice)
{
    int64_t lower, upper, at = 0;
    bool got = false;

    if (node->type != JSON_ARRAY || slice->step == 0)
        return false;
    slice_bounds(slice, node->count, &lower, &upper);
    for (const struct json_node *child = node->child; child != NULL && count_visit(walk); child = child->next, at++) {
        bool in = slice->step > 0 ? at >= lower && at < upper && (at - lower) % slice->step == 0
                                  : at > lower && at <= upper && (upper - at) % -slice->step == 0;

        if (in)
            got |= walk_from(walk, segment + 1, child);
    }
    return got;
}

static bool walk_selectors(struct path_walk *walk, uint32_t segment, const struct json_node *node)
{
    const struct path_segment *s = &walk->path->segments[segment];
    bool got = false;

    for (uint32_t i = 0; i < s->count && !walk->stop; i++) {
        const struct path_selector *selector = &s->selectors[i];

        switch (selector->kind) {
        case SELECTOR_NAME: got |= walk_named(walk, segment, node, selector->name); break;
        case SELECTOR_WILD: got |= walk_wild(walk, segment, node); break;
        case SELECTOR_INDEX: got |= walk_index(walk, segment, node, selector->index); break;
        case SELECTOR_SLICE: got |= walk_slice(walk, segment, node, selector); break;
        }
    }
    return got;
}

static int place_against(const void *string, const void *inside)
{
    const char *at = ((const struct json_node *)string)->raw.at, *other = ((const struct path_inside *)inside)->string->raw.at;

    return at < other ? -1 : at > other;
}

const struct path_inside *path_inside_of(const struct path_inside *inside, uint32_t count, const struct json_node *string)
{
    return count > 0 ? bsearch(string, inside, count, sizeof *inside, place_against) : NULL;
}

/* JSON is read inside a string of the call only: a string inside such JSON is only a string. */
static const struct path_inside *inside_of(const struct path_walk *walk, const struct json_node *string)
{
    return walk->within == NULL ? path_inside_of(walk->inside, walk->inside_count, string) : NULL;
}

/* The selectors on the node and on everything below it. Depth is that of the tree, which its reader bounds. */
static bool walk_down(struct path_walk *walk, uint32_t segment, const struct json_node *node)
{
    bool got;

    if (meets_hidden(walk, node))
        return false;
    got = walk_selectors(walk, segment, node);
    for (const struct json_node *child = node->child; child != NULL && count_visit(walk); child = child->next) {
        const struct path_inside *inside = child->type == JSON_STRING ? inside_of(walk, child) : NULL;

        if (child->type == JSON_ARRAY || child->type == JSON_OBJECT)
            got |= walk_down(walk, segment, child);
        else if (inside != NULL)
            got |= walk_into(walk, segment, inside);
    }
    return got;
}

static bool walk_into(struct path_walk *walk, uint32_t segment, const struct path_inside *inside)
{
    bool got;

    walk->within = inside;
    got = walk->path->segments[segment].descends ? walk_down(walk, segment, inside->root)
                                                 : walk_selectors(walk, segment, inside->root);
    walk->within = NULL;
    return got;
}

static bool walk_from(struct path_walk *walk, uint32_t segment, const struct json_node *node)
{
    const struct path_inside *inside;

    if (!count_visit(walk))
        return false;
    if (segment == walk->path->count)
        return walk->visit(walk, node);
    if (meets_hidden(walk, node))
        return false;
    inside = node->type == JSON_STRING ? inside_of(walk, node) : NULL;
    if (inside != NULL)
        return walk_into(walk, segment, inside);
    if (node->type != JSON_ARRAY && node->type != JSON_OBJECT)
        return false;
    return walk->path->segments[segment].descends ? walk_down(walk, segment, node) : walk_selectors(walk, segment, node);
}

void path_run(struct path_walk *walk, const struct json_node *root)
{
    bool is_one = root != NULL && root->type != JSON_ARRAY && root->type != JSON_OBJECT; /* as an answer may be */
    const struct path *first = walk->path;

    walk->stop = walk->spent = walk->element_lacks = walk->met_hidden = false;
    for (const struct path *path = first; path != NULL && root != NULL && !walk->stop; path = path->next) {
        walk->path = path;
        if (is_one && path->count == 1 && path->ends_everywhere && count_visit(walk))
            (void)walk->visit(walk, root);
        if (!walk->stop)
            (void)walk_from(walk, 0, root);
    }
    walk->path = first;
}

struct span path_name_at(const struct path *path, uint32_t step)
{
    const struct path_segment *segment = step < path->count ? &path->segments[step] : NULL;
    bool is_one = segment != NULL && !segment->descends && segment->count == 1 &&
                  segment->selectors[0].kind == SELECTOR_NAME;

    return is_one ? segment->selectors[0].name : SPAN_NONE;
}

bool path_is_single(const struct path *path)
{
    if (path->next != NULL)
        return false;
    for (uint32_t i = 0; i < path->count; i++)
        if (path->segments[i].descends || path->segments[i].count != 1 ||
            (path->segments[i].selectors[0].kind != SELECTOR_NAME && path->segments[i].selectors[0].kind != SELECTOR_INDEX))
            return false;
    return true;
}
