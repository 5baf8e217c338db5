/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy_priv.h"

const char *verdict_text(enum verdict_kind kind)
{
    switch (kind) {
    case VERDICT_DENY: return "deny";
    case VERDICT_HOLD: return "hold";
    case VERDICT_PERMIT: return "permit";
    }
    return "deny";
}

const char *effect_text(enum effect effect)
{
    switch (effect) {
    case EFFECT_FORBID: return "forbid";
    case EFFECT_REQUIRE_APPROVAL: return "require_approval";
    case EFFECT_PERMIT: return "permit";
    }
    return "forbid";
}

const char *policy__truth_text(enum truth truth)
{
    switch (truth) {
    case TRUTH_FALSE: return "false";
    case TRUTH_UNDECIDED: return "undecided";
    case TRUTH_TRUE: return "true";
    }
    return "undecided";
}

/* A rule whose match and conditions are not false. */
struct applying {
    const struct rule *rule; /* NULL: does not apply */
    struct span undecided;   /* label, or the empty span */
};

struct judging {
    const struct policy *policy;
    struct policy_scratch *scratch;
    struct candidates candidates;
    struct applying *applying; /* one for each candidate */
    struct trace *trace;
    bool spent, monitor_spent, no_memory;
};

static enum verdict_kind kind_of(enum effect effect)
{
    switch (effect) {
    case EFFECT_FORBID: return VERDICT_DENY;
    case EFFECT_REQUIRE_APPROVAL: return VERDICT_HOLD;
    case EFFECT_PERMIT: return VERDICT_PERMIT;
    }
    return VERDICT_DENY;
}

static enum reason reason_of(enum effect effect)
{
    switch (effect) {
    case EFFECT_FORBID: return REASON_FORBIDDEN;
    case EFFECT_REQUIRE_APPROVAL: return REASON_APPROVAL_REQUIRED;
    case EFFECT_PERMIT: return REASON_PERMITTED;
    }
    return REASON_FORBIDDEN;
}

/* Undecided names are rare, so that their label is made when it is needed. */
static struct span match_label(struct judging *judging, const struct rule *rule, enum dimension dimension)
{
    const char *word = policy__dimension_text[dimension];
    size_t len = rule->id.len + 8 + strlen(word);
    char *at = arena_alloc(&judging->scratch->arena, len);

    if (at == NULL) {
        judging->no_memory = true;
        return rule->id;
    }
    memcpy(at, rule->id.at, rule->id.len);
    memcpy(at + rule->id.len, ": match.", 8);
    memcpy(at + rule->id.len + 8, word, strlen(word));
    return span_of(at, len);
}

/* Meaning 3: an undecided rule applies if it closes. */
static void judge_rule(struct judging *judging, struct walk *walk, const struct candidate *candidate,
                       struct applying *applying)
{
    const struct rule *rule = &judging->policy->rules[candidate->at];
    struct span undecided = SPAN_NONE;
    enum truth truth;
    bool applies;

    policy__trace_rule(judging->trace, rule, candidate->match, candidate->undecided);
    truth = truth_and(candidate->match, policy__rule_conditions(walk, rule, &undecided));
    applies = truth == TRUTH_TRUE || (truth == TRUTH_UNDECIDED && rule->effect != EFFECT_PERMIT);
    policy__trace_applies(judging->trace, rule, truth, applies);
    *applying = (struct applying){.rule = applies ? rule : NULL};
    if (applies && truth == TRUTH_UNDECIDED)
        applying->undecided =
            candidate->match == TRUTH_UNDECIDED ? match_label(judging, rule, candidate->undecided) : undecided;
}

/* Every candidate is judged, whatever was found before: all applying rules are recorded, and work does not depend on
 * their order. Monitored rules come after the others, on a budget of their own. */
static void judge_rules(struct judging *judging, const struct question *question, struct regex_budget *budget, bool monitor)
{
    struct walk walk = {.question = question, .budget = budget, .visits_left = VISITS_MAX, .trace = judging->trace};

    for (uint32_t i = 0; i < judging->candidates.rule_count; i++) {
        const struct candidate *candidate = &judging->candidates.rules[i];

        if (judging->policy->rules[candidate->at].monitor == monitor)
            judge_rule(judging, &walk, candidate, &judging->applying[i]);
    }
    if (monitor)
        judging->monitor_spent |= walk.spent || budget->spent;
    else
        judging->spent |= walk.spent || budget->spent;
}

static void note_rule(struct verdict *verdict, const struct rule *rule)
{
    if (verdict->rule_count < VERDICT_RULES_MAX)
        verdict->rules[verdict->rule_count] = (struct verdict_rule){rule->id, rule->effect, rule->monitor};
    verdict->rule_count++;
}

static void decide(struct verdict *verdict, const struct applying *applying)
{
    const struct rule *rule = applying->rule;

    verdict->kind = kind_of(rule->effect);
    verdict->reason = reason_of(rule->effect);
    verdict->rule = rule->id;
    verdict->rule_reason = rule->reason;
    verdict->say = rule->say;
    verdict->undecided = applying->undecided;
}

/* Candidates come by effect and then id, so that the first that applies decides (Meaning 1 and 2). */
static void combine(struct judging *judging, struct verdict *verdict)
{
    bool decided = false, monitor_decided = false;

    for (uint32_t i = 0; i < judging->candidates.rule_count; i++) {
        const struct applying *applying = &judging->applying[i];

        if (applying->rule == NULL)
            continue;
        note_rule(verdict, applying->rule);
        verdict->has_monitor |= applying->rule->monitor;
        if (!monitor_decided) {
            verdict->monitor_kind = kind_of(applying->rule->effect);
            verdict->monitor_rule = applying->rule->id;
            monitor_decided = true;
        }
        if (!decided && !applying->rule->monitor) {
            decide(verdict, applying);
            decided = true;
        }
    }
}

static void deny(struct verdict *verdict, enum reason reason)
{
    verdict->kind = verdict->monitor_kind = VERDICT_DENY;
    verdict->reason = reason;
    verdict->rule = verdict->rule_reason = verdict->say = verdict->undecided = verdict->monitor_rule = SPAN_NONE;
}

/* Default deny. A call of a tool is always about a rule that is missing, never about an unknown method. */
static void name_default(const struct policy *policy, const struct question *question, struct verdict *verdict)
{
    struct regex_budget budget;

    verdict->reason = REASON_NO_RULE;
    if (span_is(question->method, "tools/call"))
        return;
    regex_budget_init(&budget);
    if (!policy__names_method(policy, question, &budget))
        verdict->reason = REASON_METHOD_UNKNOWN;
}

static bool has_monitored(const struct judging *judging)
{
    for (uint32_t i = 0; i < judging->candidates.rule_count; i++)
        if (judging->policy->rules[judging->candidates.rules[i].at].monitor)
            return true;
    return false;
}

static enum code judge(struct judging *judging, const struct question *question, struct regex_budget *budget,
                       struct verdict *verdict)
{
    struct regex_budget monitor_budget = *budget;
    enum code code = policy__candidates(judging->policy, question, judging->scratch, &judging->candidates);

    if (code != CODE_OK)
        return code;
    judging->applying = arena_zalloc(&judging->scratch->arena, judging->candidates.rule_count * sizeof *judging->applying);
    if (judging->applying == NULL)
        return CODE_NOMEM;
    judging->spent = judging->candidates.spent;
    judging->monitor_spent = judging->candidates.monitor_spent;
    judge_rules(judging, question, budget, false);
    if (has_monitored(judging))
        judge_rules(judging, question, &monitor_budget, true);
    verdict->work = budget->work + monitor_budget.work;
    if (judging->no_memory)
        return CODE_NOMEM;
    combine(judging, verdict);
    if (verdict->rule.at == NULL)
        name_default(judging->policy, question, verdict);
    if (judging->monitor_spent) {
        verdict->has_monitor = true;
        verdict->monitor_kind = VERDICT_DENY;
        verdict->monitor_rule = SPAN_NONE;
    }
    if (judging->spent)
        deny(verdict, REASON_TOO_COSTLY);
    return policy__redact(judging->policy, &judging->candidates, question, judging->scratch, verdict);
}

void policy__judge(const struct policy *policy, const struct question *question, struct regex_budget *budget,
                   struct policy_scratch *scratch, struct trace *trace, struct verdict *verdict)
{
    struct judging judging = {.policy = policy, .scratch = scratch, .trace = trace};

    /* All but the long list of rules, which rule_count guards. */
    memset(verdict, 0, offsetof(struct verdict, rules));
    memset(&verdict->rule_count, 0, sizeof *verdict - offsetof(struct verdict, rule_count));
    arena_reset(&scratch->arena);
    if (policy == NULL) {
        deny(verdict, REASON_NO_POLICY);
        verdict->redact_all = true;
        return;
    }
    verdict->policy_version = policy->version;
    verdict->policy_hash = policy_hash(policy);
    if (judge(&judging, question, budget, verdict) != CODE_OK) {
        deny(verdict, REASON_MEMORY);
        verdict->redact_all = true;
        verdict->redact_count = 0;
    }
}

void policy_eval(const struct policy *policy, const struct question *question, bool timed,
                 struct policy_scratch *scratch, struct verdict *verdict)
{
    struct regex_budget budget;

    if (timed)
        regex_budget_init_timed(&budget);
    else
        regex_budget_init(&budget);
    policy__judge(policy, question, &budget, scratch, NULL, verdict);
}

/* What require_approval holds could be permitted, once a person has said so. */
bool policy_could_permit(const struct policy *policy, const struct question *question, struct policy_scratch *scratch)
{
    struct candidates candidates;
    bool could = false;

    if (policy == NULL)
        return false;
    arena_reset(&scratch->arena);
    if (policy__candidates(policy, question, scratch, &candidates) != CODE_OK || candidates.spent)
        return false;
    for (uint32_t i = 0; i < candidates.rule_count; i++) {
        const struct rule *rule = &policy->rules[candidates.rules[i].at];

        if (rule->monitor)
            continue;
        if (rule->effect == EFFECT_FORBID && rule->when == NULL)
            return false;
        could |= rule->effect == EFFECT_REQUIRE_APPROVAL ||
                 (rule->effect == EFFECT_PERMIT && candidates.rules[i].match == TRUTH_TRUE);
    }
    return could;
}
