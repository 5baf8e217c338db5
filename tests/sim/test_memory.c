/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th allocation of a call fails, for every n: the call ends with an answer or a closed connection, every permit with
 * its outcome, nothing leaks, and nothing goes up that is not on disk. */
#include "sim/sim_check.h"
#include "language/language.h"

#include <stdio.h>

#define CALL \
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"search\",\"arguments\":{\"q\":[1,2,3]}}}"
#define CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"
#define FORBIDDEN \
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"forbidden\",\"arguments\":{}}}"
#define RESULT "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}"
#define SAMPLING "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"sampling/createMessage\",\"params\":{\"a\":1}}"
#define ROOTS "{\"jsonrpc\":\"2.0\",\"id\":\"r1\",\"method\":\"roots/list\"}"
#define LIST "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/list\"}"
#define INITIALIZE \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\"," \
    "\"capabilities\":{},\"clientInfo\":{\"name\":\"a\",\"version\":\"1\"}}}"
#define WELCOME \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}," \
    "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}"

/* An upstream whose connection the gate gave up in between hears nothing more. */
static void answer(const char *text)
{
    unsigned last = sim->upstream_count - 1;

    if (sim->upstream_count == 0 || mem_stream_twin_closed(sim->upstreams[last]))
        return;
    has(sim_upstream_hears(sim, last), "POST /up ");
    sim_upstream_says(sim, last, text);
}

static void json_call(void)
{
    sim_agent_posts(sim, CALL, "X-Correlation-Id: a b\r\n");
    answer("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"jso\r\n2b\r\n"
           "nrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[]}}\r\n0\r\n\r\n");
}

static void expecting_call(void)
{
    sim_agent_posts(sim, CALL, "Expect: 100-continue\r\n");
    answer("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 48\r\n\r\n" RESULT);
}

static void denied_call(void)
{
    sim_agent_posts(sim, FORBIDDEN, "");
}

static void stream_call(void)
{
    sim_agent_posts(sim, CALL, "");
    answer("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
           "id: 1\ndata: " SAMPLING "\n\ndata: " ROOTS "\n\ndata: " RESULT "\n\n");
}

static void session_call(void)
{
    sim_agent_posts(sim, INITIALIZE, "Origin: http://localhost\r\n");
    answer("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nMcp-Session-Id: inner\r\nConnection: close\r\n\r\n"
           "data: " WELCOME "\n\n");
}

/* 9.2: whatever fails, what rules for answers cut out or withhold does not go on. */
static void publish_answers(void)
{
    static const char text[] = "policy: answers\nrules:\n  - {id: all, effect: permit, match: {tools: ['*']}}\n"
                               "  - {id: server, effect: permit, match: {methods: [sampling/createMessage]}}\n"
                               "answers:\n  - {id: cards, effect: redact, when: [{value: '$..*', matches: 'PAN7'}]}\n";
    struct policy_file file = {SPAN_LIT("answers.yaml"), span_text(text)};
    struct faults faults;
    struct policy *policy;

    faults_init(&faults);
    assert_int_equal(policy_compile(&file, 1, 8, &policy, &faults, NULL), CODE_OK);
    gate_publish_policy(sim->shared, policy);
}

static void answer_call(void)
{
    sim_agent_posts(sim, CALL, "");
    answer("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 83\r\n\r\n"
           "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"[\\\"PAN7\\\"]\"}]}}");
}

static void answer_stream(void)
{
    sim_agent_posts(sim, CALL, "");
    answer("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
           "data: {\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"sampling/createMessage\",\"params\":{\"a\":\"PAN7\"}}\n\n"
           "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":{\"PAN7\":1}}}\n\n"
           "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":1,\"message\":\"PAN7\"}}\n\n");
}

static char batch_session[512]; /* a header line: the key and the names of all simulations are the same */

static void make_session(void)
{
    struct mcp_session_scope scope = {.route = SPAN_LIT("shop"), .tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot")};
    struct mcp_session session = {SPAN_LIT("inner"), SPAN_LIT("2025-03-26"), false};
    struct buf id;

    sim = malloc(sizeof *sim);
    assert_non_null(sim);
    sim_init(sim, SIM_PLAIN);
    buf_init(&id, 512);
    assert_int_equal(mcp_session_make(gate_session_key(sim->lane.gate), &scope, &session, &id), CODE_OK);
    (void)snprintf(batch_session, sizeof batch_session, "Mcp-Session-Id: %.*s\r\n", SPAN_ARG(buf_peek(&id)));
    buf_fini(&id);
    sim_fini(sim);
    free(sim);
}

static void batch_as_list(void)
{
    sim_agent_posts(sim, "[" CALL "," LIST "]", batch_session);
    answer("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n[" RESULT "]");
    if (sim->upstream_count > 0)
        sim_upstream_leaves(sim, sim->upstream_count - 1);
}

static void batch_as_events(void)
{
    sim_agent_posts(sim, "[" CALL "," LIST "]", batch_session);
    answer("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
           "id: 1\ndata: [" SAMPLING "," RESULT "]\n\n");
}

static void batch_denied(void)
{
    sim_agent_posts(sim, "[" FORBIDDEN "," LIST "]", batch_session);
}

static void legacy_stream(void)
{
    sim->route->http_sse = sim->route->http_sse_only = true;
    sim_agent_says(sim, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    if (sim->upstream_count > 0 && !mem_stream_twin_closed(sim->upstreams[0]))
        sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                                  "event: endpoint\ndata: /messages\n\nevent: message\ndata: " ROOTS "\n\n");
}

static scene_fn prepare; /* what comes before the faults; NULL: nothing */

static void torture(scene_fn scene, unsigned least)
{
    unsigned answered = 0;
    uint64_t count = 1;

    for (uint64_t nth = 0; nth <= count; nth++) {
        const char *text;

        sim = malloc(sizeof *sim);
        assert_non_null(sim);
        sim_init(sim, nth % 2 ? SIM_PLAIN : SIM_AGAIN);
        sim_connect(sim);
        if (prepare != NULL)
            prepare();
        mem_fail_at(nth == 0 ? UINT64_MAX : nth, 0);
        scene();
        count = nth == 0 ? mem_fail_count() : count;
        mem_fail_at(0, 0);
        sim_run(sim);
        text = sim_agent_hears(sim);
        if (strncmp(text, CONTINUE, sizeof CONTINUE - 1) == 0)
            text += sizeof CONTINUE - 1;
        answered += strncmp(text, "HTTP/1.1 200 ", 13) == 0;
        if (nth == 0 && strncmp(text, "HTTP/1.1 200 ", 13) != 0)
            fail_msg("without a fault: %s", text);
        has_not(text, "PAN7");
        if (text[0] == '\0' && !mem_stream_twin_ended(sim->agent))
            fail_msg("allocation %llu: neither an answer nor the end", (unsigned long long)nth);
        sim_fini(sim);
        free(sim);
    }
    assert_true(count >= least);
    assert_true(answered >= 1 && answered < count + 1); /* some of them do hurt */
}

TEST_CASE(test_json) /* 1.5, 1.26 */
{
    torture(json_call, 8);
    torture(expecting_call, 8);
}

TEST_CASE(test_denied) /* 1.26 */
{
    torture(denied_call, 5);
}

TEST_CASE(test_stream) /* 1.13, 1.26 */
{
    torture(stream_call, 12);
}

TEST_CASE(test_answers) /* 9.2 */
{
    prepare = publish_answers;
    torture(answer_call, 12);
    torture(answer_stream, 16);
    prepare = NULL;
}

TEST_CASE(test_session) /* 1.17, 1.26 */
{
    torture(session_call, 8);
}

TEST_CASE(test_batch) /* 5.4 */
{
    make_session();
    torture(batch_as_list, 12);
    torture(batch_as_events, 12);
    torture(batch_denied, 8);
}

TEST_CASE(test_legacy) /* 5.4 */
{
    torture(legacy_stream, 8);
}

TEST_MAIN(NULL, NULL)
