/* SPDX-License-Identifier: Apache-2.0 */
/* What breaks rarely: a record that never settles, a server that speaks first, a session's name that cannot be given. */
#include "sim/sim_check.h"

#include <stdio.h>

#define CALL "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{}}}"
#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}"
#define INITIALIZE                                                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\","              \
    "\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"
#define WELCOME                                                                                                           \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"                    \
    "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}"

/* ---- the record ---- */

/* 10.30: its row may yet come to disk, and says permit: its outcome says what became of it */
static void record_hangs(void)
{
    sim->holds_audit = true;
    sim_agent_posts(sim, CALL, "");
    sim_pass(sim, 61000000);
    has(sim_agent_hears(sim), "\"decision\":null");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_NOT_SENT);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_AUDIT_DOWN);
    assert_string_equal(sim_upstream_hears(sim, 0), "");
    sim->holds_audit = false;
    sim_run(sim);
    assert_int_equal(sim->ring->outcome_count, 1);
    sim_agent_posts(sim, CALL, ""); /* and life goes on */
    has(sim_upstream_hears(sim, 0), "tools/call");
}

static void ring_stays_full(void)
{
    sim->ring->is_full = true;
    sim_agent_posts(sim, CALL, "");
    sim_pass(sim, 61000000);
    has(sim_agent_hears(sim), "\"code\":\"unavailable\"");
    assert_int_equal(sim->ring->decision_count, 0);
    sim->ring->is_full = false;
    lane_woken(&sim->lane);
    sim_agent_posts(sim, CALL, "");
    has(sim_upstream_hears(sim, sim->upstream_count - 1), "tools/call");
}

/* A record that failed has no outcome to come, however long the agent takes to read the denial: by then the audit has
 * forgotten the ticket. */
static void failed_is_forgotten(void)
{
    sim->holds_audit = true;
    sim_agent_posts(sim, CALL, "");
    assert_true(fake_audit_settle(sim->ring, AUDIT_FAILED));
    lane_woken(&sim->lane);
    sim_run(sim);
    assert_null(sim_pair(sim)->exchange.call);
    assert_int_equal(sim->ring->outcome_count, 0);
}

TEST_CASE(test_record) /* 1.25, 1.26 */
{
    in_every_weather(record_hangs);
    in_every_weather(ring_stays_full);
    in_every_weather(failed_is_forgotten);
}

/* ---- servers that do not wait for the request ---- */

static void speaks_first(void)
{
    sim->greeting = "220 mail.example.com ready\r\n";
    sim_agent_posts(sim, CALL, "");
    sim_pass(sim, 10000000);
    assert_true(sim->upstream_count <= 2); /* one made while the record was written, one made for the call */
    has(sim_agent_hears(sim), "\"code\":\"unavailable\"");
    assert_int_equal(sim->ring->outcome_count, 1); /* `refused` where the call went up before the words were seen */
}

static void hangs_up(void)
{
    sim->hangs_up = true;
    sim_agent_posts(sim, CALL, "");
    sim_pass(sim, 10000000);
    assert_true(sim->upstream_count <= 2); /* one made while the record was written, one made for the call */
    has(sim_agent_hears(sim), "\"code\":\"unavailable\"");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_UPSTREAM_FAILURE);
}

TEST_CASE(test_unasked) /* 1.9 */
{
    in_every_weather(speaks_first);
    in_every_weather(hangs_up);
}

/* ---- sessions ---- */

static void unfit_session(const char *reply)
{
    sim_agent_posts(sim, INITIALIZE, "Accept: application/json, text/event-stream\r\n");
    (void)sim_upstream_hears(sim, 0);
    sim_upstream_says(sim, 0, reply);
    has(sim_agent_hears(sim), "HTTP/1.1 200 ");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_REFUSED);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_MALFORMED);
}

static void unfit_session_json(void)
{
    char reply[1024];

    (void)snprintf(reply, sizeof reply, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: a b\r\n"
                   "Content-Length: %zu\r\n\r\n%s", strlen(WELCOME), WELCOME);
    unfit_session(reply);
}

static void unfit_session_stream(void)
{
    unfit_session("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: a b\r\n\r\n"
                  "event: message\ndata: " WELCOME "\n\n");
}

TEST_CASE(test_sessions) /* 1.17 */
{
    in_every_weather(unfit_session_json);
    in_every_weather(unfit_session_stream);
}

/* ---- questions ---- */

static void ask_agent(const char *id)
{
    char reply[1024];

    sim_agent_posts(sim, CALL, "");
    (void)sim_upstream_hears(sim, sim->upstream_count - 1);
    (void)snprintf(reply, sizeof reply, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                   "data: {\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"sampling/createMessage\",\"params\":{}}\n\n"
                   "data: " RESULT "\n\n", id);
    sim_upstream_says(sim, sim->upstream_count - 1, reply);
    sim_upstream_leaves(sim, sim->upstream_count - 1);
    has(sim_agent_hears(sim), id);
}

/* By the clock that never jumps: the one on the wall stands still here. */
static void old_question_is_forgotten(void)
{
    ask_agent("first");
    sim_pass(sim, 3601 * INT64_C(1000000));
    sim_connect(sim);
    ask_agent("second");
    sim_agent_posts(sim, "{\"jsonrpc\":\"2.0\",\"id\":\"first\",\"result\":{}}", "");
    has(sim_agent_hears(sim), "HTTP/1.1 403 ");
    sim_agent_posts(sim, "{\"jsonrpc\":\"2.0\",\"id\":\"second\",\"result\":{}}", "");
    has(sim_upstream_hears(sim, sim->upstream_count - 1), "second");
}

/* An answer that did not go up may be given again. */
static void answer_is_not_lost(void)
{
    static const char yes[] = "{\"jsonrpc\":\"2.0\",\"id\":\"first\",\"result\":{}}";

    ask_agent("first");
    sim->ring->is_down = true;
    sim_agent_posts(sim, yes, "");
    has(sim_agent_hears(sim), "HTTP/1.1 ");
    sim->ring->is_down = false;
    sim->refuses_dials = true;
    sim_agent_posts(sim, yes, "");
    has(sim_agent_hears(sim), "HTTP/1.1 ");
    sim->refuses_dials = false;
    sim_agent_posts(sim, yes, "");
    assert_int_equal(sim->upstream_count, 2);
    has(sim_upstream_hears(sim, sim->upstream_count - 1), "first");
    sim_upstream_says(sim, sim->upstream_count - 1, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    has(sim_agent_hears(sim), "HTTP/1.1 202 ");
    sim_agent_posts(sim, yes, ""); /* but only once */
    has(sim_agent_hears(sim), "HTTP/1.1 403 ");
}

TEST_CASE(test_questions) /* 1.15, 1.19 */
{
    in_every_weather(old_question_is_forgotten);
    in_every_weather(answer_is_not_lost);
}

/* ---- memory ---- */

static char large[400001];

static const char *pad(void)
{
    memset(large, ' ', sizeof large - 1);
    return large;
}

/* 4.8: each began while there was room; who holds as much as is free gets no more. */
static void body_grows(void)
{
    sim->budget.memory_max_bytes = 200000;
    sim_agent_says(sim, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                        "Content-Length: 4000000\r\n\r\n");
    sim_agent_says(sim, pad());
    has(sim_agent_hears(sim), "HTTP/1.1 429 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_MEMORY_SHARE);
}

static void reply_grows(void)
{
    sim->budget.memory_max_bytes = 200000;
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 4000000\r\n\r\n");
    sim_upstream_says(sim, 0, pad());
    has(sim_agent_hears(sim), "\"code\":\"rate_limited\"");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_REFUSED);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_MEMORY_SHARE);
}

static void event_grows(void)
{
    sim->budget.memory_max_bytes = 200000;
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ");
    sim_upstream_says(sim, 0, pad());
    has(sim_agent_hears(sim), "\"code\":\"rate_limited\"");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_REFUSED);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_MEMORY_SHARE);
}

/* Of an event that its upstream cut off nothing stays with the connection. */
static void broken_event_goes(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: ");
    sim_upstream_says(sim, 0, pad());
    sim_upstream_leaves(sim, 0);
    has(sim_agent_hears(sim), "\"error\"");
    assert_non_null(sim_pair(sim));
    assert_int_equal(sim_pair(sim)->events.data.size, 0);
    assert_int_equal(sim_pair(sim)->held_bytes, 0);
    assert_int_equal(atomic_load(&sim->budget.memory_bytes), 0);
}

/* An upstream that answers before it has read all, and goes, while the agent does not read: there is nothing to do until the
 * agent does. */
static void nobody_moves(void)
{
    enum { PIECE = 4000, PIECES = 40 };
    static const char asks[] =
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{\"q\":\"";
    static const char asked[] = "\"}}}", answered[] = "\"}]}}";
    static const char answers[] = "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"text\":\"";
    static char piece[PIECE + 1];
    char text[1024];

    memset(piece, 'x', PIECE);
    sim_agent_leaves(sim);
    sim->capacity_bytes = 8192;
    sim_connect(sim);
    (void)snprintf(text, sizeof text,
                   "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                   sizeof asks - 1 + PIECE * PIECES + sizeof asked - 1, asks);
    sim_agent_says(sim, text);
    for (int i = 0; i < PIECES; i++)
        sim_agent_says(sim, piece);
    sim_agent_says(sim, asked);
    assert_int_equal(sim->upstream_count, 1);
    (void)snprintf(text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                   sizeof answers - 1 + PIECE * PIECES + sizeof answered - 1, answers);
    sim_upstream_says(sim, 0, text);
    for (int i = 0; i < PIECES; i++)
        sim_upstream_says(sim, 0, piece);
    sim_upstream_says(sim, 0, answered);
    sim_upstream_leaves(sim, 0); /* comes back where nothing moves any more */
    assert_non_null(sim_pair(sim));
    assert_true(leg_unsent(&sim_pair(sim)->front) > 0);
    assert_true(list_is_empty(&sim->lane.worker.dirty));
}

TEST_CASE(test_nobody_moves) /* 1.5 */
{
    in_every_weather(nobody_moves);
}

TEST_CASE(test_memory) /* 1.7 */
{
    in_every_weather(broken_event_goes);
    in_every_weather(body_grows);
    in_every_weather(reply_grows);
    in_every_weather(event_grows);
}

TEST_MAIN(NULL, NULL)
