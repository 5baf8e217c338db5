/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/case.h"
#include "judgement/judgement.h"
#include "policy/schema.h"
#include "policy/snapshot.h"
#include "policy/walk.h"

#include "base/glob.h"
#include "json/text.h"

static void say_rule(struct buf *out, bool has_rule, struct span rule)
{
    if (has_rule && rule.at != NULL)
        buf_addf(out, " by %.*s", SPAN_ARG(rule));
    else if (has_rule)
        buf_add_text(out, " by no rule");
}

static enum code say(struct buf *out, enum verdict_kind kind, bool has_rule, struct span rule, bool has_reason,
                     enum reason reason)
{
    buf_add_text(out, verdict_text(kind));
    say_rule(out, has_rule, rule);
    if (has_reason)
        buf_addf(out, " (%s)", reason_name(reason));
    return buf_code(out);
}

static bool is_expected_rule(const struct policy_case *kase, struct span rule)
{
    return !kase->has_rule || ((kase->rule.at == NULL) == (rule.at == NULL) && span_equals(kase->rule, rule));
}

static bool is_as_expected(const struct policy_case *kase, const struct verdict *verdict)
{
    return kase->verdict == verdict->kind && is_expected_rule(kase, verdict->rule) &&
           (!kase->has_reason || kase->reason == verdict->reason);
}

/* In a test a person has approved the rules that the test lists, for just this call. */
static enum policy_known is_granted(void *context, const struct question *question, struct span rule, struct span rule_hash)
{
    const struct policy_case *kase = context;

    (void)question;
    (void)rule_hash;
    for (uint32_t i = 0; i < kase->approved_count; i++)
        if (span_equals(kase->approved[i].rule, rule))
            return POLICY_YES;
    return POLICY_UNKNOWN;
}

/* A session is one of a principal and an agent on a route; a test is about one tenant. */
static bool is_same(const struct question *a, const struct question *b, enum policy_by by)
{
    bool is_of_other = by == POLICY_BY_SESSION &&
                       !(span_equals(a->principal, b->principal) && span_equals(a->agent, b->agent) &&
                         span_equals(a->upstream, b->upstream));

    return !is_of_other && span_equals(question_value(a, by), question_value(b, by));
}

static enum policy_known was_called(void *context, const struct question *question, const struct policy_watch *watch,
                                    enum policy_by by, int64_t within_us)
{
    const struct policy_case *kase = context;
    enum policy_known known = POLICY_NO;

    for (uint32_t i = 0; i < kase->earlier_count && known != POLICY_YES; i++) {
        const struct case_earlier *earlier = &kase->earlier[i];
        const struct policy_met met = {.rules = &earlier->met, .count = earlier->met.id.at != NULL};
        enum policy_known one = POLICY_NO;

        if (earlier->ago_us <= within_us && is_same(&earlier->question, question, by))
            one = policy_is_watched(policy_watch_of(watch), &earlier->question, &met);
        known = one != POLICY_NO ? one : known;
    }
    return known;
}

/* How many of the values are no repetition, and whether the call's is one of them. */
static uint64_t count_values(const struct case_amount *spent, const struct policy_value *own, bool *has_own)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < spent->value_count; i++) {
        uint32_t first = 0;

        while (!policy_value_equals(&spent->values[first], &spent->values[i]))
            first++;
        count += first == i;
        *has_own |= policy_value_equals(&spent->values[i], own);
    }
    return count;
}

static enum policy_known has_room(void *context, const struct question *question, const struct policy_limit *limit,
                                  const struct policy_amount *amount, struct policy_room *room)
{
    const struct policy_case *kase = context;

    (void)question;
    room->wait_us = limit->per_us;
    for (uint32_t i = 0; i < kase->spent_count; i++) {
        const struct case_amount *spent = case_spent(&kase->spent[i], limit);

        if (!span_equals(kase->spent[i].rule, limit->rule))
            continue;
        room->has_value = amount->is_lost && spent->value_count > 0;
        room->taken = spent->values != NULL ? count_values(spent, &amount->value, &room->has_value)
                                            : spent->number / (limit->kind == LIMIT_SUM ? 1 : 1000000);
        if (room->taken - room->has_value + amount->number > limit->most)
            return POLICY_NO;
    }
    return POLICY_YES;
}

static enum policy_known hint(void *context, const struct question *question, enum policy_hint which)
{
    const struct policy_case *kase = context;

    (void)question;
    return kase->hints[which];
}

static const struct policy_schema *schema_of(void *context, const struct question *question, uint32_t at)
{
    const struct policy_case *kase = context;

    (void)question;
    return at == 0 ? kase->schema : NULL;
}

static const struct policy_past past = {
    .has_room = has_room, .was_called = was_called, .is_granted = is_granted, .hint = hint, .schema_of = schema_of};

struct question case_question(const struct policy_case *kase)
{
    struct question question = kase->question;

    question.state = (struct policy_state){.past = &past, .context = (void *)(uintptr_t)kase};
    return question;
}

enum code policy_case_question(const struct policy *policy, struct span name, struct question *question)
{
    const struct policy_case *found = NULL;

    for (uint32_t i = 0; i < policy->case_count; i++) {
        if (name.at != NULL && !span_equals(policy->cases[i].name, name))
            continue;
        if (found != NULL)
            return CODE_EXISTS;
        found = &policy->cases[i];
    }
    if (found == NULL)
        return CODE_NOT_FOUND;
    *question = case_question(found);
    return CODE_OK;
}

void policy_call_accept(struct policy *holder, const struct policy_schema *schema)
{
    struct policy_case *kase = &holder->cases[0];

    if (kase->schema == NULL && schema != NULL)
        kase->schema = policy_schema_ref((struct policy_schema *)(uintptr_t)schema);
}

void policy_judge_case(const struct policy *policy, const struct policy_case *kase, struct policy_scratch *scratch,
                        struct trace *trace, struct verdict *verdict)
{
    struct question question = case_question(kase);
    struct regex_budget budget;

    regex_budget_init(&budget);
    policy_judge(policy, &question, &budget, scratch, trace, verdict);
}

void policy_judge_case_answer(const struct policy *policy, const struct policy_case *kase, struct policy_scratch *scratch,
                              struct trace *trace, struct answer_verdict *verdict)
{
    struct question question = case_question(kase);

    policy_walk_answer(policy, &question, &kase->answer, false, scratch, trace, verdict);
}

static void say_answer(struct buf *out, enum answer_effect effect, bool has_rule, struct span rule)
{
    buf_add_text(out, effect == ANSWER_NONE ? "pass" : answer_effect_text(effect));
    say_rule(out, has_rule, rule);
}

/* Appends what is left of the answer. Sets *equal: it is what the test expects. */
static enum code compare_left(const struct policy_case *kase, const struct answer_verdict *verdict, struct buf *left,
                              bool *equal)
{
    struct json_text again = {.root = NULL};
    enum code code = policy_answer_write(verdict, kase->answer.root->raw, left);

    if (code == CODE_OK)
        code = json_text_read(&again, buf_peek(left), &json_reply_rules, SIZE_MAX / 2);
    *equal = code == CODE_OK && json_equal(again.root, kase->left);
    json_text_fini(&again);
    return code;
}

static enum code tell_answer(const struct policy_case *kase, const struct answer_verdict *verdict, struct buf *words,
                             struct policy_test_result *result)
{
    bool with_left = kase->left != NULL && verdict->effect != ANSWER_WITHHOLD, equal = true;
    size_t middle;
    struct buf left;
    enum code code;

    *result = (struct policy_test_result){.file = kase->source->path, .name = kase->name, .line = kase->line,
                                          .rule = verdict->rule};
    result->passed = kase->effect == verdict->effect && is_expected_rule(kase, verdict->rule);
    buf_init(&left, SIZE_MAX / 2);
    code = with_left ? compare_left(kase, verdict, &left, &equal) : CODE_OK;
    result->passed &= equal;
    buf_clear(words);
    say_answer(words, kase->effect, kase->has_rule, kase->rule);
    if (!equal)
        buf_addf(words, ", left: %.*s", SPAN_ARG(kase->left->raw));
    middle = buf_len(words);
    say_answer(words, verdict->effect, true, verdict->rule);
    if (verdict->why != ANSWER_AS_WRITTEN)
        buf_addf(words, " (%s)", answer_why_text(verdict->why));
    if (!equal && code == CODE_OK)
        buf_addf(words, ", left: %.*s", SPAN_ARG(buf_peek(&left)));
    buf_fini(&left);
    if (code == CODE_OK)
        code = buf_code(words);
    if (code != CODE_OK)
        return code;
    result->expected = span_part(buf_peek(words), 0, middle);
    result->got = span_part(buf_peek(words), middle, SIZE_MAX);
    return CODE_OK;
}

static enum code tell_case(const struct policy_case *kase, const struct verdict *verdict, struct buf *words,
                           struct policy_test_result *result)
{
    size_t middle;
    enum code code;

    *result = (struct policy_test_result){.file = kase->source->path, .name = kase->name, .line = kase->line};
    result->passed = is_as_expected(kase, verdict);
    result->rule = verdict->rule;
    buf_clear(words);
    code = say(words, kase->verdict, kase->has_rule, kase->rule, kase->has_reason, kase->reason);
    middle = buf_len(words);
    if (code == CODE_OK)
        code = say(words, verdict->kind, true, verdict->rule, true, verdict->reason);
    if (code != CODE_OK)
        return code;
    result->expected = span_part(buf_peek(words), 0, middle);
    result->got = span_part(buf_peek(words), middle, SIZE_MAX);
    return CODE_OK;
}

static enum code test_one(const struct policy *policy, const struct policy_case *kase, struct trace *trace,
                          struct policy_scratch *scratch, struct verdict *verdict, struct buf *words,
                          struct policy_test_result *result)
{
    struct answer_verdict answer;

    if (kase->has_answer) {
        policy_judge_case_answer(policy, kase, scratch, trace, &answer);
        return answer.why == ANSWER_NO_MEMORY ? CODE_NOMEM : tell_answer(kase, &answer, words, result);
    }
    policy_judge_case(policy, kase, scratch, trace, verdict);
    return verdict->reason == REASON_MEMORY ? CODE_NOMEM : tell_case(kase, verdict, words, result);
}

enum code policy_test_some(const struct policy *policy, const char *filter, struct trace *trace,
                           struct policy_scratch *scratch, policy_test_fn report, void *context, size_t *passed,
                           size_t *failed)
{
    struct verdict *verdict = mem_zalloc(sizeof *verdict);
    enum code code = verdict ? CODE_OK : CODE_NOMEM;
    struct buf words;

    buf_init(&words, (size_t)32 << 20);
    *passed = *failed = 0;
    for (uint32_t i = 0; i < policy->case_count && code == CODE_OK; i++) {
        struct policy_test_result result;

        if (filter != NULL && !glob_matches(span_text(filter), policy->cases[i].name))
            continue;
        code = test_one(policy, &policy->cases[i], trace, scratch, verdict, &words, &result);
        if (code != CODE_OK)
            break;
        *passed += result.passed;
        *failed += !result.passed;
        report(context, &result);
    }
    buf_fini(&words);
    mem_free(verdict);
    return code;
}

enum code policy_test(const struct policy *policy, struct policy_scratch *scratch, policy_test_fn report, void *context,
                      size_t *passed, size_t *failed)
{
    return policy_test_some(policy, NULL, NULL, scratch, report, context, passed, failed);
}
