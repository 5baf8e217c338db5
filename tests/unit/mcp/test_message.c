/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp_help.h"

#define CALL(params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":" params "}"

static void expect(const char *body, enum reason reason)
{
    struct asked a;

    ask(&a, body);
    if (a.reason != reason)
        print_error("%s: %s instead of %s\n", body, reason_name(a.reason), reason_name(reason));
    assert_int_equal(a.reason, reason);
    ask_end(&a);
}

/* 1.15 */
TEST_CASE(reads_a_call)
{
    struct asked a;

    ask(&a, " { \"jsonrpc\" : \"2.0\", \"id\" : \"a\\u002d1\", \"method\" : \"tools/call\", \"params\" : "
        "{ \"name\" : \"send-it\", "
            "\"arguments\" : { \"to\" : \"x\" }, \"_meta\" : { \"progressToken\" : 7 } } } ");
    assert_int_equal(a.reason, REASON_PERMITTED);
    assert_int_equal(a.message.kind, MCP_REQUEST);
    expect_span(a.message.method, "tools/call");
    expect_span(a.message.id, "\"a-1\"");
    expect_span(a.message.tool, "send-it");
    expect_span(a.message.target, "send-it");
    expect_span(a.message.arguments->raw, "{\"to\":\"x\"}");
    expect_span(a.message.meta->raw, "{\"progressToken\":7}");
    assert_ptr_equal(mcp_message_subject(&a.message), a.message.arguments);
    assert_false(a.message.is_modern);
    expect_span(buf_peek(&a.canon), "{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"method\":\"tools/call\","
        "\"params\":{\"name\":\"send-it\","
                                    "\"arguments\":{\"to\":\"x\"},\"_meta\":{\"progressToken\":7}}}");
    ask_end(&a);
}

/* 1.15, 1.18: all that the five systems and the official clients send */
TEST_CASE(reads_ordinary_messages)
{
    static const struct {
        const char *body;
        enum mcp_kind kind;
        const char *method, *target;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}", MCP_REQUEST, "tools/list", ""},
        {"{\"method\":\"ping\",\"jsonrpc\":\"2.0\",\"id\":0}", MCP_REQUEST, "ping", ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":-5,\"method\":\"x/anything\",\"params\":{}}", MCP_REQUEST, "x/anything", ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":9007199254740991,\"method\":\"prompts/get\","
            "\"params\":{\"name\":\"a b \xc3\xa9\",\"arguments\":{}}}",
         MCP_REQUEST, "prompts/get", "a b \xc3\xa9"},
        {"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"resources/read\",\"params\":{\"uri\":\"db://users\"}}",
            MCP_REQUEST,
         "resources/read", "db://users"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", MCP_NOTIFICATION,
            "notifications/initialized", ""},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1,\"reason\":null}}",
         MCP_NOTIFICATION, "notifications/cancelled", ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MCP_RESPONSE, "", ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{\"code\":-1,\"message\":\"no\"}}", MCP_RESPONSE, "", ""},
        {CALL("{\"name\":\"t\"}"), MCP_REQUEST, "tools/call", "t"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct asked a;

        ask(&a, cases[i].body);
        assert_int_equal(a.reason, REASON_PERMITTED);
        assert_int_equal(a.message.kind, cases[i].kind);
        expect_span(a.message.method, cases[i].method);
        expect_span(a.message.target, cases[i].target);
        assert_ptr_equal(mcp_message_subject(&a.message),
                         cases[i].method[0] == 't' || cases[i].method[0] == 'p' ? a.message.arguments : a.message.params);
        ask_end(&a);
    }
}

/* 1.15: initialize, whatever version it asks for */
TEST_CASE(reads_initialize)
{
    struct asked a;

    ask(&a, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
        "\"params\":{\"protocolVersion\":\"1999-01-01\",\"capabilities\":{}}}");
    assert_int_equal(a.reason, REASON_PERMITTED);
    expect_span(a.message.asked_version, "1999-01-01");
    ask_end(&a);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{}}", REASON_PERMITTED);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":5}}",
        REASON_PARAMS_INVALID);
}

/* 1.11, 1.19: the envelope */
TEST_CASE(refuses_envelopes)
{
    static const char *const bodies[] = {
        "{}", "1", "\"x\"", "null", "{\"id\":1,\"method\":\"ping\"}", "{\"jsonrpc\":\"1.0\",\"id\":1,"
            "\"method\":\"ping\"}",
        "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", "{\"jsonrpc\":null,\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1}", "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"tasks/whatever\"}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"sampling/createMessage\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"notifications/initialized\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"extra\":1}", "{\"jsonrpc\":\"2.0\",\"id\":1,"
            "\"Method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"PARAMS\":{}}", "{\"jsonrpc\":\"2.0\",\"Id\":1,"
            "\"method\":\"x/y\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"param\xc5\xbf\":{}}",
            "{\"JSONRPC\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call \"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools\\ncall\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,"
            "\"method\":\"t\xc3\xa9\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"result\":{}}", "{\"jsonrpc\":\"2.0\",\"id\":1,"
            "\"method\":\"ping\",\"error\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", "{\"jsonrpc\":\"2.0\",\"id\":1,"
            "\"result\":{},\"params\":{}}",
        "{\"jsonrpc\":\"2.0\",\"result\":{}}", "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"no\"}", "{\"jsonrpc\":\"2.0\",\"error\":{}}"};

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct asked a;

        ask(&a, bodies[i]);
        if (a.reason != REASON_ENVELOPE)
            print_error("%s: %s\n", bodies[i], reason_name(a.reason));
        assert_int_equal(a.reason, REASON_ENVELOPE);
        assert_int_equal(a.message.kind, MCP_NONE);
        ask_end(&a);
    }
}

/* 1.11: ids */
TEST_CASE(bounds_ids)
{
    static const char *const good[] = {"0", "-1", "9007199254740991", "-9007199254740991", "\"x\"", "\" \"",
        "\"\xc3\xa9\xe6\xbc\xa2\"",
                                       "\"0f8fad5b-d9cb-469f-a165-70867728950e\""};
    static const char *const bad[] = {"null", "true", "{}", "[]", "[1]", "1.5", "1.0", "1e0", "-0", "9007199254740992",
                                      "-9007199254740992", "123456789012345678901234567890", "\"\"", "\"a\\n\"",
                                          "\"\\t\"",
                                      "\"\\u007f\"", "\"\\u0085\"", "\"\\u202e\"", "\"a\\u200bb\""};
    char body[1024], longest[600];

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", good[i]);
        expect(body, REASON_PERMITTED);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", bad[i]);
        expect(body, REASON_ENVELOPE);
        snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", bad[i]);
        expect(body, REASON_ENVELOPE);
    }
    for (int characters = 128; characters <= 129; characters++) {
        longest[0] = '\0';
        for (int i = 0; i < characters; i++)
            memcpy(longest + 3 * i, "\xe6\xbc\xa2", 4);
        snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"ping\"}", longest);
        expect(body, characters == 128 ? REASON_PERMITTED : REASON_ENVELOPE);
    }
}

/* 1.16, 1.19 */
TEST_CASE(refuses_batches)
{
    expect("[]", REASON_BATCH);
    expect("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", REASON_BATCH);
}

/* 1.11: the JSON underneath */
TEST_CASE(refuses_json)
{
    expect("", REASON_JSON_MALFORMED);
    expect("{", REASON_JSON_MALFORMED);
    expect("{\"a\":\"\\u0000\"}", REASON_JSON_MALFORMED);
    expect("{\"a\":1e400}", REASON_JSON_MALFORMED);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"tools/call\"}", REASON_JSON_DUPLICATE);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"Method\":\"tools/call\"}", REASON_JSON_DUPLICATE);
    expect(CALL("{\"name\":\"t\",\"Name\":\"u\"}"), REASON_JSON_DUPLICATE);
    expect("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1"
        "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
           REASON_JSON_LIMIT);
}

/* 1.19: what is asked must be named beyond doubt */
TEST_CASE(refuses_parameters)
{
    char body[512], name[140];

    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", REASON_PARAMS_INVALID);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":null}", REASON_PARAMS_INVALID);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":1}}", REASON_PARAMS_INVALID);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":5}}",
        REASON_PARAMS_INVALID);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\"}", REASON_PARAMS_INVALID);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{\"name\":\"\"}}",
        REASON_PARAMS_INVALID);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{\"name\":\"p\",\"arguments\":[]}}",
           REASON_ARGUMENTS_INVALID);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}", REASON_TOOL_NAME_INVALID);
    expect(CALL("{}"), REASON_TOOL_NAME_INVALID);
    expect(CALL("{\"name\":7}"), REASON_TOOL_NAME_INVALID);
    expect(CALL("{\"name\":\"\"}"), REASON_TOOL_NAME_INVALID);
    expect(CALL("{\"name\":\"a\\u0000\"}"), REASON_JSON_MALFORMED);
    expect(CALL("{\"NAME\":\"a\"}"), REASON_PARAMS_INVALID);
    expect(CALL("{\"name\":\"a\",\"arguments\":[]}"), REASON_ARGUMENTS_INVALID);
    expect(CALL("{\"name\":\"a\",\"arguments\":\"{}\"}"), REASON_ARGUMENTS_INVALID);
    expect(CALL("{\"name\":\"a\",\"arguments\":null}"), REASON_ARGUMENTS_INVALID);
    for (size_t len = 128; len <= 129; len++) {
        memset(name, 'x', len);
        name[len] = '\0';
        snprintf(body, sizeof body, CALL("{\"name\":\"%s\"}"), name);
        expect(body, len == 128 ? REASON_PERMITTED : REASON_TOOL_NAME_INVALID);
    }
}

/* 5.19: what official servers use; nothing that a person does not see */
/* 15.5: what a route says that a message is about, and what is about an URI by the table */
TEST_CASE(finds_what_it_is_about)
{
    static const struct mcp_method method = {{"acme/read", 9}, {"at", 2}, MCP_ABOUT_RESOURCE, MCP_LISTS_NOTHING, {"", 0}, {"", 0},
                                             false};
    const struct mcp_methods own = {&method, 1};
    const struct mcp_read_rules rules = {.own = &own};
    static const struct {
        const char *method, *params, *target; /* NULL: refused */
    } cases[] = {
        {"acme/read", "{\"at\":\"x://a\"}", "x://a"}, {"acme/read", "{\"at\":\"x://a\",\"other\":1}", "x://a"},
        {"acme/read", "{\"At\":\"x://a\"}", NULL},
        {"acme/read", "{\"at\":1}", NULL}, {"acme/read", "{\"at\":\"\"}", NULL}, {"acme/read", "{}", NULL},
        {"acme/other", "{\"at\":\"x://a\"}", ""},
        {"skills/get", "{\"uri\":\"skill://a/SKILL.md\"}", "skill://a/SKILL.md"}, {"skills/get", "{}", NULL},
        {"skills/get", "{\"uri\":\"skill://a/SKILL.md\",\"name\":\"a\"}", NULL},
        {"resources/directory/read", "{\"uri\":\"skill://a\",\"cursor\":\"c\"}", "skill://a"},
        {"skills/list", "{\"cursor\":\"c\"}", ""}, {"skills/list", "{\"uri\":\"c\"}", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct asked a;
        char body[300];

        (void)snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", cases[i].method,
                       cases[i].params);
        ask_with(&a, span_text(body), &rules);
        if (a.reason != (cases[i].target != NULL ? REASON_PERMITTED : REASON_PARAMS_INVALID))
            fail_msg("%s: %s", body, reason_name(a.reason));
        if (cases[i].target != NULL)
            expect_span(a.message.target, cases[i].target);
        ask_end(&a);
    }
}

TEST_CASE(takes_names_as_told)
{
    static const struct {
        const char *name;
        bool printable, strict;
    } names[] = {
        {"a", true, true}, {"get_x.y-Z9", true, true}, {"a b", true, false}, {"a/b", true, false}, {"ns:tool (v2)", true, false},
        {"~", true, false}, {"*?\\\\", true, false}, {"\xc3\xa9t\xc3\xa9", true, false}, {"\xd0\xb0", true, false},
        {"\xe6\x97\xa5\xe6\x9c\xac", true, false}, {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb", true, false},
        {"a\xc2\xa0" "b", true, false}, {"", false, false}, {" ", false, false}, {" a", false, false}, {"a ", false, false},
        {"\xc2\xa0" "a", false, false}, {"a\xe3\x80\x80", false, false}, {"a\\tb", false, false}, {"a\\n", false, false},
        {"\\u007f", false, false}, {"a\\u0085", false, false}, {"a\\u2028b", false, false}, {"a\\u200bb", false, false},
        {"a\\u202eb", false, false}, {"\\ufeffa", false, false}, {"a\\udb40\\udc41", false, false}, {"a\\u001b[1m", false, false},
        /* what shows nothing, or what shows beside a sign of two forms alone */
        {"a\\u2800", false, false}, {"a\\u2065b", false, false}, {"a\\ufff0", false, false}, {"a\\ud81b\\udfe4", false, false},
        {"a\\ufe0f", false, false}, {"\\u2764\\ufe00", false, false}, {"\\u2764\\ufe0f\\ufe0f", false, false},
        {"\\u2764\\ufe0f", true, false}, {"1\\ufe0f\\u20e3", true, false}, {"\\u00a9\\ufe0e", true, false},
        {"\\ud83c\\udfe0\\ufe0f", true, false}, {"a\\u2800b", false, false},
    };
    struct asked a;
    char body[256];

    for (int strict = 0; strict < 2; strict++)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            const struct mcp_read_rules rules = {.strict_tool_names = strict != 0};
            bool takes = strict ? names[i].strict : names[i].printable;

            snprintf(body, sizeof body, CALL("{\"name\":\"%s\"}"), names[i].name);
            ask_with(&a, span_text(body), &rules);
            if ((a.reason == REASON_PERMITTED) != takes)
                print_error("%s\n", names[i].name);
            assert_int_equal(a.reason, takes ? REASON_PERMITTED : REASON_TOOL_NAME_INVALID);
            assert_int_equal(a.message.tool.len == 0, !takes);
            assert_int_equal(a.message.detail == NULL, takes);
            ask_end(&a);
        }
}

/* 1.19: names of ours for what has no method, and what only servers say, are no methods of an agent */
TEST_CASE(refuses_methods_of_others)
{
    static const char *const names[] = {"stream/open", "session/end", "response", "stream/message", "pass", "roots/list",
                                        "sampling/createMessage", "notifications/message"};
    char body[256];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",%s\"method\":\"%s\"}", i < 7 ? "\"id\":1," : "", names[i]);
        expect(body, REASON_METHOD_UNKNOWN);
    }
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"vendor/own\"}", REASON_PERMITTED);
}

/* 1.11: readers that ignore case take `Arguments` for the arguments, which no rule would have seen */
TEST_CASE(refuses_other_spellings_in_params)
{
    static const char *const params[] = {
        "{\"name\":\"a\",\"Arguments\":{\"sql\":\"drop\"}}", "{\"name\":\"a\",\"argument\\u017f\":{}}",
        "{\"name\":\"a\",\"ta\xc5\xbf\xe2\x84\xaa\":{}}",       "{\"name\":\"a\",\"tas\\u212a\":{}}",
        "{\"name\":\"a\",\"_Meta\":{}}",                         "{\"name\":\"a\",\"URI\":\"x\"}",
        "{\"name\":\"a\",\"taskid\":\"x\"}",                     "{\"name\":\"a\",\"protocolversion\":\"x\"}"};

    for (size_t i = 0; i < sizeof params / sizeof params[0]; i++) {
        char body[256];

        snprintf(body, sizeof body, CALL("%s"), params[i]);
        expect(body, REASON_PARAMS_INVALID);
    }
    expect(CALL("{\"name\":\"a\",\"arguments\":{\"Arguments\":{},\"NAME\":1}}"), REASON_PERMITTED);
    /* 4.10: nor may what no revision names, but that is no spelling of anything */
    expect(CALL("{\"name\":\"a\",\"argument\":1}"), REASON_PARAMS_INVALID);
    expect(CALL("{\"name\":\"a\",\"\":1}"), REASON_PARAMS_INVALID);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"vendor/own\",\"params\":{\"argument\":1,\"Level\":3}}", REASON_PERMITTED);
}

/* 4.11: what of _meta goes up is cut before anything is judged, and the rest stays byte for byte */
TEST_CASE(cuts_meta)
{
    static const struct {
        enum mcp_meta meta;
        const char *params, *left;
    } cases[] = {
        {MCP_META_PASS, "{\"_meta\":{\"x\":1},\"name\":\"t\"}", "{\"_meta\":{\"x\":1},\"name\":\"t\"}"},
        {MCP_META_NONE, "{\"_meta\":{\"progressToken\":1},\"name\":\"t\"}", "{\"name\":\"t\"}"},
        {MCP_META_NONE, "{\"name\":\"t\",\"_meta\":{\"x\":1},\"arguments\":{\"_meta\":1}}",
         "{\"name\":\"t\",\"arguments\":{\"_meta\":1}}"},
        {MCP_META_NONE, "{\"name\":\"t\", \"_meta\" : 1 }", "{\"name\":\"t\"}"},
        {MCP_META_KNOWN, "{\"name\":\"t\",\"_meta\":{\"a\\\"\\n\":{\"y\":[1]},\"progressToken\":\"p\",\"z\":2,"
         "\"traceparent\":\"0\",\"w\":3}}",
         "{\"name\":\"t\",\"_meta\":{\"progressToken\":\"p\",\"traceparent\":\"0\"}}"},
        {MCP_META_KNOWN, "{\"name\":\"t\",\"_meta\":{\"x\":1}}", "{\"name\":\"t\",\"_meta\":{}}"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct mcp_read_rules rules = {.meta = cases[i].meta};
        char body[512];
        struct asked a;

        (void)snprintf(body, sizeof body, CALL("%s"), cases[i].params);
        ask_with(&a, span_text(body), &rules);
        assert_int_equal(a.reason, REASON_PERMITTED);
        expect_span(a.message.params->raw, cases[i].left);
        ask_end(&a);
    }
}

/* 4.10: what stands beside name and arguments, as one object; and which member is refused */
TEST_CASE(gathers_other_members)
{
    static const struct span listed[] = {{"note", 4}};
    const struct mcp_read_rules rules = {.params = listed, .param_count = 1};
    struct asked a;

    ask_with(&a, SPAN_LIT(CALL("{\"_meta\":{\"b\":1},\"name\":\"t\",\"note\":\"\\u00e9\",\"arguments\":{\"note\":2}}")), &rules);
    assert_int_equal(a.reason, REASON_PERMITTED);
    expect_span(a.message.others->raw, "{\"_meta\":{\"b\":1},\"note\":\"\xc3\xa9\"}");
    assert_int_equal(a.message.others->count, 2);
    assert_ptr_equal(json_member(a.message.others, SPAN_LIT("_meta"))->child->raw.at, a.message.meta->child->raw.at);
    assert_null(a.message.unknown.at);
    ask_end(&a);
    ask_with(&a, SPAN_LIT(CALL("{\"name\":\"t\",\"arguments\":{}}")), &rules);
    assert_null(a.message.others);
    ask_end(&a);
    ask_with(&a, SPAN_LIT(CALL("{\"name\":\"t\",\"other\":1}")), &rules);
    assert_int_equal(a.reason, REASON_PARAMS_INVALID);
    expect_span(a.message.unknown, "other");
    ask_end(&a);
}

/* 1.19: mirrored headers, where they are there */
TEST_CASE(compares_mirrored_headers)
{
    static const struct {
        const char *body, *method, *name;
        enum reason reason;
    } cases[] = {
        {CALL("{\"name\":\"echo\"}"), "tools/call", "echo", REASON_PERMITTED},
        {CALL("{\"name\":\"echo\"}"), NULL, "=?base64?ZWNobw==?=", REASON_PERMITTED},
        {CALL("{\"name\":\"echo\"}"), "tools/call", NULL, REASON_PERMITTED},
        {CALL("{\"name\":\"echo\"}"), "tools/list", NULL, REASON_HEADER_MISMATCH},
        {CALL("{\"name\":\"echo\"}"), "Tools/Call", NULL, REASON_HEADER_MISMATCH},
        {CALL("{\"name\":\"echo\"}"), "", NULL, REASON_HEADER_MISMATCH},
        {CALL("{\"name\":\"echo\"}"), NULL, "other", REASON_HEADER_MISMATCH},
        {CALL("{\"name\":\"echo\"}"), NULL, "", REASON_HEADER_MISMATCH},
        {CALL("{\"name\":\"echo\"}"), NULL, "ECHO", REASON_HEADER_MISMATCH},
        {CALL("{\"name\":\"echo\"}"), NULL, "=?base64?ZWNobx==?=", REASON_HEADER_MISMATCH}, /* not canonical */
        {CALL("{\"name\":\"echo\"}"), NULL, "=?base64?ZWNobw?=", REASON_HEADER_MISMATCH},
        {CALL("{\"name\":\"echo\",\"uri\":\"x\"}"), NULL, "x", REASON_HEADER_MISMATCH},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"db://u\","
            "\"name\":\"x\"}}", "resources/read",
         "db://u", REASON_PERMITTED},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"db://u\","
            "\"name\":\"x\"}}", NULL, "x",
         REASON_HEADER_MISMATCH},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"t1\"}}", NULL, "t1",
            REASON_PERMITTED},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", NULL, "x", REASON_HEADER_MISMATCH},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", "tools/call", NULL, REASON_HEADER_MISMATCH},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static const struct span both[] = {{"name", 4}, {"uri", 3}};
        struct mcp_read_rules rules = {.mcp_method = span_text(cases[i].method), .mcp_name = span_text(cases[i].name),
                                       .params = both, .param_count = 2};
        struct asked a;

        ask_with(&a, span_text(cases[i].body), &rules);
        if (a.reason != cases[i].reason)
            print_error("case %zu: %s\n", i, reason_name(a.reason));
        assert_int_equal(a.reason, cases[i].reason);
        ask_end(&a);
    }
}

/* 1.19 */
TEST_CASE(compares_parameter_headers)
{
    static const struct {
        const char *name, *value;
        bool agrees;
    } cases[] = {
        {"region", "eu west", true},  {"Region", "eu west", true}, {"region", "us", false},
        {"limit", "10", true},        {"limit", "10.0", true}, {"limit", "1e1x", false}, {"limit", "11", false},    {"dry", "true", true},
        {"region", "=?base64?ZXUgd2VzdA==?=", true},               {"region", "=?base64?ZXUgd2VzdA?=", false},
        {"region", "10", false}, /* named: only that argument counts */
        {"tenant-id", "deep", false}, {"Tenant-Id", "10", false}, /* 10.27: which argument that is, nobody says */
        {"list", "x", false},         {"none", "null", false},
    };
    struct asked a;

    ask(&a, CALL("{\"name\":\"t\",\"arguments\":{\"region\":\"eu west\",\"limit\":10,\"dry\":true,\"none\":null,"
                 "\"list\":[{\"t\":\"deep\"}]}}"));
    assert_int_equal(a.reason, REASON_PERMITTED);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(mcp_param_header_agrees(&a.message, span_text(cases[i].name), span_text(cases[i].value),
                                                 SPAN_NONE, &a.arena),
                         cases[i].agrees);
    ask_end(&a);
    ask(&a, CALL("{\"name\":\"t\"}"));
    assert_false(mcp_param_header_agrees(&a.message, SPAN_LIT("x"), SPAN_LIT(""), SPAN_NONE, &a.arena));
    ask_end(&a);
}

/* 10.27: which argument a header mirrors the tool's schema says, where somebody has accepted it. */
TEST_CASE(compares_annotated_headers)
{
#define SAYS(property, header) "\"" property "\":{\"type\":\"string\",\"x-mcp-header\":\"" header "\"}"
    static const struct {
        const char *schema, *name, *value;
        bool agrees;
    } cases[] = {
        {"{\"properties\":{" SAYS("city", "Region") "}}", "region", "Bonn", true},
        {"{\"properties\":{" SAYS("city", "Region") "}}", "Region", "Rome", false},
        {"{\"properties\":{" SAYS("city", "Region") "}}", "Other", "Bonn", false},
        {"{\"properties\":{" SAYS("city", "Region") "}}", "country", "Italy", true}, /* by its own name */
        {"{\"properties\":{" SAYS("city", "Country") "}}", "Country", "Italy", false}, /* the schema says another */
        {"{\"properties\":{" SAYS("city", "Country") "}}", "Country", "Bonn", true},
        {"{\"properties\":{" SAYS("gone", "Region") "}}", "Region", "Bonn", false},
        {"{\"properties\":{" SAYS("city", "R") "," SAYS("country", "r") "}}", "R", "Bonn", false}, /* two are said */
        {"{\"properties\":{\"at\":{\"properties\":{" SAYS("zip", "Zip") "}}}}", "Zip", "53111", true},
        {"{\"properties\":{\"at\":{" SAYS("zip", "Zip") "}}}", "Zip", "53111", false}, /* no property of anything */
        {"{\"x-mcp-header\":\"Zip\"}", "Zip", "53111", false},
        {"x-mcp-header, and no JSON", "Zip", "53111", false},
    };
    struct asked a;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf up;
        bool agrees;

        ask(&a, CALL("{\"name\":\"t\",\"arguments\":{\"city\":\"Bonn\",\"country\":\"Italy\",\"at\":{\"zip\":\"53111\"}}}"));
        agrees = mcp_param_header_agrees(&a.message, span_text(cases[i].name), span_text(cases[i].value), span_text(cases[i].schema),
                                         &a.arena);
        if (agrees != cases[i].agrees)
            print_error("case %zu\n", i);
        assert_int_equal(agrees, cases[i].agrees);
        assert_int_equal(a.message.mirrors != NULL, agrees);
        buf_init(&up, 100);
        if (agrees) { /* what goes up is the argument's own text */
            char header[40];

            snprintf(header, sizeof header, "Mcp-Param-%s", cases[i].name);
            assert_int_equal(mcp_mirror(&a.message, span_text(header), &up), CODE_OK);
            assert_true(span_is(buf_peek(&up), cases[i].value));
        }
        buf_fini(&up);
        ask_end(&a);
    }
}

/* 1.15, 1.19 */
TEST_CASE(keeps_the_id_for_the_answer)
{
    static const char *const bodies[] = {
        "{\"jsonrpc\":\"1.0\",\"id\":\"x\",\"method\":\"ping\"}", "{\"extra\":1,\"jsonrpc\":\"2.0\","
            "\"method\":\"ping\",\"id\":\"x\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{}}"};

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct asked a;

        ask(&a, bodies[i]);
        assert_int_not_equal(a.reason, REASON_PERMITTED);
        expect_span(a.message.id, "\"x\"");
        assert_true(a.fault.text != NULL);
        ask_end(&a);
    }
}

TEST_CASE(fails_without_memory)
{
    static const struct mcp_read_rules rules;
    struct asked a;

    for (uint64_t n = 1;; n++) {
        mem_fail_at(n, 0);
        ask_with(&a, SPAN_LIT(CALL("{\"name\":\"t\",\"arguments\":{\"a\\n\":1}}")), &rules);
        mem_fail_at(0, 0);
        ask_end(&a);
        if (a.reason == REASON_PERMITTED)
            break;
        assert_int_equal(a.reason, REASON_MEMORY);
        assert_int_equal(a.message.kind, MCP_NONE);
        assert_true(n < 100);
    }
}

TEST_MAIN(NULL, NULL)
