/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/method.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* 1.19 */
static void knows_methods(void **state)
{
    static const struct {
        const char *name;
        enum mcp_method_kind kind;
        bool from_agent, from_server;
    } rows[] = {{"tools/call", MCP_METHOD_REQUEST, true, false},
                {"ping", MCP_METHOD_REQUEST, true, true},
                {"sampling/createMessage", MCP_METHOD_REQUEST, false, true},
                {"elicitation/create", MCP_METHOD_REQUEST, false, true},
                {"roots/list", MCP_METHOD_REQUEST, false, true},
                {"notifications/progress", MCP_METHOD_NOTIFICATION, true, true},
                {"notifications/message", MCP_METHOD_NOTIFICATION, false, true},
                {"stream/open", MCP_METHOD_PSEUDO, true, false},
                {"stream/message", MCP_METHOD_PSEUDO, false, true}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct mcp_method *method = mcp_method_find(span_text(rows[i].name));

        assert_non_null(method);
        assert_int_equal(method->kind, rows[i].kind);
        assert_int_equal(method->from_agent, rows[i].from_agent);
        assert_int_equal(method->from_server, rows[i].from_server);
    }
    assert_null(mcp_method_find(SPAN_LIT("tools/Call")));
    assert_null(mcp_method_find(SPAN_NONE));
}

/* 1.11: a request method without an id is refused */
static void knows_what_needs_an_id(void **state)
{
    static const char *const need[] = {"initialize", "tools/call", "tools/list", "prompts/get",
        "resources/read", "ping",
                                       "completion/complete", "logging/setLevel", "subscriptions/listen", "tasks/list",
                                       "tasks/something_new", "roots/list", "server/discover"};
    static const char *const none[] = {"notifications/initialized", "notifications/whatever", "x", "response",
        "stream/open"};

    (void)state;
    for (size_t i = 0; i < sizeof need / sizeof need[0]; i++)
        assert_true(mcp_method_needs_id(span_text(need[i])));
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_false(mcp_method_needs_id(span_text(none[i])));
}

/* 1.19, 1.20: the word `protocol` */
static void knows_the_protocol(void **state)
{
    static const char *const members[] = {"initialize", "server/discover", "ping", "notifications/initialized",
                                          "notifications/x/y", "tools/list", "stream/open", "session/end"};
    static const char *const others[] = {"tools/call", "resources/read", "response", "pass", "stream/message",
        "protocol", "",
                                         "Initialize", "prompts/list", "logging/setLevel"};

    (void)state;
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        assert_true(mcp_method_is_protocol(span_text(members[i])));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(mcp_method_is_protocol(span_text(others[i])));
}

static void lists_revisions(void **state)
{
    (void)state;
    assert_true(mcp_revision_is_listed(mcp_revisions, SPAN_LIT("2024-11-05")));
    assert_true(mcp_revision_is_listed(mcp_revisions, SPAN_LIT("2025-11-25")));
    assert_false(mcp_revision_is_listed(mcp_revisions, SPAN_LIT("2026-07-28")));
    assert_false(mcp_revision_is_listed(mcp_revisions, SPAN_LIT("2025-11-2")));
    assert_false(mcp_revision_is_listed(mcp_revisions, SPAN_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_methods),
        cmocka_unit_test(knows_what_needs_an_id),
        cmocka_unit_test(knows_the_protocol),
        cmocka_unit_test(lists_revisions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
