/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"
#include "join/merge.h"

static const struct span servers[] = {{"shop", 4}, {"git.x-1", 7}};
static const struct join_names names = {servers, 2};
static struct arena arena;
static struct buf canonical, out;

static const struct json_node *tree(const char *text)
{
    const struct json_node *root;
    struct json_fault fault;

    arena_reset(&arena);
    buf_clear(&canonical);
    assert_ok(json_read(span_text(text), &json_reply_rules, &canonical, &arena, &root, &fault));
    return root;
}

static void assert_out(enum code code, const char *wanted)
{
    assert_ok(code);
    assert_int_equal(buf_len(&out), strlen(wanted));
    assert_memory_equal(buf_peek(&out).at, wanted, strlen(wanted));
    buf_clear(&out);
}

static void assert_down(const char *asked, const char *text, const char *wanted)
{
    assert_out(join_name_down(servers[0], span_text(asked), tree(text), &out), wanted);
}

static void assert_up(const char *method, const char *text, const char *wanted)
{
    assert_out(join_name_up(&names, 0, span_text(method), tree(text), &out), wanted);
}

TEST_CASE(test_names) /* 13.3 */
{
    size_t server;

    assert_out(join_name_put(JOIN_NAME, servers[0], SPAN_LIT("a__b"), &out), "shop__a__b");
    assert_out(join_name_take(JOIN_NAME, &names, SPAN_LIT("shop__a__b"), &server, &out), "a__b");
    assert_out(join_name_take(JOIN_NAME, &names, SPAN_LIT("git.x-1___a"), &server, &out), "_a");
    assert_int_equal(server, 1);
    assert_out(join_name_put(JOIN_URI, servers[0], SPAN_LIT("file:///a+b"), &out), "shop+file:///a+b");
    assert_out(join_name_take(JOIN_URI, &names, SPAN_LIT("shop+file:///a+b"), &server, &out), "file:///a+b");
    assert_out(join_name_put(JOIN_URI, servers[0], SPAN_LIT("ui://x/a"), &out), "ui://shop+x/a");
    assert_out(join_name_take(JOIN_URI, &names, SPAN_LIT("ui://shop+x/a"), &server, &out), "ui://x/a");
    assert_out(join_name_put(JOIN_URI, servers[0], SPAN_LIT("UI://x/a"), &out), "UI://shop+x/a"); /* RFC 3986 3.1 */
    assert_out(join_name_take(JOIN_URI, &names, SPAN_LIT("Ui://git.x-1+x/a"), &server, &out), "Ui://x/a");
    assert_int_equal(server, 1);
    assert_out(join_name_put(JOIN_URI, servers[0], SPAN_LIT("ui:/"), &out), "shop+ui:/");
    assert_out(join_name_put(JOIN_OWN, servers[0], SPAN_LIT("ui://x"), &out), "shop+ui://x");
    assert_int_equal(join_name_take(JOIN_NAME, &names, SPAN_LIT("shop_a"), &server, &out), CODE_NOT_FOUND);
    assert_int_equal(join_name_take(JOIN_NAME, &names, SPAN_LIT("Shop__a"), &server, &out), CODE_NOT_FOUND);
    assert_int_equal(join_name_take(JOIN_URI, &names, SPAN_LIT("file:///a"), &server, &out), CODE_NOT_FOUND);
    assert_int_equal(join_name_take(JOIN_URI, &names, SPAN_LIT("ui://x/shop+a"), &server, &out), CODE_NOT_FOUND);
    assert_int_equal(join_name_take(JOIN_OWN, &names, SPAN_LIT(""), &server, &out), CODE_NOT_FOUND);
    assert_true(join_name_is_fit(SPAN_LIT("git.x-1")));
    assert_false(join_name_is_fit(SPAN_LIT("my_shop")));
    assert_false(join_name_is_fit(SPAN_LIT("1shop")));
    assert_false(join_name_is_fit(SPAN_LIT("shop+")));
}

TEST_CASE(test_down) /* 13.3: each place that names something, and nothing else */
{
    assert_down("tools/list",
                "{\"id\":1,\"result\":{\"tools\":[{\"name\":\"a\",\"inputSchema\":{\"properties\":{\"uri\":{\"name\":\"n\"}}},"
                "\"_meta\":{\"ui\":{\"resourceUri\":\"ui://x\"},\"ui/resourceUri\":\"ui://y\",\"uri\":\"z\"}}]}}",
                "{\"id\":1,\"result\":{\"tools\":[{\"name\":\"shop__a\",\"inputSchema\":{\"properties\":{\"uri\":{\"name\":\"n\"}}},"
                "\"_meta\":{\"ui\":{\"resourceUri\":\"ui://shop+x\"},\"ui/resourceUri\":\"ui://shop+y\",\"uri\":\"z\"}}]}}");
    assert_down("resources/templates/list", "{\"id\":1,\"result\":{\"resourceTemplates\":[{\"uriTemplate\":\"{+p}\",\"name\":\"n\"}]}}",
                "{\"id\":1,\"result\":{\"resourceTemplates\":[{\"uriTemplate\":\"shop+{+p}\",\"name\":\"n\"}]}}");
    assert_down("tools/call",
                "{\"id\":1,\"result\":{\"tools\":[{\"name\":\"a\"}],\"task\":{\"taskId\":\"7\"},\"content\":[{\"type\":\"resource\","
                "\"resource\":{\"uri\":\"a:b\",\"text\":\"a:b\"}}],\"structuredContent\":{\"content\":[{\"uri\":\"a:b\"}]},"
                "\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"7\"}}}}",
                "{\"id\":1,\"result\":{\"tools\":[{\"name\":\"a\"}],\"task\":{\"taskId\":\"shop+7\"},\"content\":[{\"type\":\"resource\","
                "\"resource\":{\"uri\":\"shop+a:b\",\"text\":\"a:b\"}}],\"structuredContent\":{\"content\":[{\"uri\":\"a:b\"}]},"
                "\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"shop+7\"}}}}");
    assert_down("", "{\"method\":\"sampling/createMessage\",\"params\":{\"tools\":[{\"name\":\"a\"}],\"uri\":\"a:b\","
                "\"_meta\":{\"progressToken\":\"t\"}},\"id\":\"x\\\"\"}",
                "{\"method\":\"sampling/createMessage\",\"params\":{\"tools\":[{\"name\":\"a\"}],\"uri\":\"a:b\","
                "\"_meta\":{\"progressToken\":\"shop+\\\"t\\\"\"}},\"id\":\"shop+\\\"x\\\\\\\"\\\"\"}");
    assert_down("", "{\"method\":\"elicitation/create\",\"params\":{\"taskId\":\"7\",\"_meta\":{\"a\":1,\"progressToken\":3,"
                "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"7\"}}},\"id\":1}",
                "{\"method\":\"elicitation/create\",\"params\":{\"taskId\":\"7\",\"_meta\":{\"a\":1,\"progressToken\":\"shop+3\","
                "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"shop+7\"}}},\"id\":\"shop+1\"}");
    assert_down("", "{\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"elicitationId\":\"e\",\"taskId\":\"mine\",\"_meta\":{"
                "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"git.x-1+7\"},\"progressToken\":2}}}",
                "{\"id\":\"shop+1\",\"method\":\"elicitation/create\",\"params\":{"
                "\"elicitationId\":\"shop+e\",\"taskId\":\"mine\",\"_meta\":"
                "{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"shop+git.x-1+7\"},\"progressToken\":\"shop+2\"}}}");
    assert_down("", "{\"method\":\"notifications/elicitation/complete\",\"params\":{\"elicitationId\":\"git.x-1+e\"}}",
                "{\"method\":\"notifications/elicitation/complete\",\"params\":{\"elicitationId\":\"shop+git.x-1+e\"}}");
    assert_down("tools/call",
                "{\"id\":1,\"error\":{\"code\":-32042,\"data\":{\"elicitations\":[{\"elicitationId\":\"e\",\"url\":\"u\"}]}}}",
                "{\"id\":1,\"error\":{\"code\":-32042,\"data\":{\"elicitations\":[{\"elicitationId\":\"shop+e\",\"url\":\"u\"}]}}}");
    assert_down("", "{\"method\":\"notifications/message\",\"params\":{\"data\":{\"task\":{\"taskId\":\"7\"}}}}",
                "{\"method\":\"notifications/message\",\"params\":{\"data\":{\"task\":{\"taskId\":\"7\"}}}}");
    assert_down("", "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":-5,\"uri\":\"a:b\"}}",
                "{\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"shop+-5\",\"uri\":\"a:b\"}}");
    assert_down("", "{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":3}}",
                "{\"method\":\"notifications/progress\",\"params\":{\"progressToken\":3}}");
}

TEST_CASE(test_up) /* 13.3 */
{
    size_t server;

    assert_up("tools/call", "{\"id\":1,\"params\":{\"arguments\":{\"name\":\"shop__a\",\"uri\":\"shop+a:b\"},\"name\":\"shop__a\"}}",
              "{\"id\":1,\"params\":{\"arguments\":{\"name\":\"shop__a\",\"uri\":\"shop+a:b\"},\"name\":\"a\"}}");
    assert_up("completion/complete", "{\"params\":{\"ref\":{\"uri\":\"shop+a:{b}\"},\"argument\":{\"name\":\"shop__x\"}}}",
              "{\"params\":{\"ref\":{\"uri\":\"a:{b}\"},\"argument\":{\"name\":\"shop__x\"}}}");
    assert_up("tasks/get", "{\"params\":{\"taskId\":\"shop+7\"}}", "{\"params\":{\"taskId\":\"7\"}}");
    assert_up("", "{\"id\":\"shop+\\\"x\\\\\\\"\\\"\",\"result\":{}}", "{\"id\":\"x\\\"\",\"result\":{}}");
    assert_up("", "{\"id\":\"shop+1\",\"result\":{\"taskId\":\"7\",\"_meta\":{\"io.modelcontextprotocol/related-task\":"
              "{\"taskId\":\"shop+7\"}}}}",
              "{\"id\":1,\"result\":{\"taskId\":\"7\",\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"7\"}}}}");
    assert_up("notifications/progress", "{\"params\":{\"progressToken\":\"shop+3\"}}", "{\"params\":{\"progressToken\":3}}");
    assert_up("subscriptions/listen",
              "{\"params\":{\"notifications\":{\"resourceSubscriptions\":[\"shop+a:b\",\"git.x-1+a:b\",\"a:b\"],"
              "\"taskIds\":[\"shop+7\"]}}}",
              "{\"params\":{\"notifications\":{\"resourceSubscriptions\":[\"a:b\"],\"taskIds\":[\"7\"]}}}");
    assert_ok(join_name_of(&names, SPAN_LIT("tools/call"), tree("{\"params\":{\"name\":\"git.x-1__a\"}}"), &server));
    assert_int_equal(server, 1);
    assert_int_equal(join_name_of(&names, SPAN_LIT("tools/call"), tree("{\"params\":{\"name\":\"a\"}}"), &server), CODE_NOT_FOUND);
    assert_int_equal(join_name_of(&names, SPAN_LIT("tools/list"), tree("{\"params\":{}}"), &server), CODE_EXISTS);
    assert_int_equal(join_name_of(&names, SPAN_NONE, tree("{\"id\":3,\"result\":{}}"), &server), CODE_NOT_FOUND);
}

TEST_CASE(test_lists) /* 13.3: all items, one cursor, what is left out is said */
{
    struct join_part parts[] = {{.server = servers[0], .is_asked = true}, {.server = servers[1], .is_asked = true}};
    struct join_list list = {.list = "tools", .parts = parts, .count = 2, .budget = 9};
    const struct json_node *root = tree("[{\"tools\":[{\"name\":\"shop__a\"},{\"name\":\"shop__abcd\"}],\"nextCursor\":\"x\\\"\"},"
                                        "{\"tools\":[{\"name\":\"git__b\"}]}]");

    parts[0].result = root->child;
    parts[1].result = root->child->next;
    assert_out(join_merge_list(&list, &out),
               "{\"tools\":[{\"name\":\"shop__a\"},{\"name\":\"git__b\"}],\"nextCursor\":\"{\\\"shop\\\":\\\"x\\\\\\\"\\\"}\","
               "\"_meta\":{\"dev.callgate/unavailable\":[],\"dev.callgate/left_out\":[\"shop__abcd\"]}}");
    parts[0].result = NULL;
    list.is_modern = true;
    assert_out(join_merge_list(&list, &out),
               "{\"tools\":[{\"name\":\"git__b\"}],\"_meta\":{\"dev.callgate/unavailable\":[\"shop\"]},"
               "\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\"}");
    assert_out(join_cursor_of(SPAN_LIT("{\"shop\":\"x\\\"\"}"), servers[0], &out), "x\"");
    assert_int_equal(join_cursor_of(SPAN_LIT("{\"shop\":\"x\"}"), servers[1], &out), CODE_NOT_FOUND);
    assert_int_equal(join_cursor_of(SPAN_LIT("x"), servers[1], &out), CODE_INVALID);
    assert_int_equal(join_cursor_of(SPAN_LIT("[]"), servers[1], &out), CODE_INVALID);
}

TEST_CASE(test_greeting) /* 13.3: capabilities are the union, instructions stand under names */
{
    const struct json_node *root = tree("[{\"capabilities\":{\"tools\":{\"listChanged\":false},\"experimental\":{\"a\":{}}},"
                                        "\"instructions\":\"One.\",\"supportedVersions\":[\"2026-07-28\",\"2027-01-01\"]},"
                                        "{\"capabilities\":{\"resources\":{\"subscribe\":true},\"experimental\":{\"b\":1}},"
                                        "\"instructions\":\"Two.\",\"supportedVersions\":[\"2027-01-01\"]}]");
    const struct join_part parts[] = {{servers[0], root->child, true}, {servers[1], root->child->next, true}};

    assert_out(join_merge_greeting(parts, 2, SPAN_LIT("all"), SPAN_LIT("2025-11-25"), &out),
               "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":true},\"experimental\":{\"a\":{},\"b\":1},"
               "\"resources\":{\"listChanged\":true,\"subscribe\":true}},\"serverInfo\":{\"name\":\"all\",\"version\":\"1\"},"
               "\"instructions\":\"# shop\\n\\nOne.\\n\\n# git.x-1\\n\\nTwo.\"}");
    assert_out(join_merge_greeting(parts, 2, SPAN_LIT("all"), SPAN_NONE, &out),
               "{\"supportedVersions\":[\"2027-01-01\"],\"capabilities\":{\"tools\":{\"listChanged\":true},\"experimental\":{\"a\":{},"
               "\"b\":1},\"resources\":{\"listChanged\":true,\"subscribe\":true}},\"serverInfo\":{\"name\":\"all\",\"version\":\"1\"},"
               "\"instructions\":\"# shop\\n\\nOne.\\n\\n# git.x-1\\n\\nTwo.\",\"resultType\":\"complete\",\"ttlMs\":0,"
               "\"cacheScope\":\"private\"}");
}

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, (size_t)1 << 20);
    buf_init(&canonical, (size_t)1 << 20);
    buf_init(&out, (size_t)1 << 20);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    buf_fini(&canonical);
    buf_fini(&out);
    return 0;
}

TEST_MAIN(set_up, tear_down)
