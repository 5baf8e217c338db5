/* SPDX-License-Identifier: Apache-2.0 */
/* 2.10: a policy, a call and what is known of the past, from one input of three parts that lines of `=====` divide: the
 * policy's text; the call as JSON, with the words of a test's `call:` (but `time` in microseconds); the past as JSON:
 * {"spent": [RULE], "granted": [RULE], "refused": [RULE], "called": [BY], "hints": {NAME: true}, "unknown": true}. Whatever they
 * are, the verdict is the same twice, explained as it was judged, consistent in itself and within the budget. */
#include "author/explain.h"
#include "base/bug.h"
#include "base/num.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "policy/policy.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Enforced and monitored rules have a budget each, and what runs when it is spent may still end its step. */
#define WORK_MAX UINT64_C(500000000)
#define PART_LINE "\n=====\n"

static struct verdict first, second;

/* ---- the input ---- */

static struct span cut_part(struct span *rest)
{
    const char *at = rest->len ? memmem(rest->at, rest->len, PART_LINE, strlen(PART_LINE)) : NULL;
    struct span part = *rest;

    if (at == NULL) {
        *rest = SPAN_NONE;
        return part;
    }
    part.len = (size_t)(at - rest->at) + 1;
    *rest = span_part(*rest, part.len - 1 + strlen(PART_LINE), SIZE_MAX);
    return part;
}

static void read_word(const struct json_node *call, const char *word, struct span *text)
{
    const struct json_node *node = json_member(call, span_text(word));

    if (node != NULL && node->type == JSON_STRING)
        *text = node->text;
}

#define HELD_MAX 64
static struct span held[2][HELD_MAX];

static void read_held(const struct json_node *call, const char *word, struct span *names, const struct span **at, uint32_t *count)
{
    const struct json_node *node = json_member(call, span_text(word));

    *at = names;
    for (node = node != NULL ? node->child : NULL; node != NULL && *count < HELD_MAX; node = node->next)
        if (node->type == JSON_STRING)
            names[(*count)++] = node->text;
}

/* As a gate would ask: only tools/call has a tool and only a response answers something. */
static void read_question(const struct json_node *call, struct question *question)
{
    *question = (struct question){.tenant = SPAN_LIT("test"), .principal = SPAN_LIT("test"), .upstream = SPAN_LIT("test"),
                                  .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("t")};
    if (call == NULL || call->type != JSON_OBJECT)
        return;
    read_word(call, "tenant", &question->tenant);
    read_word(call, "principal", &question->principal);
    read_word(call, "upstream", &question->upstream);
    read_word(call, "method", &question->method);
    read_word(call, "tool", &question->tool);
    read_word(call, "client", &question->client);
    read_word(call, "path", &question->path);
    read_word(call, "query", &question->query);
    read_word(call, "session", &question->session);
    read_word(call, "correlation", &question->correlation);
    if (json_member(call, SPAN_LIT("time")) != NULL &&
        num_i64(json_member(call, SPAN_LIT("time"))->raw, &question->time_us) != CODE_OK)
        question->time_us = 0; /* any time will do */
    if (!span_is(question->method, "tools/call"))
        question->tool = SPAN_NONE;
    if (span_is(question->method, "response")) {
        question->answers = SPAN_LIT("ping");
        read_word(call, "answers", &question->answers);
    }
    question->root = json_member(call, SPAN_LIT("arguments"));
    if (question->root == NULL)
        question->root = json_member(call, SPAN_LIT("params"));
    read_held(call, "groups", held[0], &question->groups, &question->group_count);
    read_held(call, "scopes", held[1], &question->scopes, &question->scope_count);
    question->claims = json_member(call, SPAN_LIT("claims"));
    question->meta = json_member(call, SPAN_LIT("meta"));
    question->params = json_member(call, SPAN_LIT("param"));
    if (span_is(question->method, "prompts/get"))
        read_word(call, "prompt", &question->prompt);
    else if (span_starts_with(question->method, SPAN_LIT("resources/")) && question->root != NULL)
        read_word(question->root, "uri", &question->resource);
}

/* ---- the past ---- */

static bool is_in(const struct json_node *past, const char *list, struct span name)
{
    const struct json_node *node = json_member(past, span_text(list));

    for (node = node != NULL ? node->child : NULL; node != NULL; node = node->next)
        if (span_equals(node->text, name))
            return true;
    return false;
}

static enum policy_known known(const struct json_node *past, bool is_so)
{
    return json_member(past, SPAN_LIT("unknown")) != NULL ? POLICY_UNKNOWN : is_so ? POLICY_YES : POLICY_NO;
}

static enum policy_known has_room(void *context, const struct question *question, const struct policy_limit *limit,
                                  const struct policy_amount *amount, struct policy_room *room)
{
    (void)question;
    BUG_ON(amount->number > limit->most || (limit->kind != LIMIT_SUM && amount->number != 1));
    room->wait_us = limit->per_us;
    return known(context, !is_in(context, "spent", limit->rule));
}

static enum policy_known was_called(void *context, const struct question *question, const struct policy_watch *watch,
                                    enum policy_by by, int64_t within_us)
{
    static const char *const words[] = {"tenant", "principal", "upstream", "tool", "session", "client", "correlation"};

    (void)question;
    BUG_ON(watch->key.len == 0 || within_us <= 0 || within_us > watch->longest_us);
    return known(context, is_in(context, "called", span_text(words[by])));
}

static enum policy_known is_granted(void *context, const struct question *question, struct span rule, struct span rule_hash)
{
    (void)question;
    BUG_ON(rule_hash.len == 0);
    if (is_in(context, "granted", rule))
        return POLICY_YES;
    return is_in(context, "refused", rule) ? POLICY_NO : POLICY_UNKNOWN;
}

static enum policy_known hint(void *context, const struct question *question, enum policy_hint which)
{
    static const char *const names[] = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"};
    const struct json_node *hints = json_member(context, SPAN_LIT("hints"));
    const struct json_node *given = hints != NULL ? json_member(hints, span_text(names[which])) : NULL;

    (void)question;
    return given == NULL ? POLICY_UNKNOWN : given->type == JSON_TRUE ? POLICY_YES : POLICY_NO;
}

static const struct policy_past telling = {
    .has_room = has_room, .was_called = was_called, .is_granted = is_granted, .hint = hint};

/* ---- what must hold ---- */

static void check_same(const struct verdict *a, const struct verdict *b)
{
    BUG_ON(a->kind != b->kind || a->reason != b->reason || !span_equals(a->rule, b->rule));
    BUG_ON(a->rule_count != b->rule_count || a->redact_count != b->redact_count || a->redact_all != b->redact_all);
    BUG_ON(!span_equals(a->undecided, b->undecided) || a->has_monitor != b->has_monitor || a->monitor_kind != b->monitor_kind);
    BUG_ON(!span_equals(a->monitor_rule, b->monitor_rule));
    BUG_ON(!span_equals(a->agent_rule, b->agent_rule));
    for (unsigned i = 0; i < HALF_COUNT; i++)
        BUG_ON(a->spent[i].limit != b->spent[i].limit || a->spent[i].beyond != b->spent[i].beyond);
    BUG_ON(a->wait_us != b->wait_us || a->approval_count != b->approval_count);
    for (uint32_t i = 0; i < a->rule_count && i < VERDICT_RULES_MAX; i++)
        BUG_ON(!span_equals(a->rules[i].id, b->rules[i].id) || a->rules[i].effect != b->rules[i].effect);
}

/* Reason, kind and rule belong together. */
static void check_reason(const struct verdict *verdict)
{
    bool has_rule = verdict->rule.at != NULL;
    bool by_rule = verdict->reason == REASON_PERMITTED || verdict->reason == REASON_APPROVAL_REQUIRED ||
                   verdict->reason == REASON_FORBIDDEN || verdict->reason == REASON_APPROVAL_REFUSED;

    BUG_ON((verdict->kind == VERDICT_PERMIT) != (verdict->reason == REASON_PERMITTED));
    BUG_ON((verdict->kind == VERDICT_HOLD) != (verdict->reason == REASON_APPROVAL_REQUIRED));
    BUG_ON(verdict->reason == REASON_UNSET || verdict->reason == REASON_NO_POLICY || verdict->guessed);
    BUG_ON(by_rule != has_rule);
    BUG_ON(verdict->undecided.len > 0 && !has_rule);
    BUG_ON(verdict->reason == REASON_RATE_LIMITED && verdict->wait_us <= 0);
    for (unsigned i = 0; i < HALF_COUNT; i++) {
        BUG_ON(verdict->spent[i].limit != NULL && verdict->kind != VERDICT_PERMIT);
        BUG_ON(verdict->spent[i].beyond && verdict->approval_count == 0);
    }
}

static enum effect effect_of(enum reason reason, enum effect named)
{
    if (reason == REASON_FORBIDDEN)
        return EFFECT_FORBID;
    if (reason == REASON_APPROVAL_REQUIRED || reason == REASON_APPROVAL_REFUSED)
        return EFFECT_REQUIRE_APPROVAL;
    return named != EFFECT_FORBID ? named : EFFECT_PERMIT;
}

/* The applying rules come by effect and then id; the one that decides is one of them and has the effect that its reason says;
 * no enforced forbid is overlooked, nor a require_approval that nobody granted. */
static void check_rules(const struct verdict *verdict)
{
    bool forbids = false, holds = false, found = false, limited = false;

    if (verdict->reason == REASON_TOO_COSTLY || verdict->reason == REASON_MEMORY || verdict->rule_count > VERDICT_RULES_MAX)
        return;
    for (uint32_t i = 0; i < verdict->rule_count; i++) {
        const struct verdict_rule *rule = &verdict->rules[i];
        /* Over a limit a permit may hold, once nothing else decides. */
        bool is_over = rule->limited && rule->asks && !rule->monitor && span_equals(rule->id, verdict->rule);
        bool counts = !rule->monitor && (!rule->limited || is_over);

        BUG_ON(rule->asks && rule->effect != EFFECT_PERMIT);
        BUG_ON(rule->monitor && !rule->limited && !verdict->has_monitor);
        BUG_ON(rule->limited && rule->effect != EFFECT_PERMIT);
        BUG_ON(i > 0 && (rule[-1].effect > rule->effect ||
                         (rule[-1].effect == rule->effect && span_compare(rule[-1].id, rule->id) >= 0)));
        forbids |= counts && rule->effect == EFFECT_FORBID;
        holds |= counts && (rule->effect == EFFECT_REQUIRE_APPROVAL || is_over);
        limited |= rule->limited && !rule->monitor;
        if (counts && span_equals(rule->id, verdict->rule)) {
            found = true;
            BUG_ON(!is_over && rule->effect != effect_of(verdict->reason, rule->effect));
        }
    }
    BUG_ON(found != (verdict->rule.at != NULL));
    BUG_ON(forbids != (verdict->reason == REASON_FORBIDDEN));
    BUG_ON(!holds && (verdict->kind == VERDICT_HOLD || verdict->reason == REASON_APPROVAL_REFUSED));
    BUG_ON(!found && limited != (verdict->reason == REASON_RATE_LIMITED));
}

/* A permit spends what was granted, and nothing else goes with it. */
static void check_approvals(const struct verdict *verdict)
{
    bool all = true;

    BUG_ON(verdict->approval_count > VERDICT_APPROVALS_MAX);
    for (uint32_t i = 0; i < verdict->approval_count; i++)
        all &= verdict->approvals[i].is_granted;
    BUG_ON(verdict->kind == VERDICT_PERMIT && !all);
    BUG_ON(verdict->kind == VERDICT_HOLD && all && verdict->approval_count < VERDICT_APPROVALS_MAX);
}

static void check_verdict(const struct verdict *verdict)
{
    check_reason(verdict);
    check_rules(verdict);
    check_approvals(verdict);
    BUG_ON(verdict->work > WORK_MAX);
    for (uint32_t i = 1; i < verdict->redact_count; i++)
        BUG_ON(verdict->redact[i - 1]->raw.at + verdict->redact[i - 1]->raw.len > verdict->redact[i]->raw.at);
}

static void ignore_result(void *context, const struct policy_test_result *result)
{
    (void)context;
    BUG_ON(result->expected.len == 0 || result->got.len == 0);
}

/* 5.6 */
static void check_lists(const struct policy *policy, struct question question, struct policy_scratch *scratch)
{
    struct span uri = question.resource.len > 0 ? question.resource : SPAN_LIT("");
    char text[512];

    BUG_ON(!policy_could_permit(policy, &question, scratch));
    question.any_resource = true;
    for (size_t at = 0; uri.len < 500 && at <= uri.len; at++) {
        snprintf(text, sizeof text, "%.*s{x}%.*s", (int)at, uri.at, (int)(at % 3 ? 0 : uri.len - at), uri.at + at);
        question.resource = span_text(text);
        BUG_ON(uri.len > 0 && !policy_could_permit(policy, &question, scratch));
    }
}

static void judge(const struct policy *policy, const struct question *question)
{
    struct policy_scratch *scratch = NULL;
    struct buf words;
    size_t passed, failed;

    buf_init(&words, 16 << 20);
    if (policy_scratch_new(&scratch) == CODE_OK) {
        policy_eval(policy, question, false, scratch, &first);
        check_verdict(&first);
        policy_eval(policy, question, false, scratch, &second); /* now from what is remembered */
        check_same(&first, &second);
        if (explain_verdict(policy, question, scratch, &second, &(struct explain_to){.words = &words}) == CODE_OK)
            check_same(&first, &second);
        /* What is permitted, or could be by a person, is shown in lists. */
        if (first.kind != VERDICT_DENY)
            check_lists(policy, *question, scratch);
        BUG_ON(policy_test(policy, scratch, ignore_result, NULL, &passed, &failed) == CODE_INVALID);
    }
    policy_scratch_free(&scratch);
    buf_fini(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static struct faults faults;
    struct span rest = span_of(bytes, len), text = cut_part(&rest), call_text = cut_part(&rest);
    struct policy_file file = {SPAN_LIT("fuzz.yaml"), text};
    const struct json_node *call = NULL, *past = NULL;
    struct json_fault fault;
    struct question question;
    struct policy *policy;
    struct arena arena;
    struct buf out, out_past;

    if (len > 65536)
        return 0;
    faults_init(&faults);
    if (policy_compile(&file, 1, 1, &policy, &faults, NULL) != CODE_OK)
        return 0;
    arena_init(&arena, 64 << 20);
    buf_init(&out, 1 << 20);
    buf_init(&out_past, 1 << 20);
    if (json_read(call_text, &json_request_rules, &out, &arena, &call, &fault) != CODE_OK)
        call = NULL;
    if (json_read(rest, &json_request_rules, &out_past, &arena, &past, &fault) != CODE_OK || past->type != JSON_OBJECT)
        past = NULL;
    read_question(call, &question);
    if (past != NULL)
        question.state = (struct policy_state){&telling, (void *)(uintptr_t)past};
    judge(policy, &question);
    buf_fini(&out);
    buf_fini(&out_past);
    arena_fini(&arena);
    policy_unref(&policy);
    return 0;
}
