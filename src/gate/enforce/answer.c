/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/answer.h"

#include "enforce/gate_priv.h"
#include "judgement/judgement.h"

static const struct policy *policy_of(struct gate *gate, const struct call *call, bool is_own)
{
    if (is_own && call->policy != NULL)
        return call->policy;
    gate__follow(gate);
    return gate->policy;
}

bool gate_weighs(struct gate *gate, const struct call *call, bool is_own, const struct gate_came *came)
{
    const struct policy *policy = policy_of(gate, call, is_own);
    const struct policy_answer answer = {.method = came->method, .of_unknown = came->of_unknown};

    return policy != NULL && !call->is_join && policy_has_answer_rules_for(policy, &call->asked, &answer, gate->scratch);
}

bool gate_keep_text(struct arena *arena, struct span *text)
{
    const char *copy = text->len > 0 ? arena_dup(arena, text->at, text->len) : "";

    *text = copy != NULL ? span_of(copy, text->len) : SPAN_NONE;
    return copy != NULL;
}

/* Copies what the record says into the arena, which outlives scratch and snapshot. */
static bool keep(const struct answer_verdict *verdict, struct arena *arena, struct gate_weighed *weighed)
{
    uint32_t found_count = verdict->found_count < ANSWER_FOUND_MAX ? verdict->found_count : ANSWER_FOUND_MAX;
    uint32_t rule_count = verdict->rule_count < ANSWER_RULES_MAX ? verdict->rule_count : ANSWER_RULES_MAX;
    struct answer_found *found = arena_alloc(arena, (found_count + 1) * sizeof *found);
    struct answer_rule *rules = arena_alloc(arena, (rule_count + 1) * sizeof *rules);
    bool is_kept = found != NULL && rules != NULL;

    *weighed = (struct gate_weighed){.effect = verdict->effect, .rule = verdict->rule, .say = verdict->say,
                                     .undecided = verdict->undecided, .found = found, .rules = rules};
    is_kept = is_kept && gate_keep_text(arena, &weighed->rule) && gate_keep_text(arena, &weighed->say) &&
              gate_keep_text(arena, &weighed->undecided);
    for (uint32_t i = 0; is_kept && i < found_count; i++) {
        found[i] = verdict->found[i];
        is_kept = gate_keep_text(arena, &found[i].name);
        weighed->found_count += is_kept;
    }
    for (uint32_t i = 0; is_kept && i < rule_count; i++) {
        rules[i] = verdict->rules[i];
        is_kept = gate_keep_text(arena, &rules[i].id);
        weighed->rule_count += is_kept;
    }
    return is_kept;
}

bool gate_reserve_said(struct gate *gate)
{
    return audit_reserve_said(gate->ring);
}

/* Notes the rules that the answer met before anything of it goes on, so that later conditions find them. */
static void note(struct gate *gate, const struct call *call, const struct policy *policy,
                 const struct answer_verdict *verdict)
{
    struct verdict_rule rules[VERDICT_RULES_MAX];
    struct policy_met met = {.rules = rules, .count = verdict->rule_count};

    for (uint32_t i = 0; i < verdict->rule_count && i < ANSWER_RULES_MAX; i++)
        rules[i] = (struct verdict_rule){.id = verdict->rules[i].id};
    if (met.count > 0)
        gate__note(gate, call, policy, &met, true);
}

void gate_weigh(struct gate *gate, const struct call *call, bool is_own, const struct gate_came *came, struct arena *arena,
                struct json_edits *edits, struct gate_weighed *weighed)
{
    const struct policy *policy = policy_of(gate, call, is_own);
    const struct policy_answer answer = {.root = came->root, .method = came->method, .of_unknown = came->of_unknown};
    struct question question = call->asked;
    struct gate_moment moment = gate__moment_of(gate, call);
    struct answer_verdict verdict;
    bool is_judged = came->root != NULL || !span_is_empty(came->method);

    question.state = gate_moment_view(&moment);
    if (is_judged) {
        policy_judge_answer(policy, &question, &answer, true, gate->scratch, &verdict);
        note(gate, call, policy, &verdict);
        is_judged = keep(&verdict, arena, weighed);
    }
    if (is_judged && verdict.effect == ANSWER_REDACT)
        is_judged = policy_answer_edits(&verdict, came->body, edits) == CODE_OK;
    if (!is_judged)
        *weighed = (struct gate_weighed){.effect = ANSWER_WITHHOLD};
}

bool gate_passes(struct gate *gate, const struct call *call, const struct gate_came *came, struct gate_passing *passing)
{
    struct span method = came->method;
    struct question question;

    gate__follow(gate);
    if (call->is_join)
        return true;
    if (gate->policy == NULL || method.len > sizeof passing->method)
        return false;
    if (passing->generation == gate->generation && span_equals(span_of(passing->method, passing->method_len), method))
        return passing->passes;
    question = call->asked;
    question.method = method;
    question.answers = question.tool = question.prompt = question.resource = question.shown = question.query = SPAN_NONE;
    question.root = question.meta = question.params = NULL;
    passing->passes = policy_permits_all(gate->policy, &question, gate->scratch) && !gate_weighs(gate, call, false, came);
    passing->generation = gate->generation;
    passing->method_len = (uint8_t)method.len;
    memcpy(passing->method, method.at, method.len);
    return passing->passes;
}
