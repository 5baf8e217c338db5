/* SPDX-License-Identifier: Apache-2.0 */
/* 2026-07-28 in every weather: cancelling, subscriptions, what answers ask for. */
#include "sim/sim_check.h"

#include "language/language.h"

#include <stdio.h>

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MESSAGE(method, params) "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"" method "\",\"params\":{" params META "}}"
#define CALL MESSAGE("tools/call", "\"name\":\"search\",")
#define LISTEN MESSAGE("subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true},")
#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"complete\",\"content\":[]}}"
#define ACKNOWLEDGED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"notifications\":{}}}"
#define CHANGED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"
#define SAMPLE "\"s\":{\"method\":\"sampling/createMessage\",\"params\":{\"maxTokens\":5}}"
#define ELICIT "\"e\":{\"method\":\"elicitation/create\",\"params\":{}}"
#define ASKS(asks) "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{" asks "}}}"

static void post(const char *json, const char *method, const char *name)
{
    char headers[256];

    (void)snprintf(headers, sizeof headers, "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: %s\r\n%s%s%s", method,
                   name ? "Mcp-Name: " : "", name ? name : "", name ? "\r\n" : "");
    sim_agent_posts(sim, json, headers);
}

static void call(void)
{
    post(CALL, "tools/call", "search");
}

static void stream_begins(unsigned index)
{
    sim_upstream_says(sim, index, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
}

static void event(unsigned index, const char *json)
{
    char text[1024];

    (void)snprintf(text, sizeof text, "event: message\ndata: %s\n\n", json);
    sim_upstream_says(sim, index, text);
}

static void ends(enum audit_outcome outcome, enum reason reason)
{
    assert_int_equal(sim_last_outcome(sim)->outcome, outcome);
    assert_int_equal(sim_last_outcome(sim)->reason, reason);
}

/* Hanging up is how a client of these revisions cancels. */
static void cancels_before_the_answer(void)
{
    call();
    has(sim_upstream_hears(sim, 0), "Mcp-Name: search\r\n");
    sim_agent_leaves(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
    ends(OUTCOME_CANCELLED, REASON_AGENT_GONE);
}

static void cancels_half_an_answer(void)
{
    call();
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{\"jsonrpc\":");
    sim_agent_leaves(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
    ends(OUTCOME_CANCELLED, REASON_AGENT_GONE);
}

static void cancels_a_stream(void)
{
    call();
    stream_begins(0);
    has(sim_agent_hears(sim), "text/event-stream");
    sim_agent_leaves(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
    ends(OUTCOME_CANCELLED, REASON_AGENT_GONE);
}

static void cancels_while_a_question_is_recorded(void)
{
    call();
    sim->holds_audit = true;
    sim_upstream_answers(sim, 0, "application/json", ASKS(SAMPLE));
    assert_string_equal(sim_agent_hears(sim), "");
    sim_agent_leaves(sim);
    assert_true(mem_stream_twin_closed(sim->upstreams[0]));
    ends(OUTCOME_CANCELLED, REASON_AGENT_GONE);
    sim->holds_audit = false;
    sim_run(sim);
}

TEST_CASE(test_cancelling) /* 5.3 */
{
    in_every_weather(cancels_before_the_answer);
    in_every_weather(cancels_half_an_answer);
    in_every_weather(cancels_a_stream);
    in_every_weather(cancels_while_a_question_is_recorded);
}

/* ---- subscriptions ---- */

static void lasts(void)
{
    post(LISTEN, "subscriptions/listen", NULL);
    stream_begins(0);
    event(0, ACKNOWLEDGED);
    has(sim_agent_hears(sim), ACKNOWLEDGED);
    sim_pass(sim, INT64_C(3600000000)); /* an hour without a word */
    event(0, CHANGED);
    has(sim_agent_hears(sim), CHANGED);
    sim_upstream_leaves(sim, 0);
    assert_string_equal(sim_agent_hears(sim), "0\r\n\r\n"); /* which a client takes for a stream that broke, and asks anew */
    ends(OUTCOME_STREAM_ENDED, REASON_STREAM_ENDED);
}

static void ends_in_good_order(void)
{
    const char *text;

    post(LISTEN, "subscriptions/listen", NULL);
    stream_begins(0);
    event(0, ACKNOWLEDGED);
    (void)sim_agent_hears(sim);
    lane_go(&sim->lane, LANE_DRAINS, 1, -1);
    sim_run(sim);
    text = sim_agent_hears(sim);
    has(text, "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"complete\","
              "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":3}}}\n\n");
    has(text, "0\r\n\r\n");
    ends(OUTCOME_STREAM_ENDED, REASON_DRAINING);
    assert_null(sim_pair(sim));
}

static void is_ended_by_the_server(void)
{
    post(LISTEN, "subscriptions/listen", NULL);
    stream_begins(0);
    event(0, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"complete\"}}");
    has(sim_agent_hears(sim), "\"id\":3,\"result\"");
    sim_upstream_leaves(sim, 0);
    ends(OUTCOME_RESULT, REASON_COMPLETED);
}

static const char once[] =
    "policy: sim\nrules:\n"
    "  - {id: p, effect: permit, match: {methods: [subscriptions/listen]}}\n"
    "  - {id: r, effect: permit, match: {methods: [resources/subscribe], resources: ['a:*']}, limit: {calls: 1, per: hour}}\n"
    "  - {id: m, effect: permit, mode: monitor, match: {resources: ['*']}, limit: {calls: 9, per: hour}}\n";

/* What a subscription takes of limits for what it names is spent where it goes up, and nowhere else. */
static void takes_of_limits_once(void)
{
    static const char listen[] = MESSAGE("subscriptions/listen", "\"notifications\":{\"resourceSubscriptions\":[\"a:1\"]},");
    struct policy_file file = {SPAN_LIT("sim.yaml"), span_text(once)};
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    assert_int_equal(policy_compile(&file, 1, 8, &policy, &faults, NULL), CODE_OK);
    gate_publish_policy(sim->shared, policy);
    sim->holds_audit = true;
    post(listen, "subscriptions/listen", NULL);
    assert_true(fake_audit_settle(sim->ring, AUDIT_FAILED));
    lane_woken(&sim->lane);
    sim->holds_audit = false;
    sim_run(sim);
    has(sim_agent_hears(sim), "\"code\":\"unavailable\"");
    post(listen, "subscriptions/listen", NULL);
    has(sim_upstream_hears(sim, 0), "a:1");
    stream_begins(0);
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
    sim_agent_leaves(sim);
    sim_connect(sim);
    post(listen, "subscriptions/listen", NULL);
    has(sim_agent_hears(sim), "\"code\":\"rate_limited\"");
}

TEST_CASE(test_subscriptions) /* 5.3 */
{
    in_every_weather(lasts);
    in_every_weather(ends_in_good_order);
    in_every_weather(is_ended_by_the_server);
    in_every_weather(takes_of_limits_once);
}

/* ---- what answers ask for ---- */

/* Nothing goes down before each question is on disk. */
static void asks_after_its_record(void)
{
    call();
    sim->holds_audit = true;
    sim_upstream_answers(sim, 0, "application/json", ASKS(SAMPLE ",\"t\":{\"method\":\"sampling/createMessage\"}"));
    assert_string_equal(sim_agent_hears(sim), "");
    assert_int_equal(sim->ring->decision_count, 2); /* the call, and the first question; the second comes after it */
    sim->holds_audit = false;
    sim_run(sim);
    has(sim_agent_hears(sim), ASKS(SAMPLE ",\"t\":{\"method\":\"sampling/createMessage\"}"));
    assert_int_equal(sim->ring->decision_count, 3);
    assert_int_equal(sim_last_outcome(sim)->server_requests, 2);
    ends(OUTCOME_RESULT, REASON_COMPLETED);
    call(); /* on the same connection */
    sim_upstream_answers(sim, 0, "application/json", RESULT);
    has(sim_agent_hears(sim), RESULT);
}

static void asks_what_is_denied(void)
{
    const char *text;

    call();
    sim_upstream_answers(sim, 0, "application/json", ASKS(SAMPLE "," ELICIT));
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 200 OK\r\n");
    has(text, "\"id\":3,\"error\":{\"code\":4030,\"message\":\"The server's request is not permitted.\"");
    has_not(text, "inputRequests");
    ends(OUTCOME_REFUSED, REASON_QUESTION_DENIED);
    assert_int_equal(sim_last_outcome(sim)->server_requests, 1);
    assert_int_equal(sim_last_outcome(sim)->server_denied, 1);
}

static void asks_in_a_stream(void)
{
    const char *text;

    call();
    stream_begins(0);
    (void)sim_agent_hears(sim);
    event(0, ASKS(ELICIT));
    text = sim_agent_hears(sim);
    has(text, "\"id\":3,\"error\":{\"code\":4030");
    has_not(text, "inputRequests");
    event(0, RESULT); /* a second answer */
    has_not(sim_agent_hears(sim), "\"result\"");
    ends(OUTCOME_REFUSED, REASON_QUESTION_DENIED);
}

static void asks_while_the_audit_is_down(void)
{
    call();
    sim->ring->is_down = true;
    sim_upstream_answers(sim, 0, "application/json", ASKS(SAMPLE));
    has(sim_agent_hears(sim), "\"error\":{\"code\":5030");
    sim->ring->is_down = false;
}

static void asks_on_the_stream(void)
{
    call();
    stream_begins(0);
    (void)sim_agent_hears(sim);
    event(0, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"sampling/createMessage\",\"params\":{}}");
    has(sim_agent_hears(sim), "\"id\":3,\"error\":{\"code\":5030");
    ends(OUTCOME_REFUSED, REASON_UPSTREAM_UNASKED);
    assert_int_equal(sim->upstream_count, 1); /* and nobody answers it */
}

static void cannot_be_resumed(void)
{
    call();
    stream_begins(0);
    sim_upstream_says(sim, 0, "id: 7\ndata:\n\n");
    sim_upstream_leaves(sim, 0);
    has(sim_agent_hears(sim), "\"id\":3,\"error\"");
    ends(OUTCOME_UPSTREAM_FAILURE, REASON_UPSTREAM_CLOSED);
}

TEST_CASE(test_questions) /* 5.3, 5.23 */
{
    in_every_weather(asks_after_its_record);
    in_every_weather(asks_what_is_denied);
    in_every_weather(asks_in_a_stream);
    in_every_weather(asks_while_the_audit_is_down);
    in_every_weather(asks_on_the_stream);
    in_every_weather(cannot_be_resumed);
}

TEST_MAIN(NULL, NULL)
