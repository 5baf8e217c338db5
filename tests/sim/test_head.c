/* SPDX-License-Identifier: Apache-2.0 */
/* What is settled with the head: Host, Origin, paths, queries, names of the caller, and the head that goes up. */
#include "sim/sim_check.h"

#include <stdio.h>

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define PONG "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"

static void say_head(const char *start, const char *lines)
{
    char text[4096];

    sim_connect(sim);
    (void)snprintf(text, sizeof text, "%s HTTP/1.1\r\n%s\r\n", start, lines);
    sim_agent_says(sim, text);
}

static void refused(const char *start, const char *lines, const char *status, enum reason reason)
{
    const char *text;

    say_head(start, lines);
    text = sim_agent_hears(sim);
    has(text, status);
    has(text, "X-Correlation-Id: ");
    assert_true((strstr(text, "\r\nAllow: ") != NULL) == (strstr(status, " 405 ") != NULL)); /* RFC 9110, 15.5.6 */
    assert_int_equal(sim_last_decision(sim)->reason, reason);
    assert_int_equal(sim->upstream_count, 0);
}

static void refusals(void)
{
    static const char json[] = "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n";

    refused("POST /mcp", "Host: evil.example\r\nContent-Length: 2\r\n", "HTTP/1.1 403 ", REASON_HOST_FOREIGN);
    refused("POST /other", json, "HTTP/1.1 404 ", REASON_ROUTE_UNKNOWN);
    refused("POST /mcp?a=b", json, "HTTP/1.1 400 ", REASON_QUERY_REFUSED);
    refused("POST /mcp", "Host: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n", "HTTP/1.1 415 ",
            REASON_MEDIA_TYPE);
    refused("POST /mcp", "Host: localhost\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n",
            "HTTP/1.1 415 ", REASON_CONTENT_ENCODING);
    refused("POST /mcp", "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n", "HTTP/1.1 413 ",
            REASON_BODY_TOO_LARGE);
    refused("POST /mcp", "Host: localhost\r\nOrigin: https://evil.example\r\nContent-Type: application/json\r\n"
                         "Content-Length: 2\r\n", "HTTP/1.1 403 ", REASON_ORIGIN_FOREIGN);
    refused("OPTIONS /mcp", "Host: localhost\r\n", "HTTP/1.1 405 ", REASON_HTTP_METHOD);
    refused("GET /mcp", "Host: localhost\r\nLast-Event-ID: 1\r\n", "HTTP/1.1 404 ", REASON_SESSION_FOREIGN);
    refused("GET /mcp", "Host: localhost\r\nMCP-Protocol-Version: 1999-01-01\r\n", "HTTP/1.1 400 ", REASON_VERSION_HEADER);
}

TEST_CASE(test_refusals) /* 1.12 */
{
    in_every_weather(refusals);
}

static void browser(void)
{
    const char *text;

    say_head("OPTIONS /mcp", "Host: localhost\r\nOrigin: http://localhost:3000\r\nAccess-Control-Request-Method: POST\r\n"
                             "Access-Control-Request-Headers: content-type, mcp-param-region, x-evil\r\n");
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 204 ");
    has(text, "Access-Control-Allow-Origin: http://localhost:3000\r\n");
    has(text, "Vary: Origin\r\n");
    has(text, "Mcp-Session-Id, MCP-Protocol-Version");
    has(text, "mcp-param-region");
    has_not(text, "x-evil");
    assert_int_equal(sim->ring->decision_count, 0); /* before identity, without a row */
    sim_agent_posts(sim, PING, "Origin: http://localhost:3000\r\n"); /* the same connection */
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nAccess-Control-Allow-Origin: *\r\n"
                              "X-Callgate-Decision: 7\r\nContent-Length: 36\r\n\r\n" PONG);
    text = sim_agent_hears(sim);
    has(text, "Access-Control-Allow-Origin: http://localhost:3000\r\n");
    has(text, "Access-Control-Expose-Headers: ");
    has_not(text, "Allow-Origin: *");
    has_not(text, "Decision: 7");
}

TEST_CASE(test_browser) /* 1.12, 1.14 */
{
    in_every_weather(browser);
}

static void expecting(void)
{
    const char *text;

    say_head("POST /mcp", "Host: localhost\r\nContent-Type: Application/JSON; Charset=\"UTF-8\"\r\nExpect: 100-continue\r\n"
                          "Transfer-Encoding: chunked\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
                          "Connection: Upgrade, HTTP2-Settings\r\n");
    has(sim_agent_hears(sim), "HTTP/1.1 100 Continue\r\n\r\n");
    sim_agent_says(sim, "5\r\n" "{\"jso" "\r\n");
    sim_agent_says(sim, "23\r\n" "nrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}" "\r\n0\r\n\r\n");
    text = sim_upstream_hears(sim, 0);
    has(text, "Content-Length: 40\r\n\r\n" PING);
    has(text, "Content-Type: application/json\r\n");
    has_not(text, "pgrade");
    has_not(text, "Settings");
    has_not(text, "Expect");
    has_not(text, "chunked");
}

TEST_CASE(test_expecting) /* 1.14 */
{
    in_every_weather(expecting);
}

static void names(void)
{
    const char *text;

    sim->route->tenant_header = SPAN_LIT("X-Tenant"); /* none of a key here: the agent's own claim must not pass */
    sim_agent_posts(sim, PING, "X-Correlation-Id: order-7\r\nX-Unknown: kept\r\nX-Callgate-Debug: 1\r\n"
                               "Forwarded: for=1.2.3.4\r\n");
    text = sim_upstream_hears(sim, 0);
    has(text, "X-Correlation-Id: order-7\r\n");
    has(text, "X-Tenant: acme\r\n");
    has(text, "X-Unknown: kept\r\n");
    has_not(text, "X-Callgate");
    has_not(text, "Forwarded");
    sim_upstream_answers(sim, 0, "application/json", PONG);
    has(sim_agent_hears(sim), "X-Correlation-Id: order-7\r\n");
    assert_string_equal(sim_last_decision(sim)->correlation, "order-7");
    assert_string_equal(sim_last_decision(sim)->tenant, "acme");
    sim_agent_posts(sim, PING, "X-Correlation-Id: two words\r\n"
                               "traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n");
    has(sim_upstream_hears(sim, 0), "X-Correlation-Id: 0af7651916cd43dd8448eb211c80319c\r\n");
    sim_upstream_answers(sim, 0, "application/json", PONG);
    has(sim_agent_hears(sim), "X-Correlation-Id: 0af7651916cd43dd8448eb211c80319c\r\n");
}

TEST_CASE(test_names) /* 1.12, 1.29 */
{
    in_every_weather(names);
}

static void passing(void)
{
    static const struct proxy_pass pass = {.path = SPAN_LIT("/.well-known/x"), .upstream_path = SPAN_LIT("/inner/x")};
    const char *text;

    sim->route->pass = &pass;
    sim->route->pass_count = 1;
    say_head("GET /.well-known/x", "Host: localhost\r\n");
    has(sim_upstream_hears(sim, 0), "GET /inner/x HTTP/1.1\r\n");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/markdown\r\nContent-Length: 5\r\n\r\n# hi\n");
    text = sim_agent_hears(sim);
    has(text, "Content-Type: text/markdown\r\n");
    has(text, "\r\n\r\n# hi\n");
    assert_string_equal(sim_last_decision(sim)->method, "pass");
    say_head("HEAD /.well-known/x", "Host: localhost\r\n");
    sim_upstream_says(sim, 1, "HTTP/1.1 200 OK\r\nContent-Type: text/markdown\r\nContent-Length: 5\r\n\r\n");
    has(sim_agent_hears(sim), "HTTP/1.1 200 OK\r\n");
}

/* On a declared path nobody asks for a credential; an agent that sends one does not give it to the upstream. */
static void passing_without_credentials(void)
{
    static const struct proxy_pass pass = {.path = SPAN_LIT("/.well-known/x"), .upstream_path = SPAN_LIT("/inner/x")};
    const char *text;

    sim->route->pass = &pass;
    sim->route->pass_count = 1;
    sim->identity[0] = (struct identity_source){.kind = IDENTITY_API_KEY, .header = "X-API-Key"};
    say_head("GET /.well-known/x", "Host: localhost\r\nX-API-Key: cg_mine\r\nAuthorization: Bearer mine\r\n");
    text = sim_upstream_hears(sim, 0);
    has(text, "Bearer mine");
    has_not(text, "cg_mine");
    sim_agent_leaves(sim);
    sim_connect(sim);
    sim->identity[0] = (struct identity_source){.kind = IDENTITY_BEARER};
    say_head("GET /.well-known/x", "Host: localhost\r\nX-API-Key: cg_mine\r\nAuthorization: Bearer mine\r\n");
    text = sim_upstream_hears(sim, 1);
    has(text, "cg_mine");
    has_not(text, "Bearer mine");
}

TEST_CASE(test_pass) /* 1.12, 4.21 */
{
    in_every_weather(passing_without_credentials);
    in_every_weather(passing);
}

static void post_to(const char *target, const char *lines)
{
    char start[256], all[1024];

    (void)snprintf(start, sizeof start, "POST %s", target);
    (void)snprintf(all, sizeof all, "Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 40\r\n%s", lines);
    say_head(start, all);
    sim_agent_says(sim, PING);
}

/* The path below the route fits a line, and no more with the upstream's before it: nothing of it goes up. */
static void longer_upstream(void)
{
    static char text[9000];
    int len = snprintf(text, sizeof text, "POST /mcp/");

    memset(text + len, 'a', 8150);
    (void)snprintf(text + len + 8150, sizeof text - (size_t)len - 8150,
                   " HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n" PING,
                   strlen(PING));
    sim->route->subtree = true;
    sim->route->upstream.path = SPAN_LIT("/a/path/that/is/longer/than/what/stood/before/it");
    sim_agent_says(sim, text);
    has(sim_agent_hears(sim), "This call was not made.");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_NOT_SENT);
}

static void subtree(void)
{
    sim->route->subtree = true;
    post_to("/mcp/a/b", "");
    has(sim_upstream_hears(sim, 0), "POST /up/a/b HTTP/1.1\r\n");
    post_to("/mcpx/a", "");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_ROUTE_UNKNOWN);
    assert_int_equal(sim->upstream_count, 1);
}

static void query(void)
{
    sim->route->query_pass = true;
    post_to("/mcp?a=%20b&c", "");
    has(sim_upstream_hears(sim, 0), "POST /up?a=%20b&c HTTP/1.1\r\n");
}

static void forwarded(void)
{
    const char *text;

    sim->route->forwarded = true;
    sim->route->upstream.preserve_host = true;
    post_to("/mcp", "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\n");
    text = sim_upstream_hears(sim, 0);
    has(text, "Host: localhost\r\n");
    has(text, "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Host: localhost\r\n");
    has_not(text, "6.6.6.6");
}

static void behind_a_proxy(void) /* 10.4 */
{
    static const struct { const char *said, *client; } rows[] = {
        {"6.6.6.6, 5.5.5.5\r\nX-Forwarded-For: 4.4.4.4, 127.0.0.9", "4.4.4.4"},
        /* what stands before it may be anybody's word */
        {"4.4.4.4:5678", "4.4.4.4"}, {"[2001:db8::1]:5678", "2001:db8::1"}, {"[2001:db8::1]", "2001:db8::1"},
        {"2001:db8::1", "2001:db8::1"},
        {"::ffff:4.4.4.4", "4.4.4.4"}, {"6.6.6.6, 4.4.4.4 , 127.0.0.9:80,", "4.4.4.4"}, {"127.0.0.8, 127.0.0.9", "127.0.0.8"},
        {"unknown, 4.4.4.4", "4.4.4.4"},
        {NULL, "unknown, 127.0.0.1"}, {"", "unknown, 127.0.0.1"}, {" , ,", "unknown, 127.0.0.1"}, {"unknown", "unknown, 127.0.0.1"},
        {"\"4.4.4.4\"", "unknown, 127.0.0.1"}, {"_hidden", "unknown, 127.0.0.1"}, {"4.4.4.4:x", "unknown, 127.0.0.1"},
        {"4.4.4.4:70000", "unknown, 127.0.0.1"}, {"4.4.4", "unknown, 127.0.0.1"},
        {"fe80::1%eth0", "unknown, 127.0.0.1"}, {"[4.4.4.4]:80", "unknown, 127.0.0.1"},
        {"4.4.4.4;5.5.5.5", "unknown, 127.0.0.1"}, {"4.4.4.4, unknown, 127.0.0.9", "unknown, 127.0.0.9"},
    };
    static struct sock_net net;

    assert_ok(sock_net_parse(SPAN_LIT("127.0.0.0/8"), &net, NULL));
    sim->lane.conf->trusted_proxies = &net;
    sim->lane.conf->trusted_proxy_count = 1;
    sim->route->forwarded = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char lines[256], up[64];

        (void)snprintf(lines, sizeof lines, "%s%s%s", rows[i].said != NULL ? "X-Forwarded-For: " : "",
                       rows[i].said != NULL ? rows[i].said : "", rows[i].said != NULL ? "\r\n" : "");
        (void)snprintf(up, sizeof up, "X-Forwarded-For: %s\r\n", rows[i].client);
        post_to("/mcp", lines);
        has(sim_upstream_hears(sim, 0), up);
        sim_upstream_answers(sim, 0, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
        (void)sim_agent_hears(sim);
    }
}

static void denials_as_events(void)
{
    const char *text;

    sim->route->denials_sse = true;
    sim_agent_posts(sim, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"forbidden\"}}",
                    "Accept: application/json, text/event-stream\r\n");
    text = sim_agent_hears(sim);
    has(text, "Content-Type: text/event-stream\r\n");
    has(text, "event: message\ndata: {");
}

static void configured_headers(void)
{
    static const struct proxy_header header = {.name = SPAN_LIT("Authorization"), .value = SPAN_LIT("Bearer of-the-gate")};
    const char *text;

    sim->route->upstream.headers = &header;
    sim->route->upstream.header_count = 1;
    sim_agent_posts(sim, PING, "authorization: Bearer of-the-agent\r\n");
    text = sim_upstream_hears(sim, 0);
    has(text, "Authorization: Bearer of-the-gate\r\n");
    has_not(text, "of-the-agent");
    sim->route->upstream.header_count = 0; /* constant here: not to be wiped */
}

TEST_CASE(test_route_options) /* 1.10, 1.12 */
{
    static const scene_fn scenes[] = {subtree, longer_upstream, query, forwarded, behind_a_proxy, denials_as_events, configured_headers};

    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        in_every_weather(scenes[i]);
}

static void pipelined(void)
{
#define WHOLE \
    "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n" PING
    const char *text;

    sim_agent_says(sim, WHOLE WHOLE);
    text = sim_upstream_hears(sim, 0);
    assert_null(strstr(strstr(text, PING) + 1, PING)); /* one after the other */
    sim_upstream_answers(sim, 0, "application/json", PONG);
    has(sim_agent_hears(sim), PONG);
    has(sim_upstream_hears(sim, 0), PING);
    sim_upstream_answers(sim, 0, "application/json", PONG);
    has(sim_agent_hears(sim), PONG);
}

TEST_CASE(test_pipelined) /* 1.7 */
{
    in_every_weather(pipelined);
}

static void principal_limit(void)
{
    const char *text;
    struct stream *first;

    sim->route->limits.per_principal_requests = 1;
    sim_agent_posts(sim, PING, "");
    first = sim->agent;
    sim->agent = NULL;
    sim_connect(sim);
    sim_agent_posts(sim, PING, "");
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 429 ");
    has(text, "Retry-After: ");
    sim_upstream_answers(sim, 0, "application/json", PONG);
    sim_connect(sim);
    sim_agent_posts(sim, PING, "");
    has(sim_upstream_hears(sim, 1), PING);
    stream_close(&first);
}

TEST_CASE(test_principal_limit) /* 1.7 */
{
    in_every_weather(principal_limit);
}

static void short_of_memory(void)
{
    const char *text;
    uint64_t held = 0;

    sim->budget.memory_max_bytes = 100000;
    budget_hold(&sim->budget, &held, 200000); /* by others */
    sim_agent_says(sim, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 65537\r\n\r\n");
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 503 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_MEMORY);
    budget_hold(&sim->budget, &held, 0);
    sim_connect(sim);
    sim_agent_posts(sim, PING, "");
    has(sim_upstream_hears(sim, 0), PING);
}

TEST_CASE(test_memory) /* 1.7 */
{
    in_every_weather(short_of_memory);
}

static void new_configuration(void)
{
    struct proxy_conf *old = sim->lane.conf, *fresh = proxy_conf_new();
    struct why why;

    assert_non_null(fresh);
    fresh->listens = old->listens;
    fresh->listen_count = 1;
    fresh->routes = arena_alloc(&fresh->arena, sizeof *fresh->routes);
    fresh->routes[0] = old->routes[0];
    fresh->routes[0].upstream.path = SPAN_LIT("/new");
    fresh->route_count = 1;
    assert_ok(proxy_conf_seal(fresh, &why));
    sim_agent_posts(sim, PING, "");
    sim->lane.conf = fresh; /* in the middle of a call */
    proxy_conf_unref(&old);
    sim_upstream_answers(sim, 0, "application/json", PONG);
    has(sim_upstream_hears(sim, 0), "POST /up ");
    has(sim_agent_hears(sim), PONG);
    sim_agent_posts(sim, PING, "");
    assert_int_equal(sim->upstream_count, 2);
    has(sim_upstream_hears(sim, 1), "POST /new ");
}

TEST_CASE(test_new_configuration) /* 1.8 */
{
    in_every_weather(new_configuration);
}

#define REGION_CALL \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"search\"," \
    "\"arguments\":{\"region\":\"Bonn\"}}}"

static void mirror_that_agrees(void)
{
    sim_agent_posts(sim, REGION_CALL, "Mcp-Param-Region: Bonn\r\n");
    has(sim_upstream_hears(sim, 0), "Mcp-Param-Region: Bonn\r\n");
}

static void refused_mirror(const char *headers)
{
    sim_agent_posts(sim, REGION_CALL, headers);
    has(sim_agent_hears(sim), "HTTP/1.1 400 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_HEADER_MISMATCH);
    assert_int_equal(sim->upstream_count, 0);
}

static void mirror_that_lies(void)
{
    refused_mirror("Mcp-Param-Region: Rome\r\n");
}

static void mirror_that_lies_last(void)
{
    refused_mirror("Mcp-Param-Region: Bonn\r\nX-Other: 1\r\nmcp-param-CITY: Rome\r\n");
}

TEST_CASE(test_mirrors) /* 4.20 */
{
    in_every_weather(mirror_that_agrees);
    in_every_weather(mirror_that_lies);
    in_every_weather(mirror_that_lies_last);
}

TEST_MAIN(NULL, NULL)
