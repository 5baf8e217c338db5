/* SPDX-License-Identifier: Apache-2.0 */
/* What of a policy can be said of calls that nobody has made: what could be permitted, what is permitted by names alone, and
 * what a caller lacks. */
#include "judgement/candidates_priv.h"
#include "judgement/judge_priv.h"
#include "judgement/judgement.h"

/* Whether the rule could apply to some of a template's URIs; of a forbid, whether it applies to all of them. */
static bool concerns(const struct rule *rule, const struct rule_candidate *candidate, const struct question *question)
{
    const struct names *resources = &rule->match.by[DIM_RESOURCE];
    bool is_open = candidate->match == TRUTH_UNDECIDED && question->any_resource &&
                   (candidate->undecided == DIM_RESOURCE || candidate->undecided == DIM_LABEL);

    if (rule->effect == EFFECT_FORBID) /* a label says nothing of the resources that it does not list */
        return !question->any_resource ||
               (!(is_open && rule->match.by[DIM_LABEL].given) && eval__names_cover(resources, question->resource));
    if (rule->effect == EFFECT_PERMIT && candidate->match != TRUTH_TRUE && !is_open)
        return false;
    return !question->any_resource || eval__names_meet(resources, question->resource);
}

/* What a require_approval holds counts as permitted: a person may yet say so. */
bool policy_could_permit(const struct policy *policy, const struct question *question, struct policy_scratch *scratch)
{
    unsigned needed = question_needs_agent(question) ? HALVES_BOTH : 0, could = 0;
    struct candidates candidates;

    if (policy == NULL)
        return false;
    arena_reset(&scratch->arena);
    if (eval__candidates(policy, question, NULL, scratch, &candidates) != CODE_OK || candidates.spent)
        return false;
    for (uint32_t i = 0; i < candidates.rule_count; i++) {
        const struct rule *rule = &policy->rules[candidates.rules[i].at];

        if (rule->monitor || (rule->effect == EFFECT_FORBID && rule->when != NULL))
            continue;
        if (rule->effect != EFFECT_FORBID && could != 0 && (could & needed) == needed)
            continue;
        if (rule_lasts(rule, question) < (rule->effect == EFFECT_FORBID ? TRUTH_TRUE : TRUTH_UNDECIDED))
            continue;
        if (!concerns(rule, &candidates.rules[i], question))
            continue;
        if (rule->effect == EFFECT_FORBID)
            return false;
        could |= rule->halves;
    }
    return could != 0 && (could & needed) == needed;
}

/* The scope that a permit asks for and the caller lacks; empty: there is none, or only patterns. */
static struct span lacking_scope(const struct policy *policy, const struct question *question, struct span id)
{
    const struct rule *rule = policy_rule_by_id(policy, id);
    const struct names *scopes = rule != NULL && rule->effect == EFFECT_PERMIT ? &rule->match.by[DIM_SCOPE] : NULL;
    struct regex_budget budget;

    regex_budget_init(&budget);
    if (scopes == NULL || policy_names_match(scopes, DIM_SCOPE, true, question, &budget) == TRUTH_TRUE)
        return SPAN_NONE;
    for (uint32_t i = 0; i < scopes->count; i++)
        if (scopes->name[i].kind == NAME_LITERAL)
            return scopes->name[i].text;
    return SPAN_NONE;
}

struct span policy_lacking_scope(const struct policy *policy, const struct question *question, struct policy_scratch *scratch)
{
    struct question without = *question, with = *question;
    struct span deciding[HALF_COUNT];
    struct verdict verdict;

    if (policy == NULL || !policy->asks_held)
        return SPAN_NONE;
    without.any_scope = true;
    policy_eval(policy, &without, true, scratch, &verdict);
    if (verdict.kind != VERDICT_PERMIT)
        return SPAN_NONE;
    deciding[HALF_PERSON] = verdict.rule;
    deciding[HALF_AGENT] = verdict.agent_rule;
    for (unsigned i = 0; i < HALF_COUNT; i++) {
        with.more_scope = lacking_scope(policy, question, deciding[i]);
        if (with.more_scope.at == NULL)
            continue;
        policy_eval(policy, &with, true, scratch, &verdict); /* a forbid or a require_approval may ask for that very scope */
        if (verdict.kind == VERDICT_PERMIT)
            return with.more_scope;
    }
    return SPAN_NONE;
}

bool policy_permits_all(const struct policy *policy, const struct question *question, struct policy_scratch *scratch)
{
    unsigned needed = question_needs_agent(question) ? HALVES_BOTH : 0, given = 0;
    struct candidates candidates;

    arena_reset(&scratch->arena);
    if (eval__candidates(policy, question, NULL, scratch, &candidates) != CODE_OK || candidates.spent ||
        candidates.monitor_spent)
        return false;
    for (uint32_t i = 0; i < candidates.rule_count; i++) {
        const struct rule *rule = &policy->rules[candidates.rules[i].at];

        if (rule->effect != EFFECT_PERMIT || candidates.rules[i].match != TRUTH_TRUE || rule->when != NULL ||
            rule->restricts_args || rule->by_schema || rule->limit != NULL || rule->monitor || rule->until_us != 0)
            return false;
        given |= rule->halves;
    }
    return given != 0 && (given & needed) == needed;
}
