/* SPDX-License-Identifier: Apache-2.0 */
#include "reply_help.h"

#include <stdio.h>

/* 1.15 */
TEST_CASE(classifies)
{
    struct got g;

    get(&g, RESULT("{\"content\":[]}"), "tools/call", NULL, NULL);
    assert_int_equal(g.reason, REASON_PERMITTED);
    assert_int_equal(g.reply.kind, MCP_RESPONSE);
    expect_span(g.reply.id, "1");
    assert_false(g.reply.is_error);
    assert_false(g.reply.is_tool_error);
    get_end(&g);
    get(&g, "{\"result\":{\"isError\":true,\"content\":[{\"isError\":false}]},\"id\":\"a\\u002f\","
        "\"jsonrpc\":\"2.0\"}", "tools/call",
        NULL, NULL);
    assert_int_equal(g.reply.kind, MCP_RESPONSE);
    assert_true(g.reply.is_tool_error);
    assert_false(g.reply.is_error);
    expect_span(g.reply.id, "\"a/\"");
    get_end(&g);
    get(&g, RESULT("{\"isError\":false,\"structuredContent\":{\"isError\":true}}"), "tools/call", NULL, NULL);
    assert_false(g.reply.is_tool_error);
    get_end(&g);
    get(&g, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32001,\"message\":\"gone\","
        "\"data\":{\"code\":5}}}", "tools/call", NULL,
        NULL);
    assert_int_equal(g.reply.kind, MCP_RESPONSE);
    assert_true(g.reply.is_error);
    assert_int_equal(g.reply.error_code, -32001);
    get_end(&g);
    get(&g, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"?\"}}", "tools/call",
        NULL, NULL);
    assert_int_equal(g.reason, REASON_PERMITTED);
    expect_span(g.reply.id, "null");
    get_end(&g);
}

/* 1.15, 1.19: what servers ask and tell is built for judging */
TEST_CASE(builds_what_is_judged)
{
    struct got g;

    get(&g, "{ \"method\" : \"sampling\\/createMessage\", \"params\" : { \"maxTokens\" : 5, "
            "\"_meta\" : { \"a\" : 1 } }, \"id\" : \"q1\", "
            "\"jsonrpc\" : \"2.0\" }", "", NULL, NULL);
    assert_int_equal(g.reason, REASON_PERMITTED);
    assert_int_equal(g.reply.kind, MCP_REQUEST);
    expect_span(g.reply.method, "sampling/createMessage");
    expect_span(g.reply.id, "\"q1\"");
    expect_span(json_member(g.reply.params, SPAN_LIT("maxTokens"))->raw, "5");
    expect_span(g.reply.meta->raw, "{\"a\":1}");
    expect_span(g.reply.body, "{\"method\":\"sampling/createMessage\",\"params\":{\"maxTokens\":5,"
        "\"_meta\":{\"a\":1}},\"id\":\"q1\","
                              "\"jsonrpc\":\"2.0\"}");
    assert_ptr_equal(g.reply.body.at, buf_peek(&g.out).at);
    get_end(&g);
    get(&g, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,"
        "\"progress\":0.5,"
            "\"_meta\":{\"dev.callgate/x\":1}}}", "tools/call", NULL, NULL);
    assert_int_equal(g.reason, REASON_PERMITTED);
    assert_int_equal(g.reply.kind, MCP_NOTIFICATION);
    expect_span(g.reply.method, "notifications/progress");
    assert_int_equal(g.reply.id.len, 0);
    expect_span(g.reply.params->raw, "{\"progressToken\":1,\"progress\":0.5,\"_meta\":{}}");
    expect_span(g.reply.meta->raw, "{}");
    get_end(&g);
    get(&g, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"ping\"}", "", NULL, NULL);
    assert_int_equal(g.reply.kind, MCP_REQUEST);
    assert_null(g.reply.params);
    get_end(&g);
}

static bool wants_outcome(void *context)
{
    ++*(unsigned *)context;
    return true;
}

static void get_wanted(struct got *g, const char *data, unsigned asked)
{
    unsigned count = 0;
    struct mcp_reply_rules rules = {.request_method = SPAN_LIT("tools/call"), .revisions = revisions, .deceptive = treatments,
                                    .wants = wants_outcome, .keep_context = &count, .request_id = SPAN_LIT("1"), .lenient = ~0U};

    rules.deceptive.results = MCP_STRIP;
    buf_init(&g->out, CAP_BYTES);
    arena_init(&g->arena, CAP_BYTES);
    g->reason = mcp_reply_read(span_text(data), &rules, &g->out, &g->arena, &g->reply, &g->fault);
    assert_int_equal(g->reason, REASON_PERMITTED);
    assert_int_equal(count, asked);
}

/* 11.3: the value that rules for answers look into, over the very bytes that go on */
TEST_CASE(makes_a_tree_of_what_is_looked_into)
{
    static const struct {
        const char *data, *outcome;
    } cases[] = {
        {RESULT("{ \"content\" : [ {\"text\" : \"a\\nb\"} ], \"n\" : 1.50 }"), "{\"content\":[{\"text\":\"a\\nb\"}],\"n\":1.50}"},
        {RESULT("{\"text\":\"pass\xe2\x80\x8bword\",\"b\":[1]}"), "{\"text\":\"password\",\"b\":[1]}"}, /* stripped */
        {RESULT("{\"_meta\":{\"dev.callgate/x\":1,\"a\":2}}"), "{\"_meta\":{\"a\":2}}"},                  /* cut */
        {RESULT("{\"_meta\":{\"dev.callgate/x\":[1]},\"\\t\":[\"\\\"a\xe2\x80\x8b\",{}]}"), "{\"_meta\":{},\"\\t\":[\"\\\"a\",{}]}"},
        {RESULT(" \"a scalar\" "), "\"a scalar\""},
        {RESULT("\"a sca\xe2\x80\x8blar\""), "\"a scalar\""},
        {"{\"error\":null,\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{\"a\":[\"b\"]}}", "{\"a\":[\"b\"]}"}, /* mended */
        {"{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-3,\"message\":\"m\"},\"id\":1}", "{\"code\":-3,\"message\":\"m\"}"},
    };
    struct got g;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        get_wanted(&g, cases[i].data, 1);
        expect_span(g.reply.outcome->raw, cases[i].outcome);
        expect_tree(g.reply.outcome);
        assert_true(g.reply.outcome->raw.at == g.reply.result.at && g.reply.outcome->raw.len == g.reply.result.len);
        assert_null(g.reply.params);
        get_end(&g);
    }
    get_wanted(&g, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"a\":1}}", 0);
    assert_null(g.reply.outcome);
    get_end(&g);
    get(&g, RESULT("{\"a\":1}"), "tools/call", NULL, NULL); /* nobody looks into it */
    assert_null(g.reply.outcome);
    get_end(&g);
}

static bool passes_progress(void *context, struct span method)
{
    ++*(unsigned *)context;
    return span_is(method, "notifications/progress");
}

/* Reads a message where notifications of progress need no judgement. */
static unsigned get_passing(struct got *g, const char *data, const struct mcp_message *request)
{
    unsigned asked = 0;
    struct mcp_reply_rules rules = {.request_method = SPAN_LIT("tools/call"), .revisions = revisions, .request = request,
                                    .deceptive = treatments, .passes = passes_progress, .keep_context = &asked};

    buf_init(&g->out, CAP_BYTES);
    arena_init(&g->arena, CAP_BYTES);
    g->reason = mcp_reply_read(span_text(data), &rules, &g->out, &g->arena, &g->reply, &g->fault);
    return asked;
}

#define NOTE(method, params) "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/" method "\", \"params\": " params "}"

/* 6.7: nothing is built of what needs no judgement, and it is read as strictly as what does */
TEST_CASE(passes_what_nobody_judges)
{
    const struct mcp_message modern = {.method = SPAN_LIT("tools/call"), .is_modern = true};
    static char large[70000];
    struct got g;

    assert_int_equal(get_passing(&g, NOTE("progress", "{\"_meta\": {\"dev.callgate/x\": 1, \"a\": 2}}"), NULL), 1);
    assert_int_equal(g.reason, REASON_PERMITTED);
    assert_true(g.reply.passes);
    assert_null(g.reply.params);
    expect_span(g.reply.body, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"_meta\":{\"a\":2}}}");
    get_end(&g);
    assert_int_equal(get_passing(&g, NOTE("message", "{\"data\": 1}"), NULL), 1);
    assert_false(g.reply.passes);
    assert_non_null(g.reply.params);
    get_end(&g);
    assert_int_equal(get_passing(&g, "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":1}", NULL), 0);
    assert_false(g.reply.passes);
    get_end(&g);
    assert_int_equal(get_passing(&g, NOTE("progress", "{\"_meta\": 1}"), NULL), 1);
    assert_int_equal(g.reason, REASON_UPSTREAM_JSON);
    get_end(&g);
    (void)get_passing(&g, NOTE("progress", "{\"token\": 1, \"toKen\": 2}"), NULL);
    assert_int_equal(g.reason, REASON_UPSTREAM_DUPLICATE);
    get_end(&g);
    assert_int_equal(get_passing(&g, NOTE("progress", "{\"inputRequests\": {\"a\": {\"method\": \"roots/list\"}}}"), &modern), 1);
    assert_false(g.reply.passes);
    assert_non_null(g.reply.asks);
    get_end(&g);
    assert_int_equal(get_passing(&g, NOTE("progress", "{\"InputRequests\": {}}"), &modern), 1);
    assert_int_equal(g.reason, REASON_UPSTREAM_JSON);
    get_end(&g);
    (void)snprintf(large, sizeof large, NOTE("progress", "{\"message\": \"%066000d\"}"), 1);
    assert_int_equal(get_passing(&g, large, NULL), 0); /* it may hold more values than what is judged */
    assert_false(g.reply.passes);
    get_end(&g);
}

/* 1.11, 1.19 */
TEST_CASE(refuses_envelopes)
{
    static const char *const bodies[] = {
        "", "{", "[]", "1", "null", "{}", "[" RESULT("{}") "]", "{\"jsonrpc\":\"2.0\"}",
            "{\"jsonrpc\":\"1.0\",\"id\":1,\"result\":{}}",
        "{\"id\":1,\"result\":{}}", "{\"jsonrpc\":\"2.0\",\"result\":{}}", "{\"jsonrpc\":\"2.0\",\"id\":null,"
            "\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"result\":{}}", "{\"jsonrpc\":\"2.0\",\"id\":[1],\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{\"code\":1,\"message\":\"\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"x\":1}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"Result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"x\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":\"1\"}}", "{\"jsonrpc\":\"2.0\",\"id\":1,"
            "\"error\":{\"code\":1.5}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"sampling/createMessage\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,"
            "\"method\":\"notifications/x\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a b\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\","
            "\"params\":[]}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":5}}",
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", RESULT("{}") RESULT("{}")};

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        expect(bodies[i], "tools/call", REASON_UPSTREAM_JSON);
}

static enum reason read_with(struct got *g, const char *data, unsigned lenient, const char *id)
{
    struct mcp_reply_rules rules = {.request_method = SPAN_LIT("tools/call"), .request_id = span_text(id), .lenient = lenient,
                                    .deceptive = treatments};

    buf_init(&g->out, CAP_BYTES);
    arena_init(&g->arena, CAP_BYTES);
    g->fault = (struct json_fault){0};
    return mcp_reply_read(span_text(data), &rules, &g->out, &g->arena, &g->reply, &g->fault);
}

/* 5.18: which rule a reply broke has a name, and the log its place */
TEST_CASE(names_the_rule)
{
    static const struct {
        const char *data;
        enum reason reason;
        size_t offset;
    } cases[] = {
        {RESULT("{\"a\":1e400}"), REASON_UPSTREAM_NUMBER, 38},   {RESULT("{\"a\":NaN}"), REASON_UPSTREAM_NUMBER, 38},
        {RESULT("{\"a\":-Infinity}"), REASON_UPSTREAM_NUMBER, 39}, {RESULT("[Infinity]"), REASON_UPSTREAM_NUMBER, 34},
        {RESULT("{\"a\":nan}"), REASON_UPSTREAM_JSON, 38},       {RESULT("{\"a\":01}"), REASON_UPSTREAM_JSON, 38},
        {RESULT("{\"a\":1,\"a\":2}"), REASON_UPSTREAM_DUPLICATE, 40},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"result\":{}}", REASON_UPSTREAM_DUPLICATE, 36},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":null}", REASON_UPSTREAM_ERROR_NULL, 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}", REASON_UPSTREAM_ID_TYPE, 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"x\":1}", REASON_UPSTREAM_JSON, 0},
    };
    struct got g;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        g.reason = read_with(&g, cases[i].data, 0, "1");
        if (g.reason != cases[i].reason || g.fault.offset != cases[i].offset)
            print_error("%s: %s at %zu\n", cases[i].data, reason_name(g.reason), g.fault.offset);
        assert_int_equal(g.reason, cases[i].reason);
        assert_int_equal(g.fault.offset, cases[i].offset);
        assert_true(g.fault.text[0] != '\0');
        get_end(&g);
    }
}

/* 5.18: what `lenient` names is mended, and nothing else; what goes on is what a strict server would have sent */
TEST_CASE(mends_what_a_route_allows)
{
    enum { NULLS = MCP_LENIENT_ERROR_NULL, IDS = MCP_LENIENT_ID_TYPE, ALL = NULLS | IDS };
    static const struct {
        unsigned lenient;
        const char *id, *data, *left;
        enum reason reason;
    } cases[] = {
        {NULLS, "1",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"error\":null},\"error\":null}", RESULT("{\"error\":null}"), REASON_PERMITTED},
        {NULLS, "1", "{\"error\":null,\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", RESULT("{}"), REASON_PERMITTED},
        {NULLS, "1", "{\"jsonrpc\":\"2.0\",\"error\" : null ,\"id\":1,\"result\":{}}", RESULT("{}"), REASON_PERMITTED},
        {IDS, "1", "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}", RESULT("{}"), REASON_PERMITTED},
        {IDS, "1", "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0031\",\"result\":{}}", RESULT("{}"), REASON_PERMITTED},
        {IDS, "1", "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"error\":{\"code\":5}}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":5}}",
         REASON_PERMITTED},
        {ALL, "1",
         "{\"jsonrpc\":\"2.0\",\"error\":null,\"id\":\"1\",\"result\":{\"_meta\":{\"dev.callgate/x\":1}}}", RESULT("{\"_meta\":{}}"),
         REASON_PERMITTED},
        {ALL, "1", "{\"id\":\"1\",\"result\":{\"a\":1.0},\"error\":null,\"jsonrpc\":\"2.0\"}",
         "{\"id\":1,\"result\":{\"a\":1.0},\"jsonrpc\":\"2.0\"}", REASON_PERMITTED},
        /* one leave is none for the other */
        {IDS, "1", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":null}", NULL, REASON_UPSTREAM_ERROR_NULL},
        {NULLS, "1", "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}", NULL, REASON_UPSTREAM_ID_TYPE},
        /* still refused: nothing that could be read in two ways becomes readable */
        {ALL, "1", "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":null}", NULL, REASON_UPSTREAM_ERROR_NULL},
        {ALL, "1", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"error\":null}", NULL, REASON_UPSTREAM_ERROR_NULL},
        {ALL, "1", "{\"jsonrpc\":\"2.0\",\"error\":null,\"method\":\"notifications/x\"}", NULL, REASON_UPSTREAM_ERROR_NULL},
        {ALL, "1", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"Error\":null}", NULL, REASON_UPSTREAM_JSON},
        {ALL, "1", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":false}", NULL, REASON_UPSTREAM_JSON},
        {ALL, "1", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":null,\"error\":null}", NULL, REASON_UPSTREAM_DUPLICATE},
        {ALL, "1", "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":\"1\",\"result\":{}}", NULL, REASON_UPSTREAM_DUPLICATE},
        /* another id is another id */
        {ALL, "1", "{\"jsonrpc\":\"2.0\",\"id\":\"01\",\"result\":{}}",
         "{\"jsonrpc\":\"2.0\",\"id\":\"01\",\"result\":{}}", REASON_PERMITTED},
        {ALL, "\"1\"", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", RESULT("{}"), REASON_PERMITTED},
        {ALL, "", "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}", "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"result\":{}}", REASON_PERMITTED},
        /* a question of the server has ids of its own */
        {ALL, "1", "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"id\":\"1\",\"method\":\"ping\"}",
         REASON_PERMITTED},
    };
    struct got g;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        g.reason = read_with(&g, cases[i].data, cases[i].lenient, cases[i].id);
        if (g.reason != cases[i].reason)
            print_error("%s: %s\n", cases[i].data, reason_name(g.reason));
        assert_int_equal(g.reason, cases[i].reason);
        expect_span(buf_peek(&g.out), cases[i].left != NULL ? cases[i].left : "");
        if (g.reason == REASON_PERMITTED) {
            assert_int_equal(g.reply.is_mended, strcmp(cases[i].data, cases[i].left) != 0);
            if (g.reply.is_mended)
                expect_span(g.reply.id, "1");
        }
        get_end(&g);
    }
}

TEST_CASE(refuses_what_is_too_large)
{
    struct mcp_reply_rules rules = {.request_method = SPAN_LIT("tools/call")};
    struct got g;

    buf_init(&g.out, 40);
    arena_init(&g.arena, CAP_BYTES);
    assert_int_equal(mcp_reply_read(SPAN_LIT(RESULT("\"0123456789\"")), &rules, &g.out, &g.arena, &g.reply, &g.fault),
                     REASON_UPSTREAM_TOO_LARGE);
    get_end(&g);
}

/* 1.19: nobody but the gate speaks as the gate */
TEST_CASE(removes_our_own_notes)
{
    expect_body(RESULT("{\"_meta\":{\"dev.callgate/denial\":{\"code\":\"policy_denied\",\"decision\":1}},"
        "\"content\":[]}"), "tools/call",
                NULL, RESULT("{\"_meta\":{},\"content\":[]}"));
    expect_body(RESULT("{\"_meta\":{\"a\":1,\"dev.callgate/denial\":{}}}"), "tools/call", NULL,
        RESULT("{\"_meta\":{\"a\":1}}"));
    expect_body(RESULT("{\"_meta\":{\"dev.callgate/denial\":{},\"a\":1}}"), "tools/call", NULL,
        RESULT("{\"_meta\":{\"a\":1}}"));
    expect_body(RESULT("{\"_meta\":{\"dev.callgate/a\":1,\"dev.callgate/b\":2}}"), "tools/call", NULL,
        RESULT("{\"_meta\":{}}"));
    expect_body(RESULT("{\"_meta\":{\"a\":1,\"dev.callgate/a\":1,\"dev.callgate/b\":2}}"), "tools/call", NULL,
                RESULT("{\"_meta\":{\"a\":1}}"));
    expect_body(RESULT("{\"_meta\":{\"dev.callgate/a\":1,\"a\":1,\"dev.callgate/b\":2,\"b\":2}}"), "tools/call", NULL,
                RESULT("{\"_meta\":{\"a\":1,\"b\":2}}"));
    expect_body(RESULT("{\"_meta\":{\"dev\\u002ecallgate\\/x\":1}}"), "tools/call", NULL, RESULT("{\"_meta\":{}}"));
    /* At any depth, also inside each other. */
    expect_body(RESULT("{\"content\":[{\"_meta\":{\"dev.callgate/x\":[1,2],"
        "\"y\":{\"_meta\":{\"dev.callgate/z\":0}}}}]}"), "tools/call",
                NULL, RESULT("{\"content\":[{\"_meta\":{\"y\":{\"_meta\":{}}}}]}"));
    expect_body(RESULT("{\"_meta\":{\"dev.callgate/x\":{\"_meta\":{\"dev.callgate/y\":1}},\"k\":0}}"),
        "tools/call", NULL,
                RESULT("{\"_meta\":{\"k\":0}}"));
    /* Only there, and only that name. */
    expect_body(RESULT("{\"dev.callgate/x\":1,\"_meta\":{\"dev.callgat/x\":1,\"x\":{\"dev.callgate/x\":1}},"
        "\"meta\":{\"dev.callgate/x\":1}}"),
                "tools/call", NULL,
                RESULT("{\"dev.callgate/x\":1,\"_meta\":{\"dev.callgat/x\":1,\"x\":{\"dev.callgate/x\":1}},"
                    "\"meta\":{\"dev.callgate/x\":1}}"));
}

/* 1.11, 1.19: what a server asks is judged, so its keys are compared as an agent's are */
TEST_CASE(refuses_folded_keys_in_questions)
{
    static const char *const params[] = {"{\"maxTokens\":1,\"MAXTOKENS\":9}", "{\"ma\u017fk\":1,\"mas\u212a\":9}"};
    char text[256];

    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++) {
        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sampling/createMessage\",\"params\":%s}",
                 params[i]);
        expect(text, "", REASON_UPSTREAM_DUPLICATE);
    }
    expect("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"a\":{\"n\":1,\"N\":2}}}", "",
           REASON_PERMITTED);
}

/* 1.19: definitions that deceive a reader */
TEST_CASE(refuses_deceptive_definitions)
{
    expect(LIST("{\"name\":\"a\",\"description\":\"caf\xc3\xa9 \\n \xf0\x9f\x98\x80\"}"), "tools/list",
        REASON_PERMITTED);
    expect(LIST("{\"name\":\"a\",\"description\":\"x\xe2\x80\xaey\"}"), "tools/list", REASON_UPSTREAM_DEFINITION);
    expect(LIST("{\"name\":\"a\",\"description\":\"x\\u200by\"}"), "tools/list", REASON_UPSTREAM_DEFINITION);
    expect(LIST("{\"name\":\"a\\udb40\\udc41\"}"), "tools/list", REASON_UPSTREAM_DEFINITION);
    expect(LIST("{\"name\":\"a\",\"inputSchema\":{\"properties\":{\"x\\u2066\":{}}}}"), "tools/list",
        REASON_UPSTREAM_DEFINITION);
    expect(LIST("{\"name\":\"a\",\"annotations\":{\"title\":[\"\\u0007\"]}}"), "tools/list",
        REASON_UPSTREAM_DEFINITION);
    /* Results of calls may say what they like. */
    expect(RESULT("{\"content\":[{\"type\":\"text\",\"text\":\"x\\u200by\"}]}"), "tools/call", REASON_PERMITTED);
    /* What is left out deceives nobody. */
    assert_int_equal(expect_body(LIST("{\"name\":\"a\",\"description\":\"x\\u200by\"}," TOOL("b")),
        "tools/list", "b", LIST(TOOL("b"))), 1);
}

/* 1.15: what was negotiated must be judged here */
TEST_CASE(checks_the_negotiated_version)
{
    struct got g;

    get(&g, RESULT("{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}}}"), "initialize", NULL, NULL);
    assert_int_equal(g.reason, REASON_PERMITTED);
    assert_false(g.reply.is_unsupported_version);
    expect_span(g.reply.version, "2025-06-18");
    get_end(&g);
    get(&g, RESULT("{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}}"), "initialize", NULL, NULL);
    assert_int_equal(g.reason, REASON_VERSION_NEGOTIATED);
    assert_true(g.reply.is_unsupported_version);
    expect_span(g.reply.version, "2025-11-25");
    expect_span(g.reply.body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,"
                              "\"message\":\"The server's protocol version is not supported.\","
                              "\"data\":{\"supported\":[\"2024-11-05\",\"2025-06-18\"]}}}");
    get_end(&g);
    get(&g, RESULT("{\"capabilities\":{\"protocolVersion\":\"2025-06-18\"}}"), "initialize", NULL, NULL);
    assert_int_equal(g.reason, REASON_VERSION_NEGOTIATED);
    get_end(&g);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"\"}}", "initialize",
        REASON_PERMITTED);
    expect(RESULT("{\"protocolVersion\":\"1999\"}"), "tools/call", REASON_PERMITTED);
    expect(RESULT("{\"protocolVersion\":\"2025-06-18\",\"ProtocolVersion\":\"1999\"}"), "initialize", REASON_UPSTREAM_JSON);
    expect(RESULT("{\"protocolVer\xc5\xbfion\":\"1999\"}"), "initialize", REASON_UPSTREAM_JSON);
}

/* 1.14: values, members and order stay */
TEST_CASE(keeps_everything_else)
{
    expect_body(" { \"result\" : { \"content\" : [ { \"type\" : \"text\", "
                "\"text\" : \"{\\\"a\\\": 1.0}\\u000a\" } ], \"n\" : [ 1.10, null, 1E2 ] },"
                " \"id\" : 1, \"jsonrpc\" : \"2.0\" } ", "tools/call", NULL,
                "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\": 1.0}\\n\"}],"
                    "\"n\":[1.10,null,1E2]},\"id\":1,\"jsonrpc\":\"2.0\"}");
    expect_body(RESULT("{\"text\":\"\xe2\x80\xa8\"}"), "tools/call", NULL, RESULT("{\"text\":\"\\u2028\"}"));
}

TEST_CASE(writes_errors)
{
    struct buf out;

    buf_init(&out, CAP_BYTES);
    assert_int_equal(mcp_reply_error(SPAN_LIT("7"), REASON_UPSTREAM_JSON, 12, &out), CODE_OK);
    expect_span(buf_peek(&out), "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":5030,"
                                "\"message\":\"The upstream's answer is not acceptable.\","
                                "\"data\":{\"code\":\"unavailable\",\"decision\":12}}}");
    buf_clear(&out);
    assert_int_equal(mcp_reply_error(SPAN_NONE, REASON_UPSTREAM_CLOSED, 0, &out), CODE_OK);
    expect_span(buf_peek(&out), "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":5030,"
                                "\"message\":\"The upstream closed the connection before its answer was complete.\","
                                "\"data\":{\"code\":\"unavailable\",\"decision\":null}}}");
    buf_fini(&out);
}

TEST_CASE(fails_without_memory)
{
    static const char *const datas[] = {
        LIST(TOOL("a") "," TOOL("b")), RESULT("{\"_meta\":{\"dev.callgate/x\":\"\\n\\t\"},"
            "\"protocolVersion\":\"1999\"}"),
        "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\",\"params\":{\"a\\n\":1}}"};
    static const char *const methods[] = {"tools/list", "initialize", ""};

    for (size_t i = 0; i < 3; i++)
        for (uint64_t n = 1;; n++) {
            struct got g;

            mem_fail_at(n, 1);
            get(&g, datas[i], methods[i], keep_listed, (void *)(uintptr_t)"a");
            mem_fail_at(0, 0);
            if (g.reason != REASON_MEMORY)
                assert_int_equal(g.reason, i == 1 ? REASON_VERSION_NEGOTIATED : REASON_PERMITTED);
            else
                assert_int_equal(buf_len(&g.out), 0);
            get_end(&g);
            if (g.reason != REASON_MEMORY)
                break;
            assert_true(n < 100);
        }
}

#define EVIL "a\\u001b[2Jb\\u2028\xe2\x80\xae\\\"\\\\\xf3\xa0\x81\xa1 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb\xe2\x80\x8d\\b"
#define GOOD "a[2Jb\\\"\\\\ \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb"
#define INITIALIZE(x) "{\"protocolVersion\":\"2025-06-18\",\"instructions\":\"" x "\",\"x\":1.0}"
#define TOOLS(x) "{\"tools\":[{\"name\":\"a\",\"title\":\"" x "\",\"n\":[1e2,\"" x "\",true]}],\"y\":\"" x "\"}"
#define PROMPTS(x) "{\"prompts\":[{\"name\":\"a\",\"description\":\"" x "\"}]}"
#define PROMPT(x) "{\"messages\":[{\"content\":{\"text\":\"" x "\"}}]}"
#define CALLED(x) "{\"content\":[{\"text\":\"" x "\"},{\"text\":\"\"}],\"z\":[\"" x "\",{}]}"
#define STRING(x) "\"" x "\""
#define UNKNOWN(x) "{\"instructions\":\"" x "\"}"
#define UNKNOWN_PROMPT(x) "{\"Messages\":[\"" x "\"]}"
#define UNKNOWN_LIST(x) "{\"resources\":[{\"uri\":\"a:b\",\"text\":\"" x "\"}]}"

/* 4.13: each place by its own word; whatever is stripped, the rest is the same value in the same order */
TEST_CASE(treats_what_deceives)
{
    enum mcp_treatment *const definitions = &treatments.definitions, *const instructions = &treatments.instructions,
                       *const prompts = &treatments.prompts, *const results = &treatments.results;
    const struct {
        const char *method, *evil, *good;
        enum mcp_treatment *place;
    } cases[] = {
#define CASE(method, shape, place) {method, RESULT(shape(EVIL)), RESULT(shape(GOOD)), place}
        CASE("initialize", INITIALIZE, instructions), CASE("tools/list", TOOLS, definitions),
        CASE("prompts/list", PROMPTS, definitions),   CASE("prompts/get", PROMPT, prompts),
        CASE("tools/call", CALLED, results),          CASE("tools/call", STRING, results),
        CASE("", UNKNOWN, instructions),              CASE("", UNKNOWN_PROMPT, prompts),
        CASE("", UNKNOWN_LIST, definitions),          CASE("", CALLED, results),
    };
    struct got g;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int treatment = MCP_REFUSE; treatment <= MCP_PASS; treatment++) {
            treatments = (struct mcp_deceptive){0};
            *cases[i].place = (enum mcp_treatment)treatment;
            expect(cases[i].good, cases[i].method, REASON_PERMITTED);
            get(&g, cases[i].evil, cases[i].method, NULL, NULL);
            if (treatment == MCP_REFUSE)
                assert_true(g.reason == REASON_UPSTREAM_DECEPTIVE || g.reason == REASON_UPSTREAM_DEFINITION);
            else
                assert_int_equal(g.reason, REASON_PERMITTED);
            if (treatment == MCP_PASS)
                assert_true(span_is(g.reply.body, cases[i].evil) && g.reply.stripped == 0);
            if (treatment == MCP_STRIP)
                assert_true(span_is(g.reply.body, cases[i].good) && g.reply.stripped > 0);
            get_end(&g);
        }
    treatments = (struct mcp_deceptive){.results = MCP_PASS, .messages = MCP_PASS};
}

/* 4.13: what says what is what is not changed, but refused; what is left out is not looked at */
TEST_CASE(refuses_deceptive_names)
{
    char kept[] = "a";
    struct got g;

    treatments.definitions = treatments.results = treatments.messages = MCP_STRIP;
    expect(LIST("{\"name\":\"a\xe2\x80\x8b\"}"), "tools/list", REASON_UPSTREAM_DEFINITION);
    expect(LIST("{\"name\":\"a\",\"x\xe2\x80\x8b\":1}"), "tools/list", REASON_UPSTREAM_DEFINITION);
    expect(RESULT("{\"a\":1,\"a\xe2\x80\x8b\":2}"), "tools/call", REASON_UPSTREAM_DECEPTIVE);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"m\",\"data\":{\"\xe2\x80\x8b\":2}}}", "tools/call",
           REASON_UPSTREAM_DECEPTIVE);
    get(&g, LIST("{\"name\":\"b\",\"title\":\"\xe2\x80\x8b\"},{\"name\":\"a\"}"), "tools/list", keep_listed, kept);
    assert_true(span_is(g.reply.body, LIST("{\"name\":\"a\"}")));
    assert_int_equal(g.reply.stripped, 0);
    get_end(&g);
    get(&g, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"elicitation/create\",\"params\":{\"message\":\"x\xe2\x80\xaey\"}}", "tools/call",
        NULL, NULL);
    assert_int_equal(g.reason, REASON_PERMITTED);
    assert_true(span_is(json_member(g.reply.params, SPAN_LIT("message"))->text, "xy")); /* what is judged is what goes down */
    assert_int_equal(g.reply.stripped, 1);
    get_end(&g);
    treatments = (struct mcp_deceptive){.results = MCP_PASS, .messages = MCP_PASS};
    assert_true(mcp_json_is_deceptive(SPAN_LIT("{\"a\":[\"\\u001b[1m\"]}")));
    assert_false(mcp_json_is_deceptive(SPAN_LIT("{\"a\":[\"\\n\"]}")));
    assert_true(mcp_json_is_deceptive(SPAN_LIT("{\"a\":")));
}

/* 5.23: what only a modern request may be answered */
TEST_CASE(refuses_questions_of_another_era)
{
    expect(RESULT("{\"resultType\":\"input_required\",\"inputRequests\":{}}"), "tools/call", REASON_UPSTREAM_JSON);
    expect(RESULT("{\"inputRequests\":{},\"ResultType\":\"input_required\"}"), "", REASON_UPSTREAM_JSON);
    expect(RESULT("{\"resultType\":\"complete\",\"content\":[{\"resultType\":\"input_required\"}]}"), "tools/call", REASON_PERMITTED);
}

TEST_MAIN(NULL, NULL)
