/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th append of a call fails, alone or with all after it, for every n and each kind of call: the gate goes on. What goes
 * up, down and into the record is what would have been without the fault, or is not there: nothing that was cut is ever taken
 * for whole. And what failed is forgotten: the next call, on whatever connection, is served. */
#include "sim/append_check.h"

#include "state/approvals.h"
#include "language/language.h"

#define RPC(id, method, params) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define CALL RPC("3", "tools/call", "\"name\":\"search\",\"arguments\":{\"q\":[1,2]}")
#define FORBIDDEN RPC("3", "tools/call", "\"name\":\"forbidden\",\"arguments\":{}")
#define MAIL RPC("3", "tools/call", "\"name\":\"mail\",\"arguments\":{\"to\":\"x\",\"password\":\"p\"},\"task\":{\"ttl\":5}")
#define LIST RPC("4", "tools/list", "")
#define RESULT(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"content\":[]}}"
#define TOOLS "[{\"name\":\"search\",\"inputSchema\":{}},{\"name\":\"forbidden\",\"inputSchema\":{}}]"
#define TOOL_LIST(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"tools\":" TOOLS "}}"
#define SAMPLING RPC("\"s1\"", "sampling/createMessage", "\"a\":1")
#define ROOTS "{\"jsonrpc\":\"2.0\",\"id\":\"r1\",\"method\":\"roots/list\"}"
#define JSON_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
#define STREAM_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
#define EVENT(json) "data: " json "\n\n"

/* From here on appends are counted, and one fails. */
static void arm(void)
{
    mem_fail_at(failing, fails_on);
}

static void disarm(void)
{
    appends += failing == UINT64_MAX ? mem_fail_count() : 0;
    mem_fail_at(0, 0);
}

/* ---- scripts that go on whatever the gate gave up ---- */

static void hear_agent(void)
{
    append(now.down, sizeof now.down, sim_agent_hears(sim));
}

/* The last upstream answers what it was asked, if it was. Returns: whether it did. */
static bool answer(const char *head, const char *body)
{
    unsigned last = sim->upstream_count - 1;
    const char *text;
    char length[64] = "\r\n";
    bool was_asked;

    if (sim->upstream_count == 0)
        return false;
    text = sim_upstream_hears(sim, last);
    was_asked = strstr(text, "\r\n\r\n") != NULL;
    append(now.up, sizeof now.up, text);
    if (mem_stream_twin_closed(sim->upstreams[last]))
        append(now.up, sizeof now.up, END);
    if (!was_asked || mem_stream_twin_closed(sim->upstreams[last]))
        return false;
    if (strstr(head, "event-stream") == NULL)
        (void)snprintf(length, sizeof length, "Content-Length: %zu\r\n\r\n", strlen(body));
    sim_upstream_says(sim, last, head);
    if (!mem_stream_twin_closed(sim->upstreams[last]))
        sim_upstream_says(sim, last, length);
    if (!mem_stream_twin_closed(sim->upstreams[last]))
        sim_upstream_says(sim, last, body);
    return true;
}

static void hear_rest(void)
{
    if (sim->agent != NULL)
        hear_agent();
    for (unsigned i = 0; i < sim->upstream_count; i++) {
        append(now.up, sizeof now.up, sim->upstreams[i] != NULL ? sim_upstream_hears(sim, i) : "");
        append(now.up, sizeof now.up, END);
    }
}

static void agent_says(const char *text)
{
    if (mem_stream_twin_ended(sim->agent)) {
        hear_agent();
        append(now.down, sizeof now.down, END);
        sim_connect(sim);
    }
    sim_agent_says(sim, text);
}

static void ask(const char *line, const char *headers, const char *body)
{
    char text[4096];

    (void)snprintf(text, sizeof text,
                   "%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n%s", line,
                   headers, strlen(body), body);
    agent_says(text);
}

static void get(const char *path, const char *headers)
{
    char text[2048];

    (void)snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", path, headers);
    agent_says(text);
}

static void publish(const char *text)
{
    struct policy_file file = {SPAN_LIT("sim.yaml"), span_text(text)};
    struct policy *policy;
    struct faults faults;

    faults_init(&faults);
    assert_ok(policy_compile(&file, 1, 8, &policy, &faults, NULL));
    gate_publish_policy(sim->shared, policy);
}

/* ---- the kinds of calls ---- */

static void permitted(void)
{
    arm();
    ask("POST /mcp", "X-Correlation-Id: a\r\nOrigin: http://localhost\r\n", CALL);
    (void)answer(JSON_HEAD "X-More: 1\r\n", RESULT("3"));
}

static void denied(void)
{
    arm();
    ask("POST /mcp", "", FORBIDDEN);
    ask("POST /mcp", "", "{\"jsonrpc\":\"2.0\",\"id\":3,\"id\":4}");
    ask("POST /nowhere", "", FORBIDDEN);
}

static void denied_as_event(void)
{
    sim->route->denials_sse = true;
    arm();
    ask("POST /mcp", "Accept: application/json, text/event-stream\r\n", FORBIDDEN);
}

static void listed(void)
{
    sim->route->deceptive = (struct mcp_deceptive){MCP_STRIP, MCP_STRIP, MCP_STRIP, MCP_STRIP, MCP_STRIP};
    arm();
    ask("POST /mcp", "", LIST);
    (void)answer(JSON_HEAD, "{\"jsonrpc\":\"2.0\",\"id\":\"4\",\"result\":{\"x\":\"a\xe2\x80\x8b" "b\",\"tools\":" TOOLS "}}");
}

#define INITIALIZE \
    RPC("1", "initialize", "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{}," \
        "\"clientInfo\":{\"name\":\"a\",\"version\":\"1\"}")
#define WELCOME(version) \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":\"" version "\",\"capabilities\":{}," \
    "\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}"

/* Another answer takes the place of the server's. */
static void refused_version(void)
{
    arm();
    ask("POST /mcp", "", INITIALIZE);
    (void)answer(JSON_HEAD, WELCOME("1999"));
}

/* What is mended is read twice. */
static void mended(void)
{
    sim->route->lenient = MCP_LENIENT_ID_TYPE;
    arm();
    ask("POST /mcp", "", CALL);
    (void)answer(JSON_HEAD, "{\"jsonrpc\":\"2.0\",\"id\":\"3\",\"error\":null,\"result\":{\"content\":[]}}");
}

static void failed(void)
{
    arm();
    ask("POST /mcp", "", CALL);
    (void)answer("HTTP/1.1 500 X\r\nContent-Type: application/json\r\n", "{\"a\": 1.50}");
    ask("POST /mcp", "", CALL);
    (void)answer(JSON_HEAD, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{");
}

static void streamed(void)
{
    arm();
    ask("POST /mcp", "", CALL);
    (void)answer(STREAM_HEAD, "id: 1\n" EVENT(SAMPLING) ": x\n\n" EVENT(ROOTS) "id: 2\ndata:\n\n" EVENT(RESULT("3")));
}

static void stream_breaks(void)
{
    arm();
    ask("POST /mcp", "", CALL);
    (void)answer(STREAM_HEAD, EVENT(SAMPLING) EVENT("[]"));
}

static void question_answered(void)
{
    ask("POST /mcp", "", CALL);
    (void)answer(STREAM_HEAD, EVENT(SAMPLING));
    hear_agent();
    sim_agent_leaves(sim);
    hear_rest();
    sim_connect(sim);
    arm();
    ask("POST /mcp", "", "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"result\":{}}");
    (void)answer("HTTP/1.1 202 Accepted\r\n", "");
}

#define BEGINS "policy: sim\nrules:\n  - {id: sim.protocol, effect: permit, match: {methods: [protocol]}}\n" \
    "  - {id: mail.shadow, effect: forbid, mode: monitor, match: {tools: [mail]}}\n"
#define REDACTS \
    "redact:\n  - {match: {tools: [mail]}, args: [password], params: ['$.task.ttl'], answer: ['$.content'], query: true}\n"

static void redacted(void)
{
    static const struct span params[] = {{"task", 4}};

    publish(BEGINS "  - {id: mail.all, effect: permit, match: {tools: [mail]}}\n" REDACTS);
    sim->route->answer_bytes = 4096;
    sim->route->params = params;
    sim->route->param_count = 1;
    arm();
    ask("POST /mcp", "", MAIL);
    (void)answer(JSON_HEAD, RESULT("3"));
}

static void held(void)
{
    publish(BEGINS "  - {id: mail.all, effect: require_approval, match: {tools: [mail]}}\n" REDACTS);
    arm();
    ask("POST /mcp", "", MAIL);
}

/* A person approves what was held; another call and then the same one come. */
static void approved(void)
{
    struct approval_answer said = {.number = 17, .is_granted = true, .tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot")};
    struct approval_ask *asked;
    uint64_t nth = failing;

    failing = 0;
    held();
    failing = nth;
    asked = approvals_next_ask(gate_approvals(sim->shared));
    assert_non_null(asked);
    memcpy(said.digest, asked->digest, DIGEST_BYTES);
    said.time_us = asked->asked_us + INT64_C(3600000000);
    approval_ask_free(&asked);
    assert_ok(approvals_answer(gate_approvals(sim->shared), &said));
    arm();
    ask("POST /mcp", "", RPC("3", "tools/call", "\"name\":\"mail\",\"arguments\":{\"to\":\"y\",\"password\":\"p\"}"));
    ask("POST /mcp", "", MAIL);
    (void)answer(JSON_HEAD, RESULT("3"));
}

static char session[512]; /* a header line: the key and the names of all simulations are the same */

static void make_session(void)
{
    struct mcp_session_scope scope = {.route = SPAN_LIT("shop"), .tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot")};
    struct mcp_session made = {SPAN_LIT("inner"), SPAN_LIT("2025-03-26"), false};
    struct buf id;

    buf_init(&id, 512);
    assert_ok(mcp_session_make(gate_session_key(sim->lane.gate), &scope, &made, &id));
    (void)snprintf(session, sizeof session, "Mcp-Session-Id: %.*s\r\n", SPAN_ARG(buf_peek(&id)));
    buf_fini(&id);
}

static void batched(void)
{
    make_session();
    arm();
    ask("POST /mcp", session, "[" CALL "," LIST "]");
    (void)answer(JSON_HEAD, "[" RESULT("3") "]"); /* one is missing */
}

static void batch_streamed(void)
{
    make_session();
    sim->route->answer_bytes = 4096;
    arm();
    ask("POST /mcp", session, "[" CALL "," LIST "]");
    if (answer(STREAM_HEAD, "id: 1\n" EVENT("[" SAMPLING "," RESULT("3") "]")))
        sim_upstream_leaves(sim, sim->upstream_count - 1);
}

static void batch_denied(void)
{
    make_session();
    arm();
    ask("POST /mcp", session, "[" FORBIDDEN "," LIST "]");
}

static void session_lasts(void)
{
    char headers[1024];

    arm();
    ask("POST /mcp", "", INITIALIZE);
    (void)answer(JSON_HEAD "Mcp-Session-Id: inner\r\n", WELCOME("2025-06-18"));
    disarm();
    make_session();
    (void)snprintf(headers, sizeof headers, "Accept: text/event-stream\r\nLast-Event-ID: 7\r\n%s", session);
    arm();
    get("/mcp", headers);
    (void)answer(STREAM_HEAD, EVENT(ROOTS) "id: 8\n" EVENT(RESULT("3")));
}

#define META \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define MODERN "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: search\r\n"
#define ASKS \
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"input_required\",\"requestState\":\"st\"," \
    "\"cacheScope\":\"public\",\"inputRequests\":{\"s\":{\"method\":\"sampling/createMessage\",\"params\":{\"maxTokens\":5}}}}}"

static void modern(void)
{
    char body[1024], *state;

    arm();
    ask("POST /mcp", MODERN, RPC("3", "tools/call", "\"name\":\"search\"," META));
    (void)answer(JSON_HEAD, ASKS);
    hear_agent();
    state = strstr(now.down, "\"requestState\":\"");
    if (state == NULL)
        return;
    (void)snprintf(body, sizeof body,
                   RPC("3", "tools/call", "\"name\":\"search\",\"requestState\":\"%.*s\",\"inputResponses\":{\"s\":{}}," META),
                   (int)strcspn(state + 16, "\""), state + 16);
    ask("POST /mcp", MODERN, body);
    (void)answer(JSON_HEAD, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"complete\",\"content\":[]}}");
}

static void modern_denied(void)
{
    publish(BEGINS "  - {id: t, effect: permit, match: {tools: [search]}}\n");
    arm();
    ask("POST /mcp", MODERN, RPC("3", "tools/call", "\"name\":\"search\"," META));
    (void)answer(JSON_HEAD, ASKS);
}

static void modern_stream(void)
{
    arm();
    ask("POST /mcp", "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n",
        RPC("3", "subscriptions/listen", "\"notifications\":{\"toolsListChanged\":true}," META));
    (void)answer(STREAM_HEAD, EVENT("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"));
    lane_go(&sim->lane, LANE_DRAINS, 1, -1);
    sim_run(sim);
}

static void speak(const struct dialect *dialect)
{
    sim->route->dialect = dialect;
    sim->route->revisions = dialect->revisions;
    sim->route->subtree = dialect->is_subtree;
}

static void octopus(void)
{
    speak(&dialect_octopus);
    arm();
    get("/mcp/tools", "");
    (void)answer(JSON_HEAD, TOOLS);
    ask("POST /mcp/tool/search/call", "X-Tenant-Id: acme\r\n", "{\"q\": 1.50}");
    (void)answer(JSON_HEAD, "{\"n\": 2.0}");
    ask("POST /mcp/tool/forbidden/call", "", "{}");
}

static void okso(void)
{
    speak(&dialect_okso);
    arm();
    ask("POST /mcp", "", "{\"action\": \"list_tools\"}");
    (void)answer(JSON_HEAD, "{\"type\":\"result\",\"tools\":" TOOLS "}");
    ask("POST /mcp", "", "{\"action\":\"describe_tool\",\"tool\":\"forbidden\"}");
    ask("POST /mcp", "", "{\"action\":\"call_tool\",\"tool\":\"search\"}");
    (void)answer("HTTP/1.1 500 X\r\nContent-Type: application/json\r\n", "{\"type\":\"error\",\"error\":{\"message\":\"x\"}}");
}

static struct span uri; /* of a session over HTTP+SSE, in now.down */

static void legacy_stream(void)
{
    char *at;

    sim->route->http_sse = sim->route->http_sse_only = true;
    arm();
    get("/mcp", "Accept: text/event-stream\r\n");
    (void)answer(STREAM_HEAD, "event: endpoint\ndata: /messages\n\nevent: message\n" EVENT(ROOTS));
    hear_agent();
    at = strstr(now.down, "data: /mcp?");
    uri = at != NULL ? span_of(at + 6, strcspn(at + 6, "\n")) : SPAN_NONE;
}

/* POSTs beside the stream: a denial comes on it, and what follows comes on it, too. */
static void legacy_posts(void)
{
    struct stream *stream;
    uint64_t nth = failing;
    char line[512];

    failing = 0;
    legacy_stream();
    failing = nth;
    assert_true(uri.len > 0);
    (void)snprintf(line, sizeof line, "POST %.*s", SPAN_ARG(uri));
    stream = sim->agent;
    sim->agent = NULL;
    sim_connect(sim);
    arm();
    ask(line, "", FORBIDDEN);
    ask(line, "", FORBIDDEN);
    ask(line, "", LIST);
    (void)answer("HTTP/1.1 202 Accepted\r\n", "");
    if (!mem_stream_twin_closed(sim->upstreams[0]))
        sim_upstream_says(sim, 0, EVENT(TOOL_LIST("4")));
    hear_agent();
    stream_close(&sim->agent);
    sim->agent = stream;
    disarm();
    sim_run(sim);
}

static const struct proxy_pass passes[] = {
    {.path = SPAN_LIT("/health"), .upstream_path = SPAN_LIT("/up/health")},
    {.path = SPAN_LIT("/register"), .upstream_path = SPAN_LIT("/up/register"), .is_post = true},
    {.path = SPAN_LIT("/.well-known/oauth-protected-resource"),
     .upstream_path = SPAN_LIT("/.well-known/oauth-protected-resource")},
};

static void passed(void)
{
    sim->route->pass = passes;
    sim->route->pass_count = 3;
    sim->route->public_url = SPAN_LIT("https://gate.example/mcp");
    sim->route->public_path_at = 20;
    sim->route->resource = (struct proxy_resource){.servers = &(struct span){"https://id.example", 18}, .server_count = 1};
    arm();
    get("/health", "X-A: b\r\n");
    (void)answer("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                 "WWW-Authenticate: Bearer resource_metadata=\"x\"\r\n", "fine");
    ask("POST /register", "", "{\"a\":1}");
    (void)answer(JSON_HEAD, "{\"b\":2}");
    get("/.well-known/oauth-protected-resource", "");
    (void)answer(JSON_HEAD, "{\"resource\": \"http://inner/\", \"x\": 1}");
    get("/.well-known/oauth-protected-resource/mcp", "Origin: https://any.example\r\n"); /* 8.3: the gate's own */
    ask("OPTIONS /mcp", "Origin: http://localhost\r\nAccess-Control-Request-Method: POST\r\n"
        "Access-Control-Request-Headers: Mcp-Param-A\r\n", "");
}

/* Whatever failed, nothing of it is left. */
static void check_next(bool may_call)
{
    disarm();
    hear_rest();
    now.decision_count = sim->ring->decision_count < 16 ? sim->ring->decision_count : 16;
    now.outcome_count = sim->ring->outcome_count < 16 ? sim->ring->outcome_count : 16;
    memcpy(now.decisions, sim->ring->decisions, sizeof now.decisions);
    memcpy(now.outcomes, sim->ring->outcomes, sizeof now.outcomes);
    if (!may_call)
        return;
    if (mem_stream_twin_ended(sim->agent))
        sim_connect(sim);
    publish(BEGINS "  - {id: t, effect: permit, match: {tools: [search]}}\n");
    sim_agent_posts(sim, CALL, "");
    assert_true(sim->upstream_count > 0);
    has(sim_upstream_hears(sim, sim->upstream_count - 1), "\"arguments\":{\"q\":[1,2]}");
    sim_upstream_answers(sim, sim->upstream_count - 1, "application/json", RESULT("3"));
    has(sim_agent_hears(sim), "\r\n\r\n" RESULT("3"));
}

static void play(scene_fn scene, bool may_call)
{
    memset(&now, 0, sizeof now);
    sim = malloc(sizeof *sim);
    assert_non_null(sim);
    sim_init(sim, SIM_PLAIN);
    sim_connect(sim);
    scene();
    check_next(may_call);
    sim_fini(sim);
    free(sim);
}

static void each_append(scene_fn scene, bool may_call)
{
    appends = 0;
    failing = UINT64_MAX;
    play(scene, may_call);
    whole = now;
    assert_true(appends > 20);
    for (failing = 1; failing <= 2 * appends; failing++) {
        fails_on = failing > appends;
        failing -= fails_on ? appends : 0;
        play(scene, may_call);
        check_messages(now.up, whole.up, true);
        check_messages(now.down, whole.down, false);
        check_records();
        failing += fails_on ? appends : 0;
    }
    fails_on = false;
}

TEST_CASE(test_calls) /* 6.14, 1.26 */
{
    each_append(permitted, true);
    each_append(denied, true);
    each_append(denied_as_event, true);
    each_append(listed, true);
    each_append(refused_version, true);
    each_append(mended, true);
    each_append(failed, true);
    each_append(streamed, false);
    each_append(stream_breaks, true);
    each_append(question_answered, true);
}

TEST_CASE(test_records) /* 6.14 */
{
    each_append(redacted, true);
    each_append(held, true);
    each_append(approved, true);
}

TEST_CASE(test_batches) /* 6.14 */
{
    each_append(batched, true);
    each_append(batch_streamed, false);
    each_append(batch_denied, true);
}

TEST_CASE(test_sessions) /* 6.14 */
{
    each_append(session_lasts, false);
    each_append(modern, true);
    each_append(modern_denied, true);
    each_append(modern_stream, false);
    each_append(legacy_stream, false);
    each_append(legacy_posts, false);
}

TEST_CASE(test_others) /* 6.14 */
{
    each_append(octopus, false);
    each_append(okso, false);
    each_append(passed, true);
}

TEST_MAIN(NULL, NULL)
