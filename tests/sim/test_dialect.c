/* SPDX-License-Identifier: Apache-2.0 */
/* 5.7, 5.10: routes of other dialects, in every weather. */
#include "sim/sim_check.h"

#include <stdio.h>

#define LIST "[{\"name\":\"search\",\"n\":1.0},{\"name\":\"forbidden\"}]"
#define HEADS "Host: 127.0.0.1\r\nContent-Type: application/json\r\n"

static void speak(const struct dialect *dialect)
{
    sim->route->dialect = dialect;
    sim->route->revisions = dialect->revisions;
    sim->route->subtree = dialect->is_subtree;
}

/* Takes: body NULL: a GET. */
static void ask(const char *path, const char *body)
{
    char text[1024];

    if (body == NULL)
        (void)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\n" HEADS "\r\n", path);
    else
        (void)snprintf(text, sizeof text, "POST %s HTTP/1.1\r\n" HEADS "Content-Length: %zu\r\n\r\n%s", path, strlen(body), body);
    sim_agent_says(sim, text);
}

static void octopus(void)
{
    speak(&dialect_octopus);
    ask("/mcp/tools", NULL);
    has(sim_upstream_hears(sim, 0), "GET /up/tools HTTP/1.1\r\n");
    sim_upstream_answers(sim, 0, "application/json", LIST);
    has(sim_agent_hears(sim), "\r\n\r\n[{\"name\":\"search\",\"n\":1.0}]");
    ask("/mcp/tool/search/call", "{\"q\": 1.50}");
    has(sim_upstream_hears(sim, 0), "POST /up/tool/search/call HTTP/1.1\r\n");
    sim_upstream_answers(sim, 0, "application/json", "{\"n\": 2.0}");
    has(sim_agent_hears(sim), "\r\n\r\n{\"n\":2.0}");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_RESULT);
    ask("/mcp/tool/forbidden/call", "{}");
    has(sim_agent_hears(sim), "HTTP/1.1 403 Forbidden\r\n");
    has(sim->got, "{\"error\":\"policy_denied\",\"message\":\"");
    has_not(sim->got, "jsonrpc");
    assert_int_equal(sim->upstream_count, 1);
}

/* 5.23: whatever the name is, a stream does not go down, and the head that breaks HTTP is told of in the dialect's form. */
static void octopus_attacked(void)
{
    speak(&dialect_octopus);
    ask("/mcp/tools", NULL);
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: []\n\n");
    has(sim_agent_hears(sim), "HTTP/1.1 502 ");
    has(sim->got, "{\"error\":\"unavailable\"");
    ask("/mcp/tool/a%2fb/call", "{}");
    has(sim_agent_hears(sim), "{\"error\":\"path_debatable\"");
    assert_int_equal(sim->upstream_count, 1);
}

static void octopus_too_large(void)
{
    speak(&dialect_octopus);
    sim->route->limits.response_bytes = 16;
    ask("/mcp/health", NULL);
    sim_upstream_answers(sim, 0, "application/json", "{\"status\":\"okay\"}");
    has(sim_agent_hears(sim), "HTTP/1.1 502 ");
    has(sim->got, "{\"error\":\"unavailable\",\"message\":\"The upstream's answer is too large.");
}

static void refused_with(const char *status, const char *body)
{
    char text[512];

    ask("/mcp/tool/search/call", "{}");
    (void)sim_upstream_hears(sim, 0);
    (void)snprintf(text, sizeof text, "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                   status, strlen(body), body);
    sim_upstream_says(sim, 0, text);
    has(sim_agent_hears(sim), status);
}

/* Whatever the server refuses with, an error of words goes down, and no result of a tool does in its place. */
static void octopus_refused(void)
{
    static const char *const statuses[] = {"400 Bad Request", "404 Not Found", "500 Internal Server Error"};

    speak(&dialect_octopus);
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        refused_with(statuses[i], "{\"error\":\"unknown_tool\",\"message\":\"no such tool\"}");
        has(sim->got, "\r\n\r\n{\"error\":\"unknown_tool\",\"message\":\"no such tool\"}");
        assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_HTTP_ERROR);
        refused_with(statuses[i], "{\"rows\":[1,2]}");
        has_not(sim->got, "rows");
    }
}

static void okso(void)
{
    speak(&dialect_okso);
    ask("/mcp", "{\"action\": \"list_tools\"}");
    has(sim_upstream_hears(sim, 0), "\r\n\r\n{\"action\":\"list_tools\"}");
    sim_upstream_answers(sim, 0, "application/json", "{\"type\":\"result\",\"tools\":" LIST "}");
    has(sim_agent_hears(sim), "\r\n\r\n{\"type\":\"result\",\"tools\":[{\"name\":\"search\",\"n\":1.0}]}");
    ask("/mcp", "{\"action\":\"describe_tool\",\"tool\":\"forbidden\"}");
    has(sim_agent_hears(sim), "\"category\":\"policy\"");
    ask("/mcp", "{\"action\":\"call_tool\",\"tool\":\"search\",\"tool\":\"forbidden\"}");
    has(sim_agent_hears(sim), "\"category\":\"usage\"");
    ask("/mcp", "{\"action\":\"call_tool\",\"tool\":\"search\"}");
    sim_upstream_says(sim, 0, "HTTP/1.1 500 X\r\nContent-Type: application/json\r\nContent-Length: 26\r\n\r\n"
                              "{\"type\":\"result\",\"tool\":{}}");
    has(sim_agent_hears(sim), "HTTP/1.1 500 ");
    has_not(sim->got, "result");
    assert_int_equal(sim->upstream_count, 1);
}

TEST_CASE(test_octopus)
{
    in_every_weather(octopus);
    in_every_weather(octopus_attacked);
    in_every_weather(octopus_too_large);
    in_every_weather(octopus_refused);
}

TEST_CASE(test_okso)
{
    in_every_weather(okso);
}

TEST_MAIN(NULL, NULL)
