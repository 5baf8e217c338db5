/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler: YAML trees become the parts of a snapshot.
 *
 * Threads: one compilation belongs to one thread.
 * Owns: the trees of the files while it runs; what it makes belongs to the snapshot.
 * Lifetime: one policy_compile.
 * Errors: a fault is the author's, and one run finds up to 20. `no_memory` sticks: what is made from then on may be incomplete,
 * and the run ends with CODE_NOMEM. */
#ifndef POLICY_COMPILE_PRIV_H
#define POLICY_COMPILE_PRIV_H

#include "policy/snapshot.h"
#include "policy/walk.h"
#include "yaml/yaml.h"

/* What a file defines for its rules under `patterns:`, `lists:`, `labels:` or `detectors:`. */
struct part {
    const char *word, *key;      /* "pattern", "patterns"; "list", "lists"; "label", "labels" */
    const struct yaml_node *map; /* or NULL */
    bool *used;                  /* by their place in the map */
};

struct named_rule { /* by a condition or a test */
    struct named_rule *next;
    struct span id;
    const struct policy_source *source;
    int line, column;
};

struct shared_file {
    const struct yaml_node *root;
    const char *path;
};

struct compiler {
    struct policy *policy;
    struct faults *faults;
    struct faults *warnings; /* NULL: none wanted */
    bool pumps;              /* hostile inputs for each regex: files that are not stored yet */
    bool no_memory;
    /* the file at hand */
    struct policy_source *source;
    struct yaml_tree *tree;
    struct part patterns, lists, labels, detectors;
    bool shares; /* what it defines is for all files */
    /* the files of the set that share what they define */
    const struct shared_file *shared;
    uint32_t shared_count;
    /* the rule at hand */
    struct span rule_id;
    enum effect effect;
    bool slow_allowed;
    bool of_answers;         /* it stands under `answers:` */
    struct rule *rule;
    bool needs_arguments; /* it names tools or prompts: `$` of what it is about is params.arguments */
    /* the whole set so far */
    uint32_t rule_count, answer_count, case_count, redaction_count;
    struct named_rule *named_rules; /* that must exist */
};

#define FAULT(c, node, ...) \
    faults_add((c)->faults, (c)->source->path_text, (node)->line, (node)->column, __VA_ARGS__)
#define FAULT_KEY(c, node, ...) \
    faults_add((c)->faults, (c)->source->path_text, (node)->key_line, (node)->key_column, __VA_ARGS__)

/* compile_file.c: of the file at hand */
void policy__compile_name(struct compiler *c);
void policy__count_parts(const struct yaml_tree *tree, struct policy *policy); /* rules, redactions, tests */
void policy__compile_file(struct compiler *c);

/* compile_part.c: small parts. What cannot be made for want of memory is NULL or empty, and no_memory is set. */
void *policy__alloc(struct compiler *c, size_t count, size_t bytes) MUST_USE; /* zeroed, in the snapshot's arena */
struct span policy__copy(struct compiler *c, struct span text) MUST_USE;
/* A string, a list or a map; otherwise a fault. Absent (NULL) is false without one. */
bool policy__is_string(struct compiler *c, const struct yaml_node *node);
bool policy__is_list(struct compiler *c, const struct yaml_node *node);
bool policy__is_map(struct compiler *c, const struct yaml_node *node);
/* A map; and a fault for each key that `known` does not hold. Takes: what: for the fault, as in "a rule". */
bool policy__is_map_of(struct compiler *c, const struct yaml_node *node, const char *const *known, const char *what);
/* One of `words`, by its index; -1 with a fault. */
int policy__word(struct compiler *c, const struct yaml_node *node, const char *const *words);
const struct json_node *policy__value(struct compiler *c, const struct yaml_node *node); /* NULL: with a fault */
/* As JSON, for words about it; empty where it is none. */
struct span policy__written(struct compiler *c, const struct yaml_node *node);
const struct regex *policy__pattern(struct compiler *c, const struct yaml_node *node, struct span text, bool whole);
void policy__path(struct compiler *c, const struct yaml_node *node, struct path *path); /* without text: with a fault */
/* Calls `take` with the node if it is a string, or with each string of the list that it is; others are faults.
 * Returns: as many structs of `bytes` bytes as *count says. */
typedef void (*policy__take_fn)(struct compiler *c, const struct yaml_node *text, void *part);
void *policy__texts(struct compiler *c, const struct yaml_node *node, size_t bytes, policy__take_fn take, uint32_t *count);
/* The definition of this name, in the file at hand or in one that shares it; NULL: there is none. */
const struct yaml_node *policy__definition(const struct compiler *c, const struct part *part, struct span name);
/* The definition that {pattern: NAME} or {list: NAME} names, which is marked as used; NULL with a fault. */
const struct yaml_node *policy__named(struct compiler *c, const struct yaml_node *map, struct part *part);
const struct yaml_node *policy__named_text(struct compiler *c, const struct yaml_node *name, struct part *part);

/* compile_detector.c: those of the file at hand. */
void policy__compile_detectors(struct compiler *c);
/* The set that `detect: NAMES` names; NULL: with a fault. */
const struct detector_set *policy__compile_detect(struct compiler *c, const struct yaml_node *node);
const char *policy__detector_file(struct span name); /* of policies/detectors, that has the one of this name; NULL: none */

/* compile_match.c. Takes: node NULL: no match was written. */
void policy__compile_match(struct compiler *c, const struct yaml_node *node, bool opening, struct match *match);
void policy__compile_labels(struct compiler *c); /* of the file at hand; of all files before any rule */
const struct label *policy__label(struct compiler *c, const struct yaml_node *text); /* that it names; else with a fault */

/* compile_condition.c. Returns: NULL: there is no list. */
const struct condition *policy__compile_when(struct compiler *c, const struct yaml_node *list);

/* claim.c: of a leaf with its path, which stays where it is */
void policy__note_claim(struct compiler *c, struct condition *leaf);

/* compile_fact.c: conditions beyond arguments. Returns: the member whose key names one, or NULL. */
const struct yaml_node *policy__fact_node(const struct yaml_node *condition, enum fact_kind *kind);
/* Takes: condition: the map that holds the member; negated: it stands under an odd number of `not`. */
const struct fact *policy__compile_fact(struct compiler *c, const struct yaml_node *condition, bool negated);
void policy__compile_hints(struct compiler *c, const struct yaml_node *map, enum policy_known hints[POLICY_HINT_COUNT]);
void policy__misplaced_fact(struct compiler *c, const struct yaml_node *map); /* a fault where it stands beside `when` */
/* `absent:` of a closing rule: whether an absent value lets it apply. */
bool policy__absent_applies(struct compiler *c, const struct yaml_node *absent);

/* compile_during.c */
void policy__compile_during(struct compiler *c, const struct yaml_node *node, struct fact *fact);
/* Takes: node NULL: the rule has no end. */
void policy__compile_until(struct compiler *c, const struct yaml_node *node, struct rule *rule);

/* compile_past.c: what asks for earlier calls. Takes: node: the value of `session:`, `limit:`. */
void policy__compile_session(struct compiler *c, const struct yaml_node *node, struct fact *fact);
const struct policy_limit *policy__compile_limit(struct compiler *c, const struct yaml_node *node); /* the first, or NULL */
bool policy__millionths(const struct yaml_node *node, uint64_t *amount); /* false: it is no such number */

/* That there is such a rule, which a passing call may meet, is looked at with all rules there. */
void policy__name_rule(struct compiler *c, const struct yaml_node *node, struct span id);
void policy__check_named(struct compiler *c);

/* operator_cidr.c */
const struct address_range *policy__compile_ranges(struct compiler *c, const struct yaml_node *node, uint32_t *count);

/* compile_rule.c */
void policy__compile_rule(struct compiler *c, const struct yaml_node *node, struct rule *rule);
/* One of `answers:`. */
void policy__compile_answer(struct compiler *c, const struct yaml_node *node, struct rule *rule);
void policy__compile_redaction(struct compiler *c, const struct yaml_node *node, struct redaction *redaction);

/* call_text.c: appends a call's text so that the YAML reader takes it, if it is JSON. */
enum code policy__call_text(struct span text, struct buf *out) MUST_USE;

/* operator_format.c: RFC 3339. Returns: false for anything else. */
bool policy__date_time(struct span text, int64_t *time_us);
bool policy__date(struct span text, int64_t *days); /* since 1970-01-01 */

/* compile_hash.c: a text behind its length in eight bytes, big end first. */
void policy__hash_text(struct digest *digest, struct span text);
/* The rule as it was written, the patterns and lists that it names included. */
void policy__hash_rule(const struct compiler *c, const struct yaml_node *node, unsigned char hash[DIGEST_BYTES]);

/* compile_case.c: tests. Takes: call: a map, or NULL; anything else is a fault. */
void policy__compile_case_call(struct compiler *c, const struct yaml_node *call, struct policy_case *kase);
void policy__compile_case(struct compiler *c, const struct yaml_node *node, struct policy_case *kase);
void policy__check_cases(struct compiler *c); /* that the rules exist that they name; with all rules there */

/* compile_warn.c: what is legal but hardly meant. */
void policy__warn_file(struct compiler *c);
void policy__warn_rule(struct compiler *c, const struct yaml_node *node);
void policy__warn_decode(struct compiler *c, const struct yaml_node *node, const struct condition *leaf);
/* Whether variables stand in it, if it is a string; a doubt about what looks like one. */
bool policy__varies(struct compiler *c, const struct yaml_node *text);
void policy__warn_name(struct compiler *c, const struct yaml_node *node, enum dimension dimension);
void policy__warn_claim(struct compiler *c, const struct yaml_node *node, const struct condition *leaf);
void policy__warn_closing(struct compiler *c, const struct yaml_node *node, const struct condition *leaf);
void policy__warn_absence(struct compiler *c, const struct yaml_node *node, const struct condition *leaf);

#endif
