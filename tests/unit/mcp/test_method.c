/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/method.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* 1.19 */
static void knows_who_says_what(void **state)
{
    static const struct {
        const char *name;
        bool from_agent, from_server;
    } rows[] = {{"tools/call", true, false},      {"ping", true, true},
                {"sampling/createMessage", false, true}, {"elicitation/create", false, true},
                {"roots/list", false, true},      {"notifications/progress", true, true},
                {"notifications/message", false, true}, {"stream/open", false, false},
                {"stream/message", false, false}, {"response", false, false},
                {"pass", false, false},           {"tools/Call", true, true},
                {"vendor/own", true, true},       {"", true, true}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(mcp_method_may_come(span_text(rows[i].name), false), rows[i].from_agent);
        assert_int_equal(mcp_method_may_come(span_text(rows[i].name), true), rows[i].from_server);
    }
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

/* 4.10 */
static void knows_members_of_params(void **state)
{
    static const struct {
        const char *method, *member;
        bool takes;
    } rows[] = {{"tools/call", "name", true},   {"tools/call", "task", true},    {"tools/call", "_meta", true},
                {"tools/call", "nam", false},   {"tools/call", "", false},       {"tools/call", "name arguments", false},
                {"ping", "_meta", true},        {"ping", "x", false},            {"prompts/get", "task", false},
                {"resources/read", "uri", true}, {"vendor/own", "x", true},      {"tasks/something_new", "x", true},
                {"completion/complete", "context", true}, {"initialize", "clientInfo", true}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(mcp_method_takes(span_text(rows[i].method), span_text(rows[i].member)), rows[i].takes);
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
        cmocka_unit_test(knows_who_says_what),
        cmocka_unit_test(knows_what_needs_an_id),
        cmocka_unit_test(knows_members_of_params), cmocka_unit_test(lists_revisions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
