/* SPDX-License-Identifier: Apache-2.0 */
#include "dialect_help.h"

static const struct dialect *const okso = &dialect_okso;

static void expect_asked(const char *body, const char *method, const char *tool, const char *target, const char *arguments)
{
    struct said s;

    say(&s, okso, HTTP_METHOD_POST, NULL, body, NULL);
    assert_int_equal(s.reason, REASON_PERMITTED);
    assert_int_equal(s.message.kind, MCP_REQUEST);
    expect_span(s.message.method, method);
    expect_span(s.message.tool, tool);
    expect_span(s.message.target, target);
    if (arguments != NULL)
        expect_span(mcp_message_subject(&s.message)->raw, arguments);
    else
        assert_null(mcp_message_subject(&s.message));
    say_end(&s);
}

/* 5.10: the actions come to MCP's names */
TEST_CASE(reads_actions)
{
    expect_asked("{\"action\":\"list_tools\"}", "tools/list", "", "", NULL);
    expect_asked("{\"tool\":\"echo\",\"action\":\"describe_tool\"}", "tools/list", "", "echo", NULL);
    expect_asked("{\"action\":\"call_tool\",\"tool\":\"echo\",\"arguments\":{\"m\":1.0}}", "tools/call", "echo", "echo", "{\"m\":1.0}");
    expect_asked("{\"action\":\"call_tool\",\"tool\":\"echo\"}", "tools/call", "echo", "echo", NULL);
}

/* 5.10, 5.23 */
TEST_CASE(refuses_others)
{
    static const struct {
        const char *body;
        enum reason reason;
    } cases[] = {
        {"{\"action\":\"call_tool\",\"tool\":\"a\",\"tool\":\"b\"}", REASON_JSON_DUPLICATE},
        {"{\"action\":\"call_tool\",\"tool\":\"a\",\"TOOL\":\"b\"}", REASON_JSON_DUPLICATE},
        {"{\"action\":\"call_tool\",\"Tool\":\"a\"}", REASON_PARAMS_INVALID},
        {"{\"Action\":\"list_tools\"}", REASON_PARAMS_INVALID},
        {"{\"action\":\"call_tool\",\"tool\":\"a\",\"arguments\":[]}", REASON_ARGUMENTS_INVALID},
        {"{\"action\":\"call_tool\",\"tool\":\"a\",\"arguments\":null}", REASON_ARGUMENTS_INVALID},
        {"{\"action\":\"call_tool\",\"tool\":\"a\",\"arguments\":{\"k\":1,\"\\u212a\":2}}", REASON_JSON_DUPLICATE},
        {"{\"action\":\"call_tool\",\"tool\":\"a\",\"x\":1}", REASON_PARAMS_INVALID},
        {"{\"action\":\"call_tool\",\"tool\":\"\"}", REASON_TOOL_NAME_INVALID},
        {"{\"action\":\"call_tool\",\"tool\":7}", REASON_TOOL_NAME_INVALID},
        {"{\"action\":\"describe_tool\"}", REASON_TOOL_NAME_INVALID},
        {"{\"action\":\"describe_tool\",\"tool\":\"a\",\"arguments\":{}}", REASON_PARAMS_INVALID},
        {"{\"action\":\"list_tools\",\"tool\":\"a\"}", REASON_PARAMS_INVALID},
        {"{\"action\":\"tools\"}", REASON_PARAMS_INVALID},
        {"{\"action\":[\"list_tools\"]}", REASON_PARAMS_INVALID},
        {"{}", REASON_PARAMS_INVALID},
        {"[{\"action\":\"list_tools\"}]", REASON_PARAMS_INVALID},
        {"{\"action\":\"list_tools\"} 1", REASON_JSON_MALFORMED},
        {"", REASON_JSON_MALFORMED},
    };
    const struct mcp_read_rules rules = {.mcp_method = SPAN_LIT("tools/list")};
    struct said s;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_refusal(okso, HTTP_METHOD_POST, NULL, cases[i].body, cases[i].reason);
    expect_refusal(okso, HTTP_METHOD_GET, NULL, NULL, REASON_HTTP_METHOD);
    expect_refusal(okso, HTTP_METHOD_DELETE, NULL, NULL, REASON_HTTP_METHOD);
    say(&s, okso, HTTP_METHOD_POST, NULL, "{\"action\":\"list_tools\"}", &rules);
    assert_int_equal(s.reason, REASON_HEADER_MISMATCH);
    say_end(&s);
}

#define ERROR(category, message) \
    "{\"type\":\"error\",\"error\":{\"name\":\"callgate\",\"category\":\"" category "\",\"message\":\"" message "\"}}"

TEST_CASE(says_no) /* 5.10 */
{
    const struct mcp_message call = {.kind = MCP_REQUEST, .method = SPAN_LIT("tools/call")};
    struct mcp_denial denial = {.reason = REASON_NO_RULE, .decision = 3};

    expect_no(okso, &call, &denial, 200, ERROR("policy", "This call was not permitted; do not retry it unchanged. (decision 3)"));
    denial = (struct mcp_denial){.reason = REASON_RATE_LIMITED, .retry_after_s = 1};
    expect_no(okso, &call, &denial, 200, ERROR("policy", "This call was not permitted: too many calls. Try again in 1 second."));
    denial = (struct mcp_denial){.reason = REASON_NO_POLICY};
    expect_no(okso, &call, &denial, 200, ERROR("fatal", "This call was not made. The gate has no active policy. Try again later."));
    expect_no(okso, NULL, &denial, 503, ERROR("fatal", "This call was not made. The gate has no active policy. Try again later."));
    denial = (struct mcp_denial){.reason = REASON_UPSTREAM_CLOSED};
    expect_no(okso, &call, &denial, 502, ERROR("fatal", "The upstream closed the connection before its answer was complete."));
    denial = (struct mcp_denial){.reason = REASON_ARGUMENTS_INVALID, .wants_sse = true};
    expect_no(okso, NULL, &denial, 400, ERROR("usage", "The arguments must be an object."));
    denial = (struct mcp_denial){.reason = REASON_CREDENTIAL_WRONG};
    expect_no(okso, NULL, &denial, 401, ERROR("usage", "The credential is not valid."));
}

#define TOOL(name) "{\"name\":\"" name "\",\"n\":1.0}"
#define LIST(tools) "{\"type\":\"result\",\"tools\":[" tools "]}"

TEST_CASE(filters_lists) /* 5.6, 5.10 */
{
    expect_reply(okso, "tools/list", NULL, "b", LIST(TOOL("a") "," TOOL("b") "," TOOL("c")), REASON_PERMITTED, LIST(TOOL("b")));
    expect_reply(okso, "tools/list", NULL, "", LIST(TOOL("a")), REASON_PERMITTED, LIST(""));
    expect_reply(okso, "tools/list", NULL, "", "{\"tools\":[" TOOL("a") "],\"x\":[" TOOL("a") "],\"type\":\"result\"}", REASON_PERMITTED,
                 "{\"tools\":[],\"x\":[" TOOL("a") "],\"type\":\"result\"}");
    expect_reply(okso, "tools/list", NULL, NULL, LIST("7"), REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", NULL, NULL, LIST("{}"), REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", NULL, NULL, "{\"type\":\"result\"}", REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", NULL, NULL, "{\"type\":\"result\",\"tools\":7}", REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", NULL, NULL, "{\"type\":\"list\",\"tools\":[]}", REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", NULL, NULL, "{\"tools\":[]}", REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", NULL, NULL, "{\"type\":\"result\",\"tools\":[],\"Tools\":[]}", REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", NULL, NULL, "[]", REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", NULL, NULL, LIST("{\"name\":\"a\",\"d\":\"\xe2\x80\xae\"}"), REASON_UPSTREAM_DEFINITION, NULL);
}

#define RESULT(tool, result) "{\"type\":\"result\",\"tool\":" tool ",\"result\":" result "}"
#define ENDED(error) "{\"type\":\"error\",\"error\":" error "}"

TEST_CASE(takes_answers) /* 5.10, 5.23 */
{
    struct said s;

    expect_reply(okso, "tools/list", "a", "a", "{\"type\":\"result\",\"tool\":" TOOL("a") "}", REASON_PERMITTED,
                 "{\"type\":\"result\",\"tool\":" TOOL("a") "}");
    expect_reply(okso, "tools/list", "a", "a b", "{\"type\":\"result\",\"tool\":" TOOL("b") "}", REASON_UPSTREAM_UNASKED, NULL);
    expect_reply(okso, "tools/list", "a", "b", "{\"type\":\"result\",\"tool\":" TOOL("a") "}", REASON_UPSTREAM_UNASKED, NULL);
    expect_reply(okso, "tools/list", "a", "a", "{\"type\":\"result\",\"tool\":\"a\"}", REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", "a", "a", LIST(TOOL("a")), REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/call", "a", NULL, RESULT("\"a\"", "{\"echo\":1.0}"), REASON_PERMITTED, RESULT("\"a\"", "{\"echo\":1.0}"));
    expect_reply(okso, "tools/call", "a", NULL, RESULT("\"b\"", "{}"), REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/call", "a", NULL, RESULT("\"a\"", "[]"), REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/call", "a", NULL, "{\"type\":\"result\",\"tool\":\"a\"}", REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/call", "a", NULL, ENDED("{\"name\":\"x\",\"category\":\"usage\",\"message\":\"m\"}"), REASON_PERMITTED,
                 ENDED("{\"name\":\"x\",\"category\":\"usage\",\"message\":\"m\"}"));
    expect_reply(okso, "tools/call", "a", NULL, ENDED("{\"name\":\"callgate\"}"), REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/call", "a", NULL, ENDED("\"x\""), REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/call", "a", NULL, "{\"type\":\"error\",\"error\":{},\"result\":{}}", REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/call", "a", NULL, "{\"type\":\"result\",\"error\":{},\"result\":{}}", REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/call", "a", NULL, ENDED("{\"Name\":\" Callgate\"}"), REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/call", "a", NULL, "{\"type\":\"error\",\"tool\":\"a\",\"error\":{\"at\":[1]}}", REASON_PERMITTED,
                 "{\"type\":\"error\",\"tool\":\"a\",\"error\":{\"at\":[1]}}");
    hear(&s, okso, "tools/call", "a", NULL, ENDED("{}"));
    assert_true(s.reply.is_tool_error && s.reply.kind == MCP_RESPONSE);
    say_end(&s);
}

#define TYPED(type, members) "{\"type\":\"" type "\"," members "}"
#define HIDDEN "{\"name\":\"z\"}"

/* 5.6, 5.23: an answer that holds what only another would has two meanings, and what stands there is filtered by nobody */
TEST_CASE(refuses_two_answers_in_one)
{
    expect_reply(okso, "tools/list", NULL, "a", TYPED("result", "\"tools\":[],\"tool\":" HIDDEN), REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", NULL, "a", TYPED("result", "\"tools\":[],\"result\":{\"tools\":[" HIDDEN "]}"),
                 REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", "a", "a", TYPED("result", "\"tool\":" TOOL("a") ",\"tools\":[" HIDDEN "]"),
                 REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", "a", "a", TYPED("result", "\"result\":" HIDDEN ",\"tool\":" TOOL("a")), REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/call", "a", "a", TYPED("result", "\"tool\":\"a\",\"result\":{},\"tools\":[" HIDDEN "]"),
                 REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", NULL, "a", TYPED("error", "\"error\":{},\"tool\":" HIDDEN), REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", "a", "a", TYPED("error", "\"error\":{},\"tools\":[" HIDDEN "]"),
                 REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", NULL, "a", ENDED("{\"name\":\"x\",\"tools\":[" HIDDEN "]}"),
                 REASON_UPSTREAM_JSON, NULL);
    expect_reply(okso, "tools/list", NULL, "a", LIST("{\"name\":\"a\",\"NAME\":\"z\"}"), REASON_UPSTREAM_JSON, NULL);
}

TEST_MAIN(NULL, NULL)
