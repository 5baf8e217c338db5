/* SPDX-License-Identifier: Apache-2.0 */
/* One call in every weather: permitted, denied, unrecorded, cut, late. */
#include "sim/sim_check.h"

#include <stdio.h>

#define CALL \
    "{\"jsonrpc\": \"2.0\", \"id\": 3, \"method\": \"tools/call\", \"params\": {\"name\": \"search\", " \
    "\"arguments\": {\"q\": 1.50}}}"
#define CALL_CANONICAL \
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{\"q\":1.50}}}"
#define FORBIDDEN \
    "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"forbidden\",\"arguments\":{}}}"
#define RESULT "{\"jsonrpc\":\"2.0\", \"id\":3, \"result\":{\"content\":[]}}"
#define STRAY "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"stray\"}]}}"
#define STRAY_REPLY "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 78\r\n\r\n" STRAY
#define RESULT_CANONICAL "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}"

static void permitted_twice(void)
{
    for (int i = 0; i < 2; i++) {
        const char *text;

        sim_agent_posts(sim, CALL, "Authorization: Bearer mine\r\nX-Forwarded-For: 1.2.3.4\r\n");
        assert_int_equal(sim->upstream_count, 1);
        text = sim_upstream_hears(sim, 0);
        has(text, "POST /up HTTP/1.1\r\nHost: 127.0.0.1:9000\r\n");
        has(text, "Authorization: Bearer mine\r\n");
        has_not(text, "X-Forwarded-For");
        has(text, "\r\n\r\n" CALL_CANONICAL);
        sim_upstream_answers(sim, 0, "application/json", RESULT);
        text = sim_agent_hears(sim);
        has(text, "HTTP/1.1 200 OK\r\n");
        has(text, "X-Correlation-Id: ");
        has(text, i == 0 ? "X-Callgate-Decision: 101\r\n" : "X-Callgate-Decision: 102\r\n");
        has(text, "\r\n\r\n" RESULT_CANONICAL);
        assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_RESULT);
        assert_int_equal(sim_last_outcome(sim)->response_bytes, strlen(RESULT_CANONICAL));
        assert_int_equal(sim->lane.gauges.pairs, 1);
    }
    sim_agent_leaves(sim); /* 4.21: who is there is counted, who left is not */
    assert_int_equal(sim->lane.gauges.pairs, 0);
}

TEST_CASE(test_permitted) /* 1.5, 1.7, 1.25 */
{
    in_every_weather(permitted_twice);
}

static void denied(void)
{
    const char *text;

    sim_agent_posts(sim, FORBIDDEN, "");
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 200 OK\r\n");
    has(text, "\"isError\":true");
    has(text, "\"decision\":101");
    has(text, "Try another tool.");
    has_not(text, "sim.forbidden");
    assert_int_equal(sim->upstream_count, 0);
    assert_int_equal(sim_last_decision(sim)->reason, REASON_FORBIDDEN);
    sim_agent_posts(sim, CALL, ""); /* the connection lives on */
    has(sim_upstream_hears(sim, 0), CALL_CANONICAL);
}

TEST_CASE(test_denied) /* 1.19 */
{
    in_every_weather(denied);
}

static void nothing_before_durable(void)
{
    sim->holds_audit = true;
    sim_agent_posts(sim, CALL, "");
    assert_int_equal(sim->upstream_count, 1); /* connected meanwhile */
    assert_string_equal(sim_upstream_hears(sim, 0), "");
    sim->holds_audit = false;
    sim_run(sim);
    has(sim_upstream_hears(sim, 0), CALL_CANONICAL);
}

static void denial_waits_too(void)
{
    sim->holds_audit = true;
    sim_agent_posts(sim, FORBIDDEN, "");
    assert_string_equal(sim_agent_hears(sim), "");
    sim->holds_audit = false;
    sim_run(sim);
    has(sim_agent_hears(sim), "\"isError\":true");
}

TEST_CASE(test_durable_first) /* 1.25 */
{
    in_every_weather(nothing_before_durable);
    in_every_weather(denial_waits_too);
}

static void gone_while_committing(void)
{
    sim->holds_audit = true;
    sim_agent_posts(sim, CALL, "");
    sim_agent_leaves(sim);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_NOT_SENT);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_AGENT_GONE);
    sim->holds_audit = false;
    sim_run(sim);
    assert_string_equal(sim_upstream_hears(sim, 0), "");
    assert_int_equal(sim->ring->outcome_count, 1);
}

/* A whole request, before the gate has read any of it. */
static void put_whole(const char *json)
{
    char head[256];

    (void)snprintf(head, sizeof head, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\n\r\n", strlen(json));
    assert_true(mem_stream_put(sim->agent, head, strlen(head)));
    assert_true(mem_stream_put(sim->agent, json, strlen(json)));
}

static void gone_while_calling(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_agent_leaves(sim);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_CANCELLED);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
}

static void ends_its_side(void)
{
    /* whoever asks and hears no answer yet may be gone: recorded, and nothing goes up */
    put_whole(CALL);
    assert_int_equal(stream_end(sim->agent), IO_OK);
    sim_run(sim);
    assert_int_equal(sim_last_decision(sim)->verdict, AUDIT_PERMIT);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_NOT_SENT);
    assert_true(sim->upstream_count == 0 || sim_upstream_hears(sim, 0)[0] == '\0');
}

static void ends_its_side_and_reads(void)
{
    put_whole(FORBIDDEN);
    assert_int_equal(stream_end(sim->agent), IO_OK);
    sim_run(sim);
    has(sim_agent_hears(sim), "\"isError\":true"); /* a denial is ready: it may be read */
    assert_null(sim_pair(sim));
}

TEST_CASE(test_agent_gone) /* 1.25, 1.26 */
{
    in_every_weather(gone_while_committing);
    in_every_weather(gone_while_calling);
    in_every_weather(ends_its_side);
    in_every_weather(ends_its_side_and_reads);
}

static void audit_down(void)
{
    sim->ring->is_down = true;
    sim_agent_posts(sim, CALL, "");
    has(sim_agent_hears(sim), "\"decision\":null");
    assert_int_equal(sim->upstream_count, 0);
    sim->ring->is_down = false;
    sim_agent_posts(sim, CALL, "");
    has(sim_upstream_hears(sim, 0), CALL_CANONICAL);
}

static void commit_fails(void)
{
    const char *text;

    sim->holds_audit = true;
    sim_agent_posts(sim, CALL, "");
    assert_true(fake_audit_settle(sim->ring, AUDIT_FAILED));
    lane_woken(&sim->lane);
    sim_run(sim);
    text = sim_agent_hears(sim);
    has(text, "\"code\":\"unavailable\"");
    has(text, "\"decision\":null");
    assert_string_equal(sim_upstream_hears(sim, 0), "");
}

static void ring_full(void)
{
    sim->ring->is_full = true;
    sim_agent_posts(sim, CALL, "");
    assert_int_equal(sim->ring->decision_count, 0);
    assert_string_equal(sim_agent_hears(sim), "");
    sim->ring->is_full = false;
    lane_woken(&sim->lane);
    sim_run(sim);
    has(sim_upstream_hears(sim, 0), CALL_CANONICAL);
}

TEST_CASE(test_audit_trouble) /* 1.25 */
{
    in_every_weather(audit_down);
    in_every_weather(commit_fails);
    in_every_weather(ring_full);
}

/* ---- the upstream ---- */

static void ends_with(enum audit_outcome outcome, enum reason reason)
{
    assert_int_equal(sim_last_outcome(sim)->outcome, outcome);
    assert_int_equal(sim_last_outcome(sim)->reason, reason);
    has(sim_agent_hears(sim), "\"code\":\"unavailable\"");
}

static void unreachable(void)
{
    sim->refuses_dials = true;
    sim_agent_posts(sim, CALL, "");
    ends_with(OUTCOME_UPSTREAM_FAILURE, REASON_UPSTREAM_UNREACHABLE);
}

static void never_connects(void)
{
    sim->handshakes = 1000000;
    sim_agent_posts(sim, CALL, "");
    sim_pass(sim, 6000000);
    ends_with(OUTCOME_TIMEOUT, REASON_UPSTREAM_CONNECT_TIMEOUT);
}

static void silent(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_pass(sim, 61000000);
    ends_with(OUTCOME_TIMEOUT, REASON_UPSTREAM_SILENT);
}

static void cut(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"jsonrpc\"");
    sim_upstream_leaves(sim, 0);
    ends_with(OUTCOME_UPSTREAM_FAILURE, REASON_UPSTREAM_CLOSED);
    assert_int_equal(sim->upstream_count, 1); /* never sent again */
}

static void lying(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_answers(sim, 0, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}");
    ends_with(OUTCOME_REFUSED, REASON_UPSTREAM_UNASKED);
}

static void not_json(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_answers(sim, 0, "application/json", "{\"a\":1,\"a\":2}");
    ends_with(OUTCOME_REFUSED, REASON_UPSTREAM_JSON);
}

static void html(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_answers(sim, 0, "text/html", "<p>hello</p>");
    ends_with(OUTCOME_REFUSED, REASON_UPSTREAM_TYPE);
}

static void redirecting(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://10.0.0.1/mcp/\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_REFUSED);
    has_not(sim_agent_hears(sim), "10.0.0.1");
}

TEST_CASE(test_upstream_faults) /* 1.9 */
{
    static const scene_fn scenes[] = {unreachable, never_connects, silent, cut, lying, not_json, html, redirecting};

    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        in_every_weather(scenes[i]);
}

static void stale_is_not_used(void)
{
    sim_agent_posts(sim, CALL, "");
    (void)sim_upstream_hears(sim, 0);
    sim_upstream_answers(sim, 0, "application/json", RESULT);
    (void)sim_agent_hears(sim);
    sim_upstream_leaves(sim, 0);
    sim_agent_posts(sim, CALL, "");
    assert_int_equal(sim->upstream_count, 2);
    has(sim_upstream_hears(sim, 1), CALL_CANONICAL);
}

/* Whoever speaks between two calls would otherwise have answered the next one before it was asked. */
static void stray_after(int64_t us)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_answers(sim, 0, "application/json", RESULT);
    (void)sim_agent_hears(sim);
    sim_pass(sim, us);
    sim_upstream_answers(sim, 0, "application/json", STRAY);
    sim_agent_posts(sim, CALL, "");
    assert_int_equal(sim->upstream_count, 2);
    has(sim_upstream_hears(sim, 1), CALL_CANONICAL);
    sim_upstream_answers(sim, 1, "application/json", RESULT);
    has(sim_agent_hears(sim), RESULT_CANONICAL);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_RESULT);
}

static void stray_at_once(void)
{
    stray_after(0);
}

static void stray_later(void)
{
    stray_after(5000000);
}

/* Nobody has read them yet when the next call wants the connection. */
static void stray_unread(void)
{
    if (sim->weather == SIM_AGAIN)
        return; /* there they are not even to be read yet */
    sim_agent_posts(sim, CALL, "");
    (void)sim_upstream_hears(sim, 0);
    sim_upstream_answers(sim, 0, "application/json", RESULT);
    (void)sim_agent_hears(sim);
    sim->clock.now_us += 5000000;
    assert_true(mem_stream_put(sim->upstreams[0], STRAY_REPLY, strlen(STRAY_REPLY)));
    sim->is_deaf_behind = true;
    sim_agent_posts(sim, CALL, "");
    sim->is_deaf_behind = false;
    sim_run(sim);
    assert_int_equal(sim->upstream_count, 2);
    assert_string_equal(sim_upstream_hears(sim, 0), "");
    has(sim_upstream_hears(sim, 1), CALL_CANONICAL);
}

/* In one piece with the answer: the connection is not kept at all. */
static void stray_behind(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n" STRAY_REPLY);
    (void)sim_agent_hears(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
    sim_agent_posts(sim, CALL, "");
    assert_int_equal(sim->upstream_count, 2);
    has(sim_upstream_hears(sim, 1), CALL_CANONICAL);
}

TEST_CASE(test_stray_bytes) /* 4.20 */
{
    in_every_weather(stray_at_once);
    in_every_weather(stray_later);
    in_every_weather(stray_unread);
    in_every_weather(stray_behind);
}

static void upstream_error_passes(void)
{
    const char *text;

    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 30\r\nX-Inner: 1\r\n"
                              "Content-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"error\": 1 }");
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 429 ");
    has(text, "Retry-After: 30\r\n");
    has(text, "{\"error\":1}");
    has_not(text, "X-Inner");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_HTTP_ERROR);
    assert_int_equal(sim_last_outcome(sim)->status, 429);
}

static void notification(void)
{
    sim_agent_posts(sim, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", "");
    has(sim_upstream_hears(sim, 0), "notifications/initialized");
    sim_upstream_answers(sim, 0, "application/json", "{}");
    has(sim_agent_hears(sim), "HTTP/1.1 202 Accepted\r\n");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_ACCEPTED);
}

TEST_CASE(test_ordinary_replies) /* 1.7, 1.9, 1.15 */
{
    in_every_weather(stale_is_not_used);
    in_every_weather(upstream_error_passes);
    in_every_weather(notification);
}

/* ---- the agent's time ---- */

static void slow_head(void)
{
    sim_agent_says(sim, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    sim_pass(sim, 11000000);
    has(sim_agent_hears(sim), "HTTP/1.1 408 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_HEAD_TIMEOUT);
}

static void slow_body(void)
{
    sim_agent_says(sim, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                        "Content-Length: 10\r\n\r\n{");
    sim_pass(sim, 31000000);
    has(sim_agent_hears(sim), "HTTP/1.1 408 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_BODY_TIMEOUT);
}

static void nothing_is_kept_between_calls(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_answers(sim, 0, "application/json", RESULT);
    has(sim_agent_hears(sim), "HTTP/1.1 200 ");
    assert_int_equal(sim_pair(sim)->held_bytes, 0);
    assert_int_equal(atomic_load(&sim->budget.memory_bytes), 0);
}

static void idle_for_long(void)
{
    sim_pass(sim, 74000000);
    assert_non_null(sim_pair(sim));
    assert_int_equal(atomic_load(&sim->budget.memory_bytes), 0); /* the buffers went back */
    sim_pass(sim, 2000000);
    assert_null(sim_pair(sim));
    assert_int_equal(sim->ring->decision_count, 0);
}

TEST_CASE(test_agents_time) /* 1.7 */
{
    in_every_weather(slow_head);
    in_every_weather(slow_body);
    in_every_weather(nothing_is_kept_between_calls);
    in_every_weather(idle_for_long);
}

TEST_MAIN(NULL, NULL)
