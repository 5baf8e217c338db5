/* SPDX-License-Identifier: Apache-2.0 */
#include "dialect_help.h"

#define CALL "/tool/zendesk_create_ticket/call"

static const struct dialect *const octopus = &dialect_octopus;

static void expect_path(const struct mcp_message *message, const char *path)
{
    struct buf out;

    buf_init(&out, CAP_BYTES);
    assert_int_equal(octopus->write_path(message, &out), CODE_OK);
    expect_span(buf_peek(&out), path);
    buf_fini(&out);
}

/* 5.7: verb and path say method and tool, and the path goes up as it was judged */
TEST_CASE(reads_paths)
{
    struct said s;

    say(&s, octopus, HTTP_METHOD_GET, "/tools", NULL, NULL);
    assert_true(s.reason == REASON_UNSET && s.message.kind == MCP_REQUEST && span_is(s.message.method, "tools/list"));
    expect_path(&s.message, "/tools");
    say_end(&s);
    say(&s, octopus, HTTP_METHOD_GET, "/health", NULL, NULL);
    assert_true(s.reason == REASON_UNSET && s.message.kind == MCP_REQUEST && span_is(s.message.method, "ping"));
    expect_path(&s.message, "/health");
    say_end(&s);
    say(&s, octopus, HTTP_METHOD_POST, CALL, "{\"b\": 1.0, \"a\": {}}", NULL);
    assert_true(s.reason == REASON_PERMITTED && s.message.kind == MCP_REQUEST && span_is(s.message.method, "tools/call"));
    expect_span(s.message.tool, "zendesk_create_ticket");
    expect_span(s.message.target, "zendesk_create_ticket");
    expect_span(mcp_message_subject(&s.message)->raw, "{\"b\":1.0,\"a\":{}}");
    expect_span(buf_peek(&s.out), "{\"b\":1.0,\"a\":{}}");
    expect_path(&s.message, CALL);
    say_end(&s);
}

/* 5.23 */
TEST_CASE(refuses_paths)
{
    static const char *const names[] = {"Zendesk", "a-b", "a.b", "a b", "a%2fb", "..", "a;b", "a?b", "a/b", "caf\xc3\xa9", "a\\b"};
    static const char *const strangers[] = {"", "/", "/tool", "/tool/", "/tool/call", "/tool//call", "/tool/a/call/", "/tool/a/calls",
                                            "/tool/a", "/tools/", "/Tools", "/toolsx", "/tool/a/CALL", "tools", "/mcp"};
    char path[160], name[130];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "/tool/%s/call", names[i]);
        expect_refusal(octopus, HTTP_METHOD_POST, path, "{}", REASON_TOOL_NAME_INVALID);
    }
    memset(name, 'a', sizeof name);
    (void)snprintf(path, sizeof path, "/tool/%.129s/call", name);
    expect_refusal(octopus, HTTP_METHOD_POST, path, "{}", REASON_TOOL_NAME_INVALID);
    (void)snprintf(path, sizeof path, "/tool/%.128s/call", name);
    expect_refusal(octopus, HTTP_METHOD_POST, path, "{}", REASON_PERMITTED);
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
        expect_refusal(octopus, HTTP_METHOD_POST, strangers[i], "{}", REASON_ROUTE_UNKNOWN);
        expect_refusal(octopus, HTTP_METHOD_GET, strangers[i], NULL, REASON_ROUTE_UNKNOWN);
    }
    expect_refusal(octopus, HTTP_METHOD_POST, NULL, "{}", REASON_ROUTE_UNKNOWN);
    expect_refusal(octopus, HTTP_METHOD_POST, "/tools", "{}", REASON_HTTP_METHOD);
    expect_refusal(octopus, HTTP_METHOD_POST, "/health", "{}", REASON_HTTP_METHOD);
    expect_refusal(octopus, HTTP_METHOD_GET, CALL, NULL, REASON_HTTP_METHOD);
    expect_refusal(octopus, HTTP_METHOD_DELETE, CALL, NULL, REASON_HTTP_METHOD);
}

/* 5.7, 5.23 */
TEST_CASE(refuses_bodies)
{
    struct mcp_read_rules rules = {.mcp_name = SPAN_LIT("zendesk_create_ticket")};
    struct said s;

    expect_refusal(octopus, HTTP_METHOD_POST, CALL, "[]", REASON_ARGUMENTS_INVALID);
    expect_refusal(octopus, HTTP_METHOD_POST, CALL, "null", REASON_ARGUMENTS_INVALID);
    expect_refusal(octopus, HTTP_METHOD_POST, CALL, "\"{}\"", REASON_ARGUMENTS_INVALID);
    expect_refusal(octopus, HTTP_METHOD_POST, CALL, "", REASON_JSON_MALFORMED);
    expect_refusal(octopus, HTTP_METHOD_POST, CALL, "{}{}", REASON_JSON_MALFORMED);
    expect_refusal(octopus, HTTP_METHOD_POST, CALL, "{\"a\":1,\"\\u0061\":2}", REASON_JSON_DUPLICATE);
    expect_refusal(octopus, HTTP_METHOD_POST, CALL, "{\"k\":1,\"\\u212a\":2}", REASON_JSON_DUPLICATE);
    expect_refusal(octopus, HTTP_METHOD_POST, CALL, "{\"n\":1,\"N\":2}", REASON_PERMITTED); /* such tools exist */
    say(&s, octopus, HTTP_METHOD_POST, CALL, "{}", &rules); /* even where it agrees: nobody of this dialect says so */
    assert_int_equal(s.reason, REASON_HEADER_MISMATCH);
    say_end(&s);
    rules = (struct mcp_read_rules){.version = SPAN_LIT("2025-06-18")};
    say(&s, octopus, HTTP_METHOD_POST, CALL, "{}", &rules);
    assert_int_equal(s.reason, REASON_HEADER_MISMATCH);
    say_end(&s);
}

/* 5.7: every refusal has the document's form */
TEST_CASE(says_no)
{
    const struct mcp_message call = {.kind = MCP_REQUEST, .method = SPAN_LIT("tools/call")};
    struct mcp_denial denial = {.reason = REASON_NO_RULE, .decision = 12};

    expect_no(octopus, &call, &denial, 403,
              "{\"error\":\"policy_denied\",\"message\":\"This call was not permitted; do not retry it unchanged. (decision 12)\"}");
    denial = (struct mcp_denial){.reason = REASON_METHOD_UNKNOWN, .say = SPAN_LIT("Ask \"ops\".")};
    expect_no(octopus, &call, &denial, 403, "{\"error\":\"policy_denied\",\"message\":\"This call was not permitted; do not retry it "
                                            "unchanged. Ask \\\"ops\\\".\"}");
    denial = (struct mcp_denial){.reason = REASON_RATE_LIMITED, .retry_after_s = 7};
    expect_no(octopus, &call, &denial, 429, "{\"error\":\"rate_limited\",\"message\":\"This call was not permitted: too many calls. Try "
                                            "again in 7 seconds.\",\"retry_after\":7}");
    denial = (struct mcp_denial){.reason = REASON_APPROVAL_REQUIRED};
    expect_no(octopus, &call, &denial, 403, "{\"error\":\"approval_required\",\"message\":\"This call was not made: it needs a person's "
                                            "approval. Do not retry it unchanged.\",\"retry_after\":60}");
    denial = (struct mcp_denial){.reason = REASON_AUDIT_DOWN};
    expect_no(octopus, NULL, &denial, 503, "{\"error\":\"unavailable\",\"message\":\"This call was not made. The gate cannot record "
                                           "calls at the moment. Try again later.\"}");
    denial = (struct mcp_denial){.reason = REASON_CREDENTIAL_MISSING, .wants_sse = true};
    expect_no(octopus, NULL, &denial, 401, "{\"error\":\"credential_missing\",\"message\":\"A credential is required.\"}");
    for (int reason = 0; reason < REASON_COUNT; reason++) {
        denial = (struct mcp_denial){.reason = (enum reason)reason};
        if (reason_blame(denial.reason) != BLAME_NOBODY && denial.reason != REASON_VERSION_NEGOTIATED)
            assert_in_range(octopus->denial_status(NULL, &denial), 400, 599);
    }
}

static void expect_tools(unsigned count, enum reason reason)
{
    char data[4096] = "[";
    size_t len = 1;

    for (unsigned i = 0; i < count; i++)
        len += (size_t)snprintf(data + len, sizeof data - len, "%s{\"name\":\"t%u\"}", i > 0 ? "," : "", i);
    (void)snprintf(data + len, sizeof data - len, "]");
    expect_reply(octopus, "tools/list", NULL, NULL, data, reason, reason == REASON_PERMITTED ? data : NULL);
}

/* 5.6, 5.7: a bare array, filtered; all else keeps value, order and lexemes */
TEST_CASE(filters_lists)
{
    expect_reply(octopus, "tools/list", NULL, "b d", "[{\"name\":\"a\"}, {\"x\":1.50,\"name\":\"b\"},{\"name\":\"c\"},{\"name\":\"d\","
                 "\"y\":[{\"name\":\"a\"}]}, {\"name\":\"e\"}]", REASON_PERMITTED,
                 "[{\"x\":1.50,\"name\":\"b\"},{\"name\":\"d\",\"y\":[{\"name\":\"a\"}]}]");
    expect_reply(octopus, "tools/list", NULL, "", "[{\"name\":\"a\"}]", REASON_PERMITTED, "[]");
    expect_reply(octopus, "tools/list", NULL, NULL, "[]", REASON_PERMITTED, "[]");
    expect_reply(octopus, "tools/list", NULL, NULL, "[{\"name\":\"A\"},{\"name\":\"a\"}]", REASON_PERMITTED, "[{\"name\":\"a\"}]");
    expect_reply(octopus, "tools/list", NULL, NULL, "{\"tools\":[]}", REASON_UPSTREAM_JSON, NULL);
    expect_reply(octopus, "tools/list", NULL, NULL, "[[]]", REASON_UPSTREAM_JSON, NULL);
    expect_reply(octopus, "tools/list", NULL, NULL, "[{\"name\":7}]", REASON_UPSTREAM_JSON, NULL);
    expect_reply(octopus, "tools/list", NULL, NULL, "[{\"name\":\"a\",\"name\":\"b\"}]", REASON_UPSTREAM_DUPLICATE, NULL);
    expect_reply(octopus, "tools/list", NULL, NULL, "[{\"name\":\"a\",\"Name\":\"b\"}]", REASON_UPSTREAM_JSON, NULL);
    expect_reply(octopus, "tools/list", NULL, NULL, "[{\"name\":\"a\",\"d\":\"x\xe2\x80\xaey\"}]", REASON_UPSTREAM_DEFINITION, NULL);
    expect_reply(octopus, "tools/list", NULL, "b", "[{\"name\":\"a\",\"d\":\"x\xe2\x80\xaey\"},{\"name\":\"b\"}]", REASON_PERMITTED,
                 "[{\"name\":\"b\"}]");
    expect_tools(100, REASON_PERMITTED);
    expect_tools(101, REASON_UPSTREAM_TOOLS);
}

TEST_CASE(takes_results)
{
    struct said s;

    expect_reply(octopus, "tools/call", "a", "", "{\"n\": 1E5, \"tools\": [{\"name\":\"z\"}]}", REASON_PERMITTED,
                 "{\"n\":1E5,\"tools\":[{\"name\":\"z\"}]}");
    expect_reply(octopus, "tools/call", "a", NULL, "[1]", REASON_PERMITTED, "[1]");
    expect_reply(octopus, "ping", NULL, NULL, "true", REASON_PERMITTED, "true");
    expect_reply(octopus, "tools/call", "a", NULL, "{\"a\":1}x", REASON_UPSTREAM_JSON, NULL);
    expect_reply(octopus, "tools/call", "a", NULL, "{\"_meta\":{\"dev.callgate/denial\":{},\"k\":1}}", REASON_PERMITTED,
                 "{\"_meta\":{\"k\":1}}");
    hear(&s, octopus, "tools/call", "a", NULL, "{\"t\":\"x\xe2\x80\xaey\"}"); /* the route strips results */
    assert_int_equal(s.reply.stripped, 1);
    assert_true(s.reply.kind == MCP_RESPONSE && s.reply.id.len == 0 && !s.reply.is_error);
    expect_span(s.reply.result, "{\"t\":\"xy\"}");
    say_end(&s);
}

/* Takes: text NULL: the body of such an answer is left out. */
static void expect_failure(const char *method, const char *data, const char *text)
{
    const struct mcp_reply_rules rules = {.request_method = span_text(method), .is_failure = true, .keep = keep_named,
                                          .keep_context = (void *)(uintptr_t) ""};
    struct said s;

    say_begin(&s);
    s.reason = octopus->reply_read(span_text(data), &rules, &s.out, &s.arena, &s.reply, &s.fault);
    assert_int_equal(s.reason == REASON_PERMITTED && s.reply.is_tool_error, text != NULL);
    if (text != NULL)
        expect_span(s.reply.body, text);
    say_end(&s);
}

/* 5.6, 5.7: with a status of 400 or above an error is read, and never a list that nobody filtered */
TEST_CASE(takes_errors)
{
    static const char words[] = "{\"error\":\"down\",\"message\":\"m\",\"retry_after\":30}";
    static const char nested[] = "{\"error\":\"down\",\"fields\":[{\"name\":\"z\"}]}";

    expect_failure("tools/list", words, words);
    expect_failure("ping", words, words);
    expect_failure("tools/call", words, words);
    expect_failure("tools/call", nested, nested);
    expect_failure("tools/list", nested, NULL);
    expect_failure("tools/list", "[{\"name\":\"z\"}]", NULL);
    expect_failure("tools/list", "[]", NULL);
    expect_failure("tools/list", "{\"message\":\"m\"}", NULL);
    expect_failure("tools/call", "{\"error\":{\"a\":1}}", NULL);
    expect_failure("tools/call", "{\"error\":\"a\",\"Error\":\"b\"}", NULL);
    expect_failure("tools/call", "[{\"error\":\"a\"}]", NULL);
    expect_failure("tools/call", "\"error\"", NULL);
}

TEST_MAIN(NULL, NULL)
