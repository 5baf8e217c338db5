/* SPDX-License-Identifier: Apache-2.0 */
/* 5.5: what a client says that it can do goes up without what no rule could permit. */
#include "mcp_help.h"

#define CLIENT "io.modelcontextprotocol/clientCapabilities"

/* Takes: the methods that could be permitted, with a blank behind each. */
static bool may_ask(void *context, struct span method)
{
    struct span rest = span_text(context);

    while (rest.len > 0)
        if (span_equals(span_cut(rest, ' ', &rest), method))
            return true;
    return false;
}

TEST_CASE(strips_capabilities)
{
    static const char all[] = "{\"roots\":{\"listChanged\":true},\"sampling\":{\"tools\":{}},\"x\":{\"sampling\":1.0},"
                              "\"elicitation\":{\"url\":{}},"
                              "\"tasks\":{\"list\":{},\"requests\":{\"sampling\":{\"createMessage\":{}},\"elicitation\":{\"create\":{}}}},"
                              "\"experimental\":{\"roots\":{}}}";
    static const struct {
        const char *may, *says, *left;
    } cases[] = {
        {"", all, "{\"x\":{\"sampling\":1.0},\"experimental\":{\"roots\":{}}}"},
        {"sampling/createMessage elicitation/create roots/list tasks/cancel ", all, all},
        {"roots/list ", all, "{\"roots\":{\"listChanged\":true},\"x\":{\"sampling\":1.0},\"experimental\":{\"roots\":{}}}"},
        {"sampling/createMessage ", all, "{\"sampling\":{\"tools\":{}},\"x\":{\"sampling\":1.0},\"experimental\":{\"roots\":{}}}"},
        {"elicitation/create tasks/get ", all,
         "{\"x\":{\"sampling\":1.0},\"elicitation\":{\"url\":{}},\"tasks\":{\"list\":{},\"requests\":{\"elicitation\":{\"create\":{}}}},"
         "\"experimental\":{\"roots\":{}}}"},
        {"tools/call sampling/createMessages ", "{\"sampling\":{}}", "{}"},
        /* an upstream that ignores case reads these as well */
        {"roots/list ", "{\"Sampling\":{},\"\\u017fampling\":1,\"ROOTS\":{}}", "{\"ROOTS\":{}}"},
        {"", "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{},\"v/x\":{}},\"roots\":null}", "{\"extensions\":{\"v/x\":{}}}"},
        {"tasks/get ", "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}",
         "{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}"},
        {"", "{}", "{}"}, {"", "null", "null"},
        {"tasks/get ", "{\"tasks\":{\"requests\":[\"sampling\"],\"list\":{}},\"extensions\":\"sampling\"}", "{\"tasks\":{\"list\":{}}}"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int in_meta = 0; in_meta < 2; in_meta++) {
            struct mcp_read_rules rules = {.may_ask = may_ask, .ask_context = (void *)(uintptr_t)cases[i].may};
            char body[1024], left[1024];
            struct asked a;

            for (int after = 0; after < 2; after++)
                (void)snprintf(after ? left : body, sizeof body,
                               "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{\"%s\":%s%s}}", in_meta ? "ping" : "initialize",
                               in_meta ? "_meta\":{\"a\":1,\"" CLIENT : "capabilities",
                               after ? cases[i].left : cases[i].says, in_meta ? ",\"b\":2}" : ",\"protocolVersion\":\"2025-06-18\"");
            ask_with(&a, span_text(body), &rules);
            assert_int_equal(a.reason, REASON_PERMITTED);
            expect_span(buf_peek(&a.canon), left);
            expect_span(a.message.root->raw, left); /* what is judged is what is sent */
            ask_end(&a);
        }
}

/* A list or a text names them as well as an object, to who only looks for the word. */
TEST_CASE(strips_what_is_no_object)
{
    static const char *const said[] = {"[\"sampling\"]", "\"sampling\""};
    struct mcp_read_rules rules = {.may_ask = may_ask, .ask_context = (void *)(uintptr_t)""};

    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        char body[300];
        struct asked a;

        (void)snprintf(body, sizeof body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                       "\"capabilities\":%s,\"protocolVersion\":\"2025-06-18\"}}", said[i]);
        ask_with(&a, span_text(body), &rules);
        expect_span(buf_peek(&a.canon), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                                        "\"protocolVersion\":\"2025-06-18\"}}");
        ask_end(&a);
    }
}

/* Only what a client says of itself is looked at. */
TEST_CASE(leaves_the_rest_alone)
{
    static const char *const bodies[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\","
        "\"arguments\":{\"capabilities\":{\"sampling\":{}},"
        "\"" CLIENT "\":{\"roots\":{}}}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"vendor/own\",\"params\":{\"capabilities\":{\"sampling\":{}}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"capabilities\":{\"sampling\":{}}}}",
    };
    struct mcp_read_rules rules = {.may_ask = may_ask, .ask_context = (void *)(uintptr_t)""};
    struct asked a;

    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        ask_with(&a, span_text(bodies[i]), &rules);
        assert_int_equal(a.reason, REASON_PERMITTED);
        expect_span(buf_peek(&a.canon), bodies[i]);
        ask_end(&a);
    }
    /* Under another spelling a client that is read loosely would say it all the same: refused, as any unknown member. */
    ask_with(&a, SPAN_LIT("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
                          "\"params\":{\"Capabilities\":{\"sampling\":{}}}}"), &rules);
    assert_int_equal(a.reason, REASON_PARAMS_INVALID);
    ask_end(&a);
    /* With `meta: known` both are cut in one go. */
    rules.meta = MCP_META_KNOWN;
    ask_with(&a, SPAN_LIT("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":{\"own\":1,\"" CLIENT
                          "\":{\"sampling\":{},\"y\":0},\"z\":1}}}"), &rules);
    expect_span(a.message.meta->raw, "{\"" CLIENT "\":{\"y\":0}}");
    ask_end(&a);
}

TEST_MAIN(NULL, NULL)
