/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler's own state, from YAML trees to the parts of a snapshot.
 *
 * Threads: one compilation belongs to one thread.
 * Owns: the trees of the files while it runs; what it makes belongs to the snapshot.
 * Lifetime: one policy_compile.
 * Errors: as policy_priv.h: faults collect, a code other than CODE_OK is CODE_NOMEM. */
#ifndef POLICY_COMPILE_PRIV_H
#define POLICY_COMPILE_PRIV_H

#include "policy/snapshot.h"

struct compiler {
    struct policy *policy;
    struct faults *faults;
    struct faults *warnings; /* NULL: none wanted */
    bool pumps;              /* hostile inputs for each regex: files that are not stored yet */
    /* the file at hand */
    struct source *source;
    struct yaml_tree *tree;
    const struct yaml_node *patterns, *lists; /* maps, or NULL */
    bool *pattern_used, *list_used;           /* by their place in those maps */
    /* the rule at hand */
    struct span rule_id;
    enum effect effect;
    bool slow_allowed;
    bool needs_arguments; /* it names tools or prompts: `$` of what it is about is params.arguments */
    /* the whole set so far */
    uint32_t rule_count, case_count, redaction_count;
};

#define FAULT(c, node, ...) \
    faults_add((c)->faults, (c)->source->path_text, (node)->line, (node)->column, __VA_ARGS__)
#define FAULT_KEY(c, node, ...) \
    faults_add((c)->faults, (c)->source->path_text, (node)->key_line, (node)->key_column, __VA_ARGS__)

/* compile_file.c: of the file at hand */
enum code policy__compile_name(struct compiler *c) MUST_USE;
void policy__count_parts(const struct yaml_tree *tree, struct policy *policy); /* rules, redactions, tests */
enum code policy__compile_file(struct compiler *c) MUST_USE;

/* compile_part.c: small parts */
void *policy__alloc(struct compiler *c, size_t count, size_t bytes) MUST_USE; /* zeroed, in the snapshot's arena */
enum code policy__copy(struct compiler *c, struct span text, struct span *copy) MUST_USE;
/* Faults for keys that `known` does not hold. */
void policy__check_keys(struct compiler *c, const struct yaml_node *map, const char *const *known, const char *what);
/* A string, a list or a map; otherwise a fault. Absent (NULL) is false without one. */
bool policy__is_string(struct compiler *c, const struct yaml_node *node);
bool policy__is_list(struct compiler *c, const struct yaml_node *node);
bool policy__is_map(struct compiler *c, const struct yaml_node *node);
/* One of `words`, by its index; -1 with a fault. */
int policy__word(struct compiler *c, const struct yaml_node *node, const char *const *words);
enum code policy__value(struct compiler *c, const struct yaml_node *node, const struct json_node **value) MUST_USE;
enum code policy__pattern(struct compiler *c, const struct yaml_node *node, struct span text, bool whole,
                          const struct regex **regex) MUST_USE;
enum code policy__path(struct compiler *c, const struct yaml_node *node, struct path *path) MUST_USE;
/* Calls `take` with the node if it is a string, or with each string of the list that it is; others are faults.
 * *parts: room for as many structs of `bytes` bytes. */
typedef enum code (*policy__take_fn)(struct compiler *c, const struct yaml_node *text, void *part);
enum code policy__texts(struct compiler *c, const struct yaml_node *node, size_t bytes, policy__take_fn take, void **parts,
                        uint32_t *count) MUST_USE;
/* The member of the file's `patterns:` or `lists:` that `node` names; marks it used. */
const struct yaml_node *policy__named(struct compiler *c, const struct yaml_node *node, const struct yaml_node *map,
                                      bool *used, const char *what);

/* compile_match.c. Takes: node NULL: no match was written. */
enum code policy__compile_match(struct compiler *c, const struct yaml_node *node, bool opening, struct match *match) MUST_USE;

/* compile_condition.c */
enum code policy__compile_when(struct compiler *c, const struct yaml_node *list, const struct condition **when) MUST_USE;

/* compile_operator.c: fills `op` from the member whose key names it. */
int policy__op_of(struct span key); /* an enum op_kind, or -1 */
/* As JSON, for words about it; left empty where it is none. */
enum code policy__written(struct compiler *c, const struct yaml_node *node, struct span *written) MUST_USE;
enum code policy__compile_op(struct compiler *c, const struct yaml_node *node, enum op_kind kind, struct op *op) MUST_USE;
enum code policy__compile_matches(struct compiler *c, const struct yaml_node *node, bool whole, struct op *op) MUST_USE;

/* compile_fact.c: conditions beyond arguments. Returns: the member whose key names one, or NULL. */
const struct yaml_node *policy__fact_node(const struct yaml_node *condition, enum fact_kind *kind);
/* Takes: condition: the map that holds the member; negated: it stands under an odd number of `not`. */
enum code policy__compile_fact(struct compiler *c, const struct yaml_node *condition, bool negated,
                               const struct fact **fact) MUST_USE;
void policy__compile_hints(struct compiler *c, const struct yaml_node *map, enum policy_known hints[POLICY_HINT_COUNT]);
void policy__misplaced_fact(struct compiler *c, const struct yaml_node *map); /* a fault where it stands beside `when` */
/* `absent:` of a closing rule: whether an absent value lets it apply. */
bool policy__absent_applies(struct compiler *c, const struct yaml_node *absent);

/* compile_during.c */
enum code policy__compile_during(struct compiler *c, const struct yaml_node *node, struct fact *fact) MUST_USE;

/* compile_past.c: what asks for earlier calls. Takes: node: the value of `session:`, `limit:`. */
enum code policy__compile_session(struct compiler *c, const struct yaml_node *node, struct fact *fact) MUST_USE;
enum code policy__compile_limit(struct compiler *c, const struct yaml_node *node, const struct policy_limit **limit) MUST_USE;

/* operator_*.c */
enum code policy__compile_cidr(struct compiler *c, const struct yaml_node *node, struct op *op) MUST_USE;
void policy__compile_format(struct compiler *c, const struct yaml_node *node, struct op *op);
enum code policy__compile_under(struct compiler *c, const struct yaml_node *node, struct op *op) MUST_USE;
enum code policy__compile_url(struct compiler *c, const struct yaml_node *node, struct op *op) MUST_USE;

/* compile_rule.c */
enum code policy__compile_rule(struct compiler *c, const struct yaml_node *node, struct rule *rule) MUST_USE;
enum code policy__compile_redaction(struct compiler *c, const struct yaml_node *node, struct redaction *redaction) MUST_USE;

/* compile_hash.c: the rule as it was written, the patterns and lists that it names included. */
void policy__hash_rule(const struct compiler *c, const struct yaml_node *node, unsigned char hash[DIGEST_BYTES]);

/* compile_case_past.c: what a test says of earlier calls and of the tool. Takes: call: the map, all else of it compiled. */
enum code policy__compile_case_past(struct compiler *c, const struct yaml_node *call, struct policy_case *kase) MUST_USE;
void policy__check_spent(struct compiler *c); /* that the rules exist and have limits */

/* compile_case.c */
enum code policy__text_or(struct compiler *c, const struct yaml_node *call, const char *key, struct span usual,
                          struct span *text) MUST_USE;
enum code policy__compile_case_call(struct compiler *c, const struct yaml_node *call, struct policy_case *kase) MUST_USE;
enum code policy__compile_case(struct compiler *c, const struct yaml_node *node, struct policy_case *kase) MUST_USE;
void policy__check_approved(struct compiler *c); /* with all rules there */

/* compile_warn.c: what is legal but hardly meant. */
void policy__warn_file(struct compiler *c);
void policy__warn_decode(struct compiler *c, const struct yaml_node *node, const struct condition *leaf);
void policy__warn_ports(struct compiler *c, const struct yaml_node *node, const struct condition *leaf);
void policy__warn_absence(struct compiler *c, const struct yaml_node *node, const struct condition *leaf);

#endif
