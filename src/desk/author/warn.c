/* SPDX-License-Identifier: Apache-2.0 */
#include "author/warn_priv.h"
#include "judgement/judgement.h"

#define PAIRS_MAX 1000000 /* of rules that are compared */

/* ---- tools without the beginning of a session ---- */

static bool permits_method(const struct rule *rule, struct span method)
{
    struct question question = {.method = method};
    struct regex_budget budget;

    regex_budget_init(&budget);
    return rule->effect == EFFECT_PERMIT && !rule->monitor &&
           policy_names_match(&rule->match.by[DIM_METHOD], DIM_METHOD, true, &question, &budget) != TRUTH_FALSE;
}

/* Whether one caller could be in both; of globs and regexes it is assumed. */
static bool overlap(const struct names *a, const struct names *b)
{
    if (!a->given || !b->given)
        return true;
    for (uint32_t i = 0; i < a->count; i++)
        for (uint32_t j = 0; j < b->count; j++)
            if ((a->name[i].kind != NAME_LITERAL && b->name[j].kind != NAME_LITERAL) ||
                warn__name_covers(&a->name[i], &b->name[j]) || warn__name_covers(&b->name[j], &a->name[i]))
                return true;
    return false;
}

static bool share_callers(const struct rule *a, const struct rule *b)
{
    return overlap(&a->match.by[DIM_TENANT], &b->match.by[DIM_TENANT]) &&
           overlap(&a->match.by[DIM_PRINCIPAL], &b->match.by[DIM_PRINCIPAL]) &&
           overlap(&a->match.by[DIM_AGENT], &b->match.by[DIM_AGENT]) &&
           overlap(&a->match.by[DIM_UPSTREAM], &b->match.by[DIM_UPSTREAM]);
}

/* Told once for the callers that a rule shares with one that was told. */
static void warn_protocol(const struct policy *policy, struct faults *warnings)
{
    const struct rule *told = NULL;
    uint64_t pairs = 0;

    for (uint32_t i = 0; i < policy->rule_count && pairs < PAIRS_MAX; i++) {
        const struct rule *permit = &policy->rules[i];
        bool may_begin = !permits_method(permit, SPAN_LIT("tools/call"));

        for (uint32_t j = 0; j < policy->rule_count && !may_begin; j++, pairs++)
            may_begin = permits_method(&policy->rules[j], SPAN_LIT("initialize")) && share_callers(permit, &policy->rules[j]);
        if (may_begin || (told != NULL && share_callers(told, permit)))
            continue;
        told = permit;
        faults_add(warnings, permit->source->path_text, permit->line, permit->column,
                   "`%.*s` permits tools where no rule permits `initialize`: agents cannot begin a session; add a permit "
                   "with {methods: [protocol]} for the same callers", SPAN_ARG(permit->id));
    }
}

/* ---- rules that no test decides ---- */

struct deciding {
    const struct policy *policy;
    bool *by_rule; /* those for answers behind the others */
};

static void note_decided(void *context, const struct policy_test_result *result)
{
    struct deciding *deciding = context;
    const struct policy *policy = deciding->policy;
    const struct rule *rule = result->rule.at ? policy_rule_by_id(policy, result->rule) : NULL;
    const struct rule *answer = result->rule.at ? policy_answer_by_id(policy, result->rule) : NULL;

    if (rule != NULL)
        deciding->by_rule[rule - policy->rules] = true;
    if (answer != NULL)
        deciding->by_rule[policy->rule_count + (size_t)(answer - policy->answers)] = true;
}

/* What comes before a call needs no test of its own: its permit is the same in every policy. */
static bool is_of_protocol(const struct rule *rule)
{
    const struct names *methods = &rule->match.by[DIM_METHOD];

    return rule->effect == EFFECT_PERMIT && rule->answer == ANSWER_NONE && methods->count == 1 &&
           methods->name[0].kind == NAME_PROTOCOL;
}

/* One line for a file, where its first such rule stands in it. */
static void warn_untested_file(const struct deciding *deciding, const struct policy_source *source, struct faults *warnings)
{
    const struct policy *policy = deciding->policy;
    const struct rule *first = NULL;
    uint32_t more = 0;

    for (uint32_t i = 0; i < policy->rule_count + policy->answer_count; i++) {
        const struct rule *rule = i < policy->rule_count ? &policy->rules[i] : &policy->answers[i - policy->rule_count];

        if (deciding->by_rule[i] || rule->monitor || rule->source != source || is_of_protocol(rule))
            continue;
        more += first != NULL;
        if (first == NULL || rule->line < first->line)
            first = rule;
    }
    if (first != NULL && more == 0)
        faults_add(warnings, source->path_text, first->line, first->column,
                   "no test is decided by the rule `%.*s`; add one under `tests:`", SPAN_ARG(first->id));
    else if (first != NULL)
        faults_add(warnings, source->path_text, first->line, first->column,
                   "no test is decided by the rule `%.*s` and %u more of this file, which `policy test --coverage` lists; add "
                   "some under `tests:`", SPAN_ARG(first->id), more);
}

static enum code warn_untested(const struct policy *policy, struct faults *warnings)
{
    uint32_t count = policy->rule_count + policy->answer_count;
    struct deciding deciding = {policy, mem_array(count, sizeof(bool))};
    struct policy_scratch *scratch = NULL;
    size_t passed, failed;
    enum code code = deciding.by_rule ? policy_scratch_new(&scratch) : CODE_NOMEM;

    if (code == CODE_OK)
        code = policy_test(policy, scratch, note_decided, &deciding, &passed, &failed);
    for (uint32_t i = 0; i < policy->source_count && code == CODE_OK; i++)
        warn_untested_file(&deciding, &policy->sources[i], warnings);
    policy_scratch_free(&scratch);
    mem_free(deciding.by_rule);
    return code;
}

/* The id that was meant, perhaps; or NULL. */
static const char *nearest_id(const struct rule *rules, uint32_t count, struct span id)
{
    const char *nearest = NULL;

    for (uint32_t i = 0; i < count && nearest == NULL; i++) {
        const char *const one[] = {rules[i].id.at, NULL}; /* which ends in a NUL */

        nearest = why_nearest(id.at, id.len, one);
    }
    return nearest;
}

/* A verdict that the rule which the test names never brings about; NULL: it may. */
static const char *contradicts(const struct policy *policy, const struct policy_case *kase)
{
    const struct rule *rule = kase->rule.at != NULL && !kase->has_answer ? policy_rule_by_id(policy, kase->rule) : NULL;
    bool asks = rule != NULL && (rule->effect == EFFECT_REQUIRE_APPROVAL || rule->asks);

    if (kase->has_reason && !kase->has_answer && (kase->reason == REASON_PERMITTED) != (kase->verdict == VERDICT_PERMIT))
        return "the reason of a permit is permitted, and of nothing else; write the reason of this verdict, or none";
    if (rule == NULL || (rule->effect == EFFECT_REQUIRE_APPROVAL && !rule->monitor))
        return NULL;
    if (rule->monitor)
        return "a monitored rule decides no call; write rule: null, or the rule that does";
    if (rule->effect == EFFECT_FORBID)
        return kase->verdict != VERDICT_DENY ? "a forbid only denies; write verdict: deny, or the rule that permits" : NULL;
    if (kase->verdict == VERDICT_DENY && !asks)
        return "a permit denies nothing; write rule: null where no rule permits, or the forbid that denies";
    return kase->verdict == VERDICT_HOLD && !asks ? "this permit holds nothing for a person; write verdict: permit, or the "
                                                    "require_approval that does" : NULL;
}

static void warn_expected(const struct policy *policy, struct faults *warnings)
{
    for (uint32_t i = 0; i < policy->case_count; i++) {
        const struct policy_case *kase = &policy->cases[i];
        const char *nearest, *wrong = contradicts(policy, kase);

        if (wrong != NULL)
            faults_add(warnings, kase->source->path_text, kase->line, kase->column, "the test expects what never comes about: "
                       "%s",
                       wrong);
        if (kase->rule.at == NULL ||
            (kase->has_answer ? policy_answer_by_id : policy_rule_by_id)(policy, kase->rule) != NULL)
            continue;
        nearest = kase->has_answer ? nearest_id(policy->answers, policy->answer_count, kase->rule)
                                   : nearest_id(policy->rules, policy->rule_count, kase->rule);
        faults_add(warnings, kase->source->path_text, kase->line, kase->column,
                   "the test expects the rule `%.*s`, which does not exist; %s%s%s", SPAN_ARG(kase->rule),
                   nearest ? "did you mean `" : "name one that does", nearest ? nearest : "", nearest ? "`?" : "");
    }
}

/* ---- rules for answers ---- */

/* Whether some condition tells a text that could be cut: no name, and not by what is not there. */
static bool tells_a_text(const struct condition *condition)
{
    unsigned types = TYPES_ALL;

    for (uint32_t i = 0; i < condition->op_count; i++)
        types &= condition->ops[i].types;
    if (condition->kind == CONDITION_LEAF)
        return condition->from == FROM_VALUE && !condition->opening && !condition->asks_keys &&
               (types & TYPE_BIT(JSON_STRING)) != 0;
    for (uint32_t i = 0; i < condition->count && condition->kind != CONDITION_NOT; i++)
        if (tells_a_text(&condition->members[i]))
            return true;
    return false;
}

static void warn_answer(const struct rule *rule, struct faults *warnings)
{
    warn__never(rule, warnings);
    if (rule->answer == ANSWER_REDACT && (rule->when == NULL || !tells_a_text(rule->when)))
        faults_add(warnings, rule->source->path_text, rule->line, rule->column,
                   "the rule `%.*s` can only withhold: no condition of it tells which text is to be cut; ask for it, as in "
                   "{value: '$..*', matches: '...'}, or write `effect: withhold`", SPAN_ARG(rule->id));
}

/* The most frequent one comes last: only so many warnings are told. */
enum code warn_policy(const struct policy *policy, size_t route_count, struct faults *warnings)
{
    enum code code;

    warn_ended(policy, warnings);
    for (uint32_t i = 0; i < policy->rule_count; i++)
        warn__never(&policy->rules[i], warnings);
    for (uint32_t i = 0; i < policy->answer_count; i++)
        warn_answer(&policy->answers[i], warnings);
    warn__holes(policy, warnings);
    warn__wide(policy, route_count, warnings);
    warn_protocol(policy, warnings);
    warn_expected(policy, warnings);
    code = warn__names(policy, warnings);
    return code == CODE_OK ? warn_untested(policy, warnings) : code;
}
