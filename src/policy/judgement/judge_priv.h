/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a judgement ask of each other: conditions, facts, arguments, amounts.
 *
 * Threads: a walk's.
 * Owns: nothing.
 * Lifetime: one judgement.
 * Errors: as walk.h. */
#ifndef JUDGEMENT_JUDGE_PRIV_H
#define JUDGEMENT_JUDGE_PRIV_H

#include "judgement/judgement.h"
#include "policy/rule.h"
#include "policy/walk.h"

/* Whether the call has no argument but those that the rule lists, and all fit the schema of the tool's accepted definition,
 * where the rule asks for it. *undecided: as policy_rule_conditions. */
enum truth eval__arguments(struct rule_walk *walk, const struct rule *rule, struct span *undecided);

/* limit.c: what the call takes of a limit. Takes: verdict: with its redactions. Returns: TRUE; FALSE: a sum has no value, or
 * there is not one value to be told from others; UNDECIDED: it cannot be counted exactly. */
enum truth eval__amount(struct rule_walk *walk, const struct verdict *verdict, const struct policy_limit *limit,
                        struct policy_amount *amount);

/* eval__truth_here: what the condition of a schema says of the value, which is its `$`. eval__takes_name:
 * whether the names select a member. */
enum truth eval__truth_here(struct rule_walk *walk, const struct condition *condition, const struct json_node *value);
enum truth eval__takes_name(struct rule_walk *walk, const struct member_names *names, struct span key);

/* condition.c: what the leaf's operators say of the value together. */
enum truth eval__ops(struct rule_walk *walk, const struct condition *leaf, const struct json_node *value);

/* links.c: what the leaf says of the URLs inside of a text, together as of values. *any: whether there are some; where not, the
 * truth is FALSE. eval__find_links: those for which it holds, as operator.find; UNDECIDED where it may hold for more. */
enum truth eval__links(struct rule_walk *walk, const struct condition *leaf, const struct json_node *value, bool *any);
enum truth eval__find_links(struct rule_walk *walk, const struct condition *leaf, struct span text, op_found_fn found,
                            void *context);

/* fact.c: conditions beyond arguments. */
enum truth eval__fact(struct rule_walk *walk, const struct fact *fact);

/* uris.c: whether some of a template's URIs could be among the names (meet), or all are (cover). Names that are not given
 * hold for every URI. A regex meets every template and covers none. */
bool eval__names_meet(const struct names *names, struct span uri_template);
bool eval__names_cover(const struct names *names, struct span uri_template);

#endif
