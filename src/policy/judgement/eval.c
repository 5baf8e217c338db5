/* SPDX-License-Identifier: Apache-2.0 */
#include "judgement/candidates_priv.h"
#include "policy/index.h"
#include "judgement/judge_priv.h"
#include "judgement/judgement.h"
#include "policy/walk.h"
#include "policy/trace.h"

/* A rule whose match and conditions are not false. */
struct applying {
    const struct rule *rule; /* NULL: does not apply */
    struct span undecided;   /* label, or the empty span */
    enum policy_known granted; /* require_approval, or over: what a person said */
    bool over, is_asked;       /* a permit over a limit that asks; a person was, so that `granted` is known */
    bool barred;               /* require_approval: the call has arguments that nobody may approve */
    struct verdict_spent *spent; /* of a permit with limits */
    const struct rule *limited; /* a permit that only its limits keep from applying; or NULL */
    int64_t wait_us;            /* until they have room */
};

/* What an applying rule says, in an order in which each beats those that follow (Meaning 1, 11 and 12). */
enum weight { WEIGHT_FORBIDS = 0, WEIGHT_REFUSED, WEIGHT_HOLDS, WEIGHT_GRANTED, WEIGHT_PERMITS, WEIGHT_OVER, WEIGHT_NONE };

struct judging {
    const struct policy *policy;
    struct policy_scratch *scratch;
    struct candidates candidates;
    struct applying *applying; /* one for each candidate */
    struct trace *trace;
    struct verdict *verdict;
    bool spent, monitor_spent, no_memory, guessed;
    unsigned unplanned; /* halves for which some permit lacks nothing but a step of a plan */
};

/* What a half of the call comes to. */
struct half_found {
    struct applying *first;          /* the rule that decides; NULL: none does */
    const struct applying *would;    /* the rule that would, were monitored rules active */
    enum reason reason;
    int64_t wait_us;                 /* RATE_LIMITED */
};

static enum weight weight_of(const struct applying *applying)
{
    if (applying->rule == NULL)
        return WEIGHT_NONE;
    switch (applying->rule->effect) {
    case EFFECT_FORBID: return WEIGHT_FORBIDS;
    case EFFECT_PERMIT: return applying->over ? WEIGHT_OVER : WEIGHT_PERMITS;
    case EFFECT_REQUIRE_APPROVAL: break;
    }
    if (applying->barred)
        return WEIGHT_FORBIDS;
    switch (applying->granted) {
    case POLICY_YES: return WEIGHT_GRANTED;
    case POLICY_NO: return WEIGHT_REFUSED;
    case POLICY_UNKNOWN: break;
    }
    return WEIGHT_HOLDS;
}

/* The weight with which the rule decides: over a limit a person's word counts as under a require_approval. */
static enum weight deciding_weight(const struct applying *applying)
{
    static const enum weight said[] = {
        [POLICY_UNKNOWN] = WEIGHT_HOLDS, [POLICY_NO] = WEIGHT_REFUSED, [POLICY_YES] = WEIGHT_GRANTED};
    enum weight weight = weight_of(applying);

    return weight == WEIGHT_OVER ? said[applying->granted] : weight;
}

static enum verdict_kind kind_of(const struct applying *applying)
{
    switch (deciding_weight(applying)) {
    case WEIGHT_HOLDS: return VERDICT_HOLD;
    case WEIGHT_GRANTED:
    case WEIGHT_PERMITS: return VERDICT_PERMIT;
    case WEIGHT_FORBIDS:
    case WEIGHT_REFUSED:
    case WEIGHT_OVER:
    case WEIGHT_NONE: break;
    }
    return VERDICT_DENY;
}

static enum reason reason_of(const struct applying *applying)
{
    switch (deciding_weight(applying)) {
    case WEIGHT_REFUSED: return REASON_APPROVAL_REFUSED;
    case WEIGHT_HOLDS: return REASON_APPROVAL_REQUIRED;
    case WEIGHT_GRANTED:
    case WEIGHT_PERMITS: return REASON_PERMITTED;
    case WEIGHT_FORBIDS:
    case WEIGHT_OVER:
    case WEIGHT_NONE: break;
    }
    return REASON_FORBIDDEN;
}

/* Names are rarely undecided, so their label is made only when it is needed. */
struct span eval__match_label(struct policy_scratch *scratch, const struct rule *rule, enum dimension dimension,
                              bool *no_memory)
{
    struct span where = SPAN_LIT(": match."), word = span_text(policy_dimension_text[dimension]);
    char *at = arena_alloc(&scratch->arena, rule->id.len + where.len + word.len);

    *no_memory |= at == NULL;
    if (at == NULL)
        return rule->id;
    memcpy(at, rule->id.at, rule->id.len);
    memcpy(at + rule->id.len, where.at, where.len);
    memcpy(at + rule->id.len + where.len, word.at, word.len);
    return span_of(at, rule->id.len + where.len + word.len);
}

/* Asks whether a person has approved the call under this rule. The verdict has room for a few such rules; of the others
 * nothing is known. */
static enum policy_known ask_granted(struct judging *judging, const struct question *question, const struct rule *rule)
{
    const struct policy_past *past = question->state.past;
    struct verdict *verdict = judging->verdict;
    struct verdict_approval approval = {
        .rule = rule->id, .people = &rule->people};
    enum policy_known granted = POLICY_UNKNOWN;

    if (verdict->approval_count == VERDICT_APPROVALS_MAX)
        return POLICY_UNKNOWN;
    if (past != NULL && past->is_granted != NULL)
        granted = past->is_granted(question->state.context, question, rule->id, rule->people.rule_hash);
    approval.is_granted = granted == POLICY_YES;
    if (granted != POLICY_NO)
        verdict->approvals[verdict->approval_count++] = approval;
    return granted;
}

static bool has_room(const struct question *question, const struct policy_limit *limit, const struct policy_amount *amount,
                     struct policy_room *room)
{
    const struct policy_state *state = &question->state;

    room->wait_us = limit->per_us;
    if (amount->number > limit->most)
        return false;
    return state->past == NULL || state->past->has_room == NULL ||
           state->past->has_room(state->context, question, limit, amount, room) == POLICY_YES;
}

/* Meaning 12: over a limit a permit does not apply, or asks a person where all those limits say so. Returns: what the limits
 * make of the permit. */
static enum truth limits_truth(struct judging *judging, struct rule_walk *walk, const struct rule *rule,
                               struct applying *applying)
{
    struct verdict_spent *spent = arena_zalloc(&judging->scratch->arena, sizeof *spent);
    struct policy_value *values = arena_zalloc(&judging->scratch->arena, POLICY_LIMITS_MAX * sizeof *values);
    enum truth truth = TRUTH_TRUE;
    bool asks = true, over = false;

    applying->spent = spent;
    if (spent == NULL || values == NULL) {
        judging->no_memory = true;
        return TRUTH_FALSE;
    }
    spent->limit = rule->limit;
    spent->values = values;
    for (const struct policy_limit *limit = rule->limit; limit != NULL; limit = limit->next) {
        struct trace_limit seen = {.limit = limit};

        seen.known = eval__amount(walk, judging->verdict, limit, &seen.amount);
        spent->amount[limit->at] = seen.amount.number;
        values[limit->at] = seen.amount.value;
        truth = truth_and(truth, seen.known);
        seen.fits = seen.known == TRUTH_TRUE && has_room(walk->question, limit, &seen.amount, &seen.room);
        if (judging->trace != NULL)
            judging->trace->limit(judging->trace, &seen);
        if (seen.known != TRUTH_TRUE || seen.fits)
            continue;
        over = true;
        asks &= limit->asks;
        applying->wait_us = seen.room.wait_us > applying->wait_us ? seen.room.wait_us : applying->wait_us;
    }
    if (truth != TRUTH_TRUE || !over)
        return truth;
    applying->over = asks;
    applying->limited = rule;
    applying->wait_us += applying->wait_us <= 0;
    return truth_of(asks);
}

/* Whether the permit would apply to the same call, were it a step of a plan. */
static bool lacks_plan(struct rule_walk *walk, const struct rule *rule, enum truth match)
{
    struct question planned = *walk->question;
    struct rule_walk again = *walk;
    struct span undecided;
    bool lacks;

    planned.plan.step = 1;
    again.question = &planned;
    again.trace = NULL;
    lacks = truth_and(match, policy_rule_conditions(&again, rule, &undecided)) == TRUTH_TRUE;
    again.question = walk->question;
    again.trace = walk->trace;
    *walk = again; /* keeps what it cost */
    return lacks;
}

/* Meaning 3: an undecided rule applies if it closes. */
static void judge_rule(struct judging *judging, struct rule_walk *walk, const struct rule_candidate *candidate,
                       struct applying *applying)
{
    const struct rule *rule = &judging->policy->rules[candidate->at];
    struct span undecided = SPAN_NONE, barring;
    enum truth truth;
    bool applies;

    if (judging->trace != NULL)
        judging->trace->rule(judging->trace, rule, candidate->match, candidate->undecided);
    walk->unplanned = false;
    truth = truth_and(candidate->match, policy_rule_conditions(walk, rule, &undecided));
    if (walk->unplanned && truth != TRUTH_TRUE && rule->effect == EFFECT_PERMIT && !rule->monitor)
        judging->unplanned |= lacks_plan(walk, rule, candidate->match) ? rule->halves : 0;
    *applying = (struct applying){.limited = NULL};
    if (truth == TRUTH_TRUE && rule->limit != NULL)
        truth = limits_truth(judging, walk, rule, applying);
    applies = truth == TRUTH_TRUE || (truth == TRUTH_UNDECIDED && rule->effect != EFFECT_PERMIT);
    applying->barred =
        applies && rule->effect == EFFECT_REQUIRE_APPROVAL && eval__arguments(walk, rule, &barring) != TRUTH_TRUE;
    if (judging->trace != NULL)
        judging->trace->applies(judging->trace, rule, truth, applies);
    applying->rule = applies ? rule : NULL;
    if (applies && rule->effect == EFFECT_REQUIRE_APPROVAL && !rule->monitor && !applying->barred) {
        applying->granted = ask_granted(judging, walk->question, rule);
        if (judging->trace != NULL)
            judging->trace->granted(judging->trace, applying->granted);
    }
    if (applies && truth == TRUTH_UNDECIDED)
        applying->undecided =
            candidate->match == TRUTH_UNDECIDED
                ? eval__match_label(judging->scratch, rule, candidate->undecided, &judging->no_memory) : undecided;
}

/* Every candidate is judged, whatever was found before: all applying rules are recorded, and work does not depend on
 * their order. Monitored rules come after the others; their work has a budget of its own. */
static void judge_rules(struct judging *judging, const struct question *question, struct regex_budget *budget, bool monitor)
{
    struct rule_walk walk = {.question = question, .budget = budget, .visits_left = VISITS_MAX,
                        .visits_told = VISITS_MAX, .trace = judging->trace,
                        .arena = &judging->scratch->readings};

    for (uint32_t i = 0; i < judging->candidates.rule_count; i++) {
        const struct rule_candidate *candidate = &judging->candidates.rules[i];

        if (judging->policy->rules[candidate->at].monitor == monitor)
            judge_rule(judging, &walk, candidate, &judging->applying[i]);
    }
    judging->no_memory |= walk.no_memory;
    if (monitor) {
        judging->monitor_spent |= walk.spent || budget->spent;
        return;
    }
    judging->spent |= walk.spent || budget->spent;
    judging->guessed |= walk.guessed;
}

static void note_rule(struct verdict *verdict, const struct rule *rule, bool limited, bool barred)
{
    if (verdict->rule_count < VERDICT_RULES_MAX)
        verdict->rules[verdict->rule_count] = (struct verdict_rule){
            .id = rule->id, .effect = rule->effect, .halves = rule->halves, .monitor = rule->monitor, .limited = limited,
            .asks = rule->asks, .barred = barred};
    verdict->rule_count++;
}

static void note_besides(const struct rule *rule, struct verdict *verdict)
{
    verdict->alerts |= rule->alerts;
    verdict->stops |= rule->stops;
}

/* All applying rules are recorded. Of several forbids each denies, whichever is named: else who meets one of a smaller id would
 * escape what another one does. */
static void note_rules(const struct judging *judging, struct verdict *verdict)
{
    for (uint32_t i = 0; i < judging->candidates.rule_count; i++) {
        const struct applying *applying = &judging->applying[i];

        if (applying->limited != NULL)
            note_rule(verdict, applying->limited, true, false);
        if (applying->rule != NULL && !applying->over)
            note_rule(verdict, applying->rule, false, applying->barred);
        verdict->has_monitor |= applying->rule != NULL && applying->rule->monitor;
        if (applying->rule != NULL && !applying->rule->monitor && applying->rule->effect == EFFECT_FORBID)
            note_besides(applying->rule, verdict);
    }
}

/* Says why nothing gives the half: a limit, a plan, a method that no rule names, or no rule. A call of a tool is never told
 * that its method is unknown. */
static enum reason default_reason(const struct judging *judging, const struct question *question, enum call_half half,
                                  unsigned halves, int64_t wait_us)
{
    struct regex_budget budget;

    if (half == HALF_AGENT && question->agent.len == 0)
        return REASON_AGENT_UNKNOWN;
    if (wait_us > 0)
        return REASON_RATE_LIMITED;
    if (judging->unplanned & halves)
        return question->plan.why != REASON_UNSET ? question->plan.why : REASON_PLAN_REQUIRED;
    if (half == HALF_AGENT)
        return REASON_NO_AGENT_RULE;
    regex_budget_init(&budget);
    return span_is(question->method, "tools/call") || policy_names_method(judging->policy, question, &budget)
               ? REASON_NO_RULE : REASON_METHOD_UNKNOWN;
}

/* Candidates come by effect and then id, so that of equal weight the first that applies decides (Meaning 2). A person is asked
 * about a limit only where nothing else decides. The shortest wait is the one that counts: after it some permit applies again.
 * Takes: halves: of rules; those that decide none of them do not count. */
static struct half_found find_half(struct judging *judging, const struct question *question, enum call_half half,
                                   unsigned halves)
{
    struct half_found found = {.first = NULL};

    for (uint32_t i = 0; i < judging->candidates.rule_count; i++) {
        struct applying *applying = &judging->applying[i];
        const struct rule *rule = applying->rule, *limited = applying->limited;

        if (limited != NULL && (limited->halves & halves) && !limited->monitor && !applying->over &&
            (found.wait_us == 0 || applying->wait_us < found.wait_us))
            found.wait_us = applying->wait_us;
        if (rule == NULL || !(rule->halves & halves))
            continue;
        if (found.would == NULL || weight_of(applying) < weight_of(found.would))
            found.would = applying;
        if (!rule->monitor && (found.first == NULL || weight_of(applying) < weight_of(found.first)))
            found.first = applying;
    }
    if (found.first != NULL && found.first->over && !found.first->is_asked) {
        found.first->granted = ask_granted(judging, question, found.first->rule);
        found.first->is_asked = true;
    }
    found.reason = found.first != NULL ? reason_of(found.first)
                                       : default_reason(judging, question, half, halves, found.wait_us);
    return found;
}

/* How far a half is from a permit: what nobody can mend for the call comes first, then what people or time may. */
static int distance_of(const struct half_found *found)
{
    static const int by_rule[] = {[WEIGHT_FORBIDS] = 7, [WEIGHT_REFUSED] = 6, [WEIGHT_HOLDS] = 1, [WEIGHT_GRANTED] = 0,
                                  [WEIGHT_PERMITS] = 0};

    if (found->first != NULL)
        return by_rule[deciding_weight(found->first)];
    if (found->reason == REASON_AGENT_UNKNOWN)
        return 5;
    if (found->reason == REASON_RATE_LIMITED)
        return 2;
    return found->reason >= REASON_PLAN_REQUIRED && found->reason <= REASON_PLAN_FOREIGN ? 3 : 4;
}

static void decide(struct verdict *verdict, const struct half_found *found)
{
    const struct applying *applying = found->first;

    verdict->reason = found->reason;
    verdict->wait_us = found->wait_us;
    if (applying == NULL)
        return;
    verdict->kind = kind_of(applying);
    verdict->rule = applying->rule->id;
    verdict->rule_reason = applying->rule->reason;
    verdict->say = applying->rule->say;
    verdict->undecided = applying->undecided;
    if (verdict->kind == VERDICT_DENY)
        note_besides(applying->rule, verdict);
}

static enum verdict_kind kind_or_deny(const struct applying *applying)
{
    return applying != NULL ? kind_of(applying) : VERDICT_DENY;
}

/* What monitored rules would make of it. */
static void decide_monitored(struct verdict *verdict, const struct half_found found[HALF_COUNT], unsigned count)
{
    bool by_agent = count > 1 && kind_or_deny(found[HALF_AGENT].would) < kind_or_deny(found[HALF_PERSON].would);
    const struct applying *would = found[by_agent ? HALF_AGENT : HALF_PERSON].would;

    verdict->monitor_kind = kind_or_deny(would);
    verdict->monitor_rule = would != NULL ? would->rule->id : SPAN_NONE;
    for (unsigned i = 0; i < count; i++) {
        would = found[i].would;
        if (would != NULL && would->rule->monitor && would->spent != NULL && !would->over &&
            (i == 0 || would != found[0].would))
            verdict->monitor_spent[i] = would->spent;
    }
}

/* Each half is found by the rules that give it, and the call gets the lower of two verdicts. So a forbid beats both, and people
 * are asked only where their word would let the call go. */
static void combine(struct judging *judging, const struct question *question, struct verdict *verdict)
{
    unsigned count = question_needs_agent(question) ? HALF_COUNT : 1;
    struct half_found found[HALF_COUNT];
    const struct half_found *by = &found[HALF_PERSON], *agent = &found[HALF_AGENT];

    note_rules(judging, verdict);
    for (unsigned i = 0; i < count; i++) {
        found[i] = find_half(judging, question, (enum call_half)i, count > 1 ? 1U << i : HALVES_BOTH);
        if (count > 1 && judging->trace != NULL)
            judging->trace->half(judging->trace, (enum call_half)i, kind_or_deny(found[i].first), found[i].reason,
                                 found[i].first != NULL ? found[i].first->rule->id : SPAN_NONE);
    }
    if (count > 1 && distance_of(agent) > distance_of(by))
        by = agent;
    decide(verdict, by);
    if (count > 1 && agent->reason == verdict->reason && agent->wait_us > verdict->wait_us)
        verdict->wait_us = agent->wait_us;
    if (count > 1 && kind_or_deny(agent->first) != VERDICT_DENY)
        verdict->agent_rule = agent->first->rule->id;
    for (unsigned i = 0; i < count && verdict->kind == VERDICT_PERMIT; i++)
        if (found[i].first->spent != NULL && (i == 0 || found[i].first != found[0].first)) {
            verdict->spent[i] = *found[i].first->spent;
            verdict->spent[i].beyond = found[i].first->over;
        }
    if (verdict->has_monitor)
        decide_monitored(verdict, found, count);
}

static void deny(struct verdict *verdict, enum reason reason)
{
    verdict->kind = verdict->monitor_kind = VERDICT_DENY;
    verdict->reason = reason;
    verdict->rule = verdict->rule_reason = verdict->say = verdict->undecided = verdict->monitor_rule = SPAN_NONE;
    verdict->agent_rule.len = 0;
    verdict->approval_count = 0;
    verdict->alerts = verdict->stops = false;
    for (unsigned i = 0; i < HALF_COUNT; i++) {
        verdict->spent[i].limit = NULL;
        verdict->monitor_spent[i] = NULL;
    }
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
    enum code code = eval__candidates(judging->policy, question, NULL, judging->scratch, &judging->candidates);

    if (code != CODE_OK)
        return code;
    judging->applying = arena_zalloc(&judging->scratch->arena, judging->candidates.rule_count * sizeof *judging->applying);
    if (judging->applying == NULL)
        return CODE_NOMEM;
    code = eval__redact(judging->policy, &judging->candidates, question, judging->scratch, verdict);
    if (code != CODE_OK)
        return code;
    judging->guessed = judging->candidates.guessed;
    judging->spent = judging->candidates.spent;
    judging->monitor_spent = judging->candidates.monitor_spent;
    judge_rules(judging, question, budget, false);
    monitor_budget.cpu_until_us = budget->cpu_until_us; /* both share the time that is left: the worker waits for both */
    if (budget->cpu_until_us != 0)
        monitor_budget.look_at = 0; /* so that the clock is looked at before anything else */
    if (has_monitored(judging))
        judge_rules(judging, question, &monitor_budget, true);
    verdict->work = budget->work + monitor_budget.work;
    verdict->guessed = judging->guessed;
    if (judging->no_memory)
        return CODE_NOMEM;
    combine(judging, question, verdict);
    if (judging->monitor_spent) {
        verdict->has_monitor = true;
        verdict->monitor_kind = VERDICT_DENY;
        verdict->monitor_rule = SPAN_NONE;
    }
    if (judging->spent)
        deny(verdict, REASON_TOO_COSTLY);
    verdict->is_cut = question->is_brief && (judging->spent || judging->monitor_spent);
    return CODE_OK;
}

/* Whether the question asks for the description of one tool that no list would show. It is denied like a tool that is not
 * there. */
static bool hides(const struct policy *policy, const struct question *question, struct policy_scratch *scratch)
{
    struct question call;

    if (question->shown.len == 0)
        return false;
    call = *question;
    call.method = SPAN_LIT("tools/call");
    call.tool = question->shown;
    call.root = NULL;
    call.is_brief = false; /* where that takes long, it is not known to be hidden */
    return !policy_could_permit(policy, &call, scratch);
}

void policy_judge(const struct policy *policy, const struct question *question, struct regex_budget *budget,
                   struct policy_scratch *scratch, struct trace *trace, struct verdict *verdict)
{
    struct judging judging = {.policy = policy, .scratch = scratch, .trace = trace, .verdict = verdict};
    bool is_hidden = hides(policy, question, scratch); /* first, since this uses the scratch, too */

    memset(verdict, 0, offsetof(struct verdict, rules));
    if (question_needs_agent(question))
        verdict->agent_rule = SPAN_LIT("");
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
        verdict->redact_count = verdict->redact_param_count = 0;
    } else if (is_hidden && verdict->kind != VERDICT_DENY) {
        deny(verdict, REASON_NO_RULE);
        if (trace != NULL)
            trace->hidden(trace);
    }
}

void policy_eval(const struct policy *policy, const struct question *question, bool timed,
                 struct policy_scratch *scratch, struct verdict *verdict)
{
    struct regex_budget budget;

    if (timed && question->is_brief)
        regex_budget_init_brief(&budget);
    else if (timed)
        regex_budget_init_timed(&budget);
    else
        regex_budget_init(&budget);
    policy_judge(policy, question, &budget, scratch, NULL, verdict);
}
