/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP+SSE of 2024-11-05 in every weather: the endpoint stays here, answers belong to calls, denials come on the stream. */
#include "sim/sim_check.h"

#include <stdio.h>

#define CALL(id, tool) \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool "\",\"arguments\":{}}}"
#define LIST "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/list\"}"
#define RESULT(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"content\":[]}}"
#define SEARCH "{\"name\":\"search\",\"inputSchema\":{}}"
#define FORBIDDEN "{\"name\":\"forbidden\",\"inputSchema\":{}}"
#define TOOLS(tools) "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"tools\":[" tools "]}}"
#define SAMPLING "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"sampling/createMessage\",\"params\":{}}"

static char uri[1024];     /* for POSTs, as the agent has it */
static struct stream *get; /* the agent's end of the stream, while `sim->agent` is that of its POSTs */

static const char *stream_hears(void)
{
    struct stream *posts = sim->agent;
    const char *text;

    sim->agent = get;
    text = sim_agent_hears(sim);
    sim->agent = posts;
    return text;
}

static void get_stream(void)
{
    sim_agent_says(sim, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n");
    has(sim_upstream_hears(sim, 0), "GET /up HTTP/1.1\r\n");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
}

static void open_session(void)
{
    const char *text, *at;
    size_t len;

    sim->route->http_sse = sim->route->http_sse_only = true;
    get_stream();
    assert_string_equal(sim_agent_hears(sim), ""); /* what its first event is, is not known yet */
    sim_upstream_says(sim, 0, "event: endpoint\ndata: /messages/?session_id=inner\n\n");
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 200 ");
    has(text, "event: endpoint\ndata: /mcp?callgate=/messages/?session_id=inner.http+sse.");
    at = strstr(text, "data: ") + 6;
    len = strcspn(at, "\n");
    assert_true(len < sizeof uri);
    memcpy(uri, at, len);
    uri[len] = '\0';
    get = sim->agent;
    sim->agent = NULL;
    sim_connect(sim);
}

static void post_to(const char *target, const char *json)
{
    char head[2048];

    (void)snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                   target, strlen(json));
    sim_agent_says(sim, head);
    sim_agent_says(sim, json);
}

/* Upstream connection 1 is that of the POSTs. */
static void post(const char *json)
{
    post_to(uri, json);
}

static void accepted(const char *json)
{
    const char *text;

    post(json);
    text = sim_upstream_hears(sim, 1);
    has(text, "POST /messages/?session_id=inner HTTP/1.1\r\n");
    has(text, json);
    sim_upstream_says(sim, 1, "HTTP/1.1 202 Accepted\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\nAccepted");
    has(sim_agent_hears(sim), "HTTP/1.1 202 ");
}

static void event(const char *json)
{
    sim_upstream_says(sim, 0, "event: message\ndata: ");
    sim_upstream_says(sim, 0, json);
    sim_upstream_says(sim, 0, "\n\n");
}

static void finish(void)
{
    stream_close(&get);
    sim_run(sim);
}

static void answered(void)
{
    open_session();
    accepted(CALL("4", "search"));
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_ACCEPTED);
    event(RESULT("4"));
    has(stream_hears(), "event: message\ndata: " RESULT("4") "\n\n");
    accepted(LIST);
    event(TOOLS(SEARCH "," FORBIDDEN));
    has(stream_hears(), TOOLS(SEARCH)); /* its call is known: filtered */
    accepted(CALL("3", "search"));
    event(SAMPLING); /* under an id that a call has, too */
    has(stream_hears(), SAMPLING);
    accepted("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
    event(RESULT("3"));
    has(stream_hears(), RESULT("3"));
    finish();
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_CANCELLED);
}

static void denied(void)
{
    const char *text;

    open_session();
    post(CALL("4", "forbidden"));
    has(sim_agent_hears(sim), "HTTP/1.1 202 ");
    text = stream_hears();
    has(text, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"isError\":true");
    has(text, "Try another tool.");
    assert_int_equal(sim->upstream_count, 1); /* nothing went up */
    post("{\"jsonrpc\":\"2.0\",\"id\":\"unasked\",\"result\":{}}");
    has(sim_agent_hears(sim), "HTTP/1.1 403 ");
    sim->refuses_dials = true;
    post(CALL("6", "search"));
    has(sim_agent_hears(sim), "HTTP/1.1 202 ");
    has(stream_hears(), "\"id\":6,");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_UPSTREAM_FAILURE);
    post(CALL("6", "search")); /* its id is free again */
    has(stream_hears(), "\"id\":6,");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_UPSTREAM_FAILURE);
    finish();
    post(CALL("4", "forbidden"));
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 404 "); /* the stream is gone */
    has(text, "Try another tool.");
}

/* What a server may not ask is refused where its agents answer: at its endpoint. */
static void question_is_denied(void)
{
    const char *text;

    open_session();
    event("{\"jsonrpc\":\"2.0\",\"id\":\"r1\",\"method\":\"roots/list\"}");
    has_not(stream_hears(), "roots/list");
    assert_int_equal(sim->upstream_count, 2);
    text = sim_upstream_hears(sim, 1);
    has(text, "POST /messages/?session_id=inner HTTP/1.1\r\n");
    has(text, "\"id\":\"r1\",\"error\":{\"code\":4030");
    sim_upstream_says(sim, 1, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    post(CALL("4", "forbidden")); /* and the stream goes on */
    has(sim_agent_hears(sim), "HTTP/1.1 202 ");
    has(stream_hears(), "\"id\":4,");
    finish();
}

/* A stream is one without end also after an answer came on it. */
static void lasts(void)
{
    open_session();
    accepted(CALL("4", "search"));
    event(RESULT("4"));
    has(stream_hears(), RESULT("4"));
    sim_pass(sim, INT64_C(3600) * 1000000);
    has_not(stream_hears(), "0\r\n\r\n");
    lane_go(&sim->lane, LANE_DRAINS, 1, -1);
    sim_run(sim);
    has(stream_hears(), "0\r\n\r\n");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_STREAM_ENDED);
    finish();
}

/* An agent that is not there for the 202 is there for the answer, on the stream. */
static void not_waited_for(void)
{
    open_session();
    post(CALL("4", "search"));
    has(sim_upstream_hears(sim, 1), CALL("4", "search"));
    sim_agent_leaves(sim);
    event(RESULT("4"));
    has(stream_hears(), RESULT("4"));
    sim->agent = NULL;
    finish();
}

/* The server has ended the stream, and the agent has not read so far: what nobody would hear on it is said to who posts. */
static void ends_unread(void)
{
    char json[16384] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"";
    size_t len = strlen(json), capacity_bytes = sim->capacity_bytes;
    const char *text;

    sim->capacity_bytes = 4096;
    sim_connect(sim);
    sim->capacity_bytes = capacity_bytes;
    open_session();
    memset(json + len, 'x', sizeof json - len - 4);
    memcpy(json + sizeof json - 4, "\"}}", 4); /* with its end */
    event(json);
    sim_upstream_leaves(sim, 0);
    post(CALL("4", "forbidden"));
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 404 ");
    has(text, "Try another tool.");
    finish();
}

/* As EventSource comes again; a stream without a session has nothing that could be resumed. */
static void comes_again(void)
{
    sim->route->http_sse = sim->route->http_sse_only = true;
    sim_agent_says(sim, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: 7\r\n\r\n");
    has_not(sim_upstream_hears(sim, 0), "Last-Event-ID");
    sim_upstream_says(sim, 0, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                              "event: endpoint\ndata: /messages/?session_id=inner\n\n");
    has(sim_agent_hears(sim), "event: endpoint\n");
    sim_agent_leaves(sim);
    sim->route->http_sse = sim->route->http_sse_only = false;
    sim_connect(sim);
    sim_agent_says(sim, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nLast-Event-ID: 7\r\n\r\n");
    has(sim_agent_hears(sim), "HTTP/1.1 404 ");
}

/* A server that gives one name to two streams: whoever lost the network comes again before anybody sees it, and the new stream is
 * the one that is spoken on, also of calls of before. */
static void one_name_twice(void)
{
    open_session();
    accepted(CALL("4", "search"));
    sim_connect(sim);
    sim_agent_says(sim, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); /* on the connection that the POST left */
    sim_upstream_says(sim, 1, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
                              "event: endpoint\ndata: /messages/?session_id=inner\n\n");
    has(sim_agent_hears(sim), uri);
    has(stream_hears(), "0\r\n\r\n");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_STREAM_ENDED);
    stream_close(&get);
    get = sim->agent;
    sim->agent = NULL;
    sim_connect(sim);
    sim_upstream_says(sim, 1, "data: " RESULT("4") "\n\n");
    has(stream_hears(), RESULT("4"));
    post(CALL("4", "forbidden"));
    has(sim_agent_hears(sim), "HTTP/1.1 202 ");
    has(stream_hears(), "Try another tool.");
    finish();
    post(CALL("4", "forbidden"));
    has(sim_agent_hears(sim), "HTTP/1.1 404 ");
}

TEST_CASE(test_session) /* 5.4 */
{
    in_every_weather(answered);
    in_every_weather(denied);
    in_every_weather(not_waited_for);
    in_every_weather(lasts);
    in_every_weather(question_is_denied);
    in_every_weather(ends_unread);
    in_every_weather(comes_again);
    in_every_weather(one_name_twice);
}

/* ---- what is not taken ---- */

#define TOLD(number, text) "\"id\":" number ",\"error\":{\"code\":5030,\"message\":\"" text

/* 10.22: what cannot be taken ends the call that it answers, of which the asker is told, and not the stream. */
static void passes_by(const char *json, enum reason reason, const char *told)
{
    uint64_t before = reason_counted(reason);

    open_session();
    accepted(CALL("4", "search"));
    event(json);
    if (told != NULL)
        has(stream_hears(), told);
    else
        has_not(stream_hears(), "\"id\":");
    assert_int_equal(reason_counted(reason), before + 1);
    accepted(CALL("5", "search"));
    event(RESULT("5"));
    has(stream_hears(), RESULT("5"));
    has_not(stream_hears(), "0\r\n\r\n");
    finish();
}

static void answers_twice(void)
{
    open_session();
    accepted(CALL("4", "search"));
    event(RESULT("4"));
    event("{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"twice\":1}}");
    has(stream_hears(), RESULT("4"));
    has_not(stream_hears(), "twice");
    has_not(stream_hears(), "0\r\n\r\n");
    finish();
}

static void answers_unasked(void)
{
    passes_by(RESULT("9"), REASON_UPSTREAM_UNASKED, NULL);
}

static void answers_in_an_array(void)
{
    passes_by("[" RESULT("4") "]", REASON_UPSTREAM_JSON, TOLD("4", "The upstream's answer is not acceptable."));
}

static void answers_badly(void)
{
    passes_by("{\"jsonrpc\":\"2.0\",\"result\":{\"a\":1,\"a\":2},\"id\":4}", REASON_UPSTREAM_DUPLICATE,
              TOLD("4", "An object in the upstream's answer has a key twice."));
}

static void answers_null(void)
{
    passes_by("{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":null}", REASON_UPSTREAM_ERROR_NULL,
              TOLD("4", "The upstream's answer has an error that is null."));
}

static void answers_too_much(void)
{
    static char json[300];

    (void)snprintf(json, sizeof json, "{\"result\":{\"x\":\"%0250d\"},\"jsonrpc\":\"2.0\",\"id\":4}", 0);
    sim->route->limits.event_bytes = 200;
    passes_by(json, REASON_UPSTREAM_TOO_LARGE, TOLD("4", "The upstream's answer is too large."));
    sim->route->limits.event_bytes = UINT64_C(8) << 20;
}

static void second_endpoint(void)
{
    open_session();
    sim_upstream_says(sim, 0, "event: endpoint\ndata: /other\n\n");
    has(stream_hears(), "0\r\n\r\n");
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_EVENT);
    finish();
}

static void foreign_endpoint(void)
{
    const char *text;

    sim->route->http_sse = true;
    get_stream();
    sim_upstream_says(sim, 0, "event: endpoint\ndata: http://evil.example/messages\n\n");
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 502 ");
    has_not(text, "evil");
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_ENDPOINT);
}

/* The head has gone by then: it is rewritten all the same, and behind a route that does not name it the stream ends. */
static void late_endpoint(void)
{
    const char *text;

    for (int named = 1; named >= 0; named--) {
        sim->route->http_sse = named != 0;
        sim_connect(sim);
        sim_agent_says(sim, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
        sim_upstream_says(sim, sim->upstream_count - 1,
                          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
        sim_pass(sim, 1250000);
        has(sim_agent_hears(sim), "HTTP/1.1 200 ");
        sim_upstream_says(sim, sim->upstream_count - 1, "event: endpoint\nda");
        assert_string_equal(sim_agent_hears(sim), "");
        sim_upstream_says(sim, sim->upstream_count - 1, "ta: /messages\n\n");
        text = sim_agent_hears(sim);
        if (named)
            has(text, "event: endpoint\ndata: /mcp?callgate=/messages.http+sse.");
        else
            has(text, "0\r\n\r\n");
        sim_agent_leaves(sim);
    }
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_LEGACY);
}

static void no_endpoint(void)
{
    sim->route->http_sse = sim->route->http_sse_only = true;
    get_stream();
    sim_upstream_says(sim, 0, ": hello\n\nevent: message\ndata: " RESULT("4") "\n\n");
    has(sim_agent_hears(sim), "HTTP/1.1 502 ");
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_EVENT);
}

static void unnamed_transport(void) /* 5.16 */
{
    const char *text;

    get_stream();
    sim_upstream_says(sim, 0, "event: endpoint\ndata: /messages/?session_id=inner\n\n");
    text = sim_agent_hears(sim);
    has(text, "HTTP/1.1 502 ");
    has(text, "transports: [http+sse]");
    assert_int_equal(sim_last_outcome(sim)->reason, REASON_UPSTREAM_LEGACY);
}

/* The head of an ordinary stream waits for its first event, for a second at most. */
static void ordinary_stream(void)
{
    get_stream();
    assert_string_equal(sim_agent_hears(sim), "");
    sim_pass(sim, 1250000);
    has(sim_agent_hears(sim), "HTTP/1.1 200 ");
    sim_upstream_says(sim, 0, "event: ping\ndata: x\n\n");
    sim_upstream_says(sim, 0, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n\n");
    has(sim_agent_hears(sim), "notifications/message");
    sim_upstream_says(sim, 0, "event: endpoint\ndata: /messages\n\n");
    assert_string_equal(sim_agent_hears(sim), "");
    sim_upstream_leaves(sim, 0);
    has(sim_agent_hears(sim), "0\r\n\r\n");
}

static void other_posts(void)
{
    char changed[1100];

    open_session();
    post_to("/mcp", CALL("4", "search"));
    has(sim_agent_hears(sim), "HTTP/1.1 405 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_TRANSPORT);
    sim_connect(sim);
    (void)snprintf(changed, sizeof changed, "/mcp?callgate=/admin%s", strstr(uri, "inner") + 5);
    post_to(changed, CALL("4", "search"));
    has(sim_agent_hears(sim), "HTTP/1.1 404 ");
    sim_connect(sim);
    (void)snprintf(changed, sizeof changed, "%sx", uri);
    post_to(changed, CALL("4", "search"));
    has(sim_agent_hears(sim), "HTTP/1.1 404 ");
    sim_connect(sim);
    sim->identity[0].principal = "somebody else";
    post_to(uri, CALL("4", "search"));
    has(sim_agent_hears(sim), "HTTP/1.1 404 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_SESSION_FOREIGN);
    sim->identity[0].principal = "bot";
    sim_connect(sim);
    (void)snprintf(changed, sizeof changed, "Mcp-Session-Id: %s\r\n", strstr(uri, "=") + 1);
    sim->route->http_sse_only = false;
    sim_agent_posts(sim, CALL("4", "search"), changed); /* the name of such a session is none of the other transport */
    has(sim_agent_hears(sim), "HTTP/1.1 404 ");
    assert_int_equal(sim->upstream_count, 1);
    finish();
}

static void refused_session(const char *target, const char *header)
{
    char head[2048];

    (void)snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%s"
                   "Content-Length: %zu\r\n\r\n", target, header, strlen(CALL("4", "search")));
    sim_connect(sim);
    sim_agent_says(sim, head);
    sim_agent_says(sim, CALL("4", "search"));
    has(sim_agent_hears(sim), "HTTP/1.1 404 ");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_SESSION_FOREIGN);
    assert_int_equal(sim->upstream_count, 1);
}

/* The names of both kinds of session are made by one key: neither stands in the other's place, nor beside it. */
static void sessions_of_the_other_kind(void)
{
    struct mcp_session_scope scope = {.route = SPAN_LIT("shop"), .tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot")};
    struct mcp_session session = {SPAN_LIT("/admin"), SPAN_LIT("2025-06-18"), false};
    char target[1024], header[1024];
    struct buf id;

    open_session();
    buf_init(&id, 512);
    assert_int_equal(mcp_session_make(gate_session_key(sim->lane.gate), &scope, &session, &id), CODE_OK);
    (void)snprintf(target, sizeof target, "/mcp?callgate=%.*s", SPAN_ARG(buf_peek(&id)));
    (void)snprintf(header, sizeof header, "Mcp-Session-Id: %.*s\r\n", SPAN_ARG(buf_peek(&id)));
    buf_fini(&id);
    refused_session(target, "");
    refused_session(uri, header);
    refused_session(uri, "Last-Event-ID: 1\r\n");
    finish();
}

/* A request of a revision without sessions has nothing to do in one. */
static void modern_post(void)
{
#define MODERN \
    "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/list\",\"params\":{\"_meta\":{" \
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}"
    char head[2048];

    open_session();
    (void)snprintf(head, sizeof head, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                   "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\nContent-Length: %zu\r\n\r\n", uri, strlen(MODERN));
    sim_agent_says(sim, head);
    sim_agent_says(sim, MODERN);
    assert_int_equal(sim_last_decision(sim)->reason, REASON_HEADER_MISMATCH);
    assert_int_equal(sim->upstream_count, 1);
    (void)sim_agent_hears(sim);
    finish();
}

static void later_era(void)
{
    const char *json = "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
    char head[2048];

    open_session();
    (void)snprintf(head, sizeof head,
                   "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n"
                   "Mcp-Method: tools/list\r\nContent-Length: %zu\r\n\r\n", uri, strlen(json));
    sim_agent_says(sim, head);
    sim_agent_says(sim, json);
    has(sim_agent_hears(sim), "HTTP/1.1 202 ");
    has(stream_hears(), "\"id\":3,\"error\":{\"code\":-320");
    assert_int_equal(sim->upstream_count, 1);
    finish();
}

static void id_twice(void)
{
    open_session();
    accepted(CALL("4", "search"));
    post(CALL("4", "search"));
    has(sim_agent_hears(sim), "HTTP/1.1 202 ");
    has(stream_hears(), "\"id\":4,\"error\":{\"code\":-32600");
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_NOT_SENT);
    assert_string_equal(sim_upstream_hears(sim, 1), "");
    event(RESULT("4"));
    has(stream_hears(), RESULT("4"));
    finish();
}

TEST_CASE(test_refused) /* 5.4, 5.16, 5.23 */
{
    in_every_weather(answers_twice);
    in_every_weather(answers_unasked);
    in_every_weather(answers_in_an_array);
    in_every_weather(answers_badly);
    in_every_weather(answers_null);
    in_every_weather(answers_too_much);
    in_every_weather(second_endpoint);
    in_every_weather(foreign_endpoint);
    in_every_weather(late_endpoint);
    in_every_weather(no_endpoint);
    in_every_weather(unnamed_transport);
    in_every_weather(ordinary_stream);
    in_every_weather(other_posts);
    in_every_weather(sessions_of_the_other_kind);
    in_every_weather(modern_post);
    in_every_weather(id_twice);
    in_every_weather(later_era);
}

TEST_MAIN(NULL, NULL)
