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
#include "regex/regex.h"

#define VISITS_MAX UINT64_C(20000000) /* values looked at in one call; more is too costly */
#define VISITS_EACH 4096              /* spent from it at once, so that its clock is looked at within a leaf too */

struct trace; /* policy/trace.h: who listens to a walk */

/* One walk over conditions. */
struct rule_walk {
    const struct question *question;
    struct regex_budget *budget;
    uint64_t visits_left, visits_told; /* the visits between the two are not spent from the budget yet */
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
    struct cuts *cuts; /* not NULL: all that makes its conditions true is collected here, not only whether they are true */
};

/* A walk beside any judgement, which work alone bounds. */
struct walk_alone {
    struct regex_budget budget;
    struct arena arena;
    struct rule_walk walk;
};

void walk_alone_init(struct walk_alone *alone, const struct question *question);
void walk_alone_fini(struct walk_alone *alone);

/* Spends the visits from the budget. Returns: false where the call became too costly. */
bool walk_spend(struct rule_walk *walk);

/* For path_walk.look: now and then, so that a long walk is not only found too costly at its end. */
bool walk_look(struct rule_walk *walk, struct path_walk *path);

/* Counts what costs more than one visit. Returns: as walk_spend. */
bool walk_charge(struct rule_walk *walk, uint64_t visits);

/* Where the paths of this root begin; NULL: there is nothing. */
const struct json_node *walk_root(const struct rule_walk *walk, enum condition_root from);

/* Whether the record of the call may have lost all that a path asks about. Takes: path, root: changed where a claim was
 * recorded by itself; claim: of FROM_CLAIM. */
bool walk_has_lost(const struct rule_walk *walk, enum condition_root from, const struct claim_ask *claim, struct path *path,
                   const struct json_node **root);

/* What a condition asks of a hidden value. Marks the walk. */
enum truth walk_guess(struct rule_walk *walk, bool opening);

#endif
