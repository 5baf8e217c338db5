/* SPDX-License-Identifier: Apache-2.0 */
/* Event streams in every weather: results as they come, server requests, slow readers, resumption, the end. */
#include "sim/sim_check.h"

#include <stdio.h>

#define CALL "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{}}}"
#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}"
#define PROGRESS "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1}}"
#define SAMPLING "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"sampling/createMessage\",\"params\":{}}"
#define ROOTS "{\"jsonrpc\":\"2.0\",\"id\":\"r1\",\"method\":\"roots/list\"}"
#define INITIALIZE \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\"," \
    "\"capabilities\":{},\"clientInfo\":{\"name\":\"a\",\"version\":\"1\"}}}"
#define WELCOME \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}," \
    "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}"

static void stream_begins(unsigned index, const char *headers)
{
    sim_upstream_says(sim, index, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n");
    sim_upstream_says(sim, index, headers);
    sim_upstream_says(sim, index, "Connection: close\r\n\r\n");
}

static void event(unsigned index, const char *json)
{
    sim_upstream_says(sim, index, "event: message\ndata: ");
    sim_upstream_says(sim, index, json);
    sim_upstream_says(sim, index, "\n\n");
}

static void as_it_comes(void)
{
    const char *text;

    sim_agent_posts(sim, CALL, "Accept: application/json, text/event-stream\r\n");
    stream_begins(0, "");
    has(sim_agent_hears(sim), "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n");
    event(0, PROGRESS);
    has(sim_agent_hears(sim), "event: message\ndata: " PROGRESS "\n\n");
    event(0, RESULT);
    text = sim_agent_hears(sim);
    has(text, "event: message\ndata: " RESULT "\n\n");
    has_not(text, "0\r\n\r\n");
    sim_upstream_leaves(sim, 0);
    assert_string_equal(sim_agent_hears(sim), "0\r\n\r\n");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_RESULT);
    assert_int_equal(sim_last_outcome(sim)->server_notifications, 1);
    assert_int_equal(sim->ring->decision_count, 1); /* a permitted notification has no row of its own */
    sim_agent_posts(sim, CALL, "");
    assert_int_equal(sim->upstream_count, 2);
}

TEST_CASE(test_as_it_comes) /* 1.13, 1.15 */
{
    in_every_weather(as_it_comes);
}

static void quiet(void)
{
    sim_agent_posts(sim, CALL, "");
    stream_begins(0, "");
    (void)sim_agent_hears(sim);
    sim_pass(sim, 16000000);
    has(sim_agent_hears(sim), ":\n");
    sim_pass(sim, 16000000);
    has(sim_agent_hears(sim), ":\n");
    sim_pass(sim, 300000000);
    has(sim_agent_hears(sim), "\"error\"");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_TIMEOUT);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_STREAM_IDLE);
}

/* A waiting stream holds nothing of the large event that came before. */
static void waits_with_empty_hands(void)
{
    static char large[65536];
    size_t len = (size_t)snprintf(large, sizeof large, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"x\":\"");

    memset(large + len, 'x', 60000);
    memcpy(large + len + 60000, "\"}}", 4);
    sim_agent_posts(sim, CALL, "");
    stream_begins(0, "");
    event(0, large);
    has(sim_agent_hears(sim), large);
    sim_pass(sim, 16000000);
    has(sim_agent_hears(sim), ":\n");
    assert_int_equal(sim_pair(sim)->events.data.size, 0);
    assert_int_equal(sim_pair(sim)->exchange.event.size, 0);
    assert_null(sim_pair(sim)->exchange.event_arena.blocks);
    assert_int_equal(sim_pair(sim)->back.in.size, 0);
    event(0, RESULT);
    has(sim_agent_hears(sim), RESULT);
    sim_upstream_leaves(sim, 0);
}

TEST_CASE(test_quiet) /* 1.7, 1.13 */
{
    in_every_weather(quiet);
    in_every_weather(waits_with_empty_hands);
}

static void unknown_events_are_not_delivered(void)
{
    const char *text;

    sim_agent_posts(sim, CALL, "");
    stream_begins(0, "");
    sim_upstream_says(sim, 0, "id: 7\ndata:\n\nevent: ping\ndata: {\"a\":1}\n\n: hello\n\n");
    event(0, RESULT);
    text = sim_agent_hears(sim);
    has(text, "id: 7\n");
    has_not(text, "ping");
    has_not(text, "hello");
    has(text, RESULT);
    assert_int_equal(atomic_load(&sim->lane.gauges.events_dropped), 1);
}

static void empty_stream(void)
{
    const char *text;

    sim_agent_says(sim, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n");
    sim_upstream_answers(sim, 0, "text/event-stream", "");
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 200 ");
    has(text, "Content-Type: text/event-stream\r\n");
    has(text, "Content-Length: 0\r\n");
}

TEST_CASE(test_other_events) /* 1.14, 5.18 */
{
    in_every_weather(unknown_events_are_not_delivered);
    in_every_weather(empty_stream);
}

/* ---- wherever it is cut ---- */

#define BOTH_EVENTS "id: 7\r\nevent: message\r\ndata: " PROGRESS "\r\n\r\n:x\n\ndata:" RESULT "\n\n"

/* An upstream that stops and goes on at each byte of its events changes nothing of what is heard. */
static void cut_anywhere(void)
{
    const char text[] = BOTH_EVENTS;

    for (size_t cut = 0; cut < sizeof text; cut++) {
        char first[sizeof text] = "", heard[8192];
        unsigned index = sim->upstream_count;

        sim_agent_posts(sim, CALL, "");
        stream_begins(index, "");
        (void)sim_agent_hears(sim);
        memcpy(first, text, cut);
        sim_upstream_says(sim, index, first);
        (void)snprintf(heard, sizeof heard, "%s", sim_agent_hears(sim));
        has_not(heard, cut < sizeof text - 1 ? RESULT : "nothing");
        sim_upstream_says(sim, index, text + cut);
        (void)snprintf(heard + strlen(heard), sizeof heard - strlen(heard), "%s", sim_agent_hears(sim));
        has(heard, "event: message\nid: 7\ndata: " PROGRESS "\n\n");
        has(heard, "event: message\ndata: " RESULT "\n\n");
        sim_upstream_leaves(sim, index);
        (void)sim_agent_hears(sim);
        if (index == SIM_UPSTREAMS - 1)
            sim->upstream_count = 0; /* their ends were closed */
    }
}

TEST_CASE(test_cuts) /* 5.23 */
{
    in_every_weather(cut_anywhere);
}

/* ---- streams that break ---- */

static void breaks(const char *bytes, enum audit_outcome outcome, enum reason reason)
{
    const char *text;

    sim_agent_posts(sim, CALL, "");
    stream_begins(0, "");
    sim_upstream_says(sim, 0, bytes);
    if (sim->upstreams[0] != NULL)
        sim_upstream_leaves(sim, 0);
    text = sim_agent_hears(sim);
    has(text, "\"id\":3,\"error\"");
    has(text, "\r\n0\r\n\r\n");
    assert_int_equal(sim_last_outcome(sim)->outcome, outcome);
    assert_int_equal(sim_last_outcome(sim)->reason, reason);
    sim_agent_posts(sim, CALL, "");
    assert_int_equal(sim->upstream_count, 2); /* the agent's connection lives on */
}

static void cut_between(void)
{
    breaks("", OUTCOME_UPSTREAM_FAILURE, REASON_UPSTREAM_CLOSED);
}

static void cut_within(void)
{
    breaks("data: {\"jsonrpc\":\"2.0\",", OUTCOME_REFUSED, REASON_UPSTREAM_EVENT);
}

static void lone_cr(void)
{
    breaks("data: x\rdata: y\n\n", OUTCOME_REFUSED, REASON_UPSTREAM_EVENT);
}

static void unasked(void)
{
    breaks("data: {\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{}}\n\n", OUTCOME_REFUSED, REASON_UPSTREAM_UNASKED);
}

static void no_json(void)
{
    breaks("data: hello\n\n", OUTCOME_REFUSED, REASON_UPSTREAM_JSON);
}

/* The id of an event that was not delivered is nothing to resume from. */
static void cut_after_unknown_event(void)
{
    breaks("event: ping\nid: e1\ndata: {}\n\n", OUTCOME_UPSTREAM_FAILURE, REASON_UPSTREAM_CLOSED);
}

static void detached(void)
{
    sim_agent_posts(sim, CALL, "");
    stream_begins(0, "");
    sim_upstream_says(sim, 0, "id: e1\nretry: 100\ndata:\n\n");
    sim_upstream_leaves(sim, 0);
    has_not(sim_agent_hears(sim), "error");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_DETACHED);
}

TEST_CASE(test_broken_streams) /* 1.9, 1.13 */
{
    static const scene_fn scenes[] = {cut_between, cut_within, lone_cr, unasked, no_json, detached,
                                      cut_after_unknown_event};

    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        in_every_weather(scenes[i]);
}

/* ---- the server asks ---- */

static void question_is_recorded_first(void)
{
    sim_agent_posts(sim, CALL, "");
    stream_begins(0, "");
    (void)sim_agent_hears(sim);
    sim->holds_audit = true;
    event(0, SAMPLING);
    assert_string_equal(sim_agent_hears(sim), "");
    sim->holds_audit = false;
    sim_run(sim);
    has(sim_agent_hears(sim), SAMPLING);
    assert_true(sim_last_decision(sim)->from_server);
    assert_false(sim_last_decision(sim)->expects_outcome);
    event(0, RESULT);
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
    assert_int_equal(sim_last_outcome(sim)->server_requests, 1);
    /* the answer finds the open question, once */
    sim_agent_posts(sim, "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"result\":{}}", "");
    has(sim_upstream_hears(sim, 1), "\"id\":\"s1\"");
    sim_upstream_says(sim, 1, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    has(sim_agent_hears(sim), "HTTP/1.1 202 ");
    sim_agent_posts(sim, "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"result\":{}}", "");
    has(sim_agent_hears(sim), "HTTP/1.1 403 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_ANSWER_UNASKED);
}

static void question_is_denied(void)
{
    const char *text;

    sim_agent_posts(sim, CALL, "");
    stream_begins(0, "");
    event(0, ROOTS);
    event(0, RESULT);
    text = sim_agent_hears(sim);
    has_not(text, "roots/list");
    has(text, RESULT);
    assert_int_equal(sim->upstream_count, 2); /* the refusal goes up on a connection of its own */
    text = sim_upstream_hears(sim, 1);
    has(text, "POST /up HTTP/1.1\r\n");
    has(text, "\"id\":\"r1\",\"error\":{\"code\":4030");
    assert_int_equal(sim->lane.errands, 1); /* 4.21: it stays for the answer, and no longer */
    sim_upstream_says(sim, 1, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(sim->lane.errands, 0);
    sim_upstream_leaves(sim, 0);
    assert_int_equal(sim_last_outcome(sim)->server_denied, 1);
}

/* A rule that lets agents list tools does not let servers ask agents for theirs. */
static void servers_say_what_servers_say(void)
{
    const char *text;

    sim_agent_posts(sim, CALL, "");
    stream_begins(0, "");
    event(0, "{\"jsonrpc\":\"2.0\",\"id\":\"t1\",\"method\":\"tools/list\"}");
    event(0, RESULT);
    text = sim_agent_hears(sim);
    has_not(text, "tools/list");
    has(text, RESULT);
    has(sim_upstream_hears(sim, 1), "\"id\":\"t1\",\"error\":{\"code\":4030");
    sim_upstream_says(sim, 1, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    sim_upstream_leaves(sim, 0);
    assert_int_equal(sim_last_outcome(sim)->server_denied, 1);
}

TEST_CASE(test_questions) /* 1.15, 1.19 */
{
    in_every_weather(servers_say_what_servers_say);
    in_every_weather(question_is_recorded_first);
    in_every_weather(question_is_denied);
}

/* ---- sessions, GET ---- */

static char session[1024];

static void open_session(void)
{
    const char *text, *at;
    size_t len;

    sim_agent_posts(sim, INITIALIZE, "");
    stream_begins(0, "Mcp-Session-Id: inner\r\n");
    sim_upstream_says(sim, 0, "id: 1\ndata:\n\n");
    assert_string_equal(sim_agent_hears(sim), ""); /* the session's name is not known yet */
    event(0, WELCOME);
    text = sim_agent_hears(sim);
    has(text, WELCOME);
    has(text, "id: 1\n");
    at = strstr(text, "Mcp-Session-Id: inner.2025-06-18.");
    assert_non_null(at);
    len = strcspn(at, "\r");
    assert_true(len < sizeof session - 3);
    memcpy(session, at, len);
    memcpy(session + len, "\r\n", 3);
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
}

static void in_a_session(void)
{
    open_session();
    sim_agent_posts(sim, CALL, session);
    has(sim_upstream_hears(sim, 1), "Mcp-Session-Id: inner\r\n");
    sim_upstream_answers(sim, 1, "application/json", RESULT);
    has(sim_agent_hears(sim), RESULT);
    sim_agent_posts(sim, CALL, "Mcp-Session-Id: inner.2025-06-18.AAAA\r\n");
    has(sim_agent_hears(sim), "HTTP/1.1 404 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_SESSION_FOREIGN);
    assert_string_equal(sim_upstream_hears(sim, 1), "");
}

static void get_stream(const char *lines)
{
    sim_connect(sim);
    sim_agent_says(sim, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n");
    sim_agent_says(sim, lines);
    sim_agent_says(sim, session);
    sim_agent_says(sim, "\r\n");
}

static void resumed(void)
{
    open_session();
    get_stream("Last-Event-ID: e1\r\n");
    has(sim_upstream_hears(sim, 1), "Last-Event-ID: e1\r\n");
    stream_begins(1, "");
    (void)sim_agent_hears(sim);
    event(1, RESULT);
    has(sim_agent_hears(sim), RESULT);
    assert_string_equal(sim_last_decision(sim)->method, "stream/message");
    sim_upstream_leaves(sim, 1);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_STREAM_ENDED);
}

/* What mirrors a body has nothing to say where there is none to compare it with. */
static void mirrors_without_a_body(void)
{
    const char *heard;

    open_session();
    get_stream("Mcp-Method: tools/call\r\nMcp-Name: other\r\nMcp-Param-City: Bonn\r\n");
    heard = sim_upstream_hears(sim, 1);
    has(heard, "GET /");
    has_not(heard, "Mcp-Method");
    has_not(heard, "Mcp-Name");
    has_not(heard, "Mcp-Param-");
    stream_begins(1, "");
    (void)sim_agent_hears(sim);
    sim_upstream_leaves(sim, 1);
}

static void drained(void)
{
    open_session();
    get_stream("");
    stream_begins(1, "");
    (void)sim_agent_hears(sim);
    lane_go(&sim->lane, LANE_DRAINS, 1, -1);
    sim_run(sim);
    has(sim_agent_hears(sim), "0\r\n\r\n");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_STREAM_ENDED);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_DRAINING);
    assert_null(sim_pair(sim));
}

static void drained_call(void)
{
    sim_agent_posts(sim, CALL, "");
    lane_go(&sim->lane, LANE_DRAINS, 1, -1);
    sim_run(sim);
    sim_upstream_answers(sim, 0, "application/json", RESULT);
    has(sim_agent_hears(sim), RESULT);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_RESULT);
    assert_null(sim_pair(sim));
}

TEST_CASE(test_sessions) /* 1.8, 1.15, 1.17 */
{
    in_every_weather(mirrors_without_a_body);
    in_every_weather(in_a_session);
    in_every_weather(resumed);
    in_every_weather(drained);
    in_every_weather(drained_call);
}

/* ---- a slow reader ---- */

static void slow_reader(void)
{
    char json[8192];
    struct pair *pair;
    unsigned sent = 0;
    size_t most = 0;

    sim->capacity_bytes = 4096;
    sim_connect(sim); /* an agent whose socket takes 4 KiB */
    sim->capacity_bytes = 16384;
    sim_agent_posts(sim, CALL, "");
    stream_begins(0, "");
    (void)snprintf(json, sizeof json,
                   "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"a\":\"%04000d\"}}\n\n", 1);
    pair = sim_pair(sim);
    while (sent < 200 && mem_stream_writable(sim->upstreams[0]) > strlen(json)) {
        sim_upstream_says(sim, 0, json);
        sent++;
        if (buf_len(&pair->front.out) > most)
            most = buf_len(&pair->front.out);
    }
    assert_true(sent < 100); /* nobody reads: the upstream is stopped */
    assert_true(most <= STREAM_HIGH_WATER + sizeof json);
    assert_true(buf_len(&pair->back.in) <= LEG_IN_BYTES);
    for (unsigned got = 0; got < 1000 && buf_len(&pair->front.out) > 0; got++) {
        (void)sim_agent_hears(sim); /* and goes on when the agent reads */
        sim_run(sim);
    }
    assert_true(mem_stream_writable(sim->upstreams[0]) > strlen(json));
    for (unsigned i = 0; i < 30; i++)
        sim_upstream_says(sim, 0, json);
    sim_pass(sim, 40000000);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_AGENT_STALLED);
    assert_null(sim_pair(sim));
}

TEST_CASE(test_slow_reader) /* 1.5, 1.7 */
{
    in_every_weather(slow_reader);
}

/* ---- a key that is revoked meanwhile ---- */

static void publish_key(bool is_there)
{
    struct identity_key key = {.principal = "bot", .tenant = "acme", .id = 1};
    struct identity_keys *keys;

    digest_of(SPAN_LIT("cg_right"), key.digest);
    assert_ok(identity_keys_new(&key, is_there ? 1 : 0, &keys));
    gate_publish_keys(sim->shared, keys);
}

static void with_a_key(void)
{
    sim->identity[0] = (struct identity_source){.kind = IDENTITY_API_KEY, .header = "X-API-Key"};
    publish_key(true);
    sim_pass(sim, 1000000);
    sim_agent_posts(sim, CALL, "X-API-Key: cg_right\r\nAccept: application/json, text/event-stream\r\n");
    stream_begins(0, "");
    event(0, PROGRESS);
    has(sim_agent_hears(sim), PROGRESS);
}

static void revoked(void)
{
    with_a_key();
    publish_key(true); /* another table that still has it */
    sim_pass(sim, 1000000);
    event(0, PROGRESS);
    has(sim_agent_hears(sim), PROGRESS);
    publish_key(false);
    sim_pass(sim, 1000000);
    assert_null(sim_pair(sim));
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
    has_not(sim_agent_hears(sim), "data:");
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_CREDENTIAL_WRONG);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_CANCELLED);
}

/* Whose stream needs no key keeps it, and so does a connection between two calls. */
static void others_stay(void)
{
    sim_agent_posts(sim, CALL, "");
    stream_begins(0, "");
    publish_key(true);
    sim_pass(sim, 1000000);
    event(0, PROGRESS);
    has(sim_agent_hears(sim), PROGRESS);
}

TEST_CASE(test_revoked) /* 4.20 */
{
    in_every_weather(revoked);
    in_every_weather(others_stay);
}

TEST_MAIN(NULL, NULL)
