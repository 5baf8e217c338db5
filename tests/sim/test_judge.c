/* SPDX-License-Identifier: Apache-2.0 */
/* A large call that is out on the judge, while the worker goes on with others. judge_round stands for the thread. */
#include "sim/sim_check.h"
#include "language/language.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LETTERS 90000
#define SMALL "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{\"pin\":\"1234\"}}}"
#define SMALL_RESULT "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[]}}"
#define LARGE_RESULT "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[]}}"

static char call[LETTERS + 200], heard[2 * LETTERS];

static struct policy *policy_of(const char *rules, uint64_t version)
{
    struct policy_file file = {SPAN_LIT("judge.yaml"), span_text(rules)};
    struct faults faults;
    struct policy *policy;

    faults_init(&faults);
    assert_int_equal(policy_compile(&file, 1, version, &policy, &faults, NULL), CODE_OK);
    return policy;
}

static const char *const one_a_minute =
    "policy: judge\n"
    "rules:\n"
    "  - {id: one, effect: permit, match: {methods: [tools/call], tools: ['*']}, limit: {calls: 1, per: minute, by: [tenant]}}\n";
static const char *const reads_sql =
    "policy: judge\n"
    "rules:\n"
    "  - {id: search, effect: permit, match: {methods: [tools/call], tools: [search]}}\n"
    "  - id: query\n"
    "    effect: permit\n"
    "    match: {methods: [tools/call], tools: [query]}\n"
    "    when: [{arg: sql, sql: {statements: [select], tables: ['*']}}]\n"
    "    limit: {calls: 1, per: minute, by: [tenant]}\n";
static const char *const hides_pin =
    "policy: judge\n"
    "rules:\n"
    "  - {id: all, effect: permit, match: {methods: [tools/call], tools: ['*']}}\n"
    "redact:\n"
    "  - {match: {tools: [search]}, args: [pin]}\n";
static const char *const nothing = "policy: judge\nrules:\n  - {id: no, effect: forbid, match: {tools: ['*']}}\n";

/* Another agent, beside the one before, whom the caller keeps. */
static struct stream *connect_beside(void)
{
    struct stream *before = sim->agent;

    sim->agent = NULL;
    sim->capacity_bytes = sizeof heard;
    sim_connect(sim);
    return before;
}

static void speak_as(struct stream **other)
{
    struct stream *now = sim->agent;

    sim->agent = *other;
    *other = now;
}

static struct pair *newest(void)
{
    return pair_of(LIST_ENTRY(sim->lane.worker.all.prev, struct connection, all));
}

static void large_goes_out(void)
{
    assert_int_equal(judge_open(&sim->lane.judge, sim->lane.gate, NULL), CODE_OK);
    sim->capacity_bytes = sizeof heard;
    sim_connect(sim);
    sim_agent_posts(sim, call, "");
    assert_true(judge_is_out(sim_pair(sim)));
    assert_int_equal(sim->ring->decision_count, 0);
    assert_int_equal(sim->upstream_count, 0);
}

static void comes_back(void)
{
    judge_round(&sim->lane.judge);
    lane_woken(&sim->lane);
    sim_run(sim);
}

static void upstream_has_all(unsigned upstream)
{
    size_t len = 0;

    for (unsigned i = 0; i < 20000 && len < strlen(call); i++) {
        len += (size_t)snprintf(heard + len, sizeof heard - len, "%s", sim_upstream_hears(sim, upstream));
        sim_run(sim);
    }
    assert_non_null(strstr(heard, call));
}

static void others_go_on(void)
{
    struct stream *large;

    large_goes_out();
    large = connect_beside();
    for (unsigned i = 0; i < 3; i++) {
        sim_agent_posts(sim, SMALL, "");
        has(sim_upstream_hears(sim, 0), "\"id\":2");
        sim_upstream_answers(sim, 0, "application/json", SMALL_RESULT);
        has(sim_agent_hears(sim), SMALL_RESULT);
    }
    assert_true(judge_is_out(sim_pair(sim)));
    assert_int_equal(sim->ring->decision_count, 3);
    comes_back();
    assert_int_equal(sim->ring->decision_count, 4);
    upstream_has_all(1);
    speak_as(&large);
    sim_upstream_answers(sim, 1, "application/json", LARGE_RESULT);
    has(sim_agent_hears(sim), LARGE_RESULT);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_RESULT);
    assert_null(sim->lane.judge.pair);
    stream_close(&large);
}

/* 11.13: what takes long is judged there however small it is, and nothing is taken for what was tried before on the worker. */
static void what_takes_long_goes_out(void)
{
    static char text[20000], sql[16001];
    struct stream *slow;

    for (size_t i = 0; i + 2 < sizeof sql; i += 2)
        memcpy(sql + i, ",1", 3);
    (void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"query\","
                   "\"arguments\":{\"sql\":\"SELECT 1 WHERE 1 IN (1%s)\"}}}", sql);
    gate_publish_policy(sim->shared, policy_of(reads_sql, 8));
    assert_int_equal(judge_open(&sim->lane.judge, sim->lane.gate, NULL), CODE_OK);
    sim->capacity_bytes = sizeof heard;
    sim_connect(sim);
    sim_agent_posts(sim, text, "");
    assert_true(judge_is_out(sim_pair(sim)));
    assert_int_equal(sim->ring->decision_count, 0);
    slow = connect_beside();
    sim_agent_posts(sim, SMALL, ""); /* a short one is not even tried there */
    has(sim_upstream_hears(sim, 0), "\"id\":2");
    sim_upstream_answers(sim, 0, "application/json", SMALL_RESULT);
    has(sim_agent_hears(sim), SMALL_RESULT);
    comes_back();
    assert_int_equal(sim->ring->decision_count, 2);
    assert_int_equal(sim_last_decision(sim)->verdict, AUDIT_PERMIT); /* the one token was there for it */
    assert_null(sim->lane.judge.pair);
    sim_agent_posts(sim, text, "");
    comes_back();
    assert_int_equal(sim->ring->decision_count, 3);
    assert_int_equal(sim_last_decision(sim)->reason, REASON_RATE_LIMITED);
    stream_close(&slow);
}

/* So is what a rule's names take long for, as a regex does for a long URI. */
static void long_names_go_out(void)
{
    static char text[9000], uri[8001], rules[20000];
    size_t len = (size_t)snprintf(rules, sizeof rules, "policy: judge\nrules:\n");

    for (int i = 0; i < 100; i++)
        len += (size_t)snprintf(rules + len, sizeof rules - len,
                                "  - {id: r%d, effect: permit, match: {methods: [resources/read], resources: [{regex: '.*%d'}]}}\n",
                                i, i);
    memset(uri, 'x', sizeof uri - 1);
    memcpy(uri, "file:///", 8);
    (void)snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"%s7\"}}", uri);
    gate_publish_policy(sim->shared, policy_of(rules, 8));
    assert_int_equal(judge_open(&sim->lane.judge, sim->lane.gate, NULL), CODE_OK);
    sim->capacity_bytes = sizeof heard;
    sim_connect(sim);
    for (unsigned i = 0; i < 2; i++) { /* what the worker tried is not remembered either */
        sim_agent_posts(sim, text, "");
        assert_true(judge_is_out(sim_pair(sim)));
        comes_back();
        assert_int_equal(sim->ring->decision_count, i + 1);
        assert_int_equal(sim_last_decision(sim)->verdict, AUDIT_PERMIT);
        (void)sim_upstream_hears(sim, 0);
        sim_upstream_answers(sim, 0, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"contents\":[]}}");
        has(sim_agent_hears(sim), "contents");
    }
}

/* What the agent was while its call was out, it is only when it is back; a token that was taken is there again. */
static void agent_leaves_while_out(void)
{
    gate_publish_policy(sim->shared, policy_of(one_a_minute, 8));
    large_goes_out();
    sim_agent_leaves(sim);
    assert_non_null(sim_pair(sim));
    comes_back();
    assert_null(sim_pair(sim));
    assert_null(sim->lane.judge.pair);
    assert_int_equal(sim->upstream_count, 0);
    sim->capacity_bytes = 1 << 20;
    sim_connect(sim);
    if (sim->ring->decision_count == 0) { /* it was gone before its record: else that holds the token */
        sim_agent_posts(sim, SMALL, "");
        assert_int_equal(sim_last_decision(sim)->verdict, AUDIT_PERMIT);
        has(sim_upstream_hears(sim, 0), "\"id\":2");
        sim_upstream_answers(sim, 0, "application/json", SMALL_RESULT);
    }
}

/* As at the end of the gate: it waits for what is out, and nothing goes up. */
static void shut_down_while_out(void)
{
    large_goes_out();
    lane_go(&sim->lane, LANE_DRAINS, 1, -1);
    pair_close(sim_pair(sim), REASON_DRAINING);
    sim_run(sim);
    assert_non_null(sim_pair(sim));
    comes_back();
    assert_null(sim_pair(sim));
    assert_int_equal(sim->upstream_count, 0);
    assert_int_equal(sim->ring->decision_count, 0);
}

/* The call is judged by the version with which its judgement began, which lives as long; the next one by the next. */
static void policy_changes_while_out(void)
{
    large_goes_out();
    gate_publish_policy(sim->shared, policy_of(nothing, 8));
    comes_back();
    /* In the simulation it begins when it is back. */
    assert_int_equal(sim_last_decision(sim)->verdict, AUDIT_DENY);
    gate_publish_policy(sim->shared, policy_of(hides_pin, 9));
    sim_pass(sim, 1000000);
    (void)sim_agent_hears(sim);
    sim_agent_posts(sim, call, "");
    judge_round(&sim->lane.judge);
    gate_publish_policy(sim->shared, policy_of(nothing, 10));
    lane_woken(&sim->lane);
    sim_run(sim);
    assert_int_equal(sim_last_decision(sim)->verdict, AUDIT_PERMIT);
    sim_agent_leaves(sim);
}

static void audit_fails_while_out(void)
{
    large_goes_out();
    sim->ring->is_down = true;
    comes_back();
    has(sim_agent_hears(sim), "The gate cannot record calls");
    assert_null(sim->lane.judge.pair);
    assert_int_equal(sim->upstream_count, 0);
}

/* What others have judged meanwhile is not in its record, and its own is: the parts to redact lie with the judge. */
static void redacts_its_own(void)
{
    struct stream *large;
    char text[LETTERS + 200];

    gate_publish_policy(sim->shared, policy_of(hides_pin, 8));
    (void)snprintf(text, sizeof text, "%s", call);
    memcpy(strstr(text, "\"text\":\"xxxx"), "\"pin\":\"xxxxx", 12);
    assert_int_equal(judge_open(&sim->lane.judge, sim->lane.gate, NULL), CODE_OK);
    sim->capacity_bytes = sizeof heard;
    sim_connect(sim);
    sim_agent_posts(sim, text, "");
    judge_round(&sim->lane.judge);
    sim->ring->is_full = true;
    lane_woken(&sim->lane);
    sim_run(sim);
    large = connect_beside();
    sim->ring->is_full = false;
    sim_agent_posts(sim, SMALL, "");
    lane_woken(&sim->lane);
    sim_run(sim);
    assert_int_equal(sim->ring->decision_count, 2);
    for (unsigned i = 0; i < 2; i++) {
        has_not(sim->ring->decisions[i].arguments, "xxxxx");
        has_not(sim->ring->decisions[i].arguments, "1234");
        has(sim->ring->decisions[i].arguments, "{\"pin\":");
    }
    stream_close(&large);
    sim_agent_leaves(sim);
}

/* Whose connection ends in the line is passed over; the seat goes to who came first. */
static void several_wait(void)
{
    struct stream *first, *second, *third;
    struct pair *gone, *last;

    large_goes_out();
    first = connect_beside();
    sim_agent_posts(sim, call, "");
    gone = newest();
    second = connect_beside();
    sim_agent_posts(sim, call, "");
    third = connect_beside();
    sim_agent_posts(sim, call, "");
    last = newest();
    assert_int_equal(sim->ring->decision_count, 0);
    pair_close(gone, REASON_DRAINING);
    sim_run(sim);
    comes_back();
    assert_int_equal(sim->ring->decision_count, 1);
    assert_true(judge_is_out(sim->lane.judge.pair));
    assert_true(sim->lane.judge.pair != last);
    comes_back();
    assert_true(sim->lane.judge.pair == last && judge_is_out(last));
    comes_back();
    assert_int_equal(sim->ring->decision_count, 3);
    assert_null(sim->lane.judge.pair);
    stream_close(&first);
    stream_close(&second);
    stream_close(&third);
    sim_agent_leaves(sim);
}

static void woken(void *context)
{
    lane_woken(context);
}

/* The thread itself: call after call goes out and comes back, and its end waits for nobody. */
static void by_the_thread(void)
{
    struct judge *judge = &sim->lane.judge;

    assert_int_equal(inbox_init(&sim->lane.inbox, sim->lane.worker.loop, woken, &sim->lane), CODE_OK);
    sim->lane.has_inbox = true;
    assert_int_equal(judge_open(judge, sim->lane.gate, &sim->lane.inbox), CODE_OK);
    assert_int_equal(judge_start(judge, 0, NULL), CODE_OK);
    sim->capacity_bytes = sizeof heard;
    sim_connect(sim);
    for (unsigned i = 0; i < 3; i++) {
        sim_agent_posts(sim, call, "");
        for (unsigned turns = 0; turns < 100000 && sim->ring->decision_count == i; turns++) {
            (void)usleep(100);
            sim_run(sim);
        }
        upstream_has_all(0);
        sim_upstream_answers(sim, 0, "application/json", LARGE_RESULT);
        has(sim_agent_hears(sim), LARGE_RESULT);
    }
    judge_stop(judge);
}

TEST_CASE(test_judge) /* 6.8 */
{
    (void)snprintf(call, sizeof call, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                                      "\"params\":{\"name\":\"search\",\"arguments\":{\"text\":\"%0*d\"}}}", LETTERS, 0);
    memset(strstr(call, "000"), 'x', LETTERS);
    in_every_weather(others_go_on);
    in_every_weather(what_takes_long_goes_out);
    in_every_weather(long_names_go_out);
    in_every_weather(agent_leaves_while_out);
    in_every_weather(shut_down_while_out);
    in_every_weather(policy_changes_while_out);
    in_every_weather(audit_fails_while_out);
    in_every_weather(redacts_its_own);
    in_every_weather(several_wait);
    in_every_weather(by_the_thread);
}

TEST_MAIN(NULL, NULL)
