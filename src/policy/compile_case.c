/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

enum code policy__text_or(struct compiler *c, const struct yaml_node *call, const char *key, struct span usual,
                          struct span *text)
{
    const struct yaml_node *node = yaml_member(call, key);

    *text = usual;
    if (node == NULL || !policy__is_string(c, node))
        return CODE_OK;
    return policy__copy(c, node->text, text);
}

/* `$` is params.arguments for two methods and params for the others (Meaning 10); the test writes the same word. */
static enum code compile_root(struct compiler *c, const struct yaml_node *call, struct question *question)
{
    bool by_arguments = span_is(question->method, "tools/call") || span_is(question->method, "prompts/get");
    const struct yaml_node *root = yaml_member(call, by_arguments ? "arguments" : "params");
    const struct yaml_node *other = yaml_member(call, by_arguments ? "params" : "arguments");

    const struct yaml_node *meta = yaml_member(call, "meta"), *param = yaml_member(call, "param");
    enum code code = CODE_OK;

    if (other != NULL)
        FAULT_KEY(c, other, "for `%.*s` paths begin at `%s`; write that", SPAN_ARG(question->method),
                  by_arguments ? "arguments" : "params");
    if (meta != NULL && policy__is_map(c, meta))
        code = policy__value(c, meta, &question->meta);
    if (param != NULL && !by_arguments)
        FAULT_KEY(c, param, "`param` goes with the methods tools/call and prompts/get; write it among `params`");
    if (code == CODE_OK && param != NULL && policy__is_map(c, param))
        code = policy__value(c, param, &question->params);
    if (code != CODE_OK || root == NULL || !policy__is_map(c, root))
        return code;
    return policy__value(c, root, &question->root);
}

/* Rules may stand in a file that is compiled later, so that whether there is such a one is asked at the end. */
static enum code compile_approved(struct compiler *c, const struct yaml_node *list, struct policy_case *kase)
{
    struct case_approved *approved;

    if (list == NULL || !policy__is_list(c, list))
        return CODE_OK;
    kase->approved = approved = policy__alloc(c, list->count, sizeof *approved);
    if (approved == NULL)
        return CODE_NOMEM;
    for (const struct yaml_node *member = list->child; member != NULL; member = member->next) {
        struct case_approved *one = &approved[kase->approved_count];
        enum code code;

        if (!policy__is_string(c, member))
            continue;
        *one = (struct case_approved){.line = member->line, .column = member->column};
        code = policy__copy(c, member->text, &one->rule);
        if (code != CODE_OK)
            return code;
        kase->approved_count++;
    }
    return CODE_OK;
}

static void check_approved(struct compiler *c, const struct policy_case *kase, const struct case_approved *approved)
{
    const struct rule *rule = policy__rule_by_id(c->policy, approved->rule);

    if (rule == NULL)
        faults_add(c->faults, kase->source->path_text, approved->line, approved->column,
                   "there is no rule `%.*s` to approve; name the id of a require_approval", SPAN_ARG(approved->rule));
    else if (rule->effect != EFFECT_REQUIRE_APPROVAL)
        faults_add(c->faults, kase->source->path_text, approved->line, approved->column,
                   "`%.*s` is a %s, which nobody approves; name the id of a require_approval", SPAN_ARG(approved->rule),
                   effect_text(rule->effect));
}

void policy__check_approved(struct compiler *c)
{
    for (uint32_t i = 0; i < c->policy->case_count; i++)
        for (uint32_t j = 0; j < c->policy->cases[i].approved_count; j++)
            check_approved(c, &c->policy->cases[i], &c->policy->cases[i].approved[j]);
}

static void compile_time(struct compiler *c, const struct yaml_node *time, struct question *question)
{
    if (time != NULL && (time->type != YAML_STRING || !policy__date_time(time->text, &question->time_us)))
        FAULT(c, time, "`time` is a point of time; write one such as 2026-07-06T09:30:00Z");
}

/* What the message is about: the gate takes it from the same places. */
static enum code compile_target(struct compiler *c, const struct yaml_node *call, struct question *question)
{
    const struct json_node *uri = NULL;
    enum code code = policy__text_or(c, call, "tool", SPAN_NONE, &question->tool);

    if (code == CODE_OK)
        code = policy__text_or(c, call, "prompt", SPAN_NONE, &question->prompt);
    if (span_is(question->method, "tools/list")) {
        question->shown = question->tool; /* its description, a list of one */
        question->tool = SPAN_NONE;
    }
    if (span_is(question->method, "tools/call") != (question->tool.len > 0))
        FAULT(c, call, "a `tool` goes with the methods tools/call and, where one is described, tools/list; add or remove one");
    if (question->prompt.len > 0 && !span_is(question->method, "prompts/get"))
        FAULT(c, call, "a `prompt` goes with the method prompts/get; add the one or remove the other");
    if (span_starts_with(question->method, SPAN_LIT("resources/")))
        uri = json_member(question->root, SPAN_LIT("uri"));
    if (uri != NULL && uri->type == JSON_STRING)
        question->resource = uri->text;
    return code;
}

static enum code compile_call(struct compiler *c, const struct yaml_node *call, struct question *question)
{
    static const char *const known[] = {"tenant", "principal", "upstream", "method", "answers", "tool", "prompt", "path",
                                        "query", "arguments", "params", "approved", "meta", "param", "time", "client",
                                        "session", "correlation", "after", "spent", "annotations", NULL};
    const struct {
        const char *key, *usual;
        struct span *text;
    } texts[] = {
        {"tenant", "test", &question->tenant}, {"principal", "test", &question->principal},
        {"upstream", "test", &question->upstream}, {"method", "tools/call", &question->method},
        {"session", "test", &question->session}, {"correlation", "test", &question->correlation},
        {"answers", "", &question->answers}, {"path", "", &question->path}, {"query", "", &question->query},
        {"client", "", &question->client},
    };
    enum code code = CODE_OK;

    if (yaml_member(call, "resource") != NULL)
        FAULT(c, yaml_member(call, "resource"), "which resource it is stands in the message; write `method: resources/read, "
              "params: {uri: 'file:///...'}`");
    policy__check_keys(c, call, known, "`call`");
    for (size_t i = 0; i < sizeof texts / sizeof *texts && code == CODE_OK; i++)
        code = policy__text_or(c, call, texts[i].key, span_text(texts[i].usual), texts[i].text);
    if (code != CODE_OK)
        return code;
    if (span_is(question->method, "response") != (question->answers.len > 0))
        FAULT(c, call, "`answers` goes with the method response and only with it; add or remove one of them");
    compile_time(c, yaml_member(call, "time"), question);
    code = compile_root(c, call, question);
    return code == CODE_OK ? compile_target(c, call, question) : code;
}

static void compile_reason(struct compiler *c, const struct yaml_node *node, struct policy_case *kase)
{
    if (node == NULL || !policy__is_string(c, node))
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

static enum code compile_expect(struct compiler *c, const struct yaml_node *expect, struct policy_case *kase)
{
    static const char *const known[] = {"verdict", "rule", "reason", NULL};
    static const char *const words[] = {"deny", "hold", "permit", NULL};
    const struct yaml_node *verdict = yaml_member(expect, "verdict"), *rule = yaml_member(expect, "rule");
    int word;

    policy__check_keys(c, expect, known, "`expect`");
    if (verdict == NULL) {
        FAULT(c, expect, "`expect` has no `verdict`; write permit, deny or hold");
    } else {
        word = policy__word(c, verdict, words);
        kase->verdict = word < 0 ? VERDICT_DENY : (enum verdict_kind)word;
    }
    compile_reason(c, yaml_member(expect, "reason"), kase);
    kase->has_rule = rule != NULL;
    if (rule == NULL || rule->type == YAML_NULL || !policy__is_string(c, rule))
        return CODE_OK;
    return policy__copy(c, rule->text, &kase->rule);
}

enum code policy__compile_case_call(struct compiler *c, const struct yaml_node *call, struct policy_case *kase)
{
    enum code code = compile_call(c, call, &kase->question);

    if (code == CODE_OK)
        code = compile_approved(c, yaml_member(call, "approved"), kase);
    return code == CODE_OK ? policy__compile_case_past(c, call, kase) : code;
}

enum code policy__compile_case(struct compiler *c, const struct yaml_node *node, struct policy_case *kase)
{
    static const char *const known[] = {"name", "call", "expect", NULL};
    const struct yaml_node *name, *call, *expect;
    enum code code = CODE_OK;

    *kase = (struct policy_case){.source = c->source, .line = node->line, .column = node->column, .name = SPAN_LIT("?")};
    if (!policy__is_map(c, node))
        return CODE_OK;
    policy__check_keys(c, node, known, "a test");
    name = yaml_member(node, "name");
    call = yaml_member(node, "call");
    expect = yaml_member(node, "expect");
    if (name == NULL || call == NULL || expect == NULL)
        FAULT(c, node, "a test has `name`, `call` and `expect`; `%s` is missing", !name ? "name" : !call ? "call" : "expect");
    if (name != NULL && policy__is_string(c, name))
        code = policy__copy(c, name->text, &kase->name);
    if (code == CODE_OK && call != NULL && policy__is_map(c, call))
        code = policy__compile_case_call(c, call, kase);
    if (code == CODE_OK && expect != NULL && policy__is_map(c, expect))
        code = compile_expect(c, expect, kase);
    return code;
}
