/* SPDX-License-Identifier: Apache-2.0 */
/* Endings that leave no row, or that only odd peers reach: each by its reason. */
#include "sim/sim_check.h"

#include <stdio.h>

#define CALL "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{}}}"
#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}"

/* How often connections ended so since `before`. */
static uint64_t since(enum reason reason, uint64_t before)
{
    return reason_counted(reason) - before;
}

static void idle_connection(void)
{
    uint64_t before = reason_counted(REASON_IDLE_TIMEOUT);

    sim_agent_posts(sim, CALL, "");
    sim_upstream_answers(sim, 0, "application/json", RESULT);
    has(sim_agent_hears(sim), RESULT);
    sim_pass(sim, INT64_C(1000) * sim->listen->idle_ms - 1000000);
    assert_non_null(sim_pair(sim));
    sim_pass(sim, 2000000);
    assert_null(sim_pair(sim));
    assert_int_equal(since(REASON_IDLE_TIMEOUT, before), 1);
}

static void closed_before_the_first_byte(void)
{
    uint64_t before = reason_counted(REASON_CLOSED_BEFORE_FIRST_BYTE);

    sim_agent_leaves(sim);
    sim_run(sim);
    assert_null(sim_pair(sim));
    assert_int_equal(since(REASON_CLOSED_BEFORE_FIRST_BYTE, before), 1);
    assert_int_equal(sim->ring->decision_count, 0);
}

static void no_room_in_the_audit(void)
{
    uint64_t before = reason_counted(REASON_AUDIT_FULL);

    sim->ring->is_full = true;
    sim_agent_posts(sim, CALL, "");
    sim_pass(sim, 61000000);
    has(sim_agent_hears(sim), "\"code\":\"unavailable\"");
    assert_int_equal(since(REASON_AUDIT_FULL, before), 1);
    sim->ring->is_full = false;
    lane_woken(&sim->lane);
}

static void encoded_reply(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
                              "Content-Length: 2\r\n\r\n{}");
    has(sim_agent_hears(sim), "HTTP/1.1 200 "); /* 10.22 */
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_ENCODED);
}

static void stream_with_an_end(void)
{
    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                              "id: e1\ndata:\n\n");
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_STREAM_ENDED);
}

static void name_without_addresses(void)
{
    sim->route->upstream.host = "nowhere.invalid";
    sim_agent_posts(sim, CALL, "");
    has(sim_agent_hears(sim), "\"error\"");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_UPSTREAM_FAILURE);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_UNRESOLVED);
    assert_int_equal(sim->upstream_count, 0);
}

/* Sixty-four questions may be open; the next is answered for the agent. */
static void too_many_questions(void)
{
    char question[256];

    sim_agent_posts(sim, CALL, "");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < 65; i++) {
        snprintf(question, sizeof question,
                 "data: {\"jsonrpc\":\"2.0\",\"id\":\"q%d\",\"method\":\"sampling/createMessage\",\"params\":{}}\n\n", i);
        sim_upstream_says(sim, 0, question);
    }
    has_not(sim_agent_hears(sim), "\"q64\"");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_QUESTION_LIMIT);
    assert_int_equal(sim_last_decision(sim)->verdict, AUDIT_DENY);
    sim_upstream_leaves(sim, 0);
}

TEST_CASE(test_endings) /* 1.7, 1.9, 1.13, 1.19 */
{
    static const scene_fn scenes[] = {idle_connection, closed_before_the_first_byte, no_room_in_the_audit, encoded_reply,
                                      stream_with_an_end, name_without_addresses, too_many_questions};

    for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
        in_every_weather(scenes[i]);
}

TEST_MAIN(NULL, NULL)
