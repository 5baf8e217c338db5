/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler: YAML trees become the parts of a snapshot.
 *
 * Threads: one compilation belongs to one thread.
 * Owns: the trees of the files while it runs; what it makes belongs to the snapshot.
 * Lifetime: one policy_compile.
 * Errors: a fault is the author's, and one run finds up to 20. `no_memory` sticks: what is made from then on may be incomplete,
 * and the run ends with CODE_NOMEM. */
#ifndef LANGUAGE_COMPILE_PRIV_H
#define LANGUAGE_COMPILE_PRIV_H

#include "words/compiler.h"
#include "language/language.h"
#include "words/operators.h"
#include "policy/walk.h"

struct named_rule { /* a rule that a condition or a test names */
    struct named_rule *next;
    struct span id;
    const struct policy_source *source;
    int line, column;
};

/* compile_file.c: of the file at hand */
void compile__name(struct compiler *c);
void compile__count_parts(const struct yaml_tree *tree, struct policy *policy); /* rules, redactions, tests */
void compile__file(struct compiler *c, bool *lists_used); /* which of its `lists` were put somewhere, by their place */

/* compile_match.c. Takes: node NULL: no match was written. */
void compile__match(struct compiler *c, const struct yaml_node *node, bool opening, struct match *match);
void compile__labels(struct compiler *c); /* those of the file at hand; called for every file before any rule is compiled */
/* the label that the text names; an empty one with a fault */
const struct label *compile__label(struct compiler *c, const struct yaml_node *text);

/* compile_condition.c. Returns: NULL: there is no list. */
const struct condition *compile__when(struct compiler *c, const struct yaml_node *list);

/* compile_claim.c: notes which claim a path asks for. The path does not move after this: the note points to it. Returns: NULL:
 * no memory. */
const struct claim_ask *compile__claim(struct compiler *c, const struct path *path);

/* compile_fact.c: conditions beyond arguments. Returns: the member whose key names one, or NULL. */
const struct yaml_node *compile__fact_node(const struct yaml_node *condition, enum fact_kind *kind);
/* Takes: condition: the map that holds the member; negated: it stands under an odd number of `not`. */
const struct fact *compile__fact(struct compiler *c, const struct yaml_node *condition, bool negated);
void compile__hints(struct compiler *c, const struct yaml_node *map, enum policy_known hints[POLICY_HINT_COUNT]);
void compile__misplaced_fact(struct compiler *c, const struct yaml_node *map); /* a fault where it stands beside `when` */
/* `absent:` of a closing rule: whether an absent value lets it apply. */
bool compile__absent_applies(struct compiler *c, const struct yaml_node *absent);

/* compile_during.c */
void compile__during(struct compiler *c, const struct yaml_node *node, struct fact *fact);
/* Takes: node NULL: the rule has no end. */
void compile__until(struct compiler *c, const struct yaml_node *node, struct rule *rule);

/* compile_past.c: what asks for earlier calls. Takes: node: the value of `session:`, `limit:`. */
void compile__session(struct compiler *c, const struct yaml_node *node, struct fact *fact);
const struct policy_limit *compile__limit(struct compiler *c, const struct yaml_node *node); /* the first, or NULL */
bool compile__millionths(const struct yaml_node *node, uint64_t *amount); /* false: it is no such number */

/* Notes that a rule is named. When all rules are compiled, check_named looks whether it exists and whether
 * a call that passes may meet it. */
void compile__name_rule(struct compiler *c, const struct yaml_node *node, struct span id);
void compile__check_named(struct compiler *c);

/* compile_rule.c */
void compile__rule(struct compiler *c, const struct yaml_node *node, struct rule *rule);
/* `mode:` of a rule or of a file; without it *monitor stays. */
void compile__mode(struct compiler *c, const struct yaml_node *node, bool *monitor);

/* One of `answers:`. */
void compile__answer(struct compiler *c, const struct yaml_node *node, struct rule *rule);
void compile__redaction(struct compiler *c, const struct yaml_node *node, struct redaction *redaction);

/* compile_set.c: reads a file, whose tree stays NULL where it has none; hands over the policy, or its faults. */
void compile__read_source(struct compiler *c, const struct policy_file *file, struct policy_source *source,
                          struct yaml_tree **tree);
enum code compile__hand_over(struct compiler *c, struct policy **policy, struct faults *faults) MUST_USE;

/* Adds one file of a version to the digest of all, which are hashed in byte order of their names. */
void compile__hash_file(struct digest *digest, struct span name, struct span text);
/* compile_hash.c: the rule as it was written, the patterns and lists that it names included. */
struct span compile__hash_rule(struct compiler *c, const struct yaml_node *node);

/* compile_people.c: how many people decide a call that the rule holds, and who. Takes: node: the rule. */
void compile__people(struct compiler *c, const struct yaml_node *node, struct rule *rule);

/* compile_case.c: tests. Takes: call: a map, or NULL; anything else is a fault. */
void compile__case_call(struct compiler *c, const struct yaml_node *call, struct policy_case *kase);
void compile__case(struct compiler *c, const struct yaml_node *node, struct policy_case *kase);
void compile__check_cases(struct compiler *c); /* whether the rules that tests name exist; called when all rules are compiled */

/* compile_warn.c: what is legal but hardly meant; as struct authoring has it. */
void compile__warn_file(struct compiler *c);
void compile__warn_rule(struct compiler *c, const struct yaml_node *node);
void compile__warn_name(struct compiler *c, const struct yaml_node *node, enum dimension dimension);
void compile__warn_leaf(struct compiler *c, const struct yaml_node *node, const struct condition *leaf, bool is_silent);
void compile__warn_text(struct compiler *c, const struct yaml_node *node);

#endif
