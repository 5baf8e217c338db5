/* SPDX-License-Identifier: Apache-2.0 */
/* 6.6: an upstream connection that an agent leaves behind goes to the next agent with the same credentials, and to nobody
 * else; what is ambiguous, late or unasked goes to nobody. */
#include "sim/sim_check.h"

#include <stdio.h>

#define CALL "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{}}}"
#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}"
#define SECRET "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"secret\"}]}}"
#define STRAY "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 79\r\n\r\n" SECRET
#define OK "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define WHOLE "Content-Length: 48\r\n\r\n" RESULT

/* An agent that calls, is answered on upstream connection `index`, and leaves. */
static void visit(const char *headers, unsigned index, const char *reply)
{
    sim_connect(sim);
    sim_agent_posts(sim, CALL, headers);
    has(sim_upstream_hears(sim, index), CALL);
    sim_upstream_says(sim, index, reply);
    has(sim_agent_hears(sim), "HTTP/1.1 ");
    sim_agent_leaves(sim);
}

static void assert_connections(unsigned count)
{
    if (sim->upstream_count != count)
        fail_msg("%u upstream connections where there should be %u", sim->upstream_count, count);
}

/* ---- lent ---- */

static void lent(void)
{
    visit("", 0, OK WHOLE);
    visit("Accept: text/event-stream\r\nX-Correlation-Id: a\r\ntraceparent: b\r\n", 0, OK WHOLE);
    sim_pass(sim, 3000000);
    visit("User-Agent: b\r\nConnection: close\r\n", 0, OK "Transfer-Encoding: chunked\r\n\r\n30\r\n" RESULT "\r\n0\r\n\r\n");
    visit("", 0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 56\r\n\r\ndata: " RESULT "\n\n");
    assert_connections(1);
    assert_int_equal(sim->ring->decision_count, 4);
    assert_int_equal(sim->ring->outcome_count, 4);
}

static void while_others_call(void)
{
    struct stream *first;

    sim_agent_posts(sim, CALL, "");
    first = sim->agent;
    sim->agent = NULL;
    visit("", 1, OK WHOLE);
    visit("", 1, OK WHOLE);
    sim->agent = first;
    has(sim_upstream_hears(sim, 0), CALL);
    sim_upstream_says(sim, 0, OK WHOLE);
    has(sim_agent_hears(sim), RESULT);
}

TEST_CASE(test_lent)
{
    in_every_weather(lent);
    in_every_weather(while_others_call);
}

/* ---- to nobody else ---- */

static void by_headers(void)
{
    static const char *const headers[] = {"", "Authorization: Bearer one\r\n", "Authorization: Bearer two\r\n", "X-API-Key: one\r\n",
                                          "Cookie: who=me\r\n", "X-Unknown-Token: one\r\n", "X-Unknown-Token: two\r\n"};
    unsigned count = sizeof headers / sizeof headers[0];

    for (unsigned i = 0; i < count; i++)
        visit(headers[i], i, OK WHOLE);
    for (unsigned i = 0; i < count; i++)
        visit(headers[i], i, OK WHOLE);
    assert_connections(count);
}

static void by_identity(void)
{
    visit("", 0, OK WHOLE);
    sim->identity[0].principal = "other";
    visit("", 1, OK WHOLE);
    sim->identity[0].tenant = "other";
    visit("", 2, OK WHOLE);
    sim->identity[0].principal = "bot";
    sim->identity[0].tenant = "acme";
    visit("", 0, OK WHOLE);
    assert_connections(3);
}

/* 8.6: the gate's own credential goes up in the place of the agent's, whatever that sends; a connection that one went up on is
 * another's no more, and a reload that brings a new one makes a new connection. */
static void by_outgoing(void)
{
    struct outgoing_entry entries[] = {{.tenant = SPAN_LIT("acme"), .value = SPAN_LIT("Bearer of-acme")},
                                       {.tenant = SPAN_LIT("other"), .value = SPAN_LIT("Bearer of-other")}};
    struct outgoing *outgoing = &sim->route->upstream.outgoing;
    const char *heard;

    *outgoing = (struct outgoing){.kind = OUTGOING_FILE, .per_tenant = true, .file = "{tenant}.token", .entries = entries, .count = 2};
    sim_agent_posts(sim, CALL, "Authorization: Bearer agents\r\nauthorization-x: 1\r\n");
    heard = sim_upstream_hears(sim, 0);
    has(heard, "\r\nAuthorization: Bearer of-acme\r\n");
    has_not(heard, "agents");
    sim_upstream_says(sim, 0, OK WHOLE);
    (void)sim_agent_hears(sim);
    sim->identity[0].tenant = "other"; /* on one connection, behind a proxy */
    sim_agent_posts(sim, CALL, "");
    has(sim_upstream_hears(sim, 1), "Bearer of-other");
    sim_upstream_says(sim, 1, OK WHOLE);
    (void)sim_agent_hears(sim);
    sim_agent_leaves(sim);
    visit("", 1, OK WHOLE);
    entries[1].value = SPAN_LIT("Bearer anew");
    visit("", 2, OK WHOLE);
    sim->identity[0].tenant = "../acme";
    sim_connect(sim);
    sim_agent_posts(sim, CALL, "Authorization: Bearer agents\r\n");
    has(sim_agent_hears(sim), "HTTP/1.1 ");
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_OUTGOING_MISSING);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_NOT_SENT);
    assert_connections(3);
    *outgoing = (struct outgoing){0};
}

/* 8.6: an upstream that does not take it says so to the gate; the agent's own credential is not what it speaks of. */
static void unauthorized(void)
{
    struct outgoing_entry entry = {.value = SPAN_LIT("Bearer ours")};

    sim->route->upstream.outgoing = (struct outgoing){.kind = OUTGOING_FILE, .entries = &entry, .count = 1};
    sim_agent_posts(sim, CALL, "");
    has(sim_upstream_hears(sim, 0), "Bearer ours");
    sim_upstream_says(sim, 0, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\n"
                      "Content-Length: 0\r\n\r\n");
    has_not(sim_agent_hears(sim), "WWW-Authenticate");
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_UNAUTHORIZED);
    sim->route->upstream.outgoing = (struct outgoing){0};
}

/* What one connection of an agent was used for with two credentials is nobody's. */
static void of_two(void)
{
    sim_agent_posts(sim, CALL, "X-API-Key: one\r\n");
    sim_upstream_says(sim, 0, OK WHOLE);
    sim_agent_posts(sim, CALL, "X-API-Key: two\r\n");
    sim_upstream_says(sim, 0, OK WHOLE);
    sim_agent_leaves(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
}

static void visit_at(const char *target, unsigned index)
{
    char head[200];

    sim_connect(sim);
    (void)snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\n\r\n" CALL, target, strlen(CALL));
    sim_agent_says(sim, head);
    has(sim_upstream_hears(sim, index), CALL);
    sim_upstream_says(sim, index, OK WHOLE);
    has(sim_agent_hears(sim), RESULT);
    sim_agent_leaves(sim);
}

/* Many servers take a key in the query, some in the path. */
static void by_target(void)
{
    sim->route->query_pass = true;
    visit_at("/mcp", 0);
    visit_at("/mcp?key=one", 1);
    visit_at("/mcp?key=two", 2);
    visit_at("/mcp?key=one", 1);
    visit_at("/mcp", 0);
    sim->route->subtree = true;
    visit_at("/mcp/one", 3);
    visit_at("/mcp/two", 4);
    visit_at("/mcp/one", 3);
    assert_connections(5);
}

/* Behind a proxy one connection carries the calls of many: one that authenticated itself for the first is not the second's. */
static void on_one_connection(void)
{
    sim_agent_posts(sim, CALL, "Authorization: NTLM TlR=\r\n");
    sim_upstream_says(sim, 0, OK WHOLE);
    (void)sim_agent_hears(sim);
    sim_agent_posts(sim, CALL, ""); /* as NTLM does, once it has shown who it is */
    has(sim_upstream_hears(sim, 0), CALL);
    sim_upstream_says(sim, 0, OK WHOLE);
    (void)sim_agent_hears(sim);
    sim->identity[0].principal = "other";
    sim_agent_posts(sim, CALL, "");
    has(sim_upstream_hears(sim, 1), CALL);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
    sim_upstream_says(sim, 1, OK WHOLE);
    has(sim_agent_hears(sim), RESULT);
    assert_connections(2);
    sim_agent_posts(sim, CALL, "Authorization: Bearer one\r\n"); /* one name for all: the token tells them apart */
    sim_upstream_says(sim, 2, OK WHOLE);
    (void)sim_agent_hears(sim);
    sim_agent_posts(sim, CALL, "Authorization: Bearer two\r\n");
    has(sim_upstream_hears(sim, 3), CALL);
    sim_upstream_says(sim, 3, OK WHOLE);
    has(sim_agent_hears(sim), RESULT);
}

TEST_CASE(test_to_nobody_else)
{
    in_every_weather(by_headers);
    in_every_weather(by_identity);
    in_every_weather(by_outgoing);
    in_every_weather(unauthorized);
    in_every_weather(by_target);
    in_every_weather(on_one_connection);
    in_every_weather(of_two);
}

/* ---- never lent ---- */

static const struct {
    const char *asks; /* headers of the agent */
    const char *reply;
} bound[] = {
    {"Authorization: Negotiate YII=\r\n", OK WHOLE},
    {"Authorization: NTLM TlR=\r\n", OK WHOLE},
    {"Authorization: anything\r\n", OK WHOLE},
    {"", "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n"},
    {"", OK "WWW-Authenticate: Negotiate oYG=\r\n" WHOLE},
    {"", OK "Proxy-Authenticate: NTLM\r\n" WHOLE},
    {"", "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"},
    {"", OK "Connection: close\r\n" WHOLE},
    {"", "HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n" WHOLE},
    {"", OK "Keep-Alive: timeout=1\r\n" WHOLE},
    {"", OK "Keep-Alive: timeout=0, max=5\r\n" WHOLE},
    {"", OK "Keep-Alive: max=5, timeout=\r\n" WHOLE},
    {"", "HTTP/1.1 100 Continue\r\n\r\n" OK WHOLE},
    {"", "HTTP/1.1 204 No Content\r\n\r\n"}, /* a careless server says something after it */
    {"", OK WHOLE STRAY},
    {"", OK "Content-Length: 48\r\n\r\n{}"}, /* it has not ended when the agent leaves */
    {"", OK "Content-Length: 9\r\n\r\nnot json!"},
    {"", OK "Content-Length: 048\r\n\r\n" RESULT},
    {"", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 5\r\n\r\nfoo"},
};

static unsigned at;

static void bound_to_its_agent(void)
{
    sim_agent_posts(sim, CALL, bound[at].asks);
    sim_upstream_says(sim, 0, bound[at].reply);
    sim_agent_leaves(sim);
    sim_pass(sim, 500000);
    if (!mem_stream_twin_closed(sim->upstreams[0]))
        fail_msg("case %u was kept", at);
}

static void bound_once(void) /* and for its life */
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: NTLM\r\nContent-Length: 0\r\n\r\n");
    (void)sim_agent_hears(sim);
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, OK WHOLE);
    has(sim_agent_hears(sim), RESULT);
    assert_connections(1);
    sim_agent_leaves(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
}

/* Who authenticates a connection gets one of its own. */
static void bound_is_not_taken(void)
{
    visit("", 0, OK WHOLE);
    visit("Authorization: NTLM TlR=\r\n", 1, OK WHOLE);
}

static void of_a_command(void)
{
    sim->route->upstream.command = SPAN_LIT("server");
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, OK WHOLE);
    sim_agent_leaves(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
}

/* Its answer may still come: what is under way belongs to who began it. */
static void of_a_call_under_way(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, OK WHOLE);
    has(sim_agent_hears(sim), RESULT);
    sim_agent_posts(sim, CALL, "");
    has(sim_upstream_hears(sim, 0), CALL);
    sim_agent_leaves(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
    visit("", 1, OK WHOLE);
}

/* Nobody shows who he is for a declared path. */
static void of_a_declared_path(void)
{
    static const struct proxy_pass pass = {.path = {"/open", 5}, .upstream_path = {"/open", 5}};

    sim->route->pass = &pass;
    sim->route->pass_count = 1;
    visit("", 0, OK WHOLE);
    sim_connect(sim);
    sim_agent_says(sim, "GET /open HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    has(sim_upstream_hears(sim, 1), "GET /open ");
    sim_upstream_says(sim, 1, OK WHOLE);
    has(sim_agent_hears(sim), RESULT);
    sim_agent_leaves(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[1]));
}

/* A connection of the old configuration, whose trust was another. */
static void after_a_reload(void)
{
    struct proxy_conf *old = sim->lane.conf, *fresh = proxy_conf_new();
    struct why why;

    assert_non_null(fresh);
    fresh->listens = old->listens;
    fresh->listen_count = 1;
    fresh->routes = arena_alloc(&fresh->arena, sizeof *fresh->routes);
    fresh->routes[0] = old->routes[0];
    fresh->route_count = 1;
    assert_ok(proxy_conf_seal(fresh, &why));
    sim_agent_posts(sim, CALL, "Connection: close\r\n");
    sim->lane.conf = fresh; /* in the middle of a call */
    proxy_conf_unref(&old);
    sim_upstream_says(sim, 0, OK WHOLE);
    sim_agent_leaves(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
}

static void as_the_gate_goes(void)
{
    sim_agent_posts(sim, CALL, "");
    lane_go(&sim->lane, LANE_DRAINS, 1, -1);
    sim_upstream_says(sim, 0, OK WHOLE);
    has(sim_agent_hears(sim), RESULT);
    sim_agent_leaves(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
}

static void while_the_gate_goes(void)
{
    visit("", 0, OK WHOLE);
    lane_go(&sim->lane, LANE_DRAINS, 1, -1);
    sim_run(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
}

TEST_CASE(test_bound)
{
    for (at = 0; at < sizeof bound / sizeof bound[0]; at++)
        in_every_weather(bound_to_its_agent);
    in_every_weather(bound_once);
    in_every_weather(bound_is_not_taken);
    in_every_weather(of_a_command);
    in_every_weather(of_a_call_under_way);
    in_every_weather(of_a_declared_path);
    in_every_weather(after_a_reload);
    in_every_weather(as_the_gate_goes);
    in_every_weather(while_the_gate_goes);
}

/* ---- time ---- */

static void too_late(void)
{
    visit("", 0, OK WHOLE);
    sim_pass(sim, 4500000);
    assert_true(mem_stream_twin_closed(sim->upstreams[0])); /* given up before its server would */
    visit("", 1, OK "Keep-Alive: max=5, Timeout=20\r\n" WHOLE);
    sim_pass(sim, 18000000);
    visit("", 1, OK "Keep-Alive: timeout=99999999999999999999\r\n" WHOLE);
    sim_pass(sim, 20000000);
    visit("", 1, OK "Keep-Alive: timeout=7\r\n" WHOLE);
    sim_pass(sim, 6500000);
    assert_true(mem_stream_twin_closed(sim->upstreams[1]));
}

/* Its time is over, and nobody has swept yet. */
static void unswept(void)
{
    visit("", 0, OK "Keep-Alive: timeout=2\r\n" WHOLE);
    sim_pass(sim, 1100000);
    visit("", 1, OK WHOLE);
}

static void too_old(void)
{
    for (int i = 0; i < 19; i++) {
        visit("", 0, OK WHOLE);
        sim_pass(sim, 3000000);
    }
    assert_false(mem_stream_twin_closed(sim->upstreams[0]));
    visit("", 0, OK WHOLE);
    sim_pass(sim, 3500000);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
}

/* Its own agent, too, uses no connection that its server has said it will have closed. */
static void hint_to_its_own(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, OK "Keep-Alive: timeout=5\r\n" WHOLE);
    (void)sim_agent_hears(sim);
    sim_pass(sim, 4500000);
    sim_agent_posts(sim, CALL, "");
    assert_string_equal(sim_upstream_hears(sim, 0) + strlen(sim->got), "");
    has(sim_upstream_hears(sim, 1), CALL);
}

static void crowd(void)
{
    struct stream *agents[SIM_UPSTREAMS];

    for (unsigned i = 0; i < SIM_UPSTREAMS; i++) {
        sim_connect(sim);
        sim_agent_posts(sim, CALL, "");
        agents[i] = sim->agent;
        sim->agent = NULL;
    }
    for (unsigned i = 0; i < SIM_UPSTREAMS; i++) {
        sim->agent = agents[i];
        sim_upstream_says(sim, i, OK WHOLE);
        sim_agent_leaves(sim);
        assert_int_equal(sim->lane.spare_count, i + 1 < SPARES_MAX ? i + 1 : SPARES_MAX);
    }
    assert_int_equal(mem_stream_twin_closed(sim->upstreams[SIM_UPSTREAMS - SPARES_MAX - 1]), true); /* the oldest go */
    assert_int_equal(mem_stream_twin_closed(sim->upstreams[SIM_UPSTREAMS - 1]), false);
}

TEST_CASE(test_bounds)
{
    in_every_weather(too_late);
    in_every_weather(unswept);
    in_every_weather(too_old);
    in_every_weather(hint_to_its_own);
    in_every_weather(crowd);
}

/* ---- one reply for each call ---- */

/* A server that says more than it was asked: the next agent must not read it. */
static void stray(void)
{
    visit("", 0, OK WHOLE);
    sim_upstream_says(sim, 0, STRAY);
    visit("", 1, OK WHOLE);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
}

static void half_a_stray(void)
{
    visit("", 0, OK WHOLE);
    sim_upstream_says(sim, 0, "H");
    visit("", 1, OK WHOLE);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
}

static void left(void)
{
    visit("", 0, OK WHOLE);
    sim_upstream_leaves(sim, 0);
    visit("", 1, OK WHOLE);
}

/* The agent is told, and the call is not sent again: its server may have done what it was asked. */
static void dies_with_a_call(void)
{
    visit("", 0, OK WHOLE);
    sim_connect(sim);
    sim_agent_posts(sim, CALL, "");
    has(sim_upstream_hears(sim, 0), CALL);
    sim_upstream_leaves(sim, 0);
    has(sim_agent_hears(sim), "The upstream closed the connection");
    assert_connections(1);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_UPSTREAM_FAILURE);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_CLOSED);
}

/* All that were spare have died unnoticed: each is found out before a byte of the call goes up. */
static void all_are_stale(void)
{
    struct stream *first;

    sim_agent_posts(sim, CALL, "");
    first = sim->agent;
    sim->agent = NULL;
    visit("", 1, OK WHOLE);
    sim->agent = first;
    sim_upstream_says(sim, 0, OK WHOLE);
    sim_agent_leaves(sim);
    sim->is_deaf_behind = true;
    stream_close(&sim->upstreams[0]);
    stream_close(&sim->upstreams[1]);
    sim_connect(sim);
    sim_agent_posts(sim, CALL, "");
    sim->is_deaf_behind = false;
    sim_run(sim);
    has(sim_upstream_hears(sim, 2), CALL);
    sim_upstream_says(sim, 2, OK WHOLE);
    has(sim_agent_hears(sim), RESULT);
}

/* So is one that comes to an agent who had another a moment ago. */
static void stale_after_another(void)
{
    struct stream *second;

    sim_agent_posts(sim, CALL, "");
    second = sim->agent;
    sim->agent = NULL;
    visit("", 1, OK WHOLE);
    sim->agent = second;
    sim_upstream_says(sim, 0, OK "Connection: close\r\n" WHOLE);
    has(sim_agent_hears(sim), RESULT);
    sim->is_deaf_behind = true;
    stream_close(&sim->upstreams[1]);
    sim_agent_posts(sim, CALL, "");
    sim->is_deaf_behind = false;
    sim_run(sim);
    has(sim_upstream_hears(sim, 2), CALL);
    sim_upstream_says(sim, 2, OK WHOLE);
    has(sim_agent_hears(sim), RESULT);
}

TEST_CASE(test_one_reply)
{
    in_every_weather(stray);
    in_every_weather(half_a_stray);
    in_every_weather(left);
    in_every_weather(dies_with_a_call);
    in_every_weather(all_are_stale);
    in_every_weather(stale_after_another);
}

TEST_MAIN(NULL, NULL)
