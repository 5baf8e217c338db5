/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of 2025-03-26 in every weather: each member judged and recorded, one denial denies all, each answer to its call. */
#include "sim/sim_check.h"

#include "language/language.h"
#include "state/approvals.h"

#include <stdio.h>

#define INITIALIZE(revision) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"" revision "\"," \
    "\"capabilities\":{},\"clientInfo\":{\"name\":\"a\",\"version\":\"1\"}}}"
#define WELCOME(revision) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"" revision "\",\"capabilities\":{}," \
    "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}"
#define CALL(id, tool) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool "\",\"arguments\":{}}}"
#define LIST(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/list\"}"
#define CANCEL "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}"
#define RESULT(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"content\":[]}}"
#define TOOLS(id, tools) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"tools\":[" tools "]}}"
#define PROGRESS "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1}}"
#define SAMPLING "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"sampling/createMessage\",\"params\":{}}"
#define SEARCH "{\"name\":\"search\",\"inputSchema\":{}}"
#define FORBIDDEN "{\"name\":\"forbidden\",\"inputSchema\":{}}"

static char session[1024];

static void open_session(const char *initialize, const char *welcome)
{
    const char *at;
    size_t len;

    sim_agent_posts(sim, initialize, "");
    (void)sim_upstream_hears(sim, 0);
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: inner\r\n"
                              "Connection: close\r\n\r\ndata: ");
    sim_upstream_says(sim, 0, welcome);
    sim_upstream_says(sim, 0, "\n\n");
    at = strstr(sim_agent_hears(sim), "Mcp-Session-Id: inner.");
    assert_non_null(at);
    len = strcspn(at, "\r");
    assert_true(len < sizeof session - 3);
    memcpy(session, at, len);
    memcpy(session + len, "\r\n", 3);
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
}

static void old_session(void)
{
    open_session(INITIALIZE("2025-03-26"), WELCOME("2025-03-26"));
}

static void stream_begins(unsigned index)
{
    sim_upstream_says(sim, index, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    (void)sim_agent_hears(sim);
}

static void event(unsigned index, const char *json)
{
    sim_upstream_says(sim, index, "data: ");
    sim_upstream_says(sim, index, json);
    sim_upstream_says(sim, index, "\n\n");
}

/* The newest rows, each with one outcome of this kind. */
static void ended(unsigned count, enum audit_outcome outcome)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(sim->ring->decisions[sim->ring->decision_count - 1 - i].outcomes, 1);
        assert_int_equal(sim->ring->outcomes[sim->ring->outcome_count - 1 - i].outcome, outcome);
    }
}

static void answered_by_a_list(void)
{
    unsigned before;
    const char *text;

    old_session();
    before = sim->ring->decision_count;
    sim->holds_audit = true;
    sim_agent_posts(sim, " [ " CALL("2", "search") " , " LIST("3") "," CANCEL "]", session);
    assert_int_equal(sim->ring->decision_count - before, 3); /* one record each */
    if (sim->upstream_count > 1)
        assert_string_equal(sim_upstream_hears(sim, 1), ""); /* and not a byte before all are on disk */
    sim->holds_audit = false;
    sim_run(sim);
    has(sim_upstream_hears(sim, 1), "\r\n\r\n[" CALL("2", "search") "," LIST("3") "," CANCEL "]");
    sim_upstream_answers(sim, 1, "application/json", "[" TOOLS("3", SEARCH "," FORBIDDEN) "," RESULT("2") "]");
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 200 ");
    has(text, "\r\n\r\n[" TOOLS("3", SEARCH) "," RESULT("2") "]"); /* the list is filtered: its call is known */
    assert_int_equal(sim->ring->outcome_count, before + 3);
    ended(1, OUTCOME_ACCEPTED);
    assert_int_equal(sim->ring->outcomes[sim->ring->outcome_count - 2].outcome, OUTCOME_RESULT);
    assert_int_equal(sim->ring->outcomes[sim->ring->outcome_count - 3].outcome, OUTCOME_RESULT);
}

static void one_denial_denies_all(void)
{
    const char *text;
    unsigned before;

    old_session();
    before = sim->ring->decision_count;
    sim_agent_posts(sim, "[" CALL("2", "search") "," CALL("3", "forbidden") "," CANCEL "]", session);
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 200 ");
    has(text, "\r\n\r\n[{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"isError\":true");
    has(text, ",{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"isError\":true");
    has(text, "Try another tool.");
    assert_int_equal(sim->upstream_count, 1);
    assert_int_equal(sim->ring->decision_count - before, 3);
    assert_int_equal(sim->ring->decisions[before].reason, REASON_BATCH_DENIED);
    assert_int_equal(sim->ring->decisions[before + 1].reason, REASON_FORBIDDEN);
    assert_int_equal(sim->ring->decisions[before + 2].reason, REASON_BATCH_DENIED);
    sim_agent_posts(sim, "[" CALL("2", "search") "," CALL("3", "forbidden") "]", "Accept: text/event-stream\r\n");
    has(sim_agent_hears(sim), "HTTP/1.1 400 "); /* without a session nothing was negotiated */
}

static void denied_as_events(void)
{
    char headers[1200];
    const char *text;

    old_session();
    (void)snprintf(headers, sizeof headers, "%sAccept: text/event-stream\r\n", session);
    sim_agent_posts(sim, "[" CALL("2", "forbidden") "," CALL("3", "search") "]", headers);
    text = sim_agent_hears(sim);
    has(text, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,");
    has(text, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":3,");
}

/* What is told of a message that could not be read stands behind one that is told nothing. */
static void malformed_behind_a_notification(void)
{
    old_session();
    sim_agent_posts(sim, "[" CANCEL ",{\"jsonrpc\":\"2.0\",\"id\":5}," CANCEL ",7]", session);
    has(sim_agent_hears(sim), "\r\n\r\n[{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":");
}

TEST_CASE(test_batch) /* 5.4 */
{
    in_every_weather(answered_by_a_list);
    in_every_weather(one_denial_denies_all);
    in_every_weather(denied_as_events);
    in_every_weather(malformed_behind_a_notification);
}

/* ---- what is no batch ---- */

static void refused(const char *body, const char *part, enum reason reason)
{
    const char *text;

    sim_agent_posts(sim, body, session);
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 400 ");
    has(text, part);
    assert_int_equal(sim_last_decision(sim)->reason, reason);
    assert_int_equal(sim->upstream_count, 1);
}

static void refused_ones(void)
{
    char many[8192] = "[";

    old_session();
    refused("[]", "1 to 64", REASON_BATCH_LIMIT);
    for (int i = 0; i < 65; i++)
        (void)snprintf(many + strlen(many), sizeof many - strlen(many),
                       "%s{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}", i > 0 ? "," : "", i);
    (void)snprintf(many + strlen(many), sizeof many - strlen(many), "]");
    refused(many, "1 to 64", REASON_BATCH_LIMIT);
    refused("[" CALL("2", "search") "," INITIALIZE("2025-03-26") "]", "initialize", REASON_BATCH_MEMBER);
    refused("[" LIST("2") "," CALL("2", "search") "]", "nor one id twice", REASON_BATCH_MEMBER);
    refused("[" LIST("2") ",{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"params\":{\"name\":\"search\"}}]", "\"id\":null",
            REASON_ENVELOPE); /* a call hidden as a notification */
    refused("[[" CALL("2", "search") "]]", "-32600", REASON_BATCH); /* nor in a batch within a batch */
    refused("[" LIST("2") ",{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"search\"},"
            "\"Method\":\"ping\"}]", "-32600", REASON_JSON_DUPLICATE);
    sim_agent_posts(sim, "[" LIST("2") ",{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}]", session); /* answers nobody's question */
    has(sim_agent_hears(sim), "\"id\":2,\"error\":{\"code\":4030");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_ANSWER_UNASKED);
    assert_int_equal(sim->upstream_count, 1);
}

/* A message of the later era carries its own version, and has no place in a session of the former. */
static void later_era(void)
{
    old_session();
    refused("[" LIST("2") ",{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":{\"_meta\":"
            "{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}]",
            "\"id\":3,\"error\":{\"code\":-320", REASON_HEADER_MISMATCH);
}

static void other_revisions(void)
{
    open_session(INITIALIZE("2025-06-18"), WELCOME("2025-06-18"));
    refused("[" CALL("2", "search") "]", "Batches are not accepted", REASON_BATCH);
}

/* The route has the session's revision no more. */
static void revision_withdrawn(void)
{
    static const char *const others[] = {"2025-06-18", NULL};

    old_session();
    sim->route->revisions = others;
    refused("[" CALL("2", "search") "]", "Batches are not accepted", REASON_BATCH);
}

static void another_version_in_the_header(void)
{
    char headers[1200];

    old_session();
    (void)snprintf(headers, sizeof headers, "%sMCP-Protocol-Version: 2025-06-18\r\n", session);
    sim_agent_posts(sim, "[" CALL("2", "search") "]", headers);
    has(sim_agent_hears(sim), "HTTP/1.1 400 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_BATCH);
}

TEST_CASE(test_refused) /* 5.4, 5.23 */
{
    in_every_weather(refused_ones);
    in_every_weather(later_era);
    in_every_weather(other_revisions);
    in_every_weather(revision_withdrawn);
    in_every_weather(another_version_in_the_header);
}

/* ---- what servers answer ---- */

static void begin_two(void)
{
    old_session();
    sim_agent_posts(sim, "[" CALL("2", "search") "," CALL("3", "search") "]", session);
    (void)sim_upstream_hears(sim, 1);
}

static void answered_by_events(void)
{
    const char *text;

    begin_two();
    stream_begins(1);
    event(1, PROGRESS);
    has(sim_agent_hears(sim), "data: " PROGRESS "\n\n");
    sim_upstream_says(sim, 1, "id: e7\ndata: [" PROGRESS "," SAMPLING "," RESULT("3") "]\n\n");
    text = sim_agent_hears(sim);
    has(text, "event: message\ndata: " PROGRESS "\n\n");
    has(text, "event: message\ndata: " SAMPLING "\n\n");
    has(text, "event: message\nid: e7\ndata: " RESULT("3") "\n\n"); /* behind all that the event holds */
    assert_string_equal(sim_last_decision(sim)->method, "sampling/createMessage");
    event(1, RESULT("2"));
    has(sim_agent_hears(sim), "data: " RESULT("2") "\n\n");
    sim_upstream_leaves(sim, 1);
    has(sim_agent_hears(sim), "0\r\n\r\n");
    assert_int_equal(sim->ring->outcome_count, sim->ring->decision_count - 1);
    assert_int_equal(sim->ring->outcomes[sim->ring->outcome_count - 1].outcome, OUTCOME_RESULT);
    assert_int_equal(sim->ring->outcomes[sim->ring->outcome_count - 2].outcome, OUTCOME_RESULT);
}

#define ANSWER "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"result\":{}}"

/* An agent's answer among calls finds its question; where the batch is denied, it may be given again, and then once. */
static void holds_an_answer(void)
{
    begin_two();
    stream_begins(1);
    event(1, SAMPLING);
    has(sim_agent_hears(sim), SAMPLING);
    sim_upstream_says(sim, 1, "data: [" RESULT("2") "," RESULT("3") "]\n\n");
    sim_upstream_leaves(sim, 1);
    (void)sim_agent_hears(sim);
    sim_agent_posts(sim, "[" ANSWER "," CALL("4", "forbidden") "]", session);
    has(sim_agent_hears(sim), "Try another tool.");
    assert_int_equal(sim->upstream_count, 2);
    sim_agent_posts(sim, "[" ANSWER "," CALL("5", "search") "]", session);
    has(sim_upstream_hears(sim, 2), "[" ANSWER "," CALL("5", "search") "]");
    sim_upstream_answers(sim, 2, "application/json", RESULT("5")); /* one answer is not always in an array */
    has(sim_agent_hears(sim), "\r\n\r\n[" RESULT("5") "]");
    sim_agent_posts(sim, "[" ANSWER "]", session);
    has(sim_agent_hears(sim), "HTTP/1.1 403 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_ANSWER_UNASKED);
}

static void stream_breaks(const char *json)
{
    const char *text;

    begin_two();
    stream_begins(1);
    event(1, RESULT("2"));
    has(sim_agent_hears(sim), RESULT("2"));
    event(1, json);
    text = sim_agent_hears(sim);
    has(text, "\"id\":3,\"error\"");
    has(text, "0\r\n\r\n");
    assert_int_equal(sim->ring->outcomes[sim->ring->outcome_count - 1].outcome, OUTCOME_REFUSED);
}

static void answered_twice(void)
{
    stream_breaks(RESULT("2"));
}

static void answered_unasked(void)
{
    stream_breaks("[" RESULT("4") "]");
}

static void ends_too_early(void)
{
    const char *text;

    begin_two();
    stream_begins(1);
    event(1, RESULT("2"));
    sim_upstream_leaves(sim, 1);
    text = sim_agent_hears(sim);
    has(text, RESULT("2"));
    has(text, "\"id\":3,\"error\"");
    assert_int_equal(sim->ring->outcomes[sim->ring->outcome_count - 2].outcome, OUTCOME_RESULT);
    assert_int_equal(sim->ring->outcomes[sim->ring->outcome_count - 1].outcome, OUTCOME_UPSTREAM_FAILURE);
}

static void list_lacks_one(void)
{
    begin_two();
    sim_upstream_answers(sim, 1, "application/json", "[" RESULT("3") "]");
    has(sim_agent_hears(sim), "\r\n\r\n[" RESULT("3") ",{\"jsonrpc\":\"2.0\",\"id\":2,\"error\"");
    assert_int_equal(sim->ring->outcomes[sim->ring->outcome_count - 2].outcome, OUTCOME_UPSTREAM_FAILURE);
    assert_int_equal(sim->ring->outcomes[sim->ring->outcome_count - 1].outcome, OUTCOME_RESULT);
}

static void list_holds_what_nobody_asked(void)
{
    begin_two();
    sim_upstream_answers(sim, 1, "application/json", "[" RESULT("3") "," RESULT("2") "," RESULT("2") "]");
    has(sim_agent_hears(sim), "HTTP/1.1 200 ");
    ended(2, OUTCOME_REFUSED);
}

static void agent_leaves(void)
{
    begin_two();
    sim_agent_leaves(sim);
    ended(2, OUTCOME_CANCELLED);
}

static void nobody_there(void)
{
    old_session();
    sim->refuses_dials = true;
    sim_agent_posts(sim, "[" CALL("2", "search") "," CALL("3", "search") "]", session);
    has(sim_agent_hears(sim), "HTTP/1.1 502 ");
    ended(2, OUTCOME_UPSTREAM_FAILURE);
}

static void audit_fails(void)
{
    old_session();
    sim->holds_audit = true;
    sim_agent_posts(sim, "[" CALL("2", "search") "," CALL("3", "search") "]", session);
    assert_true(fake_audit_settle(sim->ring, AUDIT_FAILED));
    lane_woken(&sim->lane);
    sim_run(sim);
    has(sim_agent_hears(sim), "\"id\":3,");
    if (sim->upstream_count > 1)
        assert_string_equal(sim_upstream_hears(sim, 1), "");
}

/* There is room for the first record alone; until there is more the audit has forgotten what became of it. */
static unsigned half_recorded(void)
{
    unsigned before;

    old_session();
    before = sim->ring->decision_count;
    sim->ring->fills_at = before + 1;
    sim_agent_posts(sim, "[" CALL("2", "search") "," CALL("3", "search") "]", session);
    assert_int_equal(sim->ring->decision_count - before, 1);
    sim_pass(sim, 1000000);
    sim->ring->forgotten = before + 1;
    return before;
}

static void waits_for_room(void)
{
    (void)half_recorded();
    if (sim->upstream_count > 1)
        assert_string_equal(sim_upstream_hears(sim, 1), "");
    sim->ring->fills_at = 0;
    lane_woken(&sim->lane);
    sim_run(sim);
    has(sim_upstream_hears(sim, 1), "\r\n\r\n[" CALL("2", "search") "," CALL("3", "search") "]");
    sim_upstream_answers(sim, 1, "application/json", "[" RESULT("3") "," RESULT("2") "]");
    has(sim_agent_hears(sim), "[" RESULT("3") "," RESULT("2") "]");
    ended(2, OUTCOME_RESULT);
}

static void finds_no_room(void)
{
    unsigned before = half_recorded();

    sim_pass(sim, 61000000);
    has(sim_agent_hears(sim), "\"id\":3,");
    assert_int_equal(sim->ring->decision_count - before, 1);
    ended(1, OUTCOME_NOT_SENT);
    sim->ring->fills_at = 0;
    lane_woken(&sim->lane);
}

#define LETTERS 70000

/* All calls of a large body are judged beside the worker, and are denied together there, too. 6.8 */
static void judged_beside(void)
{
    static char batch[LETTERS + 400];
    size_t len;

    old_session();
    assert_int_equal(judge_open(&sim->lane.judge, sim->lane.gate, NULL), CODE_OK);
    len = (size_t)snprintf(batch, sizeof batch, "[" CALL("2", "search") ","
                           "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":"
                           "{\"name\":\"forbidden\",\"arguments\":{\"text\":\"");
    memset(batch + len, 'x', LETTERS);
    memcpy(batch + len + LETTERS, "\"}}}]", sizeof "\"}}}]");
    sim_agent_posts(sim, batch, session);
    assert_true(judge_is_out(sim_pair(sim)));
    judge_round(&sim->lane.judge);
    lane_woken(&sim->lane);
    sim_run(sim);
    assert_int_equal(sim->ring->decision_count, 3);
    assert_int_equal(sim->ring->decisions[1].reason, REASON_BATCH_DENIED);
    assert_int_equal(sim->ring->decisions[2].reason, REASON_FORBIDDEN);
    assert_null(sim->lane.judge.pair);
    sim_agent_leaves(sim);
}

static const char holds_mail[] =
    "policy: batch\n"
    "rules:\n"
    "  - {id: mail, effect: require_approval, match: {methods: [tools/call], tools: [mail]}}\n"
    "  - id: query\n"
    "    effect: permit\n"
    "    match: {methods: [tools/call], tools: [query]}\n"
    "    when: [{arg: sql, sql: {statements: [select], tables: ['*']}}]\n";

static void post_beside(const char *body)
{
    sim_agent_posts(sim, body, session);
    assert_true(judge_is_out(sim_pair(sim)));
    judge_round(&sim->lane.judge);
    lane_woken(&sim->lane);
    sim_run(sim);
}

/* Beside a call that takes long a person is asked about another, and what he approved is taken once, and not given back in between.
 * 11.13 */
static void held_beside_what_takes_long(void)
{
    static char batch[17000], sql[16001], tenant[64], principal[64];
    struct policy_file file = {SPAN_LIT("batch.yaml"), span_text(holds_mail)};
    struct approval_answer answer = {.number = 17, .is_granted = true};
    struct approval_ask *ask;
    struct policy *policy;
    struct faults faults;

    for (size_t i = 0; i + 2 < sizeof sql; i += 2)
        memcpy(sql + i, ",1", 3);
    (void)snprintf(batch, sizeof batch, "[" CALL("2", "mail") ",{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\","
                   "\"params\":{\"name\":\"query\",\"arguments\":{\"sql\":\"SELECT 1 WHERE 1 IN (1%s)\"}}}]", sql);
    old_session();
    faults_init(&faults);
    assert_int_equal(policy_compile(&file, 1, 8, &policy, &faults, NULL), CODE_OK);
    gate_publish_policy(sim->shared, policy);
    assert_int_equal(judge_open(&sim->lane.judge, sim->lane.gate, NULL), CODE_OK);
    post_beside(batch);
    has(sim_agent_hears(sim), "approvals show --decision");
    assert_int_equal(sim->ring->decisions[1].verdict, AUDIT_HOLD);
    ask = approvals_next_ask(gate_approvals(sim->shared));
    assert_non_null(ask);
    memcpy(answer.digest, ask->digest, DIGEST_BYTES);
    (void)snprintf(tenant, sizeof tenant, "%.*s", SPAN_ARG(ask->tenant));
    (void)snprintf(principal, sizeof principal, "%.*s", SPAN_ARG(ask->principal));
    answer.tenant = span_text(tenant);
    answer.principal = span_text(principal);
    answer.time_us = ask->asked_us + INT64_C(3600000000);
    approval_ask_free(&ask);
    assert_int_equal(approvals_answer(gate_approvals(sim->shared), &answer), CODE_OK);
    post_beside(batch);
    assert_int_equal(sim->ring->decision_count, 5);
    assert_int_equal(sim->ring->decisions[3].verdict, AUDIT_PERMIT);
    assert_int_equal(sim->ring->decisions[4].verdict, AUDIT_PERMIT);
    sim_agent_leaves(sim);
}

TEST_CASE(test_answers) /* 5.4, 5.23 */
{
    in_every_weather(judged_beside);
    in_every_weather(held_beside_what_takes_long);
    in_every_weather(answered_by_events);
    in_every_weather(holds_an_answer);
    in_every_weather(answered_twice);
    in_every_weather(answered_unasked);
    in_every_weather(ends_too_early);
    in_every_weather(list_lacks_one);
    in_every_weather(list_holds_what_nobody_asked);
    in_every_weather(agent_leaves);
    in_every_weather(nobody_there);
    in_every_weather(audit_fails);
    in_every_weather(waits_for_room);
    in_every_weather(finds_no_room);
}

TEST_MAIN(NULL, NULL)
