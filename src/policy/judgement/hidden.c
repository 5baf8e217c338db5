/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorded call may have come to whose values are partly lost. Truth only ever climbs from a guess against a permit
 * to one in favour of it: an opening condition lets calls pass by being true, a closing one by being false, whatever rule it
 * belongs to and however deep under `not` it stands. Every real value of what is hidden lies between the two: each forbid
 * and require_approval that really applies does so in the first, each permit in the second. The verdicts themselves have no
 * such order, because a call that nothing permits is denied where a require_approval would hold it. */
#include "judgement/judgement.h"
#include "policy/walk.h"

/* Which kinds of rules apply under one guess. */
struct applying_kinds {
    bool forbids, refused, holds, granted, permits;
    bool barred; /* by `only_args`, where a person would be asked otherwise */
    bool asks; /* a permit that, over a limit, a person may permit or refuse */
};

/* What a person said of an applying require_approval: all but the refused ones are named, as long as there is room. */
static void note_approval(const struct verdict *verdict, struct span rule, struct applying_kinds *kinds)
{
    for (uint32_t i = 0; i < verdict->approval_count; i++)
        if (span_equals(verdict->approvals[i].rule, rule)) {
            kinds->granted |= verdict->approvals[i].is_granted;
            kinds->holds |= !verdict->approvals[i].is_granted;
            return;
        }
    kinds->holds |= verdict->approval_count == VERDICT_APPROVALS_MAX;
    kinds->refused |= verdict->approval_count < VERDICT_APPROVALS_MAX;
}

static struct applying_kinds kinds_of(const struct verdict *verdict, unsigned halves)
{
    struct applying_kinds kinds = {.asks = false};

    for (uint32_t i = 0; i < verdict->rule_count && i < VERDICT_RULES_MAX; i++) {
        const struct verdict_rule *rule = &verdict->rules[i];

        kinds.asks |= rule->asks && !rule->monitor && (rule->halves & halves);
        if (rule->monitor || rule->limited || !(rule->halves & halves))
            continue;
        kinds.barred |= rule->barred;
        if (rule->barred)
            continue;
        switch (rule->effect) {
        case EFFECT_FORBID: kinds.forbids = true; break;
        case EFFECT_REQUIRE_APPROVAL: note_approval(verdict, rule->id, &kinds); break;
        case EFFECT_PERMIT: kinds.permits = true; break;
        }
    }
    return kinds;
}

/* The verdicts that the rules of these halves may really have given. */
static unsigned possible_of(const struct verdict *against, const struct verdict *favouring, unsigned halves)
{
    struct applying_kinds most = kinds_of(against, halves), least = kinds_of(favouring, halves); /* permits are most in
                                                                                                   * `favouring` */
    bool is_denied = least.forbids || least.refused || least.barred;
    unsigned possible = 0;

    if (most.forbids || most.refused || most.barred || (!least.holds && !least.granted && !most.permits))
        possible |= 1U << VERDICT_DENY;
    if ((most.holds || least.holds || most.barred || least.asks) && !is_denied)
        possible |= 1U << VERDICT_HOLD;
    if ((most.granted || least.granted || most.barred || least.permits || least.asks) && !is_denied && !least.holds)
        possible |= 1U << VERDICT_PERMIT;
    return possible;
}

unsigned policy_possible(const struct verdict *against, const struct verdict *favouring)
{
    unsigned person, agent, possible = 0;

    if (against->reason == REASON_TOO_COSTLY || favouring->reason == REASON_TOO_COSTLY ||
        against->rule_count > VERDICT_RULES_MAX || favouring->rule_count > VERDICT_RULES_MAX)
        return against->kind == favouring->kind ? 1U << against->kind : POLICY_ALL_POSSIBLE;
    if (against->agent_rule.at == NULL)
        return possible_of(against, favouring, HALVES_BOTH);
    person = possible_of(against, favouring, 1U << HALF_PERSON);
    agent = possible_of(against, favouring, 1U << HALF_AGENT);
    for (enum verdict_kind kind = VERDICT_DENY; kind <= VERDICT_PERMIT; kind++) /* the lower of any two */
        if (((person & 1U << kind) && agent >= 1U << kind) || ((agent & 1U << kind) && person >= 1U << kind))
            possible |= 1U << kind;
    return possible;
}
