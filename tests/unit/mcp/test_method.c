/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/method.h"

#include "fakes/methods.h"

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

/* 5.5 */
static void knows_every_method(void **state)
{
    (void)state;
#define X(name, agent, server, id) \
    assert_int_equal(mcp_method_may_come(SPAN_LIT(name), false), agent); \
    assert_int_equal(mcp_method_may_come(SPAN_LIT(name), true), server); \
    assert_int_equal(mcp_method_needs_id(SPAN_LIT(name)), id);
    METHODS(X)
#undef X
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

/* 4.10: all that the schemas of the four revisions name in messages of clients, and nothing else */
static void knows_members_of_params(void **state)
{
    static const struct {
        const char *method, *members;
    } rows[] = {
        {"initialize", "protocolVersion capabilities clientInfo"}, {"ping", ""}, {"tools/list", "cursor"},
        {"tools/call", "name arguments task"}, {"resources/list", "cursor"}, {"resources/templates/list", "cursor"},
        {"resources/read", "uri"}, {"resources/subscribe", "uri"}, {"resources/unsubscribe", "uri"}, {"prompts/list", "cursor"},
        {"prompts/get", "name arguments"}, {"completion/complete", "ref argument context"}, {"logging/setLevel", "level"},
        {"tasks/get", "taskId"}, {"tasks/result", "taskId"}, {"tasks/list", "cursor"}, {"tasks/cancel", "taskId"},
        {"notifications/initialized", ""}, {"notifications/roots/list_changed", ""},
        {"notifications/cancelled", "requestId reason"}, {"notifications/progress", "progressToken progress total message"},
        {"notifications/tasks/status", "taskId status statusMessage createdAt lastUpdatedAt ttl pollInterval"},
    };
    static const char all[] = "protocolVersion capabilities clientInfo cursor name arguments task uri ref argument context level "
                              "taskId requestId reason progressToken progress total message status statusMessage createdAt "
                              "lastUpdatedAt ttl pollInterval nam Name x roots inputResponses";

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct span method = span_text(rows[i].method);

        assert_true(mcp_method_takes(method, SPAN_LIT("_meta")));
        assert_false(mcp_method_takes(method, SPAN_LIT("")));
        assert_false(mcp_method_takes(method, SPAN_LIT("name arguments")));
        for (struct span rest = span_text(all), one; rest.len > 0;) {
            bool named = false;

            one = span_cut(rest, ' ', &rest);
            for (struct span left = span_text(rows[i].members); left.len > 0;)
                named |= span_equals(span_cut(left, ' ', &left), one);
            assert_int_equal(mcp_method_takes(method, one), named);
        }
    }
    assert_true(mcp_method_takes(SPAN_LIT("vendor/own"), SPAN_LIT("x")));
    assert_true(mcp_method_takes(SPAN_LIT("tasks/something_new"), SPAN_LIT("x")));
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
        cmocka_unit_test(knows_every_method),
        cmocka_unit_test(knows_what_needs_an_id),
        cmocka_unit_test(knows_members_of_params), cmocka_unit_test(lists_revisions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
