/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/walk.h"

#include "policy/snapshot.h"

#define ALONE_MAX_BYTES ((size_t)64 << 20)

void walk_alone_init(struct walk_alone *alone, const struct question *question)
{
    regex_budget_init(&alone->budget);
    arena_init(&alone->arena, ALONE_MAX_BYTES);
    alone->walk = (struct rule_walk){.question = question, .budget = &alone->budget, .arena = &alone->arena,
                                     .visits_left = VISITS_MAX, .visits_told = VISITS_MAX};
}

void walk_alone_fini(struct walk_alone *alone)
{
    arena_fini(&alone->arena);
}

bool walk_spend(struct rule_walk *walk)
{
    uint64_t work = (walk->visits_told - walk->visits_left) * VISIT_WORK;

    walk->visits_told = walk->visits_left;
    walk->spent |= !regex_budget_spend(walk->budget, work);
    return !walk->spent;
}

bool walk_charge(struct rule_walk *walk, uint64_t visits)
{
    if (visits > walk->visits_left) {
        walk->visits_left = 0;
        walk->spent = true;
        return false;
    }
    walk->visits_left -= visits;
    return walk->visits_told - walk->visits_left < VISITS_EACH || walk_spend(walk);
}

bool walk_look(struct rule_walk *walk, struct path_walk *path)
{
    uint64_t left = walk->visits_left;

    path->look_at = left > VISITS_EACH ? left - VISITS_EACH : 0;
    return walk_spend(walk);
}

const struct json_node *walk_root(const struct rule_walk *walk, enum condition_root from)
{
    const struct question *question = walk->question;

    if (walk->here != NULL)
        return walk->here;
    switch (from) {
    case FROM_META:
        return question->meta;
    case FROM_PARAM: /* the `$` of other methods is all of params */
        return question_has_arguments(question) ? question->params : question->root;
    case FROM_CLAIM:
        return question->claims;
    case FROM_VALUE:
        return walk->answer->root;
    case FROM_ARG:
    case FROM_COUNT:
        break;
    }
    return question->root;
}

bool walk_has_lost(const struct rule_walk *walk, enum condition_root from, const struct claim_ask *claim, struct path *path,
                   const struct json_node **root)
{
    const struct question_hidden *hidden = walk->question->hidden;

    if (walk->answer != NULL && walk->answer->of_unknown && from != FROM_VALUE && from != FROM_CLAIM)
        return true;
    if (hidden == NULL || from == FROM_ARG || from == FROM_VALUE)
        return false;
    if (from != FROM_CLAIM)
        return hidden->meta;
    return hidden->claims && !policy_claim_recorded(claim, *root, path, root);
}

enum truth walk_guess(struct rule_walk *walk, bool opening)
{
    walk->guessed = true;
    return walk->question->hidden->favours_permit == opening ? TRUTH_TRUE : TRUTH_FALSE;
}
