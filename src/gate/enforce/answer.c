/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/answer.h"

#include "enforce/gate_priv.h"
#include "judgement/judgement.h"

#define TREE_BYTES ((size_t)64 << 20) /* of an answer's values; what takes more is withheld */

/* Takes: is_own: what came answers the call, and so is judged by the snapshot that permitted it. */
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

    return policy != NULL && policy_has_answer_rules_for(policy, &call->asked, &answer, gate->scratch);
}

bool gate_keep_text(struct arena *arena, struct span *text)
{
    const char *copy = text->len > 0 ? arena_dup(arena, text->at, text->len) : "";

    *text = copy != NULL ? span_of(copy, text->len) : SPAN_NONE;
    return copy != NULL;
}

/* What the record says lives longer than scratch and snapshot. */
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

/* All of the message but its subject stands as it stood. */
static enum code write_message(const struct answer_verdict *verdict, const struct gate_came *came, struct span document,
                               struct buf *out)
{
    size_t begin = (size_t)(came->subject.at - came->body.at);

    buf_add_span(out, span_part(came->body, 0, begin));
    (void)buf_fail(out, policy_answer_write(verdict, document, out));
    return buf_add_span(out, span_part(came->body, begin + came->subject.len, SIZE_MAX));
}

/* Whoever asks for a rule for answers finds it from before anything of the answer goes on. */
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
                struct buf *out, struct gate_weighed *weighed)
{
    const struct policy *policy = policy_of(gate, call, is_own);
    struct policy_answer answer = {.method = came->method, .of_unknown = came->of_unknown};
    struct question question = call->asked;
    struct gate_moment moment = gate__moment_of(gate, call);
    struct answer_verdict verdict;
    struct json_fault fault;
    struct arena nodes;
    struct buf document;
    enum code code = CODE_OK;

    arena_init(&nodes, TREE_BYTES);
    buf_init(&document, SIZE_MAX / 2);
    question.state = gate_moment_view(&moment);
    if (came->subject.len > 0)
        code = json_read(came->subject, &json_reply_rules, &document, &nodes, &answer.root, &fault);
    if (code == CODE_OK) {
        policy_judge_answer(policy, &question, &answer, true, gate->scratch, &verdict);
        note(gate, call, policy, &verdict);
        code = keep(&verdict, arena, weighed) ? CODE_OK : CODE_NOMEM;
    }
    if (code == CODE_OK && verdict.effect == ANSWER_REDACT)
        code = write_message(&verdict, came, buf_peek(&document), out);
    if (code != CODE_OK)
        *weighed = (struct gate_weighed){.effect = ANSWER_WITHHOLD};
    buf_fini(&document);
    arena_fini(&nodes);
}
