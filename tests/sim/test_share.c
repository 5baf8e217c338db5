/* SPDX-License-Identifier: Apache-2.0 */
/* What one agent may take of the gate: large replies are held once, declared paths hardly at all, and who reads too slowly
 * over the whole reply ends. */
#include "sim/sim_check.h"

#include <stdio.h>

#define CALL \
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{\"q\":[1,2,3]}}}"
#define LARGE_BYTES 700000
#define SECOND INT64_C(1000000)

static char large[LARGE_BYTES + 1]; /* a reply, or anything */
static char got[2 * LARGE_BYTES];
static size_t got_len;

static void fill(void)
{
    static const char begin[] = "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[],\"x\":\"", end[] = "\"}}";

    memset(large, 'x', LARGE_BYTES);
    memcpy(large, begin, sizeof begin - 1);
    memcpy(large + LARGE_BYTES - (sizeof end - 1), end, sizeof end - 1);
    got_len = 0;
}

/* An agent whose side takes little at a time. */
static void begin(enum sim_weather weather)
{
    sim = malloc(sizeof *sim);
    assert_non_null(sim);
    sim_init(sim, weather);
    sim->capacity_bytes = 8192;
    sim_connect(sim);
    sim->capacity_bytes = 1 << 20;
    fill();
}

static void end(void)
{
    sim_fini(sim);
    free(sim);
}

/* Returns: whether the connection is still there. */
static bool reads(size_t bytes)
{
    got_len += mem_stream_get(sim->agent, got + got_len, bytes);
    assert_true(got_len < sizeof got);
    sim_run(sim);
    return !mem_stream_twin_ended(sim->agent) || mem_stream_readable(sim->agent) > 0;
}

static void read_all(void)
{
    for (size_t before = got_len + 1; before != got_len;) {
        before = got_len;
        (void)reads(8192);
    }
    got[got_len] = '\0';
}

static const char *body_of(void)
{
    char *at = strstr(got, "\r\n\r\n");

    assert_non_null(at);
    return at + 4;
}

/* 4.8: what waits for a slow reader is the reply, once. */
static void held_once(const char *media, const char *answer, size_t len)
{
    begin(SIM_PLAIN);
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, media);
    sim_upstream_says(sim, 0, answer);
    assert_true(sim_pair(sim)->held_bytes >= len);
    if (sim_pair(sim)->held_bytes > len + len / 4)
        fail_msg("%llu bytes are held for a reply of %zu", (unsigned long long)sim_pair(sim)->held_bytes, len);
    read_all();
    assert_true(got_len > len);
    assert_true(sim_pair(sim)->held_bytes < 12288);
    end();
}

TEST_CASE(test_held_once)
{
    static char event[LARGE_BYTES + 16], head[128];

    fill();
    (void)snprintf(event, sizeof event, "data: %s\n\n", large);
    (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", LARGE_BYTES);
    held_once(head, large, LARGE_BYTES);
    assert_memory_equal(body_of(), large, LARGE_BYTES);
    held_once("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n", event, LARGE_BYTES);
    has(got, "data: {\"jsonrpc\"");
}

static void asks_large(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_answers(sim, 0, "application/json", large);
}

/* 4.8: it moves at each look, so that the time since the last movement says nothing. */
TEST_CASE(test_slow_reader)
{
    bool is_there = true;
    int seconds = 0;

    begin(SIM_PLAIN);
    asks_large();
    for (; is_there && seconds < 200; seconds += 2) {
        is_there = reads(2000);
        sim_pass(sim, 2 * SECOND);
        is_there = is_there && sim->ring->outcome_count == 0;
    }
    assert_in_range(seconds, 30, 60);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_AGENT_STALLED);
    end();
}

/* 4.8: a slow line that keeps to the rate gets everything; so does one after a pause that its first haste has earned. */
TEST_CASE(test_steady_reader)
{
    for (int pause = 0; pause < 2; pause++) {
        begin(SIM_AGAIN);
        asks_large();
        while (got_len < LARGE_BYTES + 200 && sim->ring->outcome_count == 0) {
            assert_true(reads(8192));
            assert_true(reads(8192));
            sim_pass(sim, SECOND);
            if (pause == 1 && got_len > LARGE_BYTES / 2) {
                sim_pass(sim, 28 * SECOND);
                pause = 2;
            }
        }
        read_all();
        assert_memory_equal(body_of(), large, LARGE_BYTES);
        assert_int_equal(sim_last_outcome(sim)->reason, REASON_COMPLETED);
        end();
    }
}

/* 4.8: a stream that has nothing to say is not slow, however long. */
TEST_CASE(test_quiet_stream)
{
    begin(SIM_PLAIN);
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n");
    for (int i = 0; i < 20; i++) {
        sim_pass(sim, 100 * SECOND);
        (void)reads(8192);
        sim_upstream_says(sim, 0, ": still here\n\n");
    }
    (void)reads(8192);
    assert_int_equal(sim->ring->outcome_count, 0);
    end();
}

static const struct proxy_pass pass = {.path = {"/llms.txt", 9}, .upstream_path = {"/up/llms.txt", 12}};

static void asks_pass(const char *head)
{
    sim->routes[0].pass = &pass;
    sim->routes[0].pass_count = 1;
    sim_agent_says(sim, "GET /llms.txt HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    has(sim_upstream_hears(sim, 0), "GET /up/llms.txt ");
    sim_upstream_says(sim, 0, head);
}

/* 4.8: a declared path is not held: what its reader does not take stays upstream. */
TEST_CASE(test_pass_streams)
{
    char head[128];

    begin(SIM_PLAIN);
    (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", LARGE_BYTES);
    asks_pass(head);
    sim_upstream_says(sim, 0, large);
    assert_true(sim_pair(sim)->held_bytes < 4 * STREAM_HIGH_WATER);
    assert_true(mem_stream_readable(sim_pair(sim)->back.stream) > LARGE_BYTES / 2); /* it waits there */
    assert_int_equal(sim->ring->outcome_count, 0);
    read_all();
    has(got, "Content-Length: 700000\r\n");
    assert_int_equal(got + got_len - body_of(), LARGE_BYTES);
    assert_memory_equal(body_of(), large, LARGE_BYTES);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_RESULT);
    assert_int_equal(sim_last_outcome(sim)->response_bytes, LARGE_BYTES);
    end();
}

/* 4.8: an upstream that a slow reader held back was not silent. */
TEST_CASE(test_held_back)
{
    char head[128], first[120001];

    begin(SIM_PLAIN);
    sim->routes[0].reply_idle_ms = 5000;
    (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", LARGE_BYTES);
    asks_pass(head);
    memcpy(first, large, sizeof first - 1);
    first[sizeof first - 1] = '\0';
    sim_upstream_says(sim, 0, first);
    for (int i = 0; i < 10; i++) {
        assert_true(reads(2000));
        sim_pass(sim, 2 * SECOND);
    }
    read_all();
    assert_int_equal(sim->ring->outcome_count, 0);
    sim_pass(sim, 4 * SECOND);
    sim_upstream_says(sim, 0, large + sizeof first - 1);
    read_all();
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_COMPLETED);
    assert_memory_equal(body_of(), large, LARGE_BYTES);
    end();
}

static void pass_in_chunks(void)
{
    fill();
    asks_pass("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n");
    sim_upstream_says(sim, 0, "5\r\nhello\r\n");
    sim_upstream_says(sim, 0, "6\r\n world\r\n0\r\n\r\n");
    read_all();
    has(got, "Transfer-Encoding: chunked\r\n");
    if (sim->weather == SIM_PLAIN)
        has(got, "5\r\nhello\r\n");
    has(got, "0\r\n\r\n");
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_COMPLETED);
    assert_int_equal(sim_last_outcome(sim)->response_bytes, 11);
    sim_agent_says(sim, "HEAD /llms.txt HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); /* the connection goes on */
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n");
    got_len = 0;
    read_all();
    has(got, "HTTP/1.1 200 ");
    has_not(got, "0\r\n\r\n");
}

/* What was begun and cannot be ended is cut off, so that nobody takes it for whole. */
static void pass_breaks(void)
{
    fill();
    asks_pass("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n");
    sim_upstream_says(sim, 0, "5\r\nhello\r\n");
    sim_upstream_leaves(sim, 0);
    read_all();
    has_not(got, "0\r\n\r\n");
    assert_true(mem_stream_twin_ended(sim->agent));
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_UPSTREAM_FAILURE);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_CLOSED);
}

static void pass_too_large(void)
{
    fill();
    sim->routes[0].limits.response_bytes = 1000;
    asks_pass("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1001\r\n\r\n");
    has(sim_agent_hears(sim), "HTTP/1.1 502 ");
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_TOO_LARGE);
}

TEST_CASE(test_pass_ends) /* 4.8 */
{
    in_every_weather(pass_in_chunks);
    in_every_weather(pass_breaks);
    in_every_weather(pass_too_large);
}

/* ---- who is how many ---- */

/* Accepts it, and ends no turn. */
static void arrives(const char *address)
{
    struct stream *stream;
    struct sock_address peer;

    stream_close(&sim->agent);
    assert_ok(sock_parse(span_text(address), &peer, NULL));
    assert_true(mem_stream_pair(&stream, &sim->agent, sim->capacity_bytes));
    assert_true(budget_take_connection(&sim->budget));
    lane_accept(&sim->lane, 0, stream, &peer);
}

static void connects(const char *address)
{
    arrives(address);
    sim_run(sim);
}

/* Keeps the connection open, and forgets it until the end of the test. */
static struct stream *put_aside(void)
{
    struct stream *kept = sim->agent;

    sim->agent = NULL;
    return kept;
}

/* 4.12: so many connections of one address that show nothing, and no more; others and this machine itself have their own. */
TEST_CASE(test_crowd)
{
    struct stream *kept[4];

    begin(SIM_PLAIN);
    sim->lane.conf->connections_per_address = 2;
    connects("192.0.2.1:1");
    kept[0] = put_aside();
    connects("192.0.2.1:2");
    assert_false(mem_stream_twin_ended(sim->agent));
    kept[1] = put_aside();
    connects("[::ffff:192.0.2.1]:3");
    assert_true(mem_stream_twin_ended(sim->agent));
    arrives("192.0.2.1:5"); /* the next may be accepted in the same turn: the place is free before it ends */
    assert_int_equal(atomic_load(&sim->budget.connections), 2);
    connects("192.0.2.2:1");
    assert_false(mem_stream_twin_ended(sim->agent));
    kept[2] = put_aside();
    connects("127.0.0.1:1");
    kept[3] = put_aside();
    connects("127.0.0.1:2");
    assert_false(mem_stream_twin_ended(sim->agent));
    stream_close(&kept[0]);
    sim_run(sim);
    connects("192.0.2.1:4"); /* there is room again */
    assert_false(mem_stream_twin_ended(sim->agent));
    for (int i = 1; i < 4; i++)
        stream_close(&kept[i]);
    end();
}

/* 4.12: what everybody may read without an identity is recorded, so it has a rate where none is set; who has one has none. */
TEST_CASE(test_pass_rate)
{
    unsigned refused = 0;

    begin(SIM_PLAIN);
    sim->routes[0].pass = &pass;
    sim->routes[0].pass_count = 1;
    for (int i = 0; i < 260; i++) {
        sim_agent_says(sim, "GET /llms.txt HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        if (i < 200)
            sim_upstream_answers(sim, 0, "text/plain", "x");
        refused += strstr(sim_agent_hears(sim), "HTTP/1.1 429 ") != NULL;
    }
    assert_int_equal(refused, 60);
    connects("192.0.2.2:9");
    sim_agent_says(sim, "GET /llms.txt HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    has(sim_upstream_hears(sim, sim->upstream_count - 1), "GET /up/llms.txt ");
    end();
}

/* 4.8: a body that is refused with its last piece is over: nothing of it is read as the next request. */
TEST_CASE(test_refused_end)
{
    static const char hidden[] = "DELETE /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    uint64_t held = 0;
    char head[160];

    begin(SIM_PLAIN);
    fill();
    connects("127.0.0.1:9"); /* whose side takes more at a time */
    (void)snprintf(head, sizeof head, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\n\r\n", 200000 + sizeof hidden - 1);
    sim_agent_says(sim, head);
    large[200000] = '\0';
    sim_agent_says(sim, large);
    budget_limit_memory(&sim->budget, 1 << 20);
    budget_hold(&sim->budget, &held, 1 << 20);
    sim_agent_says(sim, hidden);
    has(sim_agent_hears(sim), "HTTP/1.1 503 ");
    assert_int_equal(sim->ring->decision_count, 1);
    assert_int_equal(sim_last_decision(sim)->reason, REASON_MEMORY);
    assert_int_equal(atomic_load(&sim->lane.gauges.requests), 1);
    sim_agent_posts(sim, CALL, ""); /* the connection goes on, and a small call passes whatever others hold */
    has(sim_upstream_hears(sim, 0), "POST /up ");
    budget_hold(&sim->budget, &held, 0);
    end();
}

/* 4.12: before the policy is asked, with how long to wait; the route's own limit. */
TEST_CASE(test_rate)
{
    const struct rate rate = {.interval_ns = INT64_C(2500000000), .burst = 2};

    begin(SIM_PLAIN);
    sim->routes[0].limits.principal_rate = rate;
    for (int i = 0; i < 2; i++) {
        sim_agent_posts(sim, CALL, "");
        sim_upstream_answers(sim, 0, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}");
        has(sim_agent_hears(sim), "HTTP/1.1 200 ");
    }
    sim_agent_posts(sim, CALL, "");
    has(sim_agent_hears(sim), "HTTP/1.1 429 ");
    has(sim->got, "Retry-After: 3\r\n");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_REQUEST_RATE);
    connects("127.0.0.1:9");
    sim_pass(sim, 3 * SECOND);
    sim_agent_posts(sim, CALL, "");
    has(sim_upstream_hears(sim, sim->upstream_count - 1), "POST /up ");
    end();
}

TEST_MAIN(NULL, NULL)
