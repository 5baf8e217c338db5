/* SPDX-License-Identifier: Apache-2.0 */
/* A compilation as it goes on, and how it reads what stands in a file: what operators need of the compiler, and all of the
 * language.
 *
 * Threads: one compilation belongs to one thread.
 * Owns: the trees of the files while it runs; what it makes belongs to the snapshot.
 * Lifetime: one policy_compile.
 * Errors: a fault is the author's, and one run finds up to 20. `no_memory` sticks: what is made from then on may be incomplete,
 * and the run ends with CODE_NOMEM. */
#ifndef WORDS_COMPILER_H
#define WORDS_COMPILER_H

#include "policy/snapshot.h"
#include "yaml/yaml.h"

/* What a file defines for its rules under `patterns:`, `lists:`, `labels:`, `detectors:`, `paths:` or `kinds:`. */
struct part {
    const char *word, *key;      /* "pattern", "patterns"; "list", "lists"; "label", "labels" */
    const struct yaml_node *map; /* or NULL */
    bool *used;                  /* by their place in the map */
};

struct op_other;
struct public_space;
struct named_rule; /* a rule that some file names, and that must exist */
struct made_kind;  /* compile_kind.c */
struct foreign_words;
struct form;

/* What only those need who write policies. What enforces is compiled without it, and has none of it in its program. */
struct authoring {
    const struct foreign_words *foreign;
    /* Tests, and whether the rules that they name exist. */
    void (*test)(struct compiler *c, const struct yaml_node *node, struct policy_case *kase);
    void (*check_tests)(struct compiler *c);
    /* Warn of what is legal but hardly meant; called where warnings are wanted. */
    void (*warn_file)(struct compiler *c);
    void (*warn_rule)(struct compiler *c, const struct yaml_node *node);
    void (*warn_name)(struct compiler *c, const struct yaml_node *node, enum dimension dimension);
    /* Takes: is_silent: the rule closes, and the condition does not say what an absent value means. */
    void (*warn_leaf)(struct compiler *c, const struct yaml_node *node, const struct condition *leaf, bool is_silent);
    void (*warn_text)(struct compiler *c, const struct yaml_node *text); /* in which variables may stand */
    void (*warn_form)(struct compiler *c, const struct yaml_node *node, const struct form *form);
    const struct op_guide *forms; /* of `words` */
};

struct shared_file {
    const struct yaml_node *root;
    const char *path;
};

struct compiler {
    struct policy *policy;
    struct faults *faults;
    const struct authoring *author; /* NULL: nobody writes what is compiled; no warnings are wanted then */
    struct faults *warnings; /* NULL: none wanted */
    bool pumps;              /* each regex is tried with hostile inputs, as the files are not stored yet */
    bool no_memory;
    /* the file at hand */
    struct policy_source *source;
    struct yaml_tree *tree;
    struct part patterns, lists, labels, detectors, paths;
    struct part kinds; /* of this file alone, whatever it shares */
    bool shares; /* what it defines is for all files */
    /* the files of the set that share what they define */
    const struct shared_file *shared;
    uint32_t shared_count;
    /* the rule at hand */
    struct span rule_id;
    enum effect effect;
    bool slow_allowed;
    bool of_answers;         /* the rule stands under `answers:` */
    struct rule *rule;
    const struct yaml_node *condition; /* the map in which an operator stands, with what else goes with it */
    bool of_closing_word; /* a kind of a condition that closes: its regexes match whole words, as where it opens */
    bool asks_claim;      /* it asks what the token of who calls says */
    bool needs_arguments; /* the rule names tools or prompts: in calls of these `$` is params.arguments */
    /* the whole set so far */
    uint32_t rule_count, answer_count, case_count, redaction_count;
    struct named_rule *named_rules;
    struct op_other *others; /* that operands of the condition at hand name (policy/other.h) */
    const struct public_space *public; /* NULL: none of its `url` asks for it yet */
    struct made_kind *made_kinds;
};

#define FAULT(c, node, ...) \
    faults_add((c)->faults, (c)->source->path_text, (node)->line, (node)->column, __VA_ARGS__)
#define FAULT_KEY(c, node, ...) \
    faults_add((c)->faults, (c)->source->path_text, (node)->key_line, (node)->key_column, __VA_ARGS__)
#define WARN(c, node, ...) /* where warnings are wanted */ \
    faults_add((c)->warnings, (c)->source->path_text, (node)->line, (node)->column, __VA_ARGS__)
#define WARN_KEY(c, node, ...) \
    faults_add((c)->warnings, (c)->source->path_text, (node)->key_line, (node)->key_column, __VA_ARGS__)

/* Small parts. What cannot be made for want of memory is NULL or empty, and no_memory is set. */
void *compiler_alloc(struct compiler *c, size_t count, size_t bytes) MUST_USE; /* zeroed, in the snapshot's arena */
struct span compiler_copy(struct compiler *c, struct span text) MUST_USE;
struct span compiler_lower(struct compiler *c, struct span text) MUST_USE; /* ASCII's letters */
struct span compiler_folded(struct compiler *c, struct span text) MUST_USE; /* as `ignore_case` compares it */
/* A string, a list or a map; otherwise a fault. Absent (NULL) is false without one. */
bool compiler_is_string(struct compiler *c, const struct yaml_node *node);
bool compiler_is_list(struct compiler *c, const struct yaml_node *node);
bool compiler_is_map(struct compiler *c, const struct yaml_node *node);
/* Whether it is a map; each key that `known` does not hold is a fault. Takes: what: for the fault, as in "a rule". */
bool compiler_is_map_of(struct compiler *c, const struct yaml_node *node, const char *const *known, const char *what);
/* Reads one of `words`. Returns: its index; -1 with a fault. */
int compiler_word(struct compiler *c, const struct yaml_node *node, const char *const *words);
const struct json_node *compiler_value(struct compiler *c, const struct yaml_node *node); /* NULL: with a fault */
/* The node as JSON, for texts about it; empty where it cannot be written as JSON. */
struct span compiler_written(struct compiler *c, const struct yaml_node *node);
const struct regex *compiler_pattern(struct compiler *c, const struct yaml_node *node, struct span text, bool whole);
void compiler_path(struct compiler *c, const struct yaml_node *node, struct path *path); /* its text is empty: with a fault */
void compiler_paths(struct compiler *c, const struct yaml_node *node, struct path *path); /* likewise, of one or a list */
/* Calls `take` with the node, if that is a string, or with each string of the list that it is; anything else is a fault.
 * Returns: *count structs of `bytes` bytes, which `take` has filled. */
typedef void (*compiler_take_fn)(struct compiler *c, const struct yaml_node *text, void *part);
void *compiler_texts(struct compiler *c, const struct yaml_node *node, size_t bytes, compiler_take_fn take, uint32_t *count);
/* The definition of this name, in the file at hand or in one that shares it; NULL: there is none. */
const struct yaml_node *compiler_definition(const struct compiler *c, const struct part *part, struct span name);
/* The definition that {pattern: NAME} or {list: NAME} names, which is marked as used; NULL with a fault. */
const struct yaml_node *compiler_named(struct compiler *c, const struct yaml_node *map, struct part *part);
const struct yaml_node *compiler_named_text(struct compiler *c, const struct yaml_node *name, struct part *part);

/* Lets faults in a definition name the file that shares it. Takes: there: room. Returns: the c->source to put back. */
struct policy_source *compiler_enter(struct compiler *c, const struct part *part, const struct yaml_node *definition,
                                     struct policy_source *there);

/* A file's `patterns`, `lists`, `labels`, `detectors` or `paths`, where all files of the set may name them; or NULL. */
const struct yaml_node *compiler_shared(const struct yaml_node *root, const char *key);
bool compiler_shares(const struct yaml_node *root); /* whether the file shares any of them */

/* compile_detector.c: adds the detectors of the file at hand. */
void compiler_detectors(struct compiler *c);
/* The set that `detect: NAMES` names; NULL: with a fault. */
const struct detector_set *compiler_detect(struct compiler *c, const struct yaml_node *node);
/* The detector of this name; NULL: there is none, which a fault says here or where it is defined. */
const struct detector *compiler_detector(struct compiler *c, const struct yaml_node *name);
/* The set of these; the list stays. NULL: it is empty, one is missing, they are too many (with a fault at the node), or there
 * is no memory. */
const struct detector_set *compiler_detector_set(struct compiler *c, const struct yaml_node *node,
                                                 const struct detector *const *list, uint32_t count);
const char *compiler_detector_file(struct span name); /* the file of policies/detectors that has this detector; NULL: none */

/* compile_kind.c: reads the `kinds:` of the file at hand. */
void compiler_kinds(struct compiler *c);
/* What the file says of this capital word. Sets: *condition; NULL: with a fault, told before. Returns: false: it says
 * nothing. */
bool compiler_kind(struct compiler *c, struct span name, bool opening, const struct condition **condition);

/* Ranges of addresses, one or a list. */
const struct address_range *compiler_ranges(struct compiler *c, const struct yaml_node *node, uint32_t *count);

/* What leads out into the internet (words/public.h), made once for the set. */
const struct public_space *compiler_public(struct compiler *c);

/* Whether the node is a string with variables. Warns about what looks like a variable and is none. */
bool compiler_varies(struct compiler *c, const struct yaml_node *text);

#endif
