/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/method.h"

#include "fakes/methods.h"
#include "fakes/cm.h"

static const struct mcp_method *line_of(struct span name)
{
    return mcp_method_find(name, NULL);
}

/* 1.19 */
TEST_CASE(knows_who_says_what)
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

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(mcp_method_may_come(line_of(span_text(rows[i].name)), false), rows[i].from_agent);
        assert_int_equal(mcp_method_may_come(line_of(span_text(rows[i].name)), true), rows[i].from_server);
    }
}

/* 5.5 */
TEST_CASE(knows_every_method)
{
#define X(name, agent, server, id) \
    assert_int_equal(mcp_method_may_come(line_of(SPAN_LIT(name)), false), agent); \
    assert_int_equal(mcp_method_may_come(line_of(SPAN_LIT(name)), true), server); \
    assert_int_equal(mcp_method_needs_id(SPAN_LIT(name)), id);
    METHODS(X)
#undef X
}

/* 1.11: a request method without an id is refused */
TEST_CASE(knows_what_needs_an_id)
{
    static const char *const need[] = {"initialize", "tools/call", "tools/list", "prompts/get",
        "resources/read", "ping",
                                       "completion/complete", "logging/setLevel", "subscriptions/listen", "tasks/list",
                                       "tasks/something_new", "roots/list", "server/discover"};
    static const char *const none[] = {"notifications/initialized", "notifications/whatever", "x", "response",
        "stream/open"};

    for (size_t i = 0; i < sizeof need / sizeof need[0]; i++)
        assert_true(mcp_method_needs_id(span_text(need[i])));
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_false(mcp_method_needs_id(span_text(none[i])));
}

/* 4.10, 5.2: all that the schemas of the revisions name in messages of clients, and nothing else */
TEST_CASE(knows_members_of_params)
{
    static const struct {
        const char *method, *members;
        bool is_modern;
    } rows[] = {
        {"server/discover", "", true}, {"tools/list", "cursor", true}, {"resources/list", "cursor", true},
        {"tools/call", "name arguments task inputResponses requestState", true}, {"prompts/list", "cursor", true},
        {"resources/read", "uri inputResponses requestState", true}, {"resources/templates/list", "cursor", true},
        {"prompts/get", "name arguments inputResponses requestState", true}, {"tasks/get", "taskId", true},
        {"completion/complete", "ref argument context", true}, {"subscriptions/listen", "notifications", true},
        {"tasks/cancel", "taskId", true}, {"tasks/update", "taskId inputResponses", true},
        {"notifications/cancelled", "requestId reason", true},
        {"initialize", "protocolVersion capabilities clientInfo", false}, {"ping", "", false}, {"tools/list", "cursor", false},
        {"tools/call", "name arguments task", false}, {"resources/list", "cursor", false},
        {"resources/templates/list", "cursor", false},
        {"resources/read", "uri", false}, {"resources/subscribe", "uri", false}, {"resources/unsubscribe", "uri", false},
        {"prompts/list", "cursor", false},
        {"prompts/get", "name arguments", false}, {"completion/complete", "ref argument context", false},
        {"logging/setLevel", "level", false},
        {"tasks/get", "taskId", false}, {"tasks/result", "taskId", false}, {"tasks/list", "cursor", false},
        {"tasks/cancel", "taskId", false},
        {"notifications/initialized", "", false}, {"notifications/roots/list_changed", "", false},
        {"notifications/cancelled", "requestId reason", false}, {"notifications/progress", "progressToken progress total message", false},
        {"notifications/tasks/status", "taskId status statusMessage createdAt lastUpdatedAt ttl pollInterval", false},
    };
    static const char all[] = "protocolVersion capabilities clientInfo cursor name arguments task uri ref argument context level "
                              "taskId requestId reason progressToken progress total message status statusMessage createdAt "
                              "lastUpdatedAt ttl pollInterval nam Name x roots inputResponses requestState notifications";

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct mcp_method *method = line_of(span_text(rows[i].method));

        assert_true(mcp_method_takes(method, SPAN_LIT("_meta"), rows[i].is_modern));
        assert_false(mcp_method_takes(method, SPAN_LIT(""), rows[i].is_modern));
        assert_false(mcp_method_takes(method, SPAN_LIT("name arguments"), rows[i].is_modern));
        for (struct span rest = span_text(all), one; rest.len > 0;) {
            bool named = false;

            one = span_cut(rest, ' ', &rest);
            for (struct span left = span_text(rows[i].members); left.len > 0;)
                named |= span_equals(span_cut(left, ' ', &left), one);
            assert_int_equal(mcp_method_takes(method, one, rows[i].is_modern), named);
        }
    }
    assert_true(mcp_method_takes(line_of(SPAN_LIT("vendor/own")), SPAN_LIT("x"), false));
    assert_true(mcp_method_takes(line_of(SPAN_LIT("tasks/something_new")), SPAN_LIT("x"), true));
}

/* 5.2: which requests stand in which revisions */
TEST_CASE(knows_eras)
{
    static const struct {
        const char *method;
        enum mcp_era era;
    } rows[] = {{"initialize", MCP_ERA_OLD}, {"ping", MCP_ERA_OLD}, {"logging/setLevel", MCP_ERA_OLD},
                {"resources/subscribe", MCP_ERA_OLD}, {"resources/unsubscribe", MCP_ERA_OLD}, {"tasks/list", MCP_ERA_OLD},
                {"tasks/result", MCP_ERA_OLD}, {"server/discover", MCP_ERA_BOTH}, {"subscriptions/listen", MCP_ERA_MODERN},
                {"tasks/update", MCP_ERA_MODERN}, {"tools/call", MCP_ERA_BOTH}, {"tools/list", MCP_ERA_BOTH},
                {"tasks/get", MCP_ERA_BOTH}, {"resources/read", MCP_ERA_BOTH}, {"vendor/own", MCP_ERA_ANY},
                {"roots/list", MCP_ERA_ANY}, {"notifications/cancelled", MCP_ERA_ANY}, {"", MCP_ERA_ANY}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(mcp_method_era(line_of(span_text(rows[i].method))), rows[i].era);
}

TEST_CASE(lists_revisions)
{
    assert_true(mcp_revision_is_listed(mcp_revisions, SPAN_LIT("2024-11-05")));
    assert_true(mcp_revision_is_listed(mcp_revisions, SPAN_LIT("2025-11-25")));
    assert_true(mcp_revision_is_listed(mcp_revisions, SPAN_LIT("2026-07-28")));
    assert_false(mcp_revision_is_listed(mcp_revisions, SPAN_LIT("2026-07-29")));
    assert_true(mcp_revision_is_modern(SPAN_LIT("2026-07-28")));
    assert_false(mcp_revision_is_modern(SPAN_LIT("2025-11-25")));
    assert_false(mcp_revision_is_modern(SPAN_NONE));
    assert_false(mcp_revision_is_listed(mcp_revisions, SPAN_LIT("2025-11-2")));
    assert_false(mcp_revision_is_listed(mcp_revisions, SPAN_NONE));
}

TEST_MAIN(NULL, NULL)
