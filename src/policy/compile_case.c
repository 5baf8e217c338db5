/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile_priv.h"

static enum code text_or(struct compiler *c, const struct yaml_node *call, const char *key, struct span usual,
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

    if (other != NULL)
        FAULT_KEY(c, other, "for `%.*s` paths begin at `%s`; write that", SPAN_ARG(question->method),
                  by_arguments ? "arguments" : "params");
    if (root == NULL || !policy__is_map(c, root))
        return CODE_OK;
    return policy__value(c, root, &question->root);
}

static enum code compile_call(struct compiler *c, const struct yaml_node *call, struct question *question)
{
    static const char *const known[] = {"tenant", "principal", "upstream", "method", "answers", "tool", "arguments",
                                        "params", "meta", "time", "client", "session", "correlation", NULL};
    static const char *const reserved[] = {"meta", "time", "client", "session", "correlation", NULL};
    enum code code;

    policy__check_keys(c, call, known, reserved, "`call`");
    code = text_or(c, call, "tenant", SPAN_LIT("test"), &question->tenant);
    if (code == CODE_OK)
        code = text_or(c, call, "principal", SPAN_LIT("test"), &question->principal);
    if (code == CODE_OK)
        code = text_or(c, call, "upstream", SPAN_LIT("test"), &question->upstream);
    if (code == CODE_OK)
        code = text_or(c, call, "method", SPAN_LIT("tools/call"), &question->method);
    if (code == CODE_OK)
        code = text_or(c, call, "answers", SPAN_NONE, &question->answers);
    if (code == CODE_OK)
        code = text_or(c, call, "tool", SPAN_NONE, &question->tool);
    if (code != CODE_OK)
        return code;
    if (span_is(question->method, "tools/call") != (question->tool.len > 0))
        FAULT(c, call, "a `tool` goes with the method tools/call and only with it; add or remove one of them");
    if (span_is(question->method, "response") != (question->answers.len > 0))
        FAULT(c, call, "`answers` goes with the method response and only with it; add or remove one of them");
    return compile_root(c, call, question);
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
    FAULT(c, node, "`%.*s` is no reason; write permitted, forbidden, approval_required, no_rule or method_unknown",
          SPAN_ARG(node->text));
}

static enum code compile_expect(struct compiler *c, const struct yaml_node *expect, struct policy_case *kase)
{
    static const char *const known[] = {"verdict", "rule", "reason", NULL}, *const reserved[] = {NULL};
    static const char *const words[] = {"deny", "hold", "permit", NULL};
    const struct yaml_node *verdict = yaml_member(expect, "verdict"), *rule = yaml_member(expect, "rule");
    int word;

    policy__check_keys(c, expect, known, reserved, "`expect`");
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

enum code policy__compile_case(struct compiler *c, const struct yaml_node *node, struct policy_case *kase)
{
    static const char *const known[] = {"name", "call", "expect", NULL}, *const reserved[] = {NULL};
    const struct yaml_node *name, *call, *expect;
    enum code code = CODE_OK;

    *kase = (struct policy_case){.source = c->source, .line = node->line, .name = SPAN_LIT("?")};
    if (!policy__is_map(c, node))
        return CODE_OK;
    policy__check_keys(c, node, known, reserved, "a test");
    name = yaml_member(node, "name");
    call = yaml_member(node, "call");
    expect = yaml_member(node, "expect");
    if (name == NULL || call == NULL || expect == NULL)
        FAULT(c, node, "a test has `name`, `call` and `expect`; `%s` is missing", !name ? "name" : !call ? "call" : "expect");
    if (name != NULL && policy__is_string(c, name))
        code = policy__copy(c, name->text, &kase->name);
    if (code == CODE_OK && call != NULL && policy__is_map(c, call))
        code = compile_call(c, call, &kase->question);
    if (code == CODE_OK && expect != NULL && policy__is_map(c, expect))
        code = compile_expect(c, expect, kase);
    return code;
}
