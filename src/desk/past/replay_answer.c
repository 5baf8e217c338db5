/* SPDX-License-Identifier: Apache-2.0 */
/* What came back, judged again. Only what a route kept of it can be, and only where what was kept is what came: a rule may have
 * cut something out, or let nothing pass. */
#include "past/replay_priv.h"

#include "enforce/remember.h"
#include "judgement/judgement.h"
#include "json/text.h"

enum { A_OUTCOME, A_ANSWER, A_BYTES, A_EFFECT, A_RULE, A_WITHHELD, A_NOTIFICATIONS, A_RULES };

#define TREE_BYTES ((size_t)64 << 20)
#define TEXT_BYTES ((size_t)2 << 20)

enum code rejudge__answers_prepare(struct db *db, struct db_stmt **stmt)
{
    return db_prepare(db, "SELECT outcome, answer, answer_bytes, answer_effect, answer_rule, server_withheld, "
                      "server_notifications, answer_rules FROM outcome WHERE decision = ?1", stmt);
}

static enum answer_effect effect_of(struct span text)
{
    for (int effect = ANSWER_EFFECTS - 1; effect > ANSWER_NONE; effect--)
        if (span_is(text, answer_effect_text((enum answer_effect)effect)))
            return (enum answer_effect)effect;
    return ANSWER_NONE;
}

static bool has_answer(struct span outcome)
{
    return span_is(outcome, "result") || span_is(outcome, "tool_error") || span_is(outcome, "protocol_error");
}

/* Why what is kept is not what came, or WHOLE. */
static enum recorded_lack lack_of(struct db_stmt *row, enum answer_effect was)
{
    if (!has_answer(db_text(row, A_OUTCOME)) || db_is_null(row, A_BYTES) || was == ANSWER_WITHHOLD)
        return RECORDED_NOT_KEPT;
    if (db_is_null(row, A_ANSWER))
        return RECORDED_ERASED;
    if (db_text(row, A_ANSWER).len == 0)
        return RECORDED_NOT_KEPT;
    if (was == ANSWER_REDACT)
        return RECORDED_REDACTED;
    return (int64_t)db_text(row, A_ANSWER).len < db_int(row, A_BYTES) ? RECORDED_CUT : RECORDED_WHOLE;
}

/* Both guesses at what the record lost of the call. Returns: whether they agree. */
static bool judge(struct rejudge *rejudge, struct recorded *recorded, const struct policy_answer *answer,
                  struct answer_verdict *verdict)
{
    enum answer_effect other;

    recorded->hidden.favours_permit = true;
    policy_judge_answer(rejudge->policy, &recorded->question, answer, false, rejudge->scratch, verdict);
    other = verdict->effect;
    if (recorded->question.hidden == NULL || verdict->why == ANSWER_NO_MEMORY)
        return true;
    recorded->hidden.favours_permit = false;
    policy_judge_answer(rejudge->policy, &recorded->question, answer, false, rejudge->scratch, verdict);
    return verdict->effect == other;
}

/* A rule may have met a notification of the server, of which nothing is kept. */
static bool is_of_another(struct db_stmt *row, enum answer_effect was, enum answer_effect is)
{
    return is < was && db_int(row, A_NOTIFICATIONS) + db_int(row, A_WITHHELD) > 0;
}

static enum code judge_kept(struct rejudge *rejudge, struct recorded *recorded, struct db_stmt *row, struct replay_answer *out)
{
    struct policy_answer answer = {.root = NULL};
    struct json_text text;
    enum code code = json_text_read(&text, db_text(row, A_ANSWER), &json_reply_rules, TEXT_BYTES);

    answer.root = text.root;
    if (code == CODE_OK && recorded_has_stand_in(answer.root))
        out->lack = RECORDED_REDACTED;
    else if (code == CODE_OK && judge(rejudge, recorded, &answer, &rejudge->answer) &&
             !is_of_another(row, out->was, rejudge->answer.effect)) {
        out->is = rejudge->answer.effect;
        out->is_rule = rejudge->answer.rule;
        out->fate = span_equals(out->is_rule, out->was_rule) ? REPLAY_SAME : REPLAY_OTHER_RULE;
        if (out->is != out->was)
            out->fate = REPLAY_FLIPS;
    } else if (code != CODE_OK) {
        out->lack = RECORDED_DAMAGED;
    }
    json_text_fini(&text);
    return code == CODE_NOMEM || rejudge->answer.why == ANSWER_NO_MEMORY ? CODE_NOMEM : CODE_OK;
}

/* For calls that ask what was before: the rules that the record says the answer met. */
static void note(struct rejudge *rejudge, const struct recorded *recorded, struct span rules)
{
    struct question question = recorded->question;
    struct verdict_rule named[VERDICT_RULES_MAX];
    struct policy_met met = {.count = 0};
    struct arena arena;
    struct buf text;

    arena_init(&arena, TREE_BYTES);
    buf_init(&text, TEXT_BYTES);
    question.tool = question.resource = question.prompt = SPAN_NONE;
    (void)gate_recorded_met(rules, &arena, &text, named, &met);
    gate_state_note(&rejudge->moment, rejudge->policy, &question, &met);
    buf_fini(&text);
    arena_fini(&arena);
}

enum code rejudge__answer(struct rejudge *rejudge, struct recorded *recorded, enum replay_fate fate, struct db_stmt *row,
                          struct replay_answer *out)
{
    const struct policy_answer any = {.root = NULL};
    enum code code;

    *out = (struct replay_answer){.fate = REPLAY_NO_QUESTION};
    if (recorded->verdict != VERDICT_PERMIT || fate == REPLAY_FLIPS || fate == REPLAY_NO_QUESTION || recorded->from_server)
        return CODE_OK;
    db_bind_int(row, 1, (int64_t)recorded->seq);
    code = db_step(row);
    if (code != CODE_OK)
        return code == CODE_NOT_FOUND ? CODE_OK : code; /* under way then, or in a file behind this one */
    if (rejudge->state != NULL && policy_watches_answers(rejudge->policy) &&
        !(db_is_null(row, A_RULES) && db_is_null(row, A_EFFECT) && !span_is(db_text(row, A_OUTCOME), "unknown")))
        note(rejudge, recorded, db_text(row, A_RULES));
    out->was = effect_of(db_text(row, A_EFFECT));
    out->was_rule = db_text(row, A_RULE);
    rejudge->answer.why = ANSWER_AS_WRITTEN;
    if (!policy_has_answer_rules_for(rejudge->policy, &recorded->question, &any, rejudge->scratch)) {
        out->fate = out->was != ANSWER_NONE ? REPLAY_FLIPS : REPLAY_NO_QUESTION;
        return CODE_OK;
    }
    if (out->was == ANSWER_NONE && !has_answer(db_text(row, A_OUTCOME)))
        return CODE_OK; /* nothing came */
    out->fate = REPLAY_UNKNOWN;
    out->lack = lack_of(row, out->was);
    if (out->lack == RECORDED_WHOLE)
        return judge_kept(rejudge, recorded, row, out);
    if (recorded->policy_version != 0 && recorded->policy_version == policy_version(rejudge->policy)) {
        out->fate = REPLAY_SAME; /* these very rules have seen it */
        out->is = out->was;
        out->is_rule = out->was_rule;
    }
    return CODE_OK;
}
