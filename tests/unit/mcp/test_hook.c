/* SPDX-License-Identifier: Apache-2.0 */
/* 15.7: dialect hook, through its table alone. */
#include "dialect_help.h"

static const struct dialect *const hook = &dialect_hook;

TEST_CASE(reads_a_question)
{
    struct said s;

    say(&s, hook, HTTP_METHOD_POST, NULL,
        "{\"tool\":\"Bash\", \"arguments\":{\"command\":\"ls\"}, \"id\":\"toolu_1\", \"session\":\"s 1\"}", NULL);
    assert_int_equal(s.reason, REASON_PERMITTED);
    assert_int_equal(s.message.kind, MCP_REQUEST);
    expect_span(s.message.method, "tools/call");
    expect_span(s.message.tool, "Bash");
    expect_span(s.message.target, "Bash");
    expect_span(s.message.id, "\"toolu_1\"");
    expect_span(hook->session(&s.message), "s 1");
    expect_span(mcp_message_subject(&s.message)->raw, "{\"command\":\"ls\"}");
    say_end(&s);
    say(&s, hook, HTTP_METHOD_POST, NULL, "{\"tool\":\"mcp__mail__send\"}", NULL); /* it names neither itself nor its session */
    assert_int_equal(s.reason, REASON_PERMITTED);
    assert_true(span_is_empty(s.message.id) && span_is_empty(hook->session(&s.message)));
    assert_null(mcp_message_subject(&s.message));
    say_end(&s);
}

TEST_CASE(reads_a_report)
{
    struct said s;

    say(&s, hook, HTTP_METHOD_POST, NULL, "{\"report\":true,\"id\":\"toolu_1\",\"session\":\"s\"}", NULL);
    assert_int_equal(s.reason, REASON_PERMITTED);
    assert_int_equal(s.message.kind, MCP_RESPONSE);
    expect_span(s.message.id, "\"toolu_1\"");
    expect_span(hook->session(&s.message), "s");
    say_end(&s);
    expect_refusal(hook, HTTP_METHOD_POST, NULL, "{\"report\":true}", REASON_PARAMS_INVALID);
    expect_refusal(hook, HTTP_METHOD_POST, NULL, "{\"report\":1,\"id\":\"a\"}", REASON_PARAMS_INVALID);
    expect_refusal(hook, HTTP_METHOD_POST, NULL, "{\"report\":true,\"id\":\"a\",\"tool\":\"b\"}", REASON_PARAMS_INVALID);
}

TEST_CASE(refuses_others)
{
    static const struct {
        const char *body;
        enum reason reason;
    } cases[] = {
        {"{\"tool\":\"a\",\"tool\":\"b\"}", REASON_JSON_DUPLICATE},
        {"{\"tool\":\"a\",\"TOOL\":\"b\"}", REASON_JSON_DUPLICATE},
        {"{\"Tool\":\"a\"}", REASON_PARAMS_INVALID},
        {"{\"tool\":\"a\",\"arguments\":[]}", REASON_ARGUMENTS_INVALID},
        {"{\"tool\":\"a\",\"arguments\":\"{}\"}", REASON_ARGUMENTS_INVALID},
        {"{\"tool\":\"a\",\"arguments\":{\"k\":1,\"\\u212a\":2}}", REASON_JSON_DUPLICATE},
        {"{\"tool\":\"a\",\"principal\":\"root\"}", REASON_PARAMS_INVALID},
        {"{\"tool\":\"\"}", REASON_TOOL_NAME_INVALID},
        {"{\"tool\":7}", REASON_TOOL_NAME_INVALID},
        {"{\"arguments\":{}}", REASON_TOOL_NAME_INVALID},
        {"{\"tool\":\"a\",\"id\":7}", REASON_PARAMS_INVALID},
        {"{\"tool\":\"a\",\"id\":\"\"}", REASON_PARAMS_INVALID},
        {"{\"tool\":\"a\",\"session\":\"\\n\"}", REASON_PARAMS_INVALID},
        {"[{\"tool\":\"a\"}]", REASON_PARAMS_INVALID},
        {"{\"tool\":\"a\"} 1", REASON_JSON_MALFORMED},
        {"", REASON_JSON_MALFORMED},
    };
    const struct mcp_read_rules rules = {.mcp_method = SPAN_LIT("tools/list")};
    struct said s;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refusal(hook, HTTP_METHOD_POST, NULL, cases[i].body, cases[i].reason);
    expect_refusal(hook, HTTP_METHOD_GET, NULL, NULL, REASON_HTTP_METHOD);
    say(&s, hook, HTTP_METHOD_POST, NULL, "{\"tool\":\"a\"}", &rules);
    assert_int_equal(s.reason, REASON_HEADER_MISMATCH);
    say_end(&s);
}

#define NOT_PERMITTED "This call was not permitted; do not retry it unchanged."

TEST_CASE(answers)
{
    const struct mcp_message call = {.kind = MCP_REQUEST, .method = SPAN_LIT("tools/call")};
    struct mcp_denial denial = {.reason = REASON_PERMITTED, .decision = 3};

    expect_no(hook, &call, &denial, 200, "{\"verdict\":\"permit\",\"decision\":3}");
    denial = (struct mcp_denial){.reason = REASON_NO_RULE, .decision = 3};
    expect_no(hook, &call, &denial, 200, "{\"verdict\":\"deny\",\"decision\":3,\"text\":\"" NOT_PERMITTED " (decision 3)\"}");
    denial = (struct mcp_denial){.reason = REASON_NO_RULE};
    expect_no(hook, &call, &denial, 200, "{\"verdict\":\"deny\",\"decision\":null,\"text\":\"" NOT_PERMITTED "\"}");
    denial = (struct mcp_denial){.reason = REASON_APPROVAL_REQUIRED, .decision = 4, .asked = 4, .console = "https://c"};
    expect_no(hook, &call, &denial, 200,
              "{\"verdict\":\"hold\",\"decision\":4,\"text\":\"This call was not made: it needs a person's approval, which was "
              "asked for. Whoever decides finds it with: callgate approvals show --decision 4. Once it is approved, make exactly "
              "the same call again; until then do not retry it.\",\"page\":\"https://c/held/4\"}");
    denial = (struct mcp_denial){.reason = REASON_CREDENTIAL_MISSING};
    expect_no(hook, NULL, &denial, 401, "{\"verdict\":\"deny\",\"decision\":null,\"text\":\"A credential is required.\"}");
}

TEST_MAIN(NULL, NULL)
