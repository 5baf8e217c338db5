/* SPDX-License-Identifier: Apache-2.0 */
/* 5.6: lists, without what could not be had. */
#include "reply_help.h"

/* 1.19, 1.20: lists show what could be permitted */
TEST_CASE(filters_lists)
{
    static const char all[] = LIST(TOOL("a") "," TOOL("b") "," TOOL("c"));

    assert_int_equal(expect_body(all, "tools/list", NULL, all), 0);
    assert_int_equal(expect_body(all, "tools/list", "a,b,c", all), 0);
    assert_int_equal(expect_body(all, "tools/list", "b,c", LIST(TOOL("b") "," TOOL("c"))), 1);
    assert_int_equal(expect_body(all, "tools/list", "a,c", LIST(TOOL("a") "," TOOL("c"))), 1);
    assert_int_equal(expect_body(all, "tools/list", "a,b", LIST(TOOL("a") "," TOOL("b"))), 1);
    assert_int_equal(expect_body(all, "tools/list", "a", LIST(TOOL("a"))), 2);
    assert_int_equal(expect_body(all, "tools/list", "b", LIST(TOOL("b"))), 2);
    assert_int_equal(expect_body(all, "tools/list", "c", LIST(TOOL("c"))), 2);
    assert_int_equal(expect_body(all, "tools/list", "", LIST("")), 3);
    assert_int_equal(expect_body(LIST(""), "tools/list", "", LIST("")), 0);
    /* The same where a resumed stream brings an answer to nobody knows what. */
    assert_int_equal(expect_body(all, "", "b", LIST(TOOL("b"))), 2);
    /* But not in the results of other methods. */
    assert_int_equal(expect_body(all, "tools/call", "b", all), 0);
    /* Cuts inside what is cut. */
    assert_int_equal(expect_body(LIST("{\"name\":\"a\","
        "\"_meta\":{\"dev.callgate/x\":1}},{\"_meta\":{\"dev.callgate/x\":1,\"k\":0},\"name\":\"b\"}"),
                                 "tools/list", "b", LIST("{\"_meta\":{\"k\":0},\"name\":\"b\"}")), 1);
    assert_int_equal(expect_body(LIST("{\"n\":[{\"name\":\"x\"}],\"name\":\"\\u0061\"}"), "tools/list", "x",
        LIST("")), 1);
}

/* 15.5: a list that a route declares, and no other of the same shape */
TEST_CASE(filters_a_declared_list)
{
    static const struct mcp_method method = {{"acme/files", 10}, {"", 0}, MCP_ABOUT_NOTHING, MCP_LISTS_RESOURCES, {"files", 5},
                                             {"at", 2}, false};
    const struct mcp_methods own = {&method, 1};
    struct mcp_reply_rules rules = {.request_method = method.name, .revisions = revisions, .keep = keep_listed,
                                    .keep_context = (void *)(uintptr_t)"b", .deceptive = treatments, .own = &own};
    static const struct {
        const char *result, *left; /* NULL: refused */
    } cases[] = {
        {"{\"files\":[{\"at\":\"a\"},{\"at\":\"b\",\"x\":1.0}]}", "{\"files\":[{\"at\":\"b\",\"x\":1.0}]}"},
        {"{\"files\":[],\"skills\":[{\"uri\":\"a\"}]}", "{\"files\":[],\"skills\":[{\"uri\":\"a\"}]}"},
        {"{\"Files\":[{\"at\":\"a\"}]}", NULL}, {"{\"files\":{\"at\":\"a\"}}", NULL}, {"{\"files\":[\"a\"]}", NULL},
        {"{\"files\":[{\"At\":\"b\"}]}", NULL}, {"{\"files\":[{\"uri\":\"b\"}]}", NULL}, {"{}", NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char all[300], left[300];
        struct got g;

        (void)snprintf(all, sizeof all, RESULT("%s"), cases[i].result);
        (void)snprintf(left, sizeof left, RESULT("%s"), cases[i].left != NULL ? cases[i].left : "");
        buf_init(&g.out, CAP_BYTES);
        arena_init(&g.arena, CAP_BYTES);
        g.reason = mcp_reply_read(span_text(all), &rules, &g.out, &g.arena, &g.reply, &g.fault);
        assert_int_equal(g.reason, cases[i].left != NULL ? REASON_PERMITTED : REASON_UPSTREAM_JSON);
        if (cases[i].left != NULL)
            expect_span(g.reply.body, left);
        else
            assert_true(g.fault.text[0] != '\0');
        get_end(&g);
    }
}

/* 5.6: every list by what its elements are used by, under the name that a policy knows them by */
TEST_CASE(filters_each_kind_of_list)
{
    static const struct {
        const char *method, *member, *use, *before, *after, *other;
    } lists[] = {
        {"tools/list", "tools", "tools/call", "{\"uri\":\"no\",\"name\":\"", "\",\"x\":1.0}", "resources"},
        {"prompts/list", "prompts", "prompts/get", "{\"name\":\"", "\",\"arguments\":[{\"name\":\"no\"}]}", "tools"},
        {"resources/list", "resources", "resources/read", "{\"name\":\"no\",\"uri\":\"", "\",\"size\":1e2}", "prompts"},
        {"resources/templates/list", "resourceTemplates", "resources/read", "{\"name\":\"no\",\"uriTemplate\":\"", "\"}",
         "resources"},
        {"skills/list", "skills", "resources/read", "{\"name\":\"no\",\"uri\":\"", "\",\"resources\":[{\"uri\":\"no\"}]}",
         "resources"},
        {"resources/directory/read", "resources", "resources/read", "{\"name\":\"no\",\"uri\":\"",
         "\",\"mimeType\":\"inode/directory\"}", "skills"},
    };

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char a[128], b[128], all[400], left[400];

        snprintf(a, sizeof a, "%s%s%s", lists[i].before, "a", lists[i].after);
        snprintf(b, sizeof b, "%s%s%s", lists[i].before, "b", lists[i].after);
        snprintf(all, sizeof all, RESULT("{\"ttlMs\":5,\"%s\":[%s,%s],\"nextCursor\":\"c\"}"), lists[i].member, a, b);
        snprintf(left, sizeof left, RESULT("{\"ttlMs\":5,\"%s\":[%s],\"nextCursor\":\"c\"}"), lists[i].member, b);
        wanted_use = lists[i].use;
        assert_int_equal(expect_body(all, lists[i].method, "a,b", all), 0);
        assert_int_equal(expect_body(all, lists[i].method, "b", left), 1);
        assert_int_equal(expect_body(all, "", "b", left), 1); /* who asked for it is not known */
        assert_int_equal(expect_body(all, "tools/call", "", all), 0);
        wanted_use = NULL;
        snprintf(all, sizeof all, RESULT("{\"%s\":[%s]}"), lists[i].other, a);
        expect(all, lists[i].method, REASON_UPSTREAM_JSON); /* another list is none of this one */
        snprintf(all, sizeof all, RESULT("{\"%s\":[{\"title\":\"b\"}]}"), lists[i].member);
        expect(all, lists[i].method, REASON_UPSTREAM_JSON);
        snprintf(a, sizeof a, "%s%s%s", lists[i].before, "a\xe2\x80\x8b", lists[i].after);
        snprintf(all, sizeof all, RESULT("{\"%s\":[%s]}"), lists[i].member, a);
        expect(all, lists[i].method, i == 0 ? REASON_UPSTREAM_DEFINITION : REASON_UPSTREAM_DECEPTIVE);
        snprintf(left, sizeof left, RESULT("{\"%s\":[]}"), lists[i].member);
        assert_int_equal(expect_body(all, lists[i].method, "b", left), 1);
    }
    /* A reader that ignores case would find another name. */
    expect(LIST("{\"name\":\"a\",\"Name\":\"b\"}"), "tools/list", REASON_UPSTREAM_JSON);
    expect(RESULT("{\"resources\":[{\"URI\":\"b\",\"uri\":\"a\"}]}"), "resources/list", REASON_UPSTREAM_JSON);
    expect(RESULT("{\"resourceTemplates\":[],\"RESOURCETEMPLATES\":[]}"), "resources/templates/list", REASON_UPSTREAM_JSON);
    expect(RESULT("{\"Prompts\":[]}"), "", REASON_UPSTREAM_JSON);
    /* One answer with several lists, where nobody knows what was asked. */
    assert_int_equal(expect_body(RESULT("{\"tools\":[{\"name\":\"a\"}],\"prompts\":[{\"name\":\"b\"},{\"name\":\"a\"}]}"), "", "b",
                                 RESULT("{\"tools\":[],\"prompts\":[{\"name\":\"b\"}]}")), 2);
}

/* 1.19: what cannot be filtered does not pass */
TEST_CASE(refuses_odd_lists)
{
    static const char *const results[] = {
        RESULT("{}"), RESULT("null"), RESULT("[]"), RESULT("{\"tools\":{}}"), RESULT("{\"tools\":null}"),
            RESULT("{\"tools\":\"a\"}"),
        RESULT("{\"tools\":[1]}"), RESULT("{\"tools\":[[]]}"), RESULT("{\"tools\":[{}]}"),
            RESULT("{\"tools\":[{\"name\":5}]}"),
        RESULT("{\"tools\":[{\"name\":\"\"}]}"), RESULT("{\"tools\":[{\"Name\":\"a\"}]}"),
            RESULT("{\"tools\":[],\"Tools\":[{\"name\":\"a\"}]}"),
        RESULT("{\"TOOLS\":[]}"), RESULT("{\"tools\":[],\"tool\\u017f\":[{\"name\":\"a\"}]}"),
        RESULT("{\"tools\":[{\"name\":\"a\"},{\"x\":{\"name\":\"b\"}}]}")};

    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        expect(results[i], "tools/list", REASON_UPSTREAM_JSON);
    expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"\"}}", "tools/list",
        REASON_PERMITTED);
    expect("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}", "tools/list", REASON_PERMITTED);
}

static bool keep_and_count(void *context, struct span method, struct span tool, bool is_template)
{
    assert_true(span_is(method, "tools/call") && !is_template);
    *(size_t *)context += tool.len;
    return true;
}

/* 1.19: each tool costs a look at the policy, so that a server cannot choose how many, nor how long their names are */
TEST_CASE(bounds_what_a_list_costs)
{
    static char text[200000];
    struct got g;

    for (int tools = 4096; tools <= 4097; tools++) {
        size_t len = (size_t)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[");

        for (int i = 0; i < tools; i++)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s{\"name\":\"t%d\"}", i > 0 ? "," : "", i);
        snprintf(text + len, sizeof text - len, "]}}");
        expect(text, "tools/list", tools == 4096 ? REASON_PERMITTED : REASON_UPSTREAM_JSON);
    }
    for (int name = 128; name <= 129; name++) {
        size_t seen = 0;

        snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"%0*d\"}]}}", name, 7);
        get(&g, text, "tools/list", keep_and_count, &seen);
        assert_int_equal(g.reason, REASON_PERMITTED);
        assert_int_equal(g.reply.removed, name == 128 ? 0 : 1); /* no call could name it */
        assert_int_equal(seen, name == 128 ? 128 : 0);
        get_end(&g);
    }
}

/* Number: 2.1 */
static bool write_hints(void *context, const struct mcp_tool *tool)
{
    const struct mcp_hints *hints = &tool->hints;
    char *text = context;
    size_t len = strlen(text);

    snprintf(text + len, 256 - len, "%.*s %d%d%d%d;", SPAN_ARG(tool->name), (int)hints->read_only, (int)hints->destructive,
             (int)hints->idempotent, (int)hints->open_world);
    return true;
}

static void expect_hints(const char *tools, const char *wanted)
{
    char data[1024], text[256] = "";
    struct mcp_reply_rules rules = {.request_method = SPAN_LIT("tools/list"), .revisions = revisions, .learn = write_hints,
                                    .keep_context = text};
    struct got g;

    snprintf(data, sizeof data, RESULT("{\"tools\":[%s]}"), tools);
    buf_init(&g.out, CAP_BYTES);
    arena_init(&g.arena, CAP_BYTES);
    assert_int_equal(mcp_reply_read(span_text(data), &rules, &g.out, &g.arena, &g.reply, &g.fault), REASON_PERMITTED);
    assert_string_equal(text, wanted);
    get_end(&g);
}

TEST_CASE(test_hints_of_tools_are_told)
{
    expect_hints("", "");
    expect_hints("{\"name\":\"a\"}", "a 0000;");
    expect_hints("{\"annotations\":{\"readOnlyHint\":true,\"destructiveHint\":false},\"name\":\"a\"},{\"name\":\"b\"}",
                 "a 2100;b 0000;");
    expect_hints("{\"name\":\"a\",\"annotations\":{\"idempotentHint\":true,\"openWorldHint\":false,\"title\":\"x\"}}", "a 0021;");
    /* Nothing but a boolean, in the right place and spelling, says anything. */
    expect_hints("{\"name\":\"a\",\"annotations\":{\"readOnlyHint\":\"true\",\"destructiveHint\":1,\"x\":{\"idempotentHint\":true}}}",
                 "a 0000;");
    expect_hints("{\"name\":\"a\",\"annotations\":{\"ReadOnlyHint\":true},\"inputSchema\":{\"readOnlyHint\":true}}", "a 0000;");
    expect_hints("{\"name\":\"a\",\"annotations\":[true],\"x\":{\"annotations\":{\"readOnlyHint\":true}},\"readOnlyHint\":true}",
                 "a 0000;");
}

TEST_MAIN(NULL, NULL)
