/* SPDX-License-Identifier: Apache-2.0 */
/* 9.2: a large answer that is out on the judge, as large calls are. judge_round stands for the thread. */
#include "sim/answers_check.h"

#include <unistd.h>

#define LETTERS 90000
static char large[LETTERS + 200], heard[2 * LETTERS];

static void make_large(const char *end)
{
    int len = snprintf(large, sizeof large, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");

    memset(large + len, 'x', LETTERS);
    (void)snprintf(large + len + LETTERS, sizeof large - (size_t)len - LETTERS, "%s\"}]}}", end);
}

static void goes_out(const char *end)
{
    publish(rules);
    assert_int_equal(judge_open(&sim->lane.judge, sim->lane.gate, NULL), CODE_OK);
    sim->capacity_bytes = sizeof heard;
    sim_connect(sim);
    make_large(end);
    sim_agent_posts(sim, CALL("search"), "");
    answers(large);
    for (unsigned i = 0; i < 200000 && !judge_is_out(sim_pair(sim)); i++)
        sim_run(sim);
    assert_true(judge_is_out(sim_pair(sim)));
}

static void comes_back(void)
{
    judge_round(&sim->lane.judge);
    lane_woken(&sim->lane);
    sim_run(sim);
}

static void agent_has(const char *end)
{
    size_t len = 0;

    memset(heard, 0, sizeof heard);

    for (unsigned i = 0; i < 20000 && (len < strlen(end) || strstr(heard, end) == NULL); i++)
        len += (size_t)snprintf(heard + len, sizeof heard - len, "%s", sim_agent_hears(sim));
    assert_non_null(strstr(heard, end));
}

static void large_redacted(void)
{
    goes_out(" PAN7");
    comes_back();
    agent_has("xx " CUT "\"}]}}");
    assert_null(sim->lane.judge.pair);
    ended(OUTCOME_RESULT, REASON_COMPLETED, "redact", "cards");
}

/* Among other answers of a batch, and as an event behind which others wait. */
static void large_in_a_list(void)
{
    static char list[LETTERS + 400];

    publish(rules);
    assert_int_equal(judge_open(&sim->lane.judge, sim->lane.gate, NULL), CODE_OK);
    open_session("2025-03-26");
    make_large(" PAN7");
    (void)snprintf(list, sizeof list, "[{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"content\":[]}},%s]", large);
    sim_agent_posts(sim, "[" CALL("search") ",{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"search\"}}]",
                    session);
    comes_back(); /* several calls are judged there, too */
    (void)sim_upstream_hears(sim, 1);
    sim_upstream_answers(sim, 1, "application/json", list);
    assert_true(judge_is_out(sim_pair(sim)));
    assert_string_equal(sim_agent_hears(sim), "");
    comes_back();
    agent_has("xx " CUT "\"}]}}]");
    assert_null(sim->lane.judge.pair);
}

static void large_in_a_stream(void)
{
    publish(rules);
    assert_int_equal(judge_open(&sim->lane.judge, sim->lane.gate, NULL), CODE_OK);
    sim->route->limits.event_bytes = sizeof large;
    make_large(" PAN7");
    sim_agent_posts(sim, CALL("search"), "");
    stream_begins(0);
    event(0, PROGRESS("before"));
    event(0, large);
    event(0, PROGRESS("PAN7"));
    assert_true(judge_is_out(sim_pair(sim)));
    has_not(sim_agent_hears(sim), "xx");
    comes_back();
    agent_has("data: " PROGRESS(CUT) "\n\n");
    assert_non_null(strstr(heard, "xx " CUT "\"}]}}\n\n"));
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
}

static void large_withheld(void)
{
    goes_out(" secret");
    comes_back();
    has(sim_agent_hears(sim), "\"isError\":true");
    assert_null(sim->lane.judge.pair);
}

static void leaves_while_out(void)
{
    goes_out(" PAN7");
    sim_agent_leaves(sim);
    assert_non_null(sim_pair(sim));
    comes_back();
    assert_null(sim_pair(sim));
    assert_null(sim->lane.judge.pair);
    sim->capacity_bytes = 1 << 20;
    sim_connect(sim);
}

static void woken(void *context)
{
    lane_woken(context);
}

/* The thread itself, with one answer behind the other on one connection. */
static void by_the_thread(void)
{
    struct judge *judge = &sim->lane.judge;

    publish(rules);
    assert_int_equal(inbox_init(&sim->lane.inbox, sim->lane.worker.loop, woken, &sim->lane), CODE_OK);
    sim->lane.has_inbox = true;
    assert_int_equal(judge_open(judge, sim->lane.gate, &sim->lane.inbox), CODE_OK);
    assert_int_equal(judge_start(judge, 0, NULL), CODE_OK);
    sim->capacity_bytes = sizeof heard;
    sim_connect(sim);
    for (unsigned i = 0; i < 3; i++) {
        make_large(i == 1 ? " secret" : " PAN7");
        sim_agent_posts(sim, CALL("search"), "");
        answers(large);
        for (unsigned turns = 0; turns < 100000 && sim->ring->outcome_count == i; turns++) {
            (void)usleep(100);
            sim_run(sim);
        }
        ended(i == 1 ? OUTCOME_REFUSED : OUTCOME_RESULT, i == 1 ? REASON_ANSWER_WITHHELD : REASON_COMPLETED,
              i == 1 ? "withhold" : "redact", i == 1 ? "inside" : "cards");
        (void)sim_agent_hears(sim);
    }
    judge_stop(judge);
}

TEST_CASE(test_large) /* 9.2 */
{
    in_every_weather(large_redacted);
    in_every_weather(large_in_a_list);
    in_every_weather(large_in_a_stream);
    in_every_weather(large_withheld);
    in_every_weather(leaves_while_out);
    in_every_weather(by_the_thread);
}

TEST_MAIN(NULL, NULL)
