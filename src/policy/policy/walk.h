/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the conditions of rules, and what it may cost.
 *
 * Threads: a walk belongs to one thread.
 * Owns: nothing.
 * Lifetime: one judgement.
 * Errors: none are returned: what is too costly is undecided and marks the walk, as does memory that runs out. */
#ifndef POLICY_WALK_H
#define POLICY_WALK_H

#include "base/mem.h"
#include "policy/answer.h"
#include "policy/condition.h"
#include "policy/policy.h"

#define VISITS_MAX UINT64_C(20000000) /* values looked at in one call; more is too costly */
#define VISIT_WORK 5                  /* units of a regex budget: one budget bounds all that a call costs */
#define VISITS_EACH 4096              /* spent from it at once, so that its clock is looked at within a leaf too */

struct trace; /* policy/trace.h: who listens to a walk */

/* One walk over conditions. */
struct rule_walk {
    const struct question *question;
    struct regex_budget *budget;
    uint64_t visits_left, visits_told; /* what is between them is not spent from the budget yet */
    struct arena *arena; /* what one value is turned into; emptied for the next */
    const struct json_node *here; /* `$` of a schema's condition; NULL: of the call */
    uint32_t depth;      /* conditions in each other */
    bool spent;          /* the visits were used up */
    bool guessed;        /* see verdict.guessed */
    bool unplanned;      /* a plan was asked for, of which the call is no step */
    bool no_memory;
    struct trace *trace; /* NULL: nobody listens */
    const struct policy_answer *answer;  /* of rules for answers; else NULL */
    const struct path_inside *inside;    /* the texts in it that hold JSON */
    uint32_t inside_count;
    struct cuts *cuts; /* NULL; or all that makes its conditions true is to be found, not only whether something does */
};

/* Spends the visits from the budget. Returns: false where the call became too costly. */
bool policy__spend_visits(struct rule_walk *walk);

/* For path_walk.look: now and then, so that a long walk is not only found too costly at its end. */
bool policy__look(struct rule_walk *walk, struct path_walk *path);

/* Counts what costs more than one visit. Returns: as policy__spend_visits. */
bool policy__charge(struct rule_walk *walk, uint64_t visits);

struct rule;

/* What `when` says, and in a permit `only_args` and `arguments`.
 * *undecided: the label of the first undecided condition, where the result is
 * undecided. */
enum truth policy__rule_conditions(struct rule_walk *walk, const struct rule *rule, struct span *undecided);

/* Whether the call has no argument but those that the rule lists, and all fit the schema of the tool's accepted definition,
 * where the rule asks for it. *undecided: as policy__rule_conditions. */
enum truth policy__arguments(struct rule_walk *walk, const struct rule *rule, struct span *undecided);

/* What the condition of a schema says of the value, which is its `$`; whether the value fits all of the schema; whether names
 * select a member. */
enum truth policy__truth_here(struct rule_walk *walk, const struct condition *condition, const struct json_node *value);
enum truth policy__takes_name(struct rule_walk *walk, const struct member_names *names, struct span key);
struct policy_schema;
enum truth policy__schema_fits(struct rule_walk *walk, const struct policy_schema *schema, const struct json_node *value);

/* limit.c: what the call takes of a limit. Takes: verdict: with its redactions. Returns: TRUE; FALSE: a sum has no value;
 * UNDECIDED: it cannot be counted exactly. */
enum truth policy__amount(struct rule_walk *walk, const struct verdict *verdict, const struct policy_limit *limit,
                          uint64_t *amount);

/* claim.c: of a recorded call, the value below which what the leaf asks for lies, and the path from there on.
 * Returns: false: it was not recorded. */
bool policy__claim_recorded(const struct condition *leaf, const struct json_node *recorded, struct path *rest,
                            const struct json_node **root);

/* hidden.c: what a condition asks of a hidden value. Marks the walk. */
enum truth policy__guess(struct rule_walk *walk, bool opening);

/* A walk of its own over one value: whether it makes all operators of the leaf true, in a call of these people. */
bool policy_fulfils(const struct condition *leaf, const struct question *question, const struct json_node *value);

/* The walk behind policy_judge_answer and explanations. Takes: trace: may be NULL. */
void policy__judge_answer(const struct policy *policy, const struct question *question, const struct policy_answer *answer,
                          bool timed, struct policy_scratch *scratch, struct trace *trace, struct answer_verdict *verdict);

/* The walk behind policy_eval and explanations. Takes: trace: may be NULL. */
void policy_judge(const struct policy *policy, const struct question *question, struct regex_budget *budget,
                  struct policy_scratch *scratch, struct trace *trace, struct verdict *verdict);

#endif
