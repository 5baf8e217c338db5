/* SPDX-License-Identifier: Apache-2.0 */
/* JSONPath (RFC 9535) without filter expressions: compiled once, walked over a tree without allocating.
 *
 * Threads: a compiled path is immutable and shared; a walk belongs to one thread.
 * Owns: a path's parts live in the arena that was handed in; they point into a copy of the text.
 * Lifetime: the arena's.
 * Errors: compile: CODE_INVALID with a sentence and an offset; a walk cannot fail, but ends early when its visits are
 * used up. */
#ifndef POLICY_PATH_H
#define POLICY_PATH_H

#include "base/mem.h"
#include "base/span.h"
#include "base/why.h"
#include "json/json.h"
#include "policy/question.h"

#include <stdbool.h>
#include <stdint.h>

#define PATH_SEGMENTS_MAX 64

enum selector_kind { SELECTOR_NAME = 0, SELECTOR_WILD, SELECTOR_INDEX, SELECTOR_SLICE };

struct path_selector {
    enum selector_kind kind;
    bool has_begin, has_end;
    struct span name;
    int64_t index; /* or a slice's begin */
    int64_t end;
    int64_t step;
};

struct path_segment {
    bool descends; /* `..` */
    uint32_t count;
    const struct path_selector *selectors;
};

struct path {
    struct span text; /* as written */
    uint32_t count;
    const struct path_segment *segments;
    bool has_inner_wild;  /* `[*]` before further steps */
    bool ends_everywhere; /* the last step is `..*` */
    bool descends;        /* some step is `..` */
    const struct path *next; /* of several, whose values are selected together; or NULL */
};

/* Takes: a path that begins with `$`, or a bare word, which stands for `$.word`.
 * Returns: CODE_OK; CODE_INVALID with *offset into `text`; CODE_NOMEM. */
enum code path_compile(struct span text, struct arena *arena, struct path *path, size_t *offset, struct why *why) MUST_USE;

/* Makes the path select the members of what it selects; one whose last step has a `*` selects members already. The text stays
 * as it was written. */
enum code path_select_members(struct path *path, struct arena *arena) MUST_USE;

/* Of one path, whatever stands behind it: the one name that this step selects; at == NULL: there is no such step, or perhaps it
 * selects others. */
struct span path_name_at(const struct path *path, uint32_t step);

/* Whether the path selects at most one value, as it has names and numbers only. */
bool path_is_single(const struct path *path);

static inline bool path_is_root(const struct path *path)
{
    return path->count == 0;
}

/* A text that holds JSON: for paths its members are those of what it holds. */
struct path_inside {
    const struct json_node *string;
    const struct json_node *root; /* an array or object */
    struct span document;         /* in which the tree's raw spans lie */
};

/* Finds the JSON inside a string; NULL: it holds none. Takes: inside: sorted by where the strings are. */
const struct path_inside *path_inside_of(const struct path_inside *inside, uint32_t count, const struct json_node *string);

/* One walk. The caller sets path, visit, context and visits_left. */
struct path_walk {
    const struct path *path;
    /* Returns: whether the value counts as selected (false: skipped). May set walk->stop. */
    bool (*visit)(struct path_walk *walk, const struct json_node *value);
    void *context;
    uint64_t *visits_left; /* nodes that may still be looked at; at 0 the walk stops and `spent` is set */
    /* Called once *visits_left has come down to look_at, which it sets anew. Returns: false: the walk stops, and `spent` is
     * set. */
    bool (*look)(struct path_walk *walk); /* NULL: never */
    uint64_t look_at;
    bool stop;
    bool spent;
    const struct question_hidden *hidden; /* NULL, or values that must not be entered */
    const struct path_inside *inside; /* by where the strings stand; or NULL */
    uint32_t inside_count;
    const struct path_inside *within; /* in which the value lies that is visited; or NULL */
    bool met_hidden; /* the walk ended before a hidden value */
    bool element_lacks; /* an element of a `[*]` before further steps in which the rest of the path selected nothing */
};

/* Takes: root may be NULL (selects nothing). A value that is selected twice is visited twice. */
void path_run(struct path_walk *walk, const struct json_node *root);

#endif
