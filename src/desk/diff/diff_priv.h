/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a comparison: what authors wrote, rule by rule, and calls that are tried.
 *
 * Threads: one.
 * Owns: as diff.h.
 * Lifetime: one diff_new.
 * Errors: CODE_NOMEM. */
#ifndef DIFF_DIFF_PRIV_H
#define DIFF_DIFF_PRIV_H

#include "diff/diff.h"
#include "policy/snapshot.h"
#include "yaml/yaml.h"

/* Of calls that say nothing else: a Wednesday noon, 2025-11-19T12:00:00Z, from a private network. */
#define DIFF_TIME_US INT64_C(1763553600000000)
#define DIFF_CLIENT "10.1.2.3"

/* A rule and what its author wrote. */
struct diff_rule {
    const struct rule *rule; /* NULL: there is none on this side */
    const struct yaml_node *node;
    const struct yaml_node *root;             /* of its file */
    struct yaml_tree *const *trees;           /* of all files, some of which may share what they define */
    uint32_t tree_count;
};

/* What of a rule a change is about: a call that flips is counted where this differs for it. */
enum diff_part { DIFF_WHOLE = 0, DIFF_NAMES, DIFF_WHEN, DIFF_ARGS, DIFF_LIMIT, DIFF_UNTIL };

/* A rule that a change is in. */
struct diff_site {
    const struct rule *rules[2]; /* before and after; one of them may be NULL, but only of DIFF_WHOLE */
    enum diff_part part;
    uint32_t at[2];              /* NAMES: the dimension; WHEN: which entry on either side, from 1, or 0 */
    struct diff_site *next;
};

struct diff_pair {
    struct diff_rule before, after; /* one of them may be missing */
    bool differs;                   /* some change of the pair may change a verdict */
};

/* diff_node.c: whether two nodes say the same, where maps are sets, and names of patterns and lists count by what they stand
 * for. Of diff__reads_alike these names are names. */
bool diff__same(const struct diff_rule *left, const struct yaml_node *a, const struct diff_rule *right,
                const struct yaml_node *b);
bool diff__reads_alike(const struct yaml_node *a, const struct yaml_node *b);
const struct yaml_node *diff__member(const struct yaml_node *map, struct span key);
/* What a text names that stands under this key, or in a list under it; or NULL. */
const struct yaml_node *diff__definition(const struct diff_rule *rule, struct span key, const struct yaml_node *node);
void diff__say(struct buf *out, const struct yaml_node *node);
void diff__say_members(struct buf *out, const struct yaml_node *node, const char *between, bool with_keys, const char *but);

/* Where the words of one pair go. */
struct diff_telling {
    struct diff *diff;
    struct diff_pair *pair;
    struct buf text;
    enum diff_part part; /* what is compared; of DIFF_WHEN the numbers of its entries */
    uint32_t at[2];
    enum code code;
};

#define SAY(t, ...) buf_addf(&(t)->text, __VA_ARGS__)

/* Whether a list of one side has what the wanted node of the other says. */
bool diff__holds(const struct diff_telling *t, const struct yaml_node *list, bool is_before, const struct yaml_node *wanted);
/* What it does to verdicts that the rule applies to more calls, or to fewer; or that it cannot be told. */
enum diff_way diff__way_of(const struct diff_pair *pair, bool wider);
enum diff_way diff__either(const struct diff_pair *pair);
/* Keeps what was said as a change. Takes: is_shared: of what several rules have in common, which is told once. */
void diff__keep_as(struct diff_telling *t, enum diff_way way, bool is_shared);
void diff__keep(struct diff_telling *t, enum diff_way way);

/* diff_when.c */
bool diff__is_one_way(const struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after, bool *wider);
void diff__compare_definitions(struct diff_telling *t, struct span key, const struct yaml_node *node, enum diff_way way);
void diff__compare_when(struct diff_telling *t, const struct yaml_node *before, const struct yaml_node *after);

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

/* diff_name.c: what a message with this method is about: one target, or none. */
void diff__settle_targets(struct question *question);
/* Puts a name into the call; of a dimension from DIM_HELD on in place of all that was held, none where it has none. */
enum code diff__name(struct arena *arena, struct question *question, enum dimension dimension, struct span name) MUST_USE;

/* diff_answer.c: tries answers. Takes: the pairs of rules for answers. */
enum code diff__probe_answers(struct diff *diff, const struct diff_pair *pairs, size_t count) MUST_USE;

/* diff_value.c: JSON texts to try for a leaf. */
#define DIFF_VALUES_MAX 48
#define DIFF_VALUE_MAX_BYTES ((size_t)4 << 20)
struct diff_values {
    struct samples samples; /* which operators add to */
    struct arena *arena;
    const struct question *varies; /* NULL: what is added has no variables; or who they stand for */
    struct span json[DIFF_VALUES_MAX];
    size_t count;
    enum code code;
};
void diff__collect(struct diff_values *values, struct arena *arena, const struct question *base, const struct condition *leaf);
/* before, text and after as one JSON string; controls and all. */
void diff__add_text(struct samples *samples, const char *before, struct span text, const char *after);
void diff__add_sample(struct samples *samples, struct span pattern);
void diff__add_glob(struct samples *samples, struct span glob);
/* Reads JSON into a tree over *canonical, which the caller ends. Returns: NULL: it is none, or *sticks is CODE_NOMEM. */
const struct json_node *diff__read_json(struct span json, struct buf *canonical, struct arena *arena,
                                        enum code *sticks) MUST_USE;

/* diff_tree.c: arguments that can be changed, and written. */
struct diff_tree;
struct diff_tree *diff__tree_new(struct arena *arena, const struct json_node *from) MUST_USE; /* from NULL: {} */
/* Sets or (json.at == NULL) removes what the path names; `*` and `..` stand for one member. Returns: CODE_NOT_FOUND where the
 * path cannot be laid. */
enum code diff__tree_set(struct arena *arena, struct diff_tree *tree, const struct path *path, struct span json) MUST_USE;
void diff__tree_write(const struct diff_tree *tree, struct buf *out);

#endif
