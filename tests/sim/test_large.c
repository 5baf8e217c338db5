/* SPDX-License-Identifier: Apache-2.0 */
/* Large calls and large answers, which are written from where they lie. */
#include "sim/sim_check.h"

#include <stdio.h>
#include <stdlib.h>

#define LETTERS 90000
#define SMALL "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{}}}"
#define SMALL_RESULT "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[]}}"

static char call[LETTERS + 200], result[LETTERS + 200], wanted[LETTERS + 200];

static void fill(char *text, const char *before, const char *after)
{
    size_t len = strlen(before);

    memcpy(text, before, len);
    memset(text + len, 'x', LETTERS);
    memcpy(text + len + LETTERS, after, strlen(after) + 1);
}

static void hears_all(char *heard, size_t size, unsigned upstream, bool is_agent, size_t least)
{
    size_t len = 0;

    for (unsigned i = 0; i < 20000 && len < least; i++) {
        const char *text = is_agent ? sim_agent_hears(sim) : sim_upstream_hears(sim, upstream);

        len += (size_t)snprintf(heard + len, size - len, "%s", text);
        sim_run(sim);
    }
    assert_true(len >= least);
}

static char heard[2 * LETTERS];

/* To an upstream that takes some of it at a time. */
static void post_large(void)
{
    sim->capacity_bytes = sizeof heard;
    sim_connect(sim);
    sim->capacity_bytes = 20000;
    sim_agent_posts(sim, call, "");
}

static void there_and_back(void)
{
    post_large();
    hears_all(heard, sizeof heard, 0, false, LETTERS + 60);
    has(heard, "\"arguments\":{\"text\":\"xxxx");
    assert_non_null(strstr(heard, wanted + 40 + LETTERS / 2)); /* canonical to its end */
    sim_upstream_answers(sim, 0, "application/json", SMALL_RESULT);
    (void)sim_agent_hears(sim);
}

/* A reply in pieces becomes canonical where it was collected, and goes down from there. */
static void large_answer(void)
{
    char head[128];

    sim->capacity_bytes = 30000;
    sim_connect(sim);
    sim_agent_posts(sim, SMALL, "");
    (void)sim_upstream_hears(sim, 0);
    (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                   strlen(result));
    sim_upstream_says(sim, 0, head);
    for (size_t at = 0; at < strlen(result); at += 20000) {
        char piece[20001] = "";

        (void)snprintf(piece, sizeof piece, "%.20000s", result + at);
        sim_upstream_says(sim, 0, piece);
    }
    hears_all(heard, sizeof heard, 0, true, LETTERS + 100);
    has(heard, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"text\":\"xxxx");
    has(heard, "xx\",\"n\":[1,2]}}");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_RESULT);
    sim_agent_posts(sim, SMALL, "");
    has(sim_upstream_hears(sim, 0), "\"id\":2");
    sim_upstream_answers(sim, 0, "application/json", SMALL_RESULT);
    has(sim_agent_hears(sim), SMALL_RESULT);
}

/* Who answers before it has read all is heard, and its connection is not used again: it waits for bytes that never come. */
static void answered_early(void)
{
    post_large();
    assert_true(leg_unsent(&sim_pair(sim)->back) > 0);
    sim_upstream_answers(sim, 0, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}");
    has(sim_agent_hears(sim), "\"id\":1,\"result\"");
    assert_int_equal(leg_unsent(&sim_pair(sim)->back), 0);
    sim_agent_posts(sim, SMALL, "");
    assert_int_equal(sim->upstream_count, 2);
    has(sim_upstream_hears(sim, 1), "\"id\":2");
    sim_upstream_answers(sim, 1, "application/json", SMALL_RESULT);
    has(sim_agent_hears(sim), SMALL_RESULT);
}

/* Nor where it takes the rest while the agent is slow to read the answer: what it took it for nobody knows. */
static void answered_early_to_a_slow_agent(void)
{
    char head[128];

    sim->capacity_bytes = 40000;
    sim_connect(sim);
    for (size_t at = 0; at < strlen(call); at += 20000) {
        char piece[20001] = "";

        (void)snprintf(head, sizeof head, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                       "Content-Length: %zu\r\n\r\n", strlen(call));
        if (at == 0)
            sim_agent_says(sim, head);
        (void)snprintf(piece, sizeof piece, "%.20000s", call + at);
        sim_agent_says(sim, piece);
    }
    assert_true(leg_unsent(&sim_pair(sim)->back) > 0);
    strstr(result, "\"id\": ")[6] = '1';
    (void)snprintf(head, sizeof head, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                   strlen(result));
    sim_upstream_says(sim, 0, head);
    for (size_t at = 0; at < strlen(result); at += 20000) {
        char piece[20001] = "";

        (void)snprintf(piece, sizeof piece, "%.20000s", result + at);
        sim_upstream_says(sim, 0, piece);
    }
    hears_all(heard, sizeof heard, 0, false, LETTERS + 60);
    assert_int_equal(leg_unsent(&sim_pair(sim)->back), 0);
    hears_all(heard, sizeof heard, 0, true, LETTERS + 100);
    has(heard, "xx\",\"n\":[1,2]}}");
    strstr(result, "\"id\": ")[6] = '2';
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
}

static void agent_leaves_within(void)
{
    post_large();
    sim_agent_leaves(sim);
    assert_null(sim_pair(sim));
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_CANCELLED);
}

TEST_CASE(test_large) /* 6.8 */
{
    fill(call, "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"tools/call\", "
               "\"params\": {\"name\": \"search\", \"arguments\": {\"text\": \"", "\"}}}");
    fill(wanted, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                 "\"params\":{\"name\":\"search\",\"arguments\":{\"text\":\"", "\"}}}");
    fill(result, "{\"jsonrpc\": \"2.0\", \"id\": 2, \"result\": {\"text\": \"", "\", \"n\": [1, 2]}}");
    in_every_weather(answered_early);
    in_every_weather(answered_early_to_a_slow_agent);
    in_every_weather(agent_leaves_within);
    in_every_weather(there_and_back);
    in_every_weather(large_answer);
}

TEST_MAIN(NULL, NULL)
