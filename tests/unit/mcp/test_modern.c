/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/dialect.h"
#include "mcp_help.h"

#define VERSION "\"io.modelcontextprotocol/protocolVersion\""
#define CAPABILITIES "\"io.modelcontextprotocol/clientCapabilities\""
#define META "\"_meta\":{" VERSION ":\"2026-07-28\"," CAPABILITIES ":{}}"
#define ASK(method, params) "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"" method "\",\"params\":" params "}"
#define CALL_T ASK("tools/call", "{\"name\":\"t\"," META "}")

struct sent {
    const char *body;
    const char *version, *method, *name; /* headers; NULL: absent */
};

static void read_sent(struct asked *a, const struct sent *sent, const char *const *revisions, const struct mcp_binding *binding)
{
    const struct mcp_read_rules rules = {.mcp_method = span_text(sent->method), .mcp_name = span_text(sent->name),
                                         .version = span_text(sent->version), .revisions = revisions, .binding = binding};

    ask_with(a, span_text(sent->body), &rules);
}

static void expect_sent(const struct sent *sent, const char *const *revisions, enum reason reason)
{
    struct asked a;

    read_sent(&a, sent, revisions, NULL);
    if (a.reason != reason)
        print_error("%s: %s instead of %s\n", sent->body, reason_name(a.reason), reason_name(reason));
    assert_int_equal(a.reason, reason);
    expect_span(a.message.id, "7"); /* each answer can name it */
    ask_end(&a);
}

/* 5.2: the era is the body's, whatever version it names, and what only modern revisions have is theirs */
TEST_CASE(recognises_modern_requests)
{
    static const struct {
        struct sent sent;
        bool is_modern;
    } cases[] = {
        {{ASK("tools/list", "{" META "}"), NULL, NULL, NULL}, true},
        {{ASK("tools/list", "{\"_meta\":{" VERSION ":\"2026-11-25\"}}"), NULL, NULL, NULL}, true},
        {{ASK("tools/list", "{\"_meta\":{" VERSION ":null}}"), NULL, NULL, NULL}, true},
        {{ASK("tools/list", "{\"_meta\":{\"io.modelcontextprotocol\\/protocolVersion\":[1]}}"), NULL, NULL, NULL}, true},
        {{ASK("server/discover", "{" META "}"), NULL, NULL, NULL}, true},
        {{ASK("server/discover", "{}"), "2026-07-28", NULL, NULL}, true},
        {{ASK("tools/list", "{\"_meta\":{" VERSION ":\"2025-11-25\"}}"), "2026-07-28", NULL, NULL}, true},
        {{ASK("subscriptions/listen", "{\"_meta\":{" VERSION ":\"2025-11-25\"}}"), "2025-11-25", NULL, NULL}, true},
        /* 10.19: one of before that a client names there, as official SDKs do, makes no modern request of it */
        {{ASK("server/discover", "{\"_meta\":{" VERSION ":\"2025-11-25\"," CAPABILITIES ":{}}}"), "2025-11-25", NULL, NULL}, false},
        {{ASK("tools/list", "{\"_meta\":{" VERSION ":\"2025-11-25\"}}"), "2025-11-25", NULL, NULL}, false},
        {{ASK("tools/list", "{\"_meta\":{" VERSION ":\"2025-06-18\"}}"), NULL, NULL, NULL}, false},
        {{ASK("server/discover", "{}"), NULL, NULL, NULL}, false},
        {{ASK("subscriptions/listen", "{}"), NULL, NULL, NULL}, true},
        {{ASK("tools/list", "{}"), "2026-07-28", NULL, NULL}, true},
        {{ASK("tools/list", "{}"), "2025-11-25", NULL, NULL}, false},
        {{ASK("tools/list", "{\"_meta\":{" CAPABILITIES ":{}}}"), NULL, NULL, NULL}, false},
        {{ASK("tools/call", "{\"name\":\"t\",\"arguments\":{\"_meta\":{" VERSION ":\"2026-07-28\"}}}"), NULL, NULL, NULL}, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct asked a;

        read_sent(&a, &cases[i].sent, NULL, NULL);
        assert_int_equal(a.message.is_modern, cases[i].is_modern);
        assert_int_equal(a.reason == REASON_PERMITTED, !cases[i].is_modern); /* without headers no modern one is taken */
        ask_end(&a);
    }
}

/* 5.2, 5.15: what is wrong is said in one order: _meta, headers, method, version, parameters */
TEST_CASE(refuses_in_order)
{
    static const struct {
        struct sent sent;
        enum reason reason;
    } cases[] = {
        {{CALL_T, "2026-07-28", "tools/call", "t"}, REASON_PERMITTED},
        {{CALL_T, "2026-07-28", "tools/call", "=?base64?dA==?="}, REASON_PERMITTED},
        {{ASK("tools/list", "{" META "}"), "2026-07-28", "tools/list", NULL}, REASON_PERMITTED},
        {{ASK("vendor/own", "{" META "}"), "2026-07-28", "vendor/own", NULL}, REASON_PERMITTED}, /* judged by its name */
        /* _meta before everything */
        {{ASK("tools/list", "{}"), "2026-07-28", "tools/list", NULL}, REASON_PARAMS_INVALID},
        {{ASK("tools/list", "{\"_meta\":{" VERSION ":\"1900-01-01\"}}"), NULL, NULL, NULL}, REASON_PARAMS_INVALID},
        {{ASK("tools/list", "{\"_meta\":{" VERSION ":7," CAPABILITIES ":{}}}"), "7", NULL, NULL}, REASON_PARAMS_INVALID},
        {{ASK("ping", "{\"_meta\":{" VERSION ":\"2026-07-28\"," CAPABILITIES ":[]}}"), NULL, NULL, NULL}, REASON_PARAMS_INVALID},
        {{ASK("server/discover", "{}"), "2026-07-28", NULL, NULL}, REASON_PARAMS_INVALID},
        {{ASK("tools/list", "[]"), "2026-07-28", "tools/list", NULL}, REASON_PARAMS_INVALID},
        /* then headers: missing, different */
        {{CALL_T, NULL, "tools/call", "t"}, REASON_HEADER_MISMATCH},
        {{CALL_T, "2025-11-25", "tools/call", "t"}, REASON_HEADER_MISMATCH},
        {{CALL_T, "2026-07-28", NULL, "t"}, REASON_HEADER_MISMATCH},
        {{CALL_T, "2026-07-28", "Tools/call", "t"}, REASON_HEADER_MISMATCH},
        {{CALL_T, "2026-07-28", "tools/call", NULL}, REASON_HEADER_MISMATCH},
        {{CALL_T, "2026-07-28", "tools/call", "u"}, REASON_HEADER_MISMATCH},
        {{CALL_T, "2026-07-28", "tools/call", "=?base64?dA=?="}, REASON_HEADER_MISMATCH},
        {{ASK("tasks/get", "{\"taskId\":\"x\"," META "}"), "2026-07-28", "tasks/get", NULL}, REASON_HEADER_MISMATCH},
        {{ASK("tasks/update", "{\"taskId\":\"x\"," META "}"), "2026-07-28", "tasks/update", "y"}, REASON_HEADER_MISMATCH},
        {{ASK("resources/read", "{\"uri\":\"a://b\"," META "}"), "2026-07-28", "resources/read", NULL}, REASON_HEADER_MISMATCH},
        {{ASK("ping", "{" META "}"), "2026-07-28", "tools/list", NULL}, REASON_HEADER_MISMATCH},
        {{ASK("initialize", "{\"protocolVersion\":\"2025-11-25\"}"), "2026-07-28", NULL, NULL}, REASON_HEADER_MISMATCH},
        /* then the method, before the version */
        {{ASK("ping", "{" META "}"), "2026-07-28", "ping", NULL}, REASON_METHOD_UNKNOWN},
        {{ASK("initialize", "{" META "}"), "2026-07-28", "initialize", NULL}, REASON_METHOD_UNKNOWN},
        {{ASK("roots/list", "{" META "}"), "2026-07-28", "roots/list", NULL}, REASON_METHOD_UNKNOWN},
        {{ASK("stream/open", "{" META "}"), "2026-07-28", "stream/open", NULL}, REASON_METHOD_UNKNOWN},
        {{ASK("no/such", "{\"_meta\":{" VERSION ":\"1900-01-01\"," CAPABILITIES ":{}}}"), "1900-01-01", "no/such", NULL},
         REASON_METHOD_UNKNOWN},
        {{ASK("tools/list", "{\"_meta\":{" VERSION ":\"1900-01-01\"," CAPABILITIES ":{}}}"), "1900-01-01", "tools/list", NULL},
         REASON_VERSION_UNSUPPORTED},
        {{ASK("tools/list", "{\"_meta\":{" VERSION ":\"2025-11-25\"," CAPABILITIES ":{}}}"), "2025-06-18", "tools/list", NULL},
         REASON_HEADER_MISMATCH},
        /* and then the parameters */
        {{ASK("tools/call", "{\"name\":7," META "}"), "2026-07-28", "tools/call", NULL}, REASON_TOOL_NAME_INVALID},
        {{ASK("tools/call", "{\"name\":\"t\",\"task\":{}," META "}"), "2026-07-28", "tools/call", "t"}, REASON_PERMITTED}, /* 10.23 */
        {{ASK("tools/call", "{\"name\":\"t\",\"inputResponses\":[]," META "}"), "2026-07-28", "tools/call", "t"},
         REASON_PARAMS_INVALID},
        {{ASK("tools/call", "{\"name\":\"t\",\"requestState\":{}," META "}"), "2026-07-28", "tools/call", "t"},
         REASON_PARAMS_INVALID},
        {{ASK("tools/list", "{\"requestState\":\"x\"," META "}"), "2026-07-28", "tools/list", NULL}, REASON_PARAMS_INVALID},
        {{ASK("tools/call", "{\"name\":\"t\",\"RequestState\":\"x\"," META "}"), "2026-07-28", "tools/call", "t"},
         REASON_PARAMS_INVALID},
        {{ASK("tools/list", "{\"_meta\":{\"IO.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}"), NULL, NULL, NULL},
         REASON_PARAMS_INVALID},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_sent(&cases[i].sent, NULL, cases[i].reason);
}

/* 5.23: in a session of the older revisions, whose server may read it as one of those */
TEST_CASE(belongs_to_no_session)
{
    const struct mcp_read_rules rules = {.in_session = true, .version = SPAN_LIT("2026-07-28"), .mcp_method = SPAN_LIT("tools/call"),
                                         .mcp_name = SPAN_LIT("t")};
    struct asked a;

    ask_with(&a, SPAN_LIT(CALL_T), &rules);
    assert_int_equal(a.reason, REASON_HEADER_MISMATCH);
    expect_span(a.message.id, "7");
    ask_end(&a);
}

/* 5.14, 5.15: a route without the era answers in the same order; one without the others takes nothing else */
TEST_CASE(keeps_to_the_routes_revisions)
{
    static const char *const old[] = {"2025-06-18", "2025-11-25", NULL}, *const modern[] = {"2026-07-28", NULL};
    static const struct {
        struct sent sent;
        const char *const *revisions;
        enum reason reason;
    } cases[] = {
        {{CALL_T, "2026-07-28", "tools/call", "t"}, old, REASON_VERSION_UNSUPPORTED},
        {{CALL_T, "2026-07-28", "tools/call", "u"}, old, REASON_HEADER_MISMATCH},
        {{ASK("tools/list", "{}"), "2026-07-28", "tools/list", NULL}, old, REASON_PARAMS_INVALID},
        {{ASK("ping", "{" META "}"), "2026-07-28", "ping", NULL}, old, REASON_METHOD_UNKNOWN},
        {{ASK("tools/list", "{}"), NULL, NULL, NULL}, old, REASON_PERMITTED},
        {{CALL_T, "2026-07-28", "tools/call", "t"}, modern, REASON_PERMITTED},
        {{ASK("tools/list", "{}"), NULL, NULL, NULL}, modern, REASON_VERSION_UNSUPPORTED},
        {{ASK("initialize", "{\"protocolVersion\":\"2025-11-25\"}"), NULL, NULL, NULL}, modern, REASON_VERSION_UNSUPPORTED},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_sent(&cases[i].sent, cases[i].revisions, cases[i].reason);
}

static void answer(const struct sent *sent, const char *const *revisions, enum reason reason, int *status, struct buf *body)
{
    const char *const all[] = {"2025-11-25", "2026-07-28", NULL};
    struct asked a;
    struct mcp_denial denial = {.revisions = revisions ? revisions : all};
    enum mcp_form form;

    read_sent(&a, sent, revisions, NULL);
    denial.reason = reason != REASON_UNSET ? reason : a.reason;
    denial.requested = a.message.modern_version;
    *status = mcp_denial_status(&a.message, &denial);
    buf_init(body, CAP_BYTES);
    denial.wants_sse = true; /* an HTTP error is JSON all the same: a client that finds none falls back */
    assert_int_equal(mcp_denial_write(&a.message, &denial, body, &form), CODE_OK);
    assert_int_equal(form, *status >= 400 ? MCP_FORM_JSON : MCP_FORM_SSE);
    ask_end(&a);
}

/* 5.2: statuses and codes, each with the id and with what mends it */
TEST_CASE(answers_as_the_revision_says)
{
    static const struct {
        struct sent sent;
        enum reason reason;
        int status;
        const char *holds;
    } cases[] = {
        {{ASK("tools/list", "{}"), "2026-07-28", "tools/list", NULL}, REASON_UNSET, 400, "\"code\":-32602"},
        {{ASK("tools/list", "{}"), "2026-07-28", "tools/list", NULL}, REASON_UNSET, 400, "must have io.modelcontextprotocol/"},
        {{CALL_T, "2026-07-28", "tools/call", "u"}, REASON_UNSET, 400, "\"code\":-32020,\"message\":\"A header differs from the "
                                                                       "body. Mcp-Name must say"},
        {{ASK("ping", "{" META "}"), "2026-07-28", "ping", NULL}, REASON_UNSET, 404, "\"code\":-32601"},
        {{CALL_T, "2026-07-28", "tools/call", "t"}, REASON_METHOD_UNKNOWN, 404, "\"code\":-32601"},
        {{CALL_T, "2026-07-28", "tools/call", "t"}, REASON_NO_RULE, 200, "\"result\":{\"resultType\":\"complete\",\"isError\":true"},
        {{ASK("tools/list", "{" META "}"), "2026-07-28", "tools/list", NULL}, REASON_NO_RULE, 200, "\"code\":4030"},
        {{ASK("tools/list", "{\"_meta\":{" VERSION ":\"1900-01-01\"," CAPABILITIES ":{}}}"), "1900-01-01", "tools/list", NULL},
         REASON_UNSET, 400, "\"code\":-32022,\"message\":\"Unsupported protocol version.\",\"data\":{\"supported\":[\"2026-07-28\"],"
                            "\"requested\":\"1900-01-01\""},
        {{ASK("tools/call", "{\"name\":\"t\",\"requestState\":\"x\"," META "}"), "2026-07-28", "tools/call", "t"}, REASON_UNSET, 400,
         "\"code\":-32602,\"message\":\"The requestState belongs to another call.\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf body;
        int status;

        answer(&cases[i].sent, NULL, cases[i].reason, &status, &body);
        assert_int_equal(status, cases[i].status);
        assert_int_equal(buf_add_byte(&body, '\0'), CODE_OK);
        if (strstr(buf_peek(&body).at, cases[i].holds) == NULL)
            print_error("case %zu: %s\n", i, buf_peek(&body).at);
        assert_non_null(strstr(buf_peek(&body).at, cases[i].holds));
        assert_non_null(strstr(buf_peek(&body).at, "\"id\":7"));
        buf_fini(&body);
    }
}

/* 5.2: what goes up is written from the body, not from the header that came */
TEST_CASE(mirrors_the_body)
{
    static const struct {
        const char *name, *value, *up;
    } cases[] = {
        {"mcp-method", "ignored", "tools/call"}, {"MCP-NAME", "ignored", "t"}, {"Mcp-Param-Region", "eu", "eu"},
        {"Mcp-Param-region", "=?base64?ZXU=?=", "eu"}, {"Mcp-Param-Limit", "42.0", "42"}, {"Mcp-Param-Dry", "true", "true"},
        {"Mcp-Param-Blank", "=?base64?IHBhZGRlZCA=?=", "=?base64?IHBhZGRlZCA=?="},
        {"Mcp-Param-Greeting", "=?base64?w6k=?=", "=?base64?w6k=?="},
        {"Mcp-Param-Sentinel", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},
        {"Mcp-Param-Other", "deep", NULL}, {"Mcp-Param-Region", "us", NULL}, {"Mcp-Param-Limit", "43", NULL},
        {"Mcp-Param-Limit", "4 2", NULL}, {"Mcp-Param-Sentinel", "=?base64?literal?=", NULL},
        {"Mcp-Param-Tail", "=?base64?dGFpbCA=?=", "=?base64?dGFpbCA=?="}, /* its blank would be dropped */
        {"Mcp-Param-Twin", "a", NULL}, {"Mcp-Param-Twin", "b", NULL}, {"Mcp-Param-Pair", "c", "c"},
        {"Mcp-Param-", "nowhere", NULL},
    };
    const struct sent sent = {ASK("tools/call", "{\"name\":\"t\",\"arguments\":{\"region\":\"eu\",\"limit\":42,\"dry\":true,"
                                  "\"blank\":\" padded \",\"greeting\":\"\xc3\xa9\",\"sentinel\":\"=?base64?literal?=\","
                                  "\"nest\":{\"x\":\"deep\"},\"tail\":\"tail \",\"twin\":\"a\",\"TWIN\":\"b\",\"pair\":\"c\","
                                  "\"Pair\":\"c\"}," META "}"), "2026-07-28", "tools/call", "t"};
    struct asked a;

    read_sent(&a, &sent, NULL, NULL);
    assert_int_equal(a.reason, REASON_PERMITTED);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf up;
        enum code code;

        buf_init(&up, 8192);
        a.message.mirrors = NULL;
        if (strncasecmp(cases[i].name, "Mcp-Param-", 10) == 0)
            (void)mcp_param_header_agrees(&a.message, span_text(cases[i].name + 10), span_text(cases[i].value), SPAN_NONE, &a.arena);
        code = mcp_mirror(&a.message, span_text(cases[i].name), &up);
        assert_int_equal(code, cases[i].up != NULL ? CODE_OK : CODE_NOT_FOUND);
        if (code == CODE_OK)
            expect_span(buf_peek(&up), cases[i].up);
        buf_fini(&up);
    }
    ask_end(&a);
}

/* 5.3: each URI and each task of a subscription is a question of its own */
TEST_CASE(lists_what_is_listened_to)
{
    static const struct {
        const char *filter;
        enum reason reason;
        uint32_t count;
    } cases[] = {
        {"{}", REASON_PERMITTED, 0},
        {"{\"toolsListChanged\":true,\"vendorThing\":false}", REASON_PERMITTED, 0},
        {"{\"resourceSubscriptions\":[\"a://b\",\"c\"],\"taskIds\":[\"t-1\"]}", REASON_PERMITTED, 3},
        {"{\"resourceSubscriptions\":[]}", REASON_PERMITTED, 0},
        {"{\"resourceSubscriptions\":[7]}", REASON_PARAMS_INVALID, 0}, {"{\"taskIds\":\"t\"}", REASON_PARAMS_INVALID, 0},
        {"{\"taskIds\":[\"\"]}", REASON_PARAMS_INVALID, 0}, {"{\"TaskIds\":[\"t\"]}", REASON_PARAMS_INVALID, 0},
        {"{\"resourcesubscriptions\":[\"a://b\"]}", REASON_PARAMS_INVALID, 0}, {"[]", REASON_PARAMS_INVALID, 0},
        {"{\"vendorList\":[\"a://b\"]}", REASON_PARAMS_INVALID, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char body[512];
        const struct sent sent = {body, "2026-07-28", "subscriptions/listen", NULL};
        struct asked a;

        (void)snprintf(body, sizeof body, ASK("subscriptions/listen", "{\"notifications\":%s," META "}"), cases[i].filter);
        read_sent(&a, &sent, NULL, NULL);
        assert_int_equal(a.reason, cases[i].reason);
        if (a.reason == REASON_PERMITTED)
            assert_int_equal(a.message.item_count, cases[i].count);
        if (cases[i].count == 3) {
            expect_span(a.message.items[0].method, "resources/subscribe");
            expect_span(a.message.items[0].target, "a://b");
            expect_span(a.message.items[0].params->raw, "{\"uri\":\"a://b\"}");
            expect_span(json_member(a.message.items[1].params, SPAN_LIT("uri"))->text, "c");
            expect_span(a.message.items[2].method, "tasks/get");
            expect_span(json_member(a.message.items[2].params, SPAN_LIT("taskId"))->text, "t-1");
        }
        ask_end(&a);
    }
}

/* 5.3: a thousand names may be asked for, no more: each costs a judgement */
TEST_CASE(bounds_what_is_listened_to)
{
    for (int over = 0; over < 2; over++) {
        struct mcp_read_rules rules = {.version = SPAN_LIT("2026-07-28"), .mcp_method = SPAN_LIT("subscriptions/listen")};
        struct buf body;
        struct asked a;

        buf_init(&body, CAP_BYTES);
        assert_int_equal(buf_add_text(&body, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"subscriptions/listen\",\"params\":{" META
                                             ",\"notifications\":{\"resourceSubscriptions\":[\"u\""), CODE_OK);
        for (int i = 1; i < 1024 + over; i++)
            assert_int_equal(buf_addf(&body, ",\"u%d\"", i), CODE_OK);
        assert_int_equal(buf_add_text(&body, "]}}}"), CODE_OK);
        ask_with(&a, buf_peek(&body), &rules);
        assert_int_equal(a.reason, over ? REASON_PARAMS_INVALID : REASON_PERMITTED);
        ask_end(&a);
        buf_fini(&body);
    }
}

/* 5.2: `meta: none` leaves what a modern request cannot be without */
TEST_CASE(cuts_meta)
{
    static const struct {
        enum mcp_meta pass;
        const char *left;
    } cases[] = {
        {MCP_META_NONE, "{" CAPABILITIES ":{}," VERSION ":\"2026-07-28\"}"},
        {MCP_META_KNOWN, "{" CAPABILITIES ":{},\"progressToken\":1," VERSION ":\"2026-07-28\"}"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct mcp_read_rules rules = {.meta = cases[i].pass, .version = SPAN_LIT("2026-07-28"),
                                             .mcp_method = SPAN_LIT("tools/list")};
        struct asked a;

        ask_with(&a, SPAN_LIT(ASK("tools/list", "{\"_meta\":{\"x\":1," CAPABILITIES ":{},\"progressToken\":1," VERSION
                                                ":\"2026-07-28\",\"y\":2}}")), &rules);
        assert_int_equal(a.reason, REASON_PERMITTED);
        expect_span(a.message.meta->raw, cases[i].left);
        ask_end(&a);
    }
}

TEST_MAIN(NULL, NULL)
