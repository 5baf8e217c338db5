/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a comparison: what authors wrote, rule by rule, and calls that are tried.
 *
 * Threads: one.
 * Owns: as diff.h.
 * Lifetime: one diff_new.
 * Errors: CODE_NOMEM. */
#ifndef AUTHOR_DIFF_PRIV_H
#define AUTHOR_DIFF_PRIV_H

#include "author/diff.h"
#include "policy/snapshot.h"
#include "yaml/yaml.h"

/* Of calls that say nothing else: a Wednesday noon, 2025-11-19T12:00:00Z, from a private network. */
#define DIFF_TIME_US INT64_C(1763553600000000)
#define DIFF_CLIENT "10.1.2.3"

/* A rule and what its author wrote. */
struct diff_rule {
    const struct rule *rule; /* NULL: there is none on this side */
    const struct yaml_node *node;
    const struct yaml_node *patterns, *lists; /* of its file; maps, or NULL */
};

struct diff_pair {
    struct diff_rule before, after; /* one of them may be missing */
    bool differs;                   /* some change of the pair may change a verdict */
};

/* diff_words.c: adds the changes of one pair, and those of files' redactions. */
enum code diff__compare(struct diff *diff, struct diff_pair *pair) MUST_USE;
enum code diff__compare_redactions(struct diff *diff, struct span file, const struct yaml_node *before,
                                   const struct yaml_node *after) MUST_USE;

/* diff_probe.c: tries calls and groups the flips. */
enum code diff__probe(struct diff *diff, const struct diff_pair *pairs, size_t count) MUST_USE;

/* diff_call.c: calls to try. Each goes to `put`, which says how it went; the question lives during the call. */
typedef enum code (*diff_put_fn)(void *context, const struct question *question);
enum code diff__calls_of(const struct rule *rule, const struct policy *before, const struct policy *after, diff_put_fn put,
                         void *context) MUST_USE;

/* diff_sample.c: writes a text that the regex is likely to match. Returns: its length. */
#define DIFF_SAMPLE_MAX 512
size_t diff__sample(struct span pattern, char out[DIFF_SAMPLE_MAX]);

/* diff_tree.c: arguments that can be changed, and written. */
struct diff_tree;
struct diff_tree *diff__tree_new(struct arena *arena, const struct json_node *from) MUST_USE; /* from NULL: {} */
/* Sets or (json.at == NULL) removes what the path names; `*` and `..` stand for one member. Returns: CODE_NOT_FOUND where the
 * path cannot be laid. */
enum code diff__tree_set(struct arena *arena, struct diff_tree *tree, const struct path *path, struct span json) MUST_USE;
void diff__tree_write(const struct diff_tree *tree, struct buf *out);

#endif
