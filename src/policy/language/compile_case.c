/* SPDX-License-Identifier: Apache-2.0 */
#include "language/compile_priv.h"
#include "language/keys.h"
#include "texts/date.h"
#include "policy/schema.h"
#include "schema/schema_compile.h"

#include "base/num.h"

/* ---- the call ---- */

static struct span text_or(struct compiler *c, const struct yaml_node *call, const char *key, struct span usual)
{
    const struct yaml_node *node = yaml_member(call, key);

    return compiler_is_string(c, node) ? compiler_copy(c, node->text) : usual;
}

static const struct json_node *map_value(struct compiler *c, const struct yaml_node *map)
{
    return compiler_is_map(c, map) ? compiler_value(c, map) : NULL;
}

/* `$` is params.arguments for two methods and params for the others (Meaning 10); the test writes the same word. */
static void compile_root(struct compiler *c, const struct yaml_node *call, struct question *question)
{
    bool by_arguments = question_has_arguments(question);
    const struct yaml_node *root = yaml_member(call, by_arguments ? "arguments" : "params");
    const struct yaml_node *other = yaml_member(call, by_arguments ? "params" : "arguments");
    const struct yaml_node *param = yaml_member(call, "param");

    if (other != NULL)
        FAULT_KEY(c, other, "for `%.*s` paths begin at `%s`; write that", SPAN_ARG(question->method),
                  by_arguments ? "arguments" : "params");
    question->meta = map_value(c, yaml_member(call, "meta"));
    if (param != NULL && !by_arguments)
        FAULT_KEY(c, param, "`param` goes with the methods tools/call and prompts/get; write it among `params`");
    question->params = map_value(c, param);
    question->root = map_value(c, root);
}

static void compile_time(struct compiler *c, const struct yaml_node *time, struct question *question)
{
    if (time != NULL && (time->type != YAML_STRING || !date_time_read(time->text, &question->time_us)))
        FAULT(c, time, "`time` is a point of time; write one such as 2026-07-06T09:30:00Z");
}

/* Reads what the message is about from the places where the gate reads it. */
static void compile_target(struct compiler *c, const struct yaml_node *call, struct question *question)
{
    const struct json_node *uri = NULL;

    question->tool = text_or(c, call, "tool", SPAN_NONE);
    question->prompt = text_or(c, call, "prompt", SPAN_NONE);
    if (span_is(question->method, "tools/list")) {
        question->shown = question->tool; /* its description, a list of one */
        question->tool = SPAN_NONE;
    }
    if (span_is(question->method, "tools/call") != (question->tool.len > 0))
        FAULT(c, call, "a `tool` goes with the methods tools/call and, where one is described, tools/list; add or remove one");
    if (question->prompt.len > 0 && !span_is(question->method, "prompts/get"))
        FAULT(c, call, "a `prompt` goes with the method prompts/get; add the one or remove the other");
    if (question_has_uri(question->method))
        uri = json_member(question->root, SPAN_LIT("uri"));
    if (uri != NULL && uri->type == JSON_STRING)
        question->resource = uri->text;
    if (yaml_member(call, "resource") != NULL &&
        (question_has_uri(question->method) || question->tool.len + question->prompt.len > 0))
        FAULT(c, yaml_member(call, "resource"), "which resource it is stands in the message; write `method: resources/read, "
              "params: {uri: 'file:///...'}`");
    else if (yaml_member(call, "resource") != NULL) /* of a method that a route declares, wherever that has its URI */
        question->resource = text_or(c, call, "resource", SPAN_NONE);
}

static void take_name(struct compiler *c, const struct yaml_node *text, void *part)
{
    *(struct span *)part = compiler_copy(c, text->text);
}

/* Reads what an access token says of who asks. */
static void compile_who(struct compiler *c, const struct yaml_node *call, struct question *question)
{
    const struct yaml_node *groups = yaml_member(call, "groups"), *scopes = yaml_member(call, "scopes");

    if (groups != NULL)
        question->groups = compiler_texts(c, groups, sizeof *question->groups, take_name, &question->group_count);
    if (scopes != NULL)
        question->scopes = compiler_texts(c, scopes, sizeof *question->scopes, take_name, &question->scope_count);
    question->claims = map_value(c, yaml_member(call, "claims"));
}

/* Reads which step of a plan the call is. Without `plan` it is no step. */
static void compile_planned(struct compiler *c, const struct yaml_node *step, struct question *question)
{
    uint64_t number = 0;

    if (step == NULL)
        return;
    if (step->type != YAML_INT || num_u64(step->json, &number) != CODE_OK || number < 1 || number > 256)
        FAULT(c, step, "`plan` says which step of a plan the call is; write a number from 1 to 256, as in plan: 1");
    question->plan.step = (uint32_t)number;
}

const char *const policy_call_keys[] = {"tenant", "principal", "agent", "agent_judged", "upstream", "method", "answers", "tool",
                                        "prompt", "resource", "path", "query", "arguments", "params", "approved", "meta",
                                        "param", "time", "client", "session", "correlation", "after", "spent",
                                        "annotations", "plan", "groups", "scopes", "claims", "schema", NULL};

static void compile_call(struct compiler *c, const struct yaml_node *call, struct question *question)
{
    const struct {
        const char *key, *usual;
        struct span *text;
    } texts[] = {
        {"tenant", policy_unsaid_name, &question->tenant},
        {"principal", policy_unsaid_name, &question->principal},
        {"agent", "", &question->agent},
        {"upstream", policy_unsaid_name, &question->upstream},
        {"method", policy_unsaid_method, &question->method},
        {"session", "test", &question->session}, {"correlation", "test", &question->correlation},
        {"answers", "", &question->answers}, {"path", "", &question->path}, {"query", "", &question->query},
        {"client", "", &question->client},
    };
    const struct yaml_node *judged = yaml_member(call, "agent_judged");

    (void)compiler_is_map_of(c, call, policy_call_keys, "`call`");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i].text = text_or(c, call, texts[i].key, span_text(texts[i].usual));
    if (span_is(question->method, "response") != (question->answers.len > 0))
        FAULT(c, call, "`answers` goes with the method response and only with it; add or remove one of them");
    if (judged != NULL && judged->type != YAML_BOOL)
        FAULT(c, judged, "`agent_judged` is true where the call comes at a route with `agent: judged`; write true, or leave "
              "the line out");
    question->is_agent_judged = judged != NULL && judged->truth;
    compile_time(c, yaml_member(call, "time"), question);
    compile_who(c, call, question);
    compile_planned(c, yaml_member(call, "plan"), question);
    compile_root(c, call, question);
    compile_target(c, call, question);
}

/* ---- the past: earlier calls, limits that are spent, approvals ---- */

/* An earlier call is a tool's name, or a map that says what else is not as in this call, or which rule it met. */
static void compile_earlier(struct compiler *c, const struct yaml_node *node, const struct question *now,
                            struct case_earlier *earlier)
{
    static const char *const known[] = {"tool", "resource", "prompt", "met", "upstream", "principal", "agent", "session",
                                        "correlation", "ago", NULL};
    struct question *question = &earlier->question;
    const struct {
        const char *key;
        struct span usual, *text;
    } texts[] = {
        {"tool", SPAN_NONE, &question->tool}, {"resource", SPAN_NONE, &question->resource},
        {"prompt", SPAN_NONE, &question->prompt}, {"upstream", now->upstream, &question->upstream},
        {"principal", now->principal, &question->principal}, {"agent", now->agent, &question->agent},
        {"session", now->session, &question->session},
        {"correlation", now->correlation, &question->correlation},
    };
    const struct yaml_node *ago = yaml_member(node, "ago");
    uint64_t ms = 0;

    *question = *now;
    question->method = SPAN_LIT("tools/call");
    question->resource = question->prompt = SPAN_NONE;
    if (node->type == YAML_STRING) {
        question->tool = compiler_copy(c, node->text);
        return;
    }
    if (!compiler_is_map_of(c, node, known, "a call of `after`"))
        return;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        *texts[i].text = text_or(c, node, texts[i].key, texts[i].usual);
    earlier->met.id = text_or(c, node, "met", SPAN_NONE);
    question->method = question->resource.len > 0 ? SPAN_LIT("resources/read")
                       : question->prompt.len > 0 ? SPAN_LIT("prompts/get")
                                                  : question->method;
    if ((question->tool.len > 0) + (question->resource.len > 0) + (question->prompt.len > 0) > 1)
        FAULT(c, node, "no message is about a tool, a resource and a prompt at once; write two calls");
    if (question->tool.len + question->resource.len + question->prompt.len == 0 && earlier->met.id.at == NULL)
        FAULT(c, node, "a call of `after` names its `tool`, `resource` or `prompt`, or a rule that it `met`; write a name, "
              "{tool: NAME, ago: 5min} or {met: RULE}");
    if (earlier->met.id.at != NULL)
        compile__name_rule(c, yaml_member(node, "met"), earlier->met.id);
    if (ago != NULL && (ago->type != YAML_STRING || num_duration(ago->text, &ms) != CODE_OK || ms > INT32_MAX))
        FAULT(c, ago, "`ago` is a time; write one such as 30s or 10min");
    earlier->ago_us = (int64_t)(ms > INT32_MAX ? 0 : ms * 1000);
}

static void compile_after(struct compiler *c, const struct yaml_node *list, struct policy_case *kase)
{
    struct case_earlier *earlier = compiler_is_list(c, list) ? compiler_alloc(c, list->count, sizeof *earlier) : NULL;

    kase->earlier = earlier;
    for (const struct yaml_node *member = earlier ? list->child : NULL; member != NULL; member = member->next)
        compile_earlier(c, member, &kase->question, &earlier[kase->earlier_count++]);
}

/* A list of values, as limits of different ones count them. */
static void compile_values(struct compiler *c, const struct yaml_node *list, struct case_amount *amount)
{
    struct policy_value *values = list->count <= POLICY_VALUES_MAX ? compiler_alloc(c, list->count + 1, sizeof *values) : NULL;

    if (values == NULL)
        return;
    for (const struct yaml_node *one = list->child; one != NULL; one = one->next) {
        const struct json_node *value = compiler_value(c, one);

        if (value == NULL || !policy_is_value(value))
            return;
        c->no_memory |= policy_value_of(value, &values[amount->value_count++]) != CODE_OK;
    }
    amount->values = values;
}

static void compile_amount(struct compiler *c, const struct yaml_node *node, struct case_amount *amount)
{
    amount->is_number = compile__millionths(node, &amount->number);
    if (node->type == YAML_LIST)
        compile_values(c, node, amount);
}

/* A number, or a list: of an amount for each of the rule's limits, or of the values of one. Which is meant is known once the
 * rule is. */
static void compile_amounts(struct compiler *c, const struct yaml_node *node, struct case_rule *spent)
{
    if (node->type == YAML_LIST)
        compile_values(c, node, &spent->listed);
    YAML_EACH(one, node)
        if (spent->spent_count++ < POLICY_LIMITS_MAX)
            compile_amount(c, one, &spent->spent[spent->spent_count - 1]);
}

static void compile_spent(struct compiler *c, const struct yaml_node *map, struct policy_case *kase)
{
    struct case_rule *spent = compiler_is_map(c, map) ? compiler_alloc(c, map->count, sizeof *spent) : NULL;

    kase->spent = spent;
    for (const struct yaml_node *member = spent ? map->child : NULL; member != NULL; member = member->next) {
        struct case_rule *one = &spent[kase->spent_count++];

        *one = (struct case_rule){.rule = compiler_copy(c, member->key),
                                    .line = member->key_line, .column = member->key_column};
        compile_amounts(c, member, one);
    }
}

static void compile_approved(struct compiler *c, const struct yaml_node *list, struct policy_case *kase)
{
    struct case_rule *approved = compiler_is_list(c, list) ? compiler_alloc(c, list->count, sizeof *approved) : NULL;

    kase->approved = approved;
    for (const struct yaml_node *member = approved ? list->child : NULL; member != NULL; member = member->next)
        if (compiler_is_string(c, member))
            approved[kase->approved_count++] =
                (struct case_rule){.rule = compiler_copy(c, member->text), .line = member->line, .column = member->column};
}

#define FAULT_OF(c, kase, named, ...) \
    faults_add((c)->faults, (kase)->source->path_text, (named)->line, (named)->column, __VA_ARGS__)

static void check_approved(struct compiler *c, const struct policy_case *kase, const struct case_rule *approved)
{
    const struct rule *rule = policy_rule_by_id(c->policy, approved->rule);

    if (rule == NULL)
        FAULT_OF(c, kase, approved, "there is no rule `%.*s` to approve; name the id of a require_approval",
                 SPAN_ARG(approved->rule));
    else if (rule->effect != EFFECT_REQUIRE_APPROVAL && !rule->asks)
        FAULT_OF(c, kase, approved, "`%.*s` is a %s, which nobody approves; name the id of a require_approval, or of a permit "
                 "with a limit that has `over: require_approval`",
                 SPAN_ARG(approved->rule), effect_text(rule->effect));
}

static void check_amount(struct compiler *c, const struct policy_case *kase, const struct case_rule *spent,
                         const struct policy_limit *limit)
{
    const struct case_amount *amount = case_spent(spent, limit);

    if (limit->kind == LIMIT_DISTINCT && !amount->is_number && amount->values == NULL)
        FAULT_OF(c, kase, spent, "`spent` says which values count under the limit of `%.*s`, or how many others; write a list "
                 "such as {RULE: [p-1, p-2]}, or {RULE: 2}", SPAN_ARG(spent->rule));
    else if (limit->kind != LIMIT_DISTINCT && !amount->is_number)
        FAULT_OF(c, kase, spent, "`spent` says how many calls, or how much, counts under a rule's limit; write {RULE: 100}, or "
                 "a number for each of its limits, as in {RULE: [100, 499.5]}");
}

static void check_spent(struct compiler *c, const struct policy_case *kase, const struct case_rule *spent)
{
    const struct rule *rule = policy_rule_by_id(c->policy, spent->rule);
    uint32_t count = 0;

    if (rule == NULL)
        FAULT_OF(c, kase, spent, "there is no rule `%.*s` with a limit to be spent; name the id of a permit",
                 SPAN_ARG(spent->rule));
    else if (rule->limit == NULL)
        FAULT_OF(c, kase, spent, "`%.*s` has no limit that could be spent; name a permit with a `limit`",
                 SPAN_ARG(spent->rule));
    for (const struct policy_limit *limit = rule != NULL ? rule->limit : NULL; limit != NULL; limit = limit->next)
        count++;
    if (count == 0)
        return;
    if (case_spent(spent, rule->limit) != &spent->listed && count != spent->spent_count)
        FAULT_OF(c, kase, spent, "`spent` has a number for each limit of `%.*s`, in their order, and values for one that is "
                 "`distinct`; write a list of as many", SPAN_ARG(spent->rule));
    else
        for (const struct policy_limit *limit = rule->limit; limit != NULL; limit = limit->next)
            check_amount(c, kase, spent, limit);
}

void compile__check_cases(struct compiler *c)
{
    for (uint32_t i = 0; i < c->policy->case_count; i++)
        for (uint32_t j = 0; j < c->policy->cases[i].approved_count; j++)
            check_approved(c, &c->policy->cases[i], &c->policy->cases[i].approved[j]);
    for (uint32_t i = 0; i < c->policy->case_count; i++)
        for (uint32_t j = 0; j < c->policy->cases[i].spent_count; j++)
            check_spent(c, &c->policy->cases[i], &c->policy->cases[i].spent[j]);
}

/* ---- the test ---- */

static void compile_reason(struct compiler *c, const struct yaml_node *node, struct policy_case *kase)
{
    if (node == NULL || !compiler_is_string(c, node))
        return;
    kase->has_reason = true;
    for (int i = 0; i < REASON_COUNT; i++)
        if (span_is(node->text, reason_name((enum reason)i))) {
            kase->reason = (enum reason)i;
            return;
        }
    FAULT(c, node, "`%.*s` is no reason; write permitted, forbidden, approval_required, no_rule, rate_limited or "
          "method_unknown",
          SPAN_ARG(node->text));
}

const char *const policy_expect_answer_keys[] = {"answer", "rule", "left", NULL};

/* What is expected: `expect: redact`, or a map. */
static void compile_expect_answer(struct compiler *c, const struct yaml_node *expect, struct policy_case *kase)
{
    static const char *const words[] = {"pass", "flag", "redact", "withhold", NULL};
    const struct yaml_node *effect = expect != NULL && expect->type == YAML_MAP ? yaml_member(expect, "answer") : expect;
    const struct yaml_node *rule = yaml_member(expect, "rule"), *left = yaml_member(expect, "left");
    int word;

    if (expect == NULL || (expect->type == YAML_MAP &&
                           !compiler_is_map_of(c, expect, policy_expect_answer_keys, "`expect` of an answer")))
        return;
    if (effect == NULL)
        FAULT(c, expect, "`expect` does not say what becomes of the answer; write {answer: pass}, flag, redact or withhold");
    word = effect != NULL ? compiler_word(c, effect, words) : -1;
    kase->effect = word >= 0 ? (enum answer_effect)(ANSWER_NONE + word) : ANSWER_NONE;
    kase->has_rule = rule != NULL;
    if (rule != NULL && rule->type != YAML_NULL && compiler_is_string(c, rule))
        kase->rule = compiler_copy(c, rule->text);
    if (left != NULL && kase->effect == ANSWER_WITHHOLD)
        FAULT_KEY(c, left, "nothing is left of an answer that is withheld; leave `left` out");
    kase->left = left != NULL ? compiler_value(c, left) : NULL;
}

/* `answer:` is what rules for answers call `$`: a result, or the params of a message from the server. */
static void compile_answer(struct compiler *c, const struct yaml_node *node, const struct yaml_node *test,
                           struct policy_case *kase)
{
    kase->has_answer = true;
    kase->answer.root = compiler_value(c, node);
    kase->answer.method = text_or(c, test, "message", SPAN_NONE);
    compile_expect_answer(c, yaml_member(test, "expect"), kase);
}

const char *const policy_expect_keys[] = {"verdict", "rule", "reason", NULL};

static void compile_expect(struct compiler *c, const struct yaml_node *expect, struct policy_case *kase)
{
    static const char *const words[] = {"deny", "hold", "permit", NULL};
    const struct yaml_node *verdict = yaml_member(expect, "verdict"), *rule = yaml_member(expect, "rule");
    int word;

    if (expect != NULL && expect->type == YAML_STRING) {
        FAULT(c, expect, "`expect` of a call is a map; write {verdict: permit, rule: ID}. What becomes of an answer is asked "
              "where the test has an `answer:` beside its `call:`");
        return;
    }
    if (!compiler_is_map_of(c, expect, policy_expect_keys, "`expect`"))
        return;
    if (verdict == NULL) {
        FAULT(c, expect, "`expect` has no `verdict`; write permit, deny or hold");
    } else {
        word = compiler_word(c, verdict, words);
        kase->verdict = word < 0 ? VERDICT_DENY : (enum verdict_kind)word;
    }
    compile_reason(c, yaml_member(expect, "reason"), kase);
    kase->has_rule = rule != NULL;
    if (rule != NULL && rule->type != YAML_NULL && compiler_is_string(c, rule))
        kase->rule = compiler_copy(c, rule->text);
}

/* Compiles the schema of the tool's accepted definition: the node's inputSchema, or the node itself. */
static void compile_schema(struct compiler *c, const struct yaml_node *node, struct policy_case *kase)
{
    const struct yaml_node *input = yaml_member(node, "inputSchema");
    struct span written = compiler_written(c, input != NULL ? input : node);
    struct why why = {""};
    enum code code = policy_schema_compile(written, &kase->schema, &why);

    c->no_memory |= code == CODE_NOMEM;
    if (code != CODE_OK && code != CODE_NOMEM)
        FAULT(c, node, "`schema` is not usable: %s", why.text);
}

void compile__case_call(struct compiler *c, const struct yaml_node *call, struct policy_case *kase)
{
    const struct yaml_node *hints = yaml_member(call, "annotations");

    if (!compiler_is_map(c, call))
        return;
    compile_call(c, call, &kase->question);
    compile_approved(c, yaml_member(call, "approved"), kase);
    compile_after(c, yaml_member(call, "after"), kase);
    compile_spent(c, yaml_member(call, "spent"), kase);
    if (hints != NULL)
        compile__hints(c, hints, kase->hints);
    if (compiler_is_map(c, yaml_member(call, "schema")))
        compile_schema(c, yaml_member(call, "schema"), kase);
}

const char *const policy_test_keys[] = {"name", "call", "answer", "message", "expect", NULL};

void compile__case(struct compiler *c, const struct yaml_node *node, struct policy_case *kase)
{
    const struct yaml_node *name = yaml_member(node, "name"), *call = yaml_member(node, "call");
    const struct yaml_node *expect = yaml_member(node, "expect"), *answer = yaml_member(node, "answer");
    const struct yaml_node *message = yaml_member(node, "message");

    *kase = (struct policy_case){.source = c->source, .line = node->line, .column = node->column, .name = SPAN_LIT("?")};
    if (!compiler_is_map_of(c, node, policy_test_keys, "a test"))
        return;
    if (name == NULL || call == NULL || expect == NULL)
        FAULT(c, node, "a test has `name`, `call` and `expect`; add `%s`, which is missing",
              !name ? "name" : !call ? "call" : "expect");
    kase->name = text_or(c, node, "name", kase->name);
    compile__case_call(c, call, kase);
    if (message != NULL && answer == NULL)
        FAULT_KEY(c, message, "`message` is the method of an `answer` that is no result; add the one or remove the other");
    if (answer != NULL)
        compile_answer(c, answer, node, kase);
    else
        compile_expect(c, expect, kase);
}
