/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/walk.h"

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

enum truth walk_guess(struct rule_walk *walk, bool opening)
{
    walk->guessed = true;
    return walk->question->hidden->favours_permit == opening ? TRUTH_TRUE : TRUTH_FALSE;
}
