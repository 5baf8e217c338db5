/* SPDX-License-Identifier: Apache-2.0 */
/* 5.3: what answers of 2026-07-28 carry beside what was asked for, and requestState there and back. */
#include "mcp_help.h"

#include "mcp/reply.h"

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define ASK(method, params) "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"" method "\",\"params\":{" params META "}}"
#define CALL(params) ASK("tools/call", "\"name\":\"t\"," params)
#define RESULT(members) "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{" members "}}"
#define SEALED 44 /* bytes of what goes before a state */

static const unsigned char key[MCP_SESSION_KEY_BYTES] = "0123456789abcdef0123456789abcde";
static const struct mcp_binding bot = {key, {{"shop", 4}, {"acme", 4}, {"bot", 3}, {NULL, 0}, {NULL, 0}}};
static const char *const revisions[] = {"2025-11-25", "2026-07-28", NULL};

/* A request that was read, for whoever `binding` says. */
static void read_request(struct asked *a, const char *body, const struct mcp_binding *binding)
{
    struct mcp_read_rules rules = {.version = SPAN_LIT("2026-07-28"), .binding = binding, .revisions = revisions};
    const char *names[] = {"\"method\":\"", "\"name\":\"", "\"uri\":\"", "\"taskId\":\""};
    struct span found[4] = {SPAN_NONE, SPAN_NONE, SPAN_NONE, SPAN_NONE};

    for (size_t i = 0; i < 4; i++) {
        const char *at = strstr(body, names[i]);

        if (at != NULL)
            found[i] = span_of(at + strlen(names[i]), strcspn(at + strlen(names[i]), "\""));
    }
    rules.mcp_method = found[0];
    rules.mcp_name = found[1].at != NULL ? found[1] : found[2].at != NULL ? found[2] : found[3];
    ask_with(a, span_text(body), &rules);
}

struct got {
    struct asked asked;
    struct buf out;
    struct arena arena;
    struct mcp_reply reply;
    struct json_fault fault;
    enum reason reason;
};

static enum mcp_treatment definitions = MCP_REFUSE, rest = MCP_PASS;

static void get(struct got *g, const char *request, const char *data)
{
    struct mcp_reply_rules rules = {.revisions = revisions, .binding = &bot};

    read_request(&g->asked, request, &bot);
    assert_int_equal(g->asked.reason, REASON_PERMITTED);
    rules.request = &g->asked.message;
    rules.request_method = g->asked.message.method;
    rules.deceptive = (struct mcp_deceptive){.definitions = definitions, .results = rest, .messages = rest};
    buf_init(&g->out, CAP_BYTES);
    arena_init(&g->arena, CAP_BYTES);
    g->reason = mcp_reply_read(span_text(data), &rules, &g->out, &g->arena, &g->reply, &g->fault);
}

static void get_end(struct got *g)
{
    ask_end(&g->asked);
    buf_fini(&g->out);
    arena_fini(&g->arena);
}

TEST_CASE(edits_what_says_who_may_keep_it)
{
    static const struct {
        const char *request, *data, *body; /* body NULL: refused */
    } cases[] = {
        {ASK("tools/list", ""), RESULT("\"tools\":[],\"cacheScope\":\"public\",\"ttlMs\":5"),
         RESULT("\"tools\":[],\"cacheScope\":\"private\",\"ttlMs\":5")},
        {ASK("prompts/list", ""), RESULT("\"cacheScope\":\"\",\"prompts\":[]"), RESULT("\"cacheScope\":\"private\",\"prompts\":[]")},
        {ASK("resources/list", ""), RESULT("\"resources\":[],\"cacheScope\":\"private\""),
         RESULT("\"resources\":[],\"cacheScope\":\"private\"")},
        {ASK("resources/templates/list", ""), RESULT("\"cacheScope\":\"public\",\"resourceTemplates\":[]"),
         RESULT("\"cacheScope\":\"private\",\"resourceTemplates\":[]")},
        {ASK("resources/read", "\"uri\":\"a\","), RESULT("\"cacheScope\":\"public\",\"contents\":[{\"cacheScope\":\"public\"}]"),
         RESULT("\"cacheScope\":\"private\",\"contents\":[{\"cacheScope\":\"public\"}]")},
        {ASK("tools/list", ""), RESULT("\"tools\":[]"), RESULT("\"tools\":[]")},
        {CALL(""), RESULT("\"content\":[],\"cacheScope\":\"public\""), RESULT("\"content\":[],\"cacheScope\":\"public\"")},
        {ASK("server/discover", ""), RESULT("\"supportedVersions\":[\"2027-01-01\",\"2026-07-28\",\"x\"],\"cacheScope\":\"public\""),
         RESULT("\"supportedVersions\":[\"2026-07-28\"],\"cacheScope\":\"public\"")},
        {ASK("server/discover", ""), RESULT("\"supportedVersions\":[\"2026-07-28\",\"2025-11-25\"]"),
         RESULT("\"supportedVersions\":[\"2026-07-28\",\"2025-11-25\"]")},
        {ASK("tools/list", ""), RESULT("\"tools\":[],\"CacheScope\":\"public\""), NULL},
        {ASK("server/discover", ""), RESULT("\"supportedVersions\":\"2026-07-28\""), NULL},
        {ASK("server/discover", ""), RESULT("\"supportedVersions\":[7]"), NULL},
        {ASK("server/discover", ""), RESULT("\"SupportedVersions\":[\"2027-01-01\"]"), NULL},
        {CALL(""), RESULT("\"resulttype\":\"complete\""), NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct got g;

        get(&g, cases[i].request, cases[i].data);
        assert_int_equal(g.reason, cases[i].body != NULL ? REASON_PERMITTED : REASON_UPSTREAM_JSON);
        if (cases[i].body != NULL)
            expect_span(g.reply.body, cases[i].body);
        else
            assert_true(g.fault.text != NULL && g.fault.text[0] != '\0');
        get_end(&g);
    }
}

/* What is written anew anyway is not stripped besides; what comes back to its server may hold nothing that would be. */
TEST_CASE(strips_nothing_twice)
{
    struct got g;

    definitions = rest = MCP_STRIP;
    get(&g, ASK("tools/list", ""),
        RESULT("\"cacheScope\":\"pub\xe2\x80\x8blic\",\"tools\":[{\"name\":\"a\",\"title\":\"b\xe2\x80\x8b\"}]"));
    assert_int_equal(g.reason, REASON_PERMITTED);
    expect_span(g.reply.body, RESULT("\"cacheScope\":\"private\",\"tools\":[{\"name\":\"a\",\"title\":\"b\"}]"));
    get_end(&g);
    get(&g, CALL(""), RESULT("\"resultType\":\"input_required\",\"requestState\":\"a\xe2\x80\x8b\""));
    assert_int_equal(g.reason, REASON_UPSTREAM_DECEPTIVE);
    get_end(&g);
    definitions = MCP_REFUSE;
    rest = MCP_PASS;
}

TEST_CASE(says_where_no_version_is_common)
{
    struct got g;

    get(&g, ASK("server/discover", ""), RESULT("\"supportedVersions\":[\"2027-01-01\"]"));
    assert_int_equal(g.reason, REASON_VERSION_NEGOTIATED);
    expect_span(g.reply.body, "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32022,\"message\":\"The server's protocol version is not "
                              "supported.\",\"data\":{\"supported\":[\"2025-11-25\",\"2026-07-28\"],\"requested\":\"2026-07-28\"}}}");
    get_end(&g);
}

/* 5.3: what a server says may be tried instead is what the route has, in an error that says so and in no other */
TEST_CASE(cuts_what_may_be_tried)
{
#define FAULT(members) "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{" members "}}"
#define SUPPORTED(list) "\"message\":\"m\",\"data\":{\"supported\":[" list "],\"requested\":\"x\"}"
    static const char *const cases[][2] = {
        {FAULT("\"code\":-32022," SUPPORTED("\"2027-01-01\",\"2025-11-25\",7,[\"2025-11-25\"]")),
         FAULT("\"code\":-32022," SUPPORTED("\"2025-11-25\""))},
        {FAULT(SUPPORTED("\"2027-01-01\"") ",\"code\":-32022"), FAULT(SUPPORTED("") ",\"code\":-32022")},
        {FAULT("\"code\":-32000," SUPPORTED("\"png\"")), FAULT("\"code\":-32000," SUPPORTED("\"png\""))},
        {FAULT("\"code\":-32022,\"data\":{\"other\":[\"a\"]}"), FAULT("\"code\":-32022,\"data\":{\"other\":[\"a\"]}")},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct got g;

        get(&g, CALL(""), cases[i][0]);
        assert_int_equal(g.reason, REASON_PERMITTED);
        assert_true(g.reply.is_error);
        expect_span(g.reply.body, cases[i][1]);
        get_end(&g);
    }
}

/* 5.3, 5.23: the body of an HTTP error is no way around what an answer may hold */
TEST_CASE(finds_messages_in_errors)
{
    static const char *const hiding[] = {
        RESULT(""), "{\"Result\":{}}", "{\"id\":7,\"method\":\"roots/list\"}", "[{\"x\":1},{\"result\":{}}]", " \r\n{\"result\":1}",
        "\xEF\xBB\xBF{\"re\\u0073ult\":{}}", "{\"a\":NaN,\"result\":{}}", "[[", "{",
    }, *const harmless[] = {
        "", " ", "Bad Gateway", "result", "\"result\"", "{}", "[]", "[\"result\"]",
        FAULT("\"code\":1,\"data\":{\"result\":1,\"method\":2}"),
        "{\"error\":\"invalid_token\",\"error_description\":\"method\"}",
    };

    for (size_t i = 0; i < sizeof hiding / sizeof hiding[0]; i++)
        assert_true(mcp_hides_message(span_text(hiding[i])));
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        assert_false(mcp_hides_message(span_text(harmless[i])));
}

/* Found wherever they stand; what is none is refused. */
TEST_CASE(finds_what_is_asked)
{
#define ELICIT "\"a\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"x\"}}"
    static const struct {
        const char *request, *data;
        enum reason reason;
        uint32_t count;
    } cases[] = {
        {CALL(""), RESULT("\"resultType\":\"input_required\",\"inputRequests\":{" ELICIT ",\"b\":{\"method\":\"roots/list\"}}"),
         REASON_PERMITTED, 2},
        {CALL(""), RESULT("\"inputRequests\":{" ELICIT "},\"resultType\":\"complete\""),
         REASON_PERMITTED, 1}, /* whatever it calls itself */
        {ASK("tasks/get", "\"taskId\":\"t\","), RESULT("\"status\":\"input_required\",\"inputRequests\":{" ELICIT "}"),
         REASON_PERMITTED, 1},
        {CALL(""), RESULT("\"inputRequests\":{}"), REASON_PERMITTED, 0},
        {CALL(""), RESULT("\"content\":[{\"inputRequests\":{" ELICIT "}}]"), REASON_PERMITTED, 0},
        {CALL(""), RESULT("\"inputRequests\":[]"), REASON_UPSTREAM_JSON, 0},
        {CALL(""), RESULT("\"InputRequests\":{" ELICIT "}"), REASON_UPSTREAM_JSON, 0},
        {CALL(""), RESULT("\"inputRequests\":{\"a\":7}"), REASON_UPSTREAM_JSON, 0},
        {CALL(""), RESULT("\"inputRequests\":{\"a\":{\"params\":{}}}"), REASON_UPSTREAM_JSON, 0},
        {CALL(""), RESULT("\"inputRequests\":{\"a\":{\"method\":\"roots/list\",\"params\":[]}}"), REASON_UPSTREAM_JSON, 0},
        {CALL(""), RESULT("\"inputRequests\":{\"a\":{\"method\":\"roots/list\",\"Method\":\"sampling/createMessage\"}}"),
         REASON_UPSTREAM_JSON, 0},
        {ASK("subscriptions/listen", "\"notifications\":{},"),
         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{\"inputRequests\":{" ELICIT "}}}", REASON_PERMITTED, 1},
        {ASK("subscriptions/listen", "\"notifications\":{},"),
         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{\"InputRequests\":{" ELICIT "}}}", REASON_UPSTREAM_JSON, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct got g;

        get(&g, cases[i].request, cases[i].data);
        assert_int_equal(g.reason, cases[i].reason);
        if (g.reason == REASON_PERMITTED) {
            assert_int_equal(g.reply.asks != NULL ? g.reply.asks->count : 0, cases[i].count);
            expect_span(g.reply.body, cases[i].data);
        }
        if (g.reason == REASON_PERMITTED && g.reply.kind == MCP_RESPONSE)
            assert_true(span_starts_with(g.reply.result, SPAN_LIT("{")) && span_ends_with(g.reply.result, SPAN_LIT("}")));
        get_end(&g);
    }
}

/* The reply's requestState, as the agent gets it. */
static void seal(struct got *g, const char *request, const char *json_state, char *sealed, size_t room)
{
    struct json_fault fault;
    const struct json_node *root;
    struct arena arena;
    struct buf out;
    char data[512];

    (void)snprintf(data, sizeof data, RESULT("\"resultType\":\"input_required\",\"requestState\":%s"), json_state);
    get(g, request, data);
    assert_int_equal(g->reason, REASON_PERMITTED);
    buf_init(&out, CAP_BYTES);
    arena_init(&arena, CAP_BYTES);
    assert_int_equal(json_read(g->reply.body, &json_reply_rules, &out, &arena, &root, &fault), CODE_OK);
    root = json_at(root, "result", "requestState", NULL);
    assert_non_null(root);
    assert_true(span_equals(g->reply.result, span_part(g->reply.body, 33, g->reply.body.len - 34)));
    assert_true(root->raw.len < room);
    memcpy(sealed, root->raw.at, root->raw.len);
    sealed[root->raw.len] = '\0';
    buf_fini(&out);
    arena_fini(&arena);
}

TEST_CASE(gives_a_state_back)
{
    static const char *const states[] = {"\"s\"", "\"\"", "\"a.b\\\"c\\\\\xc3\xa9\"", "\"0123456789012345678901234567890123456789012.x\""};

    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        char sealed[256], body[1024];
        struct asked a;
        struct got g;

        seal(&g, CALL("\"arguments\":{\"x\":[1,{\"y\":2}]},"), states[i], sealed, sizeof sealed);
        get_end(&g);
        assert_int_equal(strlen(sealed), strlen(states[i]) + SEALED);
        /* with answers, another _meta, and the members in another order */
        (void)snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"tools/call\",\"params\":{"
                                          "\"inputResponses\":{\"a\":1},\"requestState\":%s,"
                                          "\"arguments\":{\"x\":[1,{\"y\":2}]},\"name\":\"t\"," META "}}", sealed);
        read_request(&a, body, &bot);
        assert_int_equal(a.reason, REASON_PERMITTED);
        expect_span(json_member(a.message.params, SPAN_LIT("requestState"))->raw, states[i]);
        expect_span(json_member(a.message.others, SPAN_LIT("requestState"))->raw, states[i]); /* what is recorded */
        assert_true(memmem(buf_peek(&a.canon).at, buf_len(&a.canon), sealed + 1, SEALED - 1) == NULL);
        ask_end(&a);
    }
}

/* 5.23: by somebody else, from elsewhere, with anything changed */
TEST_CASE(keeps_a_state_to_its_request)
{
    static const unsigned char other_key[MCP_SESSION_KEY_BYTES] = "x123456789abcdef0123456789abcde";
    static const struct mcp_binding others[] = {
        {key, {{"shop", 4}, {"acme", 4}, {"bob", 3}, {NULL, 0}, {NULL, 0}}},
        {key, {{"shop", 4}, {"acm", 3}, {"ebot", 4}, {NULL, 0}, {NULL, 0}}},
        {key, {{"sho", 3}, {"pacme", 5}, {"bot", 3}, {NULL, 0}, {NULL, 0}}},
        {key, {{"shop", 4}, {"acme", 4}, {"bot", 3}, {NULL, 0}, {"/x", 2}}},
        {other_key, {{"shop", 4}, {"acme", 4}, {"bot", 3}, {NULL, 0}, {NULL, 0}}},
    };
    static const char *const before[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{\"x\":2},",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"u\",\"arguments\":{\"x\":1},",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"prompts/get\",\"params\":{\"name\":\"t\",\"arguments\":{\"x\":1},",
        "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/read\",\"params\":{\"uri\":\"t\",",
    };
    char sealed[256], body[1024];
    struct asked a;
    struct got g;

    seal(&g, CALL("\"arguments\":{\"x\":1},"), "\"state\"", sealed, sizeof sealed);
    get_end(&g);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        (void)snprintf(body, sizeof body, CALL("\"arguments\":{\"x\":1},\"requestState\":%s,"), sealed);
        read_request(&a, body, &others[i]);
        assert_int_equal(a.reason, REASON_STATE_FOREIGN);
        expect_span(a.message.id, "7");
        ask_end(&a);
    }
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        (void)snprintf(body, sizeof body, "%s\"requestState\":%s," META "}}", before[i], sealed);
        read_request(&a, body, &bot);
        assert_int_equal(a.reason, REASON_STATE_FOREIGN);
        ask_end(&a);
    }
    for (size_t i = 1; i < strlen(sealed) - 1; i++) { /* each byte of it */
        (void)snprintf(body, sizeof body, CALL("\"arguments\":{\"x\":1},\"requestState\":%s,"), sealed);
        strstr(body, sealed)[i] ^= 1;
        read_request(&a, body, &bot);
        assert_int_equal(a.reason, REASON_STATE_FOREIGN);
        ask_end(&a);
    }
    read_request(&a, CALL("\"arguments\":{\"x\":1},\"requestState\":\"state\","), &bot);
    assert_int_equal(a.reason, REASON_STATE_FOREIGN);
    ask_end(&a);
}

TEST_CASE(refuses_states_where_none_is_due)
{
    struct got g;

    get(&g, ASK("tools/list", ""), RESULT("\"tools\":[],\"requestState\":\"s\""));
    assert_int_equal(g.reason, REASON_UPSTREAM_JSON);
    get_end(&g);
    get(&g, CALL(""), RESULT("\"requestState\":{\"a\":1}"));
    assert_int_equal(g.reason, REASON_UPSTREAM_JSON);
    get_end(&g);
}

TEST_CASE(fails_without_memory)
{
    for (uint64_t n = 1;; n++) {
        struct mcp_reply_rules rules = {.revisions = revisions, .binding = &bot};
        struct got g;

        read_request(&g.asked, CALL(""), &bot);
        rules.request = &g.asked.message;
        rules.request_method = g.asked.message.method;
        buf_init(&g.out, CAP_BYTES);
        arena_init(&g.arena, CAP_BYTES);
        mem_fail_at(n, 0);
        g.reason = mcp_reply_read(SPAN_LIT(RESULT("\"requestState\":\"s\",\"inputRequests\":{" ELICIT "}")), &rules, &g.out, &g.arena,
                                  &g.reply, &g.fault);
        mem_fail_at(0, 0);
        get_end(&g);
        if (g.reason == REASON_PERMITTED)
            break;
        assert_int_equal(g.reason, REASON_MEMORY);
        assert_true(n < 100);
    }
}

TEST_MAIN(NULL, NULL)
