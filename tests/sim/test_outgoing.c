/* SPDX-License-Identifier: Apache-2.0 */
/* 8.6: a call waits in CONNECT for the token that goes up with it: behind its record, with a deadline, and with one ending. */
#include "sim/sim_check.h"

#include "os/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CALL "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{}}}"
#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}"
#define S INT64_C(1000000)

static struct outgoing_entry entry = {.value = SPAN_LIT("client-secret")};
static struct lookup_work work;

static void nothing(void *context)
{
    (void)context;
}

static void settled(void *context)
{
    lane_woken(context);
}

/* What fetches is the test. */
static void begin(void)
{
    struct lookup_conf conf = {.work = nothing, .settled = settled, .context = &sim->lane, .types[LOOKUP_OUTGOING] = outgoing_token_type};

    assert_int_equal(lookup_new(&conf, &sim->lane.lookups), CODE_OK);
    sim->route->upstream.outgoing = (struct outgoing){.kind = OUTGOING_CLIENT, .client = "gate", .entries = &entry, .count = 1};
}

static void end(void)
{
    sim_agent_leaves(sim);
    sim->route->upstream.outgoing = (struct outgoing){0};
    lookup_free(&sim->lane.lookups);
}

/* An hour's token, which is that old already: the wall's clock goes on by itself. */
static void put(const char *token, int64_t age_us)
{
    int64_t now_us = clock_wall_us();
    char body[200];
    struct outgoing_token *made;
    struct why why;

    (void)snprintf(body, sizeof body, "{\"access_token\":\"%s\",\"token_type\":\"Bearer\",\"expires_in\":3600}", token);
    assert_int_equal(outgoing_read_answer(&sim->route->upstream.outgoing, span_text(body), now_us - age_us, now_us, &made, &why),
                     CODE_OK);
    lookup_put(sim->lane.lookups, &work.key, made, 100, made->renew_us, made->until_us);
    lookup_work_fini(&work);
    sim_run(sim);
}

static bool is_wanted(void)
{
    return lookup_take(sim->lane.lookups, &work);
}

static void answer_with(unsigned index, const char *token)
{
    char line[100];

    (void)snprintf(line, sizeof line, "\r\nAuthorization: Bearer %s\r\n", token);
    has(sim_upstream_hears(sim, index), line);
    sim_upstream_answers(sim, index, "application/json", RESULT);
    has(sim_agent_hears(sim), RESULT);
}

static void in_order(void)
{
    begin();
    sim->holds_audit = true;
    sim_agent_posts(sim, CALL, "Authorization: Bearer agents\r\n");
    assert_false(is_wanted()); /* not before the record */
    assert_int_equal(sim->upstream_count, 0);
    sim->holds_audit = false;
    sim_run(sim);
    assert_true(is_wanted());
    assert_int_equal(sim->upstream_count, 0);
    put("one", 0);
    answer_with(0, "one");
    sim_agent_posts(sim, CALL, "");
    assert_false(is_wanted());
    answer_with(0, "one");
    put("two", 3000 * S); /* it is to be renewed: it goes up meanwhile, on another connection than the first's */
    sim_agent_posts(sim, CALL, "");
    answer_with(1, "two");
    assert_true(is_wanted());
    put("three", 0);
    sim_agent_posts(sim, CALL, "");
    answer_with(2, "three");
    assert_false(is_wanted());
    assert_int_equal(sim->ring->outcome_count, 4);
    end();
}

static void never(void)
{
    begin();
    sim_agent_posts(sim, CALL, "");
    assert_true(is_wanted());
    sim_pass(sim, 16 * S);
    has(sim_agent_hears(sim), "HTTP/1.1 ");
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_OUTGOING_UNAVAILABLE);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_NOT_SENT);
    assert_int_equal(sim->upstream_count, 0);
    put("late", 0);
    sim_connect(sim);
    sim_agent_posts(sim, CALL, "");
    answer_with(0, "late");
    end();
}

static void refused(void)
{
    begin();
    sim_agent_posts(sim, CALL, "");
    assert_true(is_wanted());
    lookup_fail(sim->lane.lookups, &work.key, REASON_OUTGOING_UNAVAILABLE, clock_wall_us() + 5 * S);
    lookup_work_fini(&work);
    sim_run(sim);
    has(sim_agent_hears(sim), "HTTP/1.1 ");
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_OUTGOING_UNAVAILABLE);
    assert_int_equal(sim->upstream_count, 0);
    end();
}

static void agent_leaves(void)
{
    begin();
    sim_agent_posts(sim, CALL, "");
    assert_true(is_wanted());
    sim_agent_leaves(sim);
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_AGENT_GONE);
    put("late", 0);
    assert_int_equal(sim->upstream_count, 0);
    sim->route->upstream.outgoing = (struct outgoing){0};
    lookup_free(&sim->lane.lookups);
}

/* Whoever does not take it gets another, and not with every call. */
static void unauthorized(void)
{
    begin();
    outgoing_key(&sim->route->upstream.outgoing, entry.value, SPAN_NONE, SPAN_NONE, &work.key);
    put("one", 0); /* nobody has asked for it lately */
    sim_agent_posts(sim, CALL, "");
    has(sim_upstream_hears(sim, 0), "Bearer one");
    sim_upstream_says(sim, 0, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
    has(sim_agent_hears(sim), "HTTP/1.1 ");
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_UNAUTHORIZED);
    assert_true(is_wanted());
    put("two", 0);
    sim_connect(sim);
    sim_agent_posts(sim, CALL, "");
    has(sim_upstream_hears(sim, 1), "Bearer two");
    sim_upstream_says(sim, 1, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
    assert_false(is_wanted());
    end();
}

/* What was found while the record was written may be over when it is on disk. */
static void over_in_between(void)
{
    begin();
    outgoing_key(&sim->route->upstream.outgoing, entry.value, SPAN_NONE, SPAN_NONE, &work.key);
    put("old", 3595 * S - 100000);
    sim->holds_audit = true;
    sim_agent_posts(sim, CALL, "");
    (void)usleep(150000);
    sim->holds_audit = false;
    sim_run(sim);
    assert_true(is_wanted());
    for (unsigned i = 0; i < sim->upstream_count; i++)
        has_not(sim_upstream_hears(sim, i), "old");
    put("new", 0);
    answer_with(sim->upstream_count - 1, "new");
    end();
}

TEST_CASE(test_waits)
{
    in_every_weather(in_order);
    in_every_weather(never);
    in_every_weather(refused);
    in_every_weather(agent_leaves);
    in_every_weather(unauthorized);
    in_every_weather(over_in_between);
}

TEST_MAIN(NULL, NULL)
