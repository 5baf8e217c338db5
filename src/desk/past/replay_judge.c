/* SPDX-License-Identifier: Apache-2.0 */
#include "past/replay_priv.h"
#include "judgement/judgement.h"

/* ---- the past, as the record has it ---- */

static enum policy_known ask_room(void *context, const struct question *question, const struct policy_limit *limit,
                                  const struct policy_amount *amount, struct policy_room *room)
{
    struct rejudge *rejudge = context;
    struct policy_state view = gate_moment_view(&rejudge->moment);

    return view.past->has_room(view.context, question, limit, amount, room);
}

static enum policy_known ask_called(void *context, const struct question *question, const struct policy_watch *watch,
                                    enum policy_by by, int64_t within_us)
{
    struct rejudge *rejudge = context;
    struct policy_state view = gate_moment_view(&rejudge->moment);

    return view.past->was_called(view.context, question, watch, by, within_us);
}

static enum policy_known ask_granted(void *context, const struct question *question, struct span rule, struct span rule_hash)
{
    const struct rejudge *rejudge = context;

    (void)question;
    (void)rule_hash;
    return recorded_granted(rejudge->recorded, rule);
}

/* By what people accept today; where nobody knows which definition was meant, or it is not accepted, it is guessed. */
static const struct policy_schema *ask_schema(void *context, const struct question *question, uint32_t at)
{
    const struct rejudge *rejudge = context;
    const struct definition *definition = recorded_definition(rejudge->recorded, rejudge->definitions);

    (void)question;
    return at == 0 && definition != NULL ? definition->schema : NULL;
}

static const struct policy_past past_alone = {.is_granted = ask_granted, .schema_of = ask_schema};
static const struct policy_past past_with_state = {
    .has_room = ask_room, .was_called = ask_called, .is_granted = ask_granted, .schema_of = ask_schema};

enum code rejudge__init(struct rejudge *rejudge, const struct policy *policy, const struct definition_set *definitions)
{
    enum code code = policy_scratch_new(&rejudge->scratch);

    rejudge->policy = policy;
    rejudge->definitions = definitions;
    if (code == CODE_OK && policy_memory_us(policy) > 0)
        code = gate_state_new(GATE_STATE_BYTES, NULL, &rejudge->state);
    rejudge->moment = (struct gate_moment){.state = rejudge->state, .is_recorded = true};
    return code;
}

void rejudge__fini(struct rejudge *rejudge)
{
    gate_state_free(&rejudge->state);
    policy_scratch_free(&rejudge->scratch);
}

/* ---- one call ---- */

static void judge(struct rejudge *rejudge, struct recorded *recorded, bool favours_permit, struct verdict *verdict)
{
    recorded->hidden.favours_permit = favours_permit;
    recorded->question.state = (struct policy_state){
        .past = rejudge->state != NULL ? &past_with_state : &past_alone, .context = rejudge};
    policy_eval(rejudge->policy, &recorded->question, false, rejudge->scratch, verdict);
}

static bool same_rule(const struct recorded *recorded, const struct verdict *verdict)
{
    return (recorded->rule.at == NULL) == (verdict->rule.at == NULL) && span_equals(recorded->rule, verdict->rule) &&
           span_equals(recorded->agent_rule, verdict->agent_rule) && recorded->reason == verdict->reason;
}

static enum replay_fate fate_of(struct rejudge *rejudge, struct recorded *recorded, bool *lossy)
{
    struct verdict *low = &rejudge->low;

    judge(rejudge, recorded, false, low);
    if (low->guessed) {
        judge(rejudge, recorded, true, &rejudge->high);
        if (policy_possible(low, &rejudge->high) != 1U << low->kind)
            return REPLAY_UNKNOWN;
        *lossy = true;
    }
    /* Held as it would be, but that too many calls waited already. */
    if (recorded->reason == REASON_APPROVAL_LIMIT && low->kind == VERDICT_HOLD)
        return REPLAY_SAME;
    if (low->kind != recorded->verdict)
        return REPLAY_FLIPS;
    return same_rule(recorded, low) ? REPLAY_SAME : REPLAY_OTHER_RULE;
}

/* What the call leaves behind. Of one that cannot be judged, what the record says came of it. */
static void act(struct rejudge *rejudge, const struct recorded *recorded, enum replay_fate fate)
{
    const struct verdict *verdict = fate == REPLAY_UNKNOWN ? &rejudge->high : &rejudge->low;
    struct policy_met met;

    if ((fate == REPLAY_UNKNOWN ? recorded->verdict : verdict->kind) != VERDICT_PERMIT)
        return;
    met = gate_met(verdict);
    gate_state_note(&rejudge->moment, rejudge->policy, &recorded->question, &met);
    if (verdict->kind == VERDICT_PERMIT)
        gate_state_count(&rejudge->moment, &recorded->question, verdict->spent);
}

enum code rejudge__row(struct rejudge *rejudge, struct recorded *recorded, enum replay_fate *fate, bool *lossy)
{
    *lossy = false;
    *fate = recorded->kind != RECORDED_JUDGED ? REPLAY_NO_QUESTION : REPLAY_UNKNOWN;
    recorded->unaskable = recorded->answers_unknown || (recorded->query_unknown && policy_asks_query(rejudge->policy));
    if (recorded->kind != RECORDED_JUDGED || recorded->unaskable)
        return CODE_OK;
    rejudge->recorded = recorded;
    if (recorded->question.time_us > rejudge->moment.now_us) /* a clock may have jumped back */
        rejudge->moment.now_us = recorded->question.time_us;
    *fate = fate_of(rejudge, recorded, lossy);
    if (rejudge->low.reason == REASON_MEMORY || (rejudge->low.guessed && rejudge->high.reason == REASON_MEMORY))
        return CODE_NOMEM;
    if (rejudge->state != NULL)
        act(rejudge, recorded, *fate);
    return CODE_OK;
}
