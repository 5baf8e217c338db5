/* SPDX-License-Identifier: Apache-2.0 */
/* 9.2, 9.5: rules for answers on every way back, in every weather. */
#include "sim/answers_check.h"

#include "crypto/digest.h"

/* ---- whole replies ---- */

static void digest_before_is(const char *text)
{
    unsigned char digest[DIGEST_BYTES];

    digest_of(span_text(text), digest);
    assert_true(sim_last_outcome(sim)->has_digest_before);
    assert_memory_equal(sim_last_outcome(sim)->digest_before, digest, DIGEST_BYTES);
}

static void whole(void)
{
    publish(rules);
    sim->route->answer_bytes = 4096;
    sim_agent_posts(sim, CALL("search"), "");
    answers(TEXT("card PAN7 and PAN7 seen"));
    has(sim_agent_hears(sim), "\r\n\r\n" TEXT("card " CUT " and " CUT " seen"));
    ended(OUTCOME_RESULT, REASON_COMPLETED, "redact", "cards");
    assert_string_equal(sim_last_outcome(sim)->answer_found, "{\"cards\":2,\"noted\":1}");
    assert_string_equal(sim_last_outcome(sim)->answer_rules,
                        "[{\"id\":\"cards\",\"effect\":\"redact\"},{\"id\":\"noted\",\"effect\":\"flag\"}]");
    has(sim_last_outcome(sim)->answer, CUT); /* what is kept is what was delivered */
    has_not(sim_last_outcome(sim)->answer, "PAN7");
    digest_before_is(TEXT("card PAN7 and PAN7 seen"));
    sim_agent_posts(sim, CALL("search"), "");
    answers(TEXT("seen"));
    has(sim_agent_hears(sim), "\r\n\r\n" TEXT("seen"));
    ended(OUTCOME_RESULT, REASON_COMPLETED, "flag", "noted");
    assert_false(sim_last_outcome(sim)->has_digest_before);
    sim_agent_posts(sim, CALL("search"), "");
    answers(TEXT("nothing of it"));
    has(sim_agent_hears(sim), "\r\n\r\n" TEXT("nothing of it"));
    ended(OUTCOME_RESULT, REASON_COMPLETED, "", "");
}

static void whole_withheld(void)
{
    publish(rules);
    sim->route->answer_bytes = 4096;
    sim_agent_posts(sim, CALL("search"), "");
    says("200 OK\r\n" JSON_HEAD "X-Says: a secret\r\n", TEXT("the secret of PAN7 is"));
    has(sim_agent_hears(sim), "HTTP/1.1 200 ");
    has(sim->got, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"" WITHHELD);
    has_not(sim->got, "secret");
    has_not(sim->got, "X-Says");
    ended(OUTCOME_REFUSED, REASON_ANSWER_WITHHELD, "withhold", "inside");
    assert_string_equal(sim_last_outcome(sim)->answer, "");
    sim_agent_posts(sim, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/read\",\"params\":{\"uri\":\"a:b\"}}", "");
    answers("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"contents\":[{\"uri\":\"a:b\",\"text\":\"secret\"}]}}");
    has(sim_agent_hears(sim), "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":4030,\"message\":\"" WITHHELD);
    sim_agent_posts(sim, CALL("vault"), "");
    answers(ERROR("no", "1"));
    has(sim_agent_hears(sim), "\"isError\":true");
    ended(OUTCOME_REFUSED, REASON_ANSWER_WITHHELD, "withhold", "vault");
    /* a list is no answer that these rules are about */
    sim_agent_posts(sim, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}", "");
    answers("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"tools\":[{\"name\":\"search\",\"description\":\"secret\"}]}}");
    has(sim_agent_hears(sim), "\"description\":\"secret\"");
}

/* Texts that hold JSON stay JSON, and what is said twice is cut twice; a name or a number cannot be cut. */
static void texts(void)
{
    publish(rules);
    sim_agent_posts(sim, CALL("search"), "");
    answers("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\": [\\\"PAN7\\\", 1.0]}\"}],"
            "\"structuredContent\":{\"a\":[\"PAN7\",1.0]}}}");
    has(sim_agent_hears(sim), "\"text\":\"{\\\"a\\\":[\\\"" CUT "\\\",1.0]}\"");
    has(sim->got, "\"structuredContent\":{\"a\":[\"" CUT "\",1.0]}");
    sim_agent_posts(sim, CALL("search"), "");
    answers("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[],\"structuredContent\":{\"a\":1770077}}}");
    has(sim_agent_hears(sim), "\"isError\":true");
    ended(OUTCOME_REFUSED, REASON_ANSWER_WITHHELD, "withhold", "cards");
    sim_agent_posts(sim, CALL("search"), ""); /* an image's words, and a link */
    answers("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"resource_link\",\"uri\":\"a:b?PAN7\",\"name\":\"PAN7\"},"
            "{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\",\"annotations\":{\"title\":\"PAN7\"},"
            "\"_meta\":{\"alt\":\"PAN7\"}}]}}");
    has(sim_agent_hears(sim), "\"uri\":\"a:b?" CUT "\"");
    has_not(sim->got, "PAN7");
}

/* What grows by what is said in place of it is as long as an answer may be, or it is withheld. */
static void grows(void)
{
    publish(rules);
    sim->route->limits.response_bytes = 200;
    sim_agent_posts(sim, CALL("search"), "");
    answers(TEXT("PAN7 PAN7 PAN7"));
    has(sim_agent_hears(sim), TEXT(CUT " " CUT " " CUT));
    sim_agent_posts(sim, CALL("search"), "");
    answers(TEXT("PAN7 PAN7 PAN7 PAN7 PAN7 PAN7 PAN7 PAN7 PAN7 PAN7"));
    has(sim_agent_hears(sim), "\"isError\":true");
    has_not(sim->got, CUT);
    ended(OUTCOME_REFUSED, REASON_ANSWER_WITHHELD, "withhold", "");
}

static void errors(void)
{
    publish(rules);
    sim_agent_posts(sim, CALL("search"), "");
    answers(ERROR("card PAN7", "{\"of\":[\"PAN7\"]}"));
    has(sim_agent_hears(sim), ERROR("card " CUT, "{\"of\":[\"" CUT "\"]}"));
    ended(OUTCOME_PROTOCOL_ERROR, REASON_COMPLETED, "redact", "cards");
    sim_agent_posts(sim, CALL("search"), "");
    answers(ERROR("no", "[[\"a secret\"]]"));
    has(sim_agent_hears(sim), "\"isError\":true");
    has_not(sim->got, "secret");
}

/* Of an error by HTTP the body is left out, and its status is told. */
static void http_errors(void)
{
    publish(rules);
    sim_agent_posts(sim, CALL("search"), "");
    says("500 X\r\n" JSON_HEAD, ERROR("PAN7", "\"PAN7 of many more\""));
    has(sim_agent_hears(sim), "HTTP/1.1 500 ");
    has(sim->got, ERROR(CUT, "\"" CUT " of many more\""));
    ended(OUTCOME_HTTP_ERROR, REASON_COMPLETED, "redact", "cards");
    sim_agent_posts(sim, CALL("search"), "");
    says("500 X\r\n" JSON_HEAD, "{\"said\":\"a secret\"}");
    has(sim_agent_hears(sim), "HTTP/1.1 500 ");
    has(sim->got, "Content-Length: 0\r\n");
    has_not(sim->got, "Content-Type");
    ended(OUTCOME_HTTP_ERROR, REASON_COMPLETED, "withhold", "inside");
    sim_agent_posts(sim, CALL("search"), "");
    says("503 X\r\nContent-Type: text/plain\r\n", "it is PAN7 .");
    has(sim_agent_hears(sim), "Content-Length: 0\r\n");
    ended(OUTCOME_HTTP_ERROR, REASON_COMPLETED, "withhold", "cards");
    sim_agent_posts(sim, CALL("search"), "");
    says("500 X\r\n" JSON_HEAD, "\"it is PAN7\""); /* one value, and no document */
    has(sim_agent_hears(sim), "\r\n\r\n\"it is " CUT "\"");
    ended(OUTCOME_HTTP_ERROR, REASON_COMPLETED, "redact", "cards");
    sim_agent_posts(sim, CALL("search"), "");
    says("500 X\r\n" JSON_HEAD, "77007");
    has(sim_agent_hears(sim), "Content-Length: 0\r\n");
    ended(OUTCOME_HTTP_ERROR, REASON_COMPLETED, "withhold", "cards");
}

TEST_CASE(test_whole)
{
    in_every_weather(whole);
    in_every_weather(whole_withheld);
    in_every_weather(texts);
    in_every_weather(grows);
    in_every_weather(errors);
    in_every_weather(http_errors);
}

/* ---- streams ---- */

static void streamed(void)
{
    publish(rules);
    sim_agent_posts(sim, CALL("search"), "");
    stream_begins(0);
    event(0, PROGRESS("PAN7 of 5000"));
    has(sim_agent_hears(sim), "data: " PROGRESS(CUT " of 5000") "\n\n");
    event(0, PROGRESS("secret"));
    assert_string_equal(sim_agent_hears(sim), "");
    event(0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":{\"a\":\"PAN7\"}}}");
    has(sim_agent_hears(sim), "\"data\":{\"a\":\"" CUT "\"}");
    event(0, TEXT("PAN7"));
    has(sim_agent_hears(sim), "data: " TEXT(CUT) "\n\n");
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
    ended(OUTCOME_RESULT, REASON_COMPLETED, "withhold", "inside"); /* the strongest of them */
    assert_int_equal(sim_last_outcome(sim)->server_withheld, 1);
    assert_int_equal(sim_last_outcome(sim)->server_notifications, 2);
    assert_string_equal(sim_last_outcome(sim)->answer_found, "{\"cards\":3,\"inside\":1}");
    assert_int_equal(sim->ring->decision_count, 1);
}

/* What is split over the chunks of a body, or the lines of an event, is one text. */
static void split(void)
{
    publish(rules);
    sim_agent_posts(sim, CALL("search"), "");
    stream_begins(0);
    sim_upstream_says(sim, 0, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\ndata: \"params\":{\"progress\":1,");
    sim_upstream_says(sim, 0, "\"message\":\"PA\\u004");
    sim_upstream_says(sim, 0, "E7\"}}\n\n");
    has(sim_agent_hears(sim), "data: " PROGRESS(CUT) "\n\n");
    event(0, TEXT("sec\\u0072et"));
    has(sim_agent_hears(sim), "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"isError\":true");
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
    ended(OUTCOME_REFUSED, REASON_ANSWER_WITHHELD, "withhold", "inside");
}

/* What a server asks is text that comes back, too: it is answered in the agent's place, or recorded as it goes on. */
static void asked(void)
{
    publish(rules);
    sim_agent_posts(sim, CALL("search"), "");
    stream_begins(0);
    event(0, SAMPLING("PAN7"));
    has(sim_agent_hears(sim), "data: " SAMPLING(CUT) "\n\n");
    assert_string_equal(sim_last_decision(sim)->arguments, "{\"systemPrompt\":\"" CUT "\"}");
    event(0, "{\"jsonrpc\":\"2.0\",\"id\":\"s2\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"secret\"}}");
    assert_string_equal(sim_agent_hears(sim), "");
    assert_int_equal(sim_last_decision(sim)->verdict, AUDIT_DENY);
    assert_int_equal(sim_last_decision(sim)->reason, REASON_ANSWER_WITHHELD);
    has_not(sim_last_decision(sim)->arguments, "secret");
    has(sim_upstream_hears(sim, 1),
        "{\"jsonrpc\":\"2.0\",\"id\":\"s2\",\"error\":{\"code\":4030,\"message\":\"The server's request is not permitted.\"");
    event(0, TEXT("done"));
    has(sim_agent_hears(sim), TEXT("done"));
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
    assert_int_equal(sim_last_outcome(sim)->server_denied, 1);
}

/* Whatever it answers, every rule that could concern it does: also that of one tool. */
static void resumed(void)
{
    char head[1536];

    publish(rules);
    open_session("2025-06-18");
    (void)snprintf(head, sizeof head, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nLast-Event-ID: e1\r\n%s\r\n",
                   session);
    sim_agent_says(sim, head);
    stream_begins(1);
    event(1, PROGRESS("PAN7"));
    assert_string_equal(sim_agent_hears(sim), ""); /* it may be of the vault */
    event(1, TEXT("PAN7"));
    has(sim_agent_hears(sim), "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":4030,");
    assert_string_equal(sim_last_decision(sim)->method, "stream/message");
    assert_int_equal(sim_last_decision(sim)->reason, REASON_ANSWER_WITHHELD);
    sim_upstream_leaves(sim, 1);
    (void)sim_agent_hears(sim);
    assert_int_equal(sim_last_outcome(sim)->server_withheld, 1);
}

/* A rule is told with the strongest of what came of it. */
static void stronger(void)
{
    publish(rules);
    sim_agent_posts(sim, CALL("search"), "");
    stream_begins(0);
    event(0, PROGRESS("PAN7"));
    event(0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":77007}}");
    event(0, TEXT("PAN7"));
    (void)sim_agent_hears(sim);
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
    ended(OUTCOME_RESULT, REASON_COMPLETED, "withhold", "cards");
    assert_string_equal(sim_last_outcome(sim)->answer_rules, "[{\"id\":\"cards\",\"effect\":\"withhold\"}]");
}

/* Nor does what a server says of a task in the stream of another call, what it streams to who listens, and its refusal of a
 * notification. */
static void of_nobody_knows_what(void)
{
    static const char heads[] = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n";

    publish(rules);
    sim_agent_posts(sim, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}", "");
    says("500 X\r\nContent-Type: text/plain\r\n", "of the vault");
    has_not(sim_agent_hears(sim), "of the vault");
    sim_agent_posts(sim, CALL("search"), "");
    stream_begins(0);
    event(0, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks/status\",\"params\":{\"taskId\":\"t\",\"status\":\"working\","
             "\"statusMessage\":\"of the vault\"}}");
    event(0, TEXT("done"));
    has_not(sim_agent_hears(sim), "of the vault");
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
    assert_int_equal(sim_last_outcome(sim)->server_withheld, 1);
    sim_agent_posts(sim, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":"
                         "{\"toolsListChanged\":true},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                         "\"io.modelcontextprotocol/clientCapabilities\":{}}}}", heads);
    stream_begins(1);
    event(1, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{\"_meta\":"
             "{\"io.modelcontextprotocol/subscriptionId\":3,\"a\":\"of the vault\"}}}");
    has_not(sim_agent_hears(sim), "of the vault");
    sim_upstream_leaves(sim, 1);
    (void)sim_agent_hears(sim);
    assert_int_equal(sim_last_outcome(sim)->server_withheld, 1);
}

/* What came behind a task says nothing of its tool. */
static void tasks(void)
{
    publish(rules);
    open_session("2025-11-25");
    sim_agent_posts(sim, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tasks/result\",\"params\":{\"taskId\":\"t\"}}", session);
    (void)sim_upstream_hears(sim, 1);
    sim_upstream_answers(sim, 1, "application/json", TEXT("PAN7"));
    has(sim_agent_hears(sim), "\"error\":{\"code\":4030,\"message\":\"This call was made,");
    ended(OUTCOME_REFUSED, REASON_ANSWER_WITHHELD, "withhold", "vault");
}

TEST_CASE(test_streams)
{
    in_every_weather(streamed);
    in_every_weather(split);
    in_every_weather(asked);
    in_every_weather(resumed);
    in_every_weather(stronger);
    in_every_weather(of_nobody_knows_what);
    in_every_weather(tasks);
}

/* ---- other ways ---- */

static void batches(void)
{
    publish(rules);
    open_session("2025-03-26");
    sim_agent_posts(sim,
                    "[" CALL("search") ",{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"vault\"}}]",
                    session);
    (void)sim_upstream_hears(sim, 1);
    sim_upstream_answers(sim, 1, "application/json", "[{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"content\":[]}}," TEXT("PAN7") "]");
    has(sim_agent_hears(sim), "[{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"isError\":true");
    has(sim->got, "," TEXT(CUT) "]");
    assert_string_equal(sim->ring->outcomes[sim->ring->outcome_count - 1].answer_effect, "withhold");
    assert_string_equal(sim->ring->outcomes[sim->ring->outcome_count - 2].answer_effect, "redact");
    sim_agent_posts(sim,
                    "[" CALL("search") ",{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"search\"}}]",
                    session);
    stream_begins(1);
    event(1, "[" TEXT("PAN7") ",{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"content\":[\"secret\"]}}]");
    has(sim_agent_hears(sim), "data: " TEXT(CUT) "\n\n");
    has(sim->got, "data: {\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"isError\":true");
    sim_upstream_leaves(sim, 1);
    (void)sim_agent_hears(sim);
    sim_agent_posts(sim, "[" CALL("search") "]", session);
    sim_upstream_says(sim, 2, "HTTP/1.1 500 X\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nsecret");
    has_not(sim_agent_hears(sim), "secret");
    ended(OUTCOME_HTTP_ERROR, REASON_COMPLETED, "withhold", "inside");
}

/* Where what a rule did to one answer of several has no room in the audit, each of the calls is refused, and says so. */
static void batches_without_room(void)
{
    static const char other[] = "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{\"content\":[]}}";
    const unsigned count = sim->ring->outcome_count + 1; /* the session's own */
    unsigned at = count;
    char list[512];

    publish(rules);
    open_session("2025-03-26");
    for (int way = 0; way < 3; way++, at += 2) {
        sim_agent_posts(sim,
                        "[" CALL("search") ",{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"search\"}}]",
                        session);
        (void)sim_upstream_hears(sim, 1 + (unsigned)way);
        sim->ring->is_full = true;
        (void)snprintf(list, sizeof list, "[%s,%s]", way == 0 ? other : TEXT("PAN7"), way == 0 ? TEXT("PAN7") : other);
        if (way == 2) {
            stream_begins(1 + (unsigned)way);
            event(1 + (unsigned)way, list);
        } else {
            sim_upstream_answers(sim, 1 + (unsigned)way, "application/json", list);
        }
        (void)sim_agent_hears(sim);
        has(sim->got, way == 2 ? "\"id\":3,\"error\"" : "\"id\":3,\"result\":{\"isError\":true");
        has(sim->got, way == 2 ? "\"id\":4,\"error\"" : "\"id\":4,\"result\":{\"isError\":true");
        if (way < 2)
            has(sim->got, "This call was made, but its answer cannot be delivered"); /* so nobody makes it twice */
        has_not(sim->got, "PAN7");
        sim->ring->is_full = false;
        assert_int_equal(sim->ring->outcome_count, at + 2);
        for (unsigned i = at; i < at + 2; i++) {
            assert_int_equal(sim->ring->outcomes[i].outcome, OUTCOME_REFUSED);
            assert_int_equal(sim->ring->outcomes[i].reason, REASON_AUDIT_FULL);
        }
    }
}

#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

static void modern(void)
{
    static const char heads[] = "Mcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: search\r\n";
    static const char call[] = "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"search\"," META "}}";

    publish(rules);
    sim_agent_posts(sim, call, heads);
    answers("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"s\":{\"method\":"
            "\"sampling/createMessage\",\"params\":{\"systemPrompt\":\"PAN7\"}}}}}");
    has(sim_agent_hears(sim), "\"params\":{\"systemPrompt\":\"" CUT "\"}");
    assert_string_equal(sim_last_decision(sim)->arguments, "{\"systemPrompt\":\"" CUT "\"}");
    sim_agent_posts(sim, call, heads);
    answers("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"s\":{\"method\":"
            "\"sampling/createMessage\",\"params\":{\"systemPrompt\":\"secret\"}}}}}");
    has(sim_agent_hears(sim), "\"result\":{\"resultType\":\"complete\",\"isError\":true");
    ended(OUTCOME_REFUSED, REASON_ANSWER_WITHHELD, "withhold", "inside");
}

static void plain(const struct dialect *dialect, const char *path, const char *ask, const char *answer, const char *heard)
{
    char text[512];

    sim->route->dialect = dialect;
    sim->route->revisions = dialect->revisions;
    sim->route->subtree = dialect->is_subtree;
    (void)snprintf(text, sizeof text,
                   "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                   path, strlen(ask), ask);
    sim_agent_says(sim, text);
    answers(answer);
    has(sim_agent_hears(sim), heard);
}

/* HTTP+SSE: of the call that a stream's message answers no more is known than its method. */
static void legacy(void)
{
    struct stream *get;
    char head[2048];
    const char *at, *text;

    publish(rules);
    sim->route->http_sse = sim->route->http_sse_only = true;
    sim_agent_says(sim, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\n\r\n");
    stream_begins(0);
    sim_upstream_says(sim, 0, "event: endpoint\ndata: /messages\n\n");
    at = strstr(sim_agent_hears(sim), "data: ");
    assert_non_null(at);
    (void)snprintf(head, sizeof head, "POST %.*s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %zu"
                   "\r\n\r\n%s", (int)strcspn(at + 6, "\n"), at + 6, strlen(CALL("search")), CALL("search"));
    get = sim->agent;
    sim->agent = NULL;
    sim_connect(sim);
    sim_agent_says(sim, head);
    has(sim_upstream_hears(sim, 1), "POST /messages ");
    sim_upstream_says(sim, 1, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
    has(sim_agent_hears(sim), "HTTP/1.1 202 ");
    event(0, PROGRESS("secret"));
    event(0, TEXT("PAN7"));
    stream_close(&sim->agent);
    sim->agent = get;
    text = sim_agent_hears(sim);
    has(text, "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"isError\":true"); /* it may be the vault's */
    has_not(text, "secret");
    has_not(text, "PAN7");
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
    ended(OUTCOME_STREAM_ENDED, REASON_STREAM_ENDED, "withhold", "inside");
}

static void plain_dialects(void)
{
    publish(rules);
    plain(&dialect_octopus, "/mcp/tool/search/call", "{}", "{\"card\":\"PAN7\"}", "\r\n\r\n{\"card\":\"" CUT "\"}");
    plain(&dialect_octopus, "/mcp/tool/search/call", "{}", "[\"secret\"]", "HTTP/1.1 403 ");
    has(sim->got, "{\"error\":\"policy_denied\",\"message\":\"" WITHHELD);
    ended(OUTCOME_REFUSED, REASON_ANSWER_WITHHELD, "withhold", "inside");
    plain(&dialect_octopus, "/mcp/tool/search/call", "{}", "\"a PAN7\"", "\r\n\r\n\"a " CUT "\"");
    plain(&dialect_octopus, "/mcp/tool/search/call", "{}", "77007", "HTTP/1.1 403 ");
    plain(&dialect_okso, "/mcp", "{\"action\":\"call_tool\",\"tool\":\"search\"}",
          "{\"type\":\"result\",\"tool\":\"search\",\"result\":{\"a\":\"PAN7\"}}",
          "\"result\":{\"a\":\"" CUT "\"}");
    plain(&dialect_okso, "/mcp", "{\"action\":\"call_tool\",\"tool\":\"search\"}",
          "{\"type\":\"result\",\"tool\":\"search\",\"result\":{\"a\":\"secret\"}}",
          "HTTP/1.1 200 ");
    has(sim->got, "{\"type\":\"error\",\"error\":{\"name\":\"callgate\",\"category\":\"policy\",\"message\":\"" WITHHELD);
}

TEST_CASE(test_others)
{
    in_every_weather(batches);
    in_every_weather(batches_without_room);
    in_every_weather(modern);
    in_every_weather(legacy);
    in_every_weather(plain_dialects);
}

/* ---- which rules, and without any ---- */

static const char *const nothing = "policy: answers\nrules:\n  - {id: all, effect: permit, match: {methods: ['*']}}\n"
                                   "  - {id: tools, effect: permit, match: {tools: ['*']}}\n";

/* An answer belongs to the version that permitted its call, what a server says besides to the one in force. */
static void policy_changes(void)
{
    publish(nothing);
    sim_agent_posts(sim, CALL("search"), "");
    stream_begins(0);
    event(0, PROGRESS("PAN7"));
    has(sim_agent_hears(sim), PROGRESS("PAN7"));
    publish(rules);
    event(0, PROGRESS("PAN7"));
    has(sim_agent_hears(sim), PROGRESS(CUT));
    event(0, TEXT("PAN7"));
    has(sim_agent_hears(sim), TEXT("PAN7"));
    sim_upstream_leaves(sim, 0);
    (void)sim_agent_hears(sim);
}

/* Nothing goes on of which the audit has no room to say what was done to it. */
static void no_room(void)
{
    publish(rules);
    sim_agent_posts(sim, CALL("search"), "");
    sim->ring->is_full = true;
    says("500 X\r\n" JSON_HEAD, ERROR("PAN7", "1"));
    has(sim_agent_hears(sim), "Content-Length: 0\r\n");
    has_not(sim->got, CUT);
    sim->ring->is_full = false;
    sim_agent_posts(sim, CALL("search"), "");
    sim->ring->is_full = true;
    answers(TEXT("PAN7"));
    has(sim_agent_hears(sim), "The gate cannot record calls fast enough.");
    has_not(sim->got, CUT);
    assert_int_equal(sim_last_outcome(sim)->outcome, OUTCOME_REFUSED);
}

/* Of more rules than the outcome has room for none is named, for whoever asks later which of them were met. */
static void many(void)
{
    char text[4096];
    int len = snprintf(text, sizeof text, "%s", nothing);

    len += snprintf(text + len, sizeof text - (size_t)len, "answers:\n");
    for (int i = 0; i < 40; i++)
        len += snprintf(text + len, sizeof text - (size_t)len,
                        "  - {id: f%d, effect: flag, when: [{value: '$..*', contains: PAN%d}]}\n", i, i % 10);
    publish(text);
    sim_agent_posts(sim, CALL("search"), "");
    answers(TEXT("PAN0 PAN1 PAN2 PAN3"));
    (void)sim_agent_hears(sim);
    has(sim_last_outcome(sim)->answer_rules, "[{\"id\":\"f0\","); /* 16 of them */
    sim_agent_posts(sim, CALL("search"), "");
    answers(TEXT("PAN0 PAN1 PAN2 PAN3 PAN4"));
    (void)sim_agent_hears(sim);
    assert_string_equal(sim_last_outcome(sim)->answer_rules, "\"too long\"");
    assert_string_equal(sim_last_outcome(sim)->answer_rule, "f0");
}

TEST_CASE(test_policy)
{
    in_every_weather(many);
    in_every_weather(policy_changes);
    in_every_weather(no_room);
}

TEST_MAIN(NULL, NULL)
