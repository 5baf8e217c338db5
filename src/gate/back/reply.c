/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/discovery.h"
#include "back/reply_priv.h"
#include "back/upstream_priv.h"

#include "base/bug.h"
#include "base/log.h"
#include "http/authority.h"
#include "http/media.h"
#include "http/writer.h"
#include "mcp/method.h"
#include "os/clock.h"

#include <stdio.h>
#include <string.h>

#define LISTS_CPU_US 500000 /* less than half of it is enough for 16,384 URIs under 1,000 globs of a beginning and a `*` */
#define LISTS_SHARE 8

/* ---- failing ---- */

void reply__fail_for(struct pair *pair, enum audit_outcome outcome, enum reason reason, const char *detail)
{
    struct exchange *exchange = &pair->exchange;

    upstream__log(pair, reason, detail);
    pair_drop_back(pair);
    exchange->upstream_done = true;
    if (exchange->body_kind == BODY_STREAM) {
        stream__fail(pair, outcome, reason);
        return;
    }
    exchange_settle(exchange, outcome, reason);
    if (exchange->head == REPLY_HEAD_WRITTEN)
        pair_close(pair, reason); /* on a declared path, what went down cannot be taken back, so the reply is cut off */
    else
        deny_answer(pair, reason);
}

/* Says which rule the upstream broke, and where. */
static void describe(const struct pair *pair, enum reason reason, char *text, size_t size)
{
    const struct json_fault *fault = &pair->exchange.fault;

    if (fault->text != NULL && fault->kind != JSON_FAULT_NONE)
        (void)snprintf(text, size, "%s (%s, at byte %zu of the message)", reason_text(reason), fault->text, fault->offset);
    else if (fault->text != NULL && fault->text[0] != '\0')
        (void)snprintf(text, size, "%s (%s)", reason_text(reason), fault->text);
    else if (reason == REASON_UPSTREAM_TYPE)
        (void)snprintf(text, size, "%s (`%.*s`)", reason_text(reason),
                       SPAN_ARG(span_part(http_head_known(&pair->answers.head, HTTP_NAME_CONTENT_TYPE), 0, 100)));
    else
        (void)snprintf(text, size, "%s", *pair->answers.detail ? pair->answers.detail : reason_text(reason));
}

void reply__pass_by(struct pair *pair, enum reason reason)
{
    char text[320];

    describe(pair, reason, text, sizeof text);
    upstream__log(pair, reason, text);
    reason_count(reason);
}

void reply__fail(struct pair *pair, enum audit_outcome outcome, enum reason reason)
{
    char text[320];
    const char *detail = text;

    describe(pair, reason, text, sizeof text);
    if (pair->back.stream != NULL && pair->back.is_broken)
        detail = stream_fault(pair->back.stream);
    if (pair->exchange.body_kind == BODY_STREAM && *pair->events.detail)
        detail = pair->events.detail;
    reply__fail_for(pair, outcome, reason, detail);
}

/* ---- the reply's head, as it goes down ---- */

enum code reply__session_id(struct pair *pair, const struct mcp_reply *reply, struct buf *out)
{
    const struct exchange *exchange = &pair->exchange;
    struct mcp_session_scope scope = exchange_session_scope(exchange);
    struct span sent = http_head_known(&pair->answers.head, HTTP_NAME_MCP_SESSION_ID);
    struct mcp_session session = {sent, reply ? reply->version : SPAN_NONE,
                                  exchange->call->message.opens_urls && reply && mcp_revision_has_urls(reply->version)};

    if (sent.at == NULL)
        return CODE_OK;
    /* Only `initialize` begins a new session. Otherwise the agent's own name for the session is sent back; any other
     * would mean nothing to the agent. */
    if (reply != NULL && !span_is_empty(reply->version) && !reply->is_error && !reply->is_unsupported_version)
        return mcp_session_make(gate_session_key(pair->lane->gate), &scope, &session, out);
    if (exchange_has_session(exchange) && span_equals(sent, exchange->session.upstream_id))
        return buf_add_span(out, exchange->session_id);
    return CODE_OK;
}

bool reply__session_is_fit(struct pair *pair, const struct mcp_reply *reply)
{
    struct buf id;
    enum code code;

    buf_init(&id, HTTP_LINE_MAX_BYTES);
    code = reply__session_id(pair, reply, &id);
    buf_fini(&id);
    return code != CODE_INVALID;
}

/* Headers that go down with an error: RateLimit, RateLimit-Policy and the many X-RateLimit-* say when to
 * come again, as Retry-After does. */
static bool is_kept_in_errors(const struct http_head *head, size_t i)
{
    unsigned known = head->headers[i].known;
    struct span name = http_head_name(head, i);

    return span_equals_nocase(span_part(name, 0, 12), SPAN_LIT("X-RateLimit-")) ||
           span_equals_nocase(span_part(name, 0, 9), SPAN_LIT("RateLimit")) || known == HTTP_NAME_WWW_AUTHENTICATE ||
           known == HTTP_NAME_RETRY_AFTER || known == HTTP_NAME_ALLOW;
}

/* Headers that go down besides those for all agents: Location where a redirect passes, and those that the route names. */
static bool is_let_down(const struct exchange *exchange, const struct http_head *head, size_t i)
{
    const struct proxy_route *route = exchange->route;

    if (head->headers[i].known == HTTP_NAME_LOCATION)
        return head->status / 100 == 3;
    for (size_t j = 0; j < route->reply_header_count; j++)
        if (span_equals_nocase(http_head_name(head, i), route->reply_headers[j]))
            return http_head_drops(head, i);
    return head->headers[i].known == HTTP_NAME_WWW_AUTHENTICATE && !span_is_empty(route->public_url);
}

static void write_kept(const struct pair *pair, const struct http_head *head, size_t i, struct buf *out)
{
    const struct exchange *exchange = &pair->exchange;

    if (pair->lent != NULL && head->headers[i].known == HTTP_NAME_WWW_AUTHENTICATE)
        return; /* the endpoint takes challenges for the gate's own, which say what a token for it lacks */
    if (head->headers[i].known != HTTP_NAME_WWW_AUTHENTICATE || span_is_empty(exchange->route->public_url)) {
        http_write_header(out, http_head_name(head, i), http_head_value(head, i));
        return;
    }
    if (exchange->route->resource.server_count > 0 && exchange->route->server_count == 0)
        return; /* agents get tokens for the gate, and could not get one that this server wants */
    if (exchange->route->slugs.count > 0 && span_is_empty(exchange->slug))
        return; /* the declared path does not say which server is meant, so no URL can be written */
    buf_add_text(out, "WWW-Authenticate: ");
    discovery_rewrite_challenge(exchange, http_head_value(head, i), out);
    buf_add_text(out, "\r\n");
}

enum code reply__write_head(struct pair *pair, int status, bool passes, struct span session_id, struct buf *out)
{
    const struct http_head *head = &pair->answers.head;
    struct exchange *exchange = &pair->exchange;
    const struct http_except except = {
        .known = HTTP_EXCEPT(CONTENT_TYPE) | HTTP_EXCEPT(CONTENT_ENCODING) | HTTP_EXCEPT(MCP_SESSION_ID) |
                 (span_is_empty(exchange->route->public_url) && pair->lent == NULL ? 0 : HTTP_EXCEPT(WWW_AUTHENTICATE)),
        .names = &exchange->route->correlation_header,
        .count = 1,
    };

    exchange->status = status;
    exchange->head = REPLY_HEAD_WRITTEN;
    http_write_status(out, status);
    if (passes)
        http_write_passing(out, head, &except);
    for (size_t i = 0; i < head->count; i++)
        if (passes ? is_let_down(exchange, head, i) : is_kept_in_errors(head, i))
            write_kept(pair, head, i, out);
    if (!span_is_empty(session_id))
        http_write_line(out, SPAN_LIT("Mcp-Session-Id: "), session_id);
    return deny__common_headers(pair, out);
}

/* ---- the message in it ---- */

/* Whether lists may take more time. A list is looked at in one go, while the worker's other agents wait. So the lists of one
 * call get so much CPU time, and those of a long stream a share of its time. */
bool reply__has_time_for_lists(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    int64_t cpu_us = clock_thread_cpu_us(), now_us = pair_now_us(pair);

    if (exchange->list_seen_us == 0) {
        int64_t regained_us = (now_us - exchange->list_at_us) / LISTS_SHARE;

        exchange->list_us -= regained_us < exchange->list_us ? regained_us : exchange->list_us;
        exchange->list_at_us = now_us;
        exchange->list_seen_us = cpu_us;
    }
    exchange->list_us += cpu_us - exchange->list_seen_us;
    exchange->list_seen_us = cpu_us;
    exchange->is_list_costly |= exchange->list_us >= LISTS_CPU_US;
    return !exchange->is_list_costly;
}

/* One message, while it is read. */
struct reading {
    struct pair *pair;
    bool is_own;
};

static bool may_see(void *context, struct span method, struct span target, bool is_template)
{
    struct pair *pair = ((const struct reading *)context)->pair;

    const struct declared_unwrap *unwrap = span_is(method, "tools/call")
                                               ? declared_unwrap_find(&pair->exchange.route->unwraps, target) : NULL;

    if (unwrap != NULL && unwrap->name.count > 0)
        return true; /* each of its calls is judged by what stands in it */
    return reply__has_time_for_lists(pair) && gate_may_see(pair->lane->gate, pair->exchange.call, method, target, is_template);
}

static bool learn(void *context, const struct mcp_tool *tool)
{
    static const enum policy_known known[] = {
        [MCP_UNSAID] = POLICY_UNKNOWN, [MCP_SAID_FALSE] = POLICY_NO, [MCP_SAID_TRUE] = POLICY_YES};
    const enum policy_known said[POLICY_HINT_COUNT] = {
        [POLICY_READ_ONLY] = known[tool->hints.read_only], [POLICY_DESTRUCTIVE] = known[tool->hints.destructive],
        [POLICY_IDEMPOTENT] = known[tool->hints.idempotent], [POLICY_OPEN_WORLD] = known[tool->hints.open_world],
    };
    struct pair *pair = ((const struct reading *)context)->pair;
    const struct exchange *exchange = &pair->exchange;
    const struct question *asked = &exchange->call->asked;
    const struct gate_tool told = {
        .name = tool->name, .said = said, .share = exchange->label, .definition = tool->definition,
        .is_minted = !span_equals(exchange->label, asked->upstream), /* true for a slug that is not listed by name */
        .begins = tool->is_first && exchange->call->message.kind == MCP_REQUEST &&
                  json_member(asked->root, SPAN_LIT("cursor")) == NULL,
    };

    return reply__has_time_for_lists(pair) && gate_learn(pair->lane->gate, exchange->call, &told);
}

static bool passes(void *context, struct span method)
{
    struct pair *pair = ((const struct reading *)context)->pair;
    struct exchange *exchange = &pair->exchange;

    const struct mcp_reply notification = {.kind = MCP_NOTIFICATION, .method = method};
    const struct gate_came came = answered__came(exchange, &notification, false);

    return mcp_method_may_come(mcp_method_find(method, NULL), true) &&
           !exchange->route->apps.is_on && /* which looks into each */
           gate_passes(pair->lane->gate, exchange->call, &came, &exchange->passing);
}

/* HTTP+SSE: the call that is answered has its outcome already and holds no snapshot, so the one in force judges. */
static bool wants(void *context)
{
    const struct reading *reading = context;
    struct gate *gate = reading->pair->lane->gate;
    struct exchange *exchange = &reading->pair->exchange;
    const struct mcp_reply answer = {.kind = MCP_RESPONSE};
    const struct gate_came came = answered__came(exchange, &answer, reading->is_own);

    exchange->is_weighed = gate_weighs(gate, exchange->call, reading->is_own && exchange->mailbox == NULL, &came);
    return exchange->is_weighed || listed__concerns(reading->pair, reading->is_own) || exchange->route->apps.is_on ||
           (exchange->route->answer_bytes > 0 && exchange->call->owes_outcome && gate_redacts_answer(gate, exchange->call));
}

enum reason reply__read(struct pair *pair, struct span raw, uint64_t max_bytes, bool is_own, struct mcp_reply *reply)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;
    struct reading reading = {pair, is_own};
    const struct mcp_binding binding = exchange_binding(&pair->exchange, pair->lane->gate);
    const struct mcp_reply_rules rules = {
        .request_method = call->message.kind == MCP_REQUEST ? call->message.method : SPAN_NONE,
        .request_target = call->message.target,
        .own = &exchange->route->methods,
        .revisions = exchange->route->revisions,
        .request = call->message.is_modern ? &call->message : NULL,
        .binding = &binding,
        .deceptive = exchange->route->deceptive,
        .is_failure = exchange->reply_status >= 400,
        .request_id = call->message.id,
        .lenient = exchange->route->lenient,
        .is_ours = call->is_join,
        .keep = may_see,
        .learn = learn,
        .passes = passes,
        .wants = wants,
        .keep_context = &reading,
    };
    enum reason reason;

    exchange->fault = (struct json_fault){0};
    exchange->list_seen_us = 0;
    exchange->is_weighed = false;
    arena_reset(&exchange->event_arena);
    if (buf_is_empty(&exchange->event) || raw.at != buf_peek(&exchange->event).at)
        buf_clear(&exchange->event); /* else `raw` is changed in place */
    exchange->event.cap_bytes = max_bytes;
    buf_borrow(&exchange->event);
    reason = exchange->dialect->reply_read(raw, &rules, &exchange->event, &exchange->event_arena, reply, &exchange->fault);
    if (reason == REASON_PERMITTED && reply->kind == MCP_RESPONSE && !reply->is_error && listed__concerns(pair, is_own))
        reason = listed__filter(pair, is_own, reply);
    if (reason == REASON_PERMITTED && exchange->route->apps.is_on)
        reason = listed__cut_apps(pair, reply);
    if (exchange->is_list_costly)
        reason = REASON_UPSTREAM_COSTLY;
    if (reason == REASON_PERMITTED || reason == REASON_VERSION_NEGOTIATED || reason == REASON_UPSTREAM_COSTLY)
        exchange->fault.text = NULL;
    call->was_mended = call->was_mended || reply->is_mended;
    exchange->was_stripped = exchange->was_stripped || reply->stripped > 0;
    return reason;
}

/* Keeps the beginning of a result. Without memory nothing is kept, and answer_bytes shows that. */
static void keep_answer(struct pair *pair, const struct mcp_reply *reply)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;

    if (!call->owes_outcome || exchange->route->answer_bytes == 0 || span_is_empty(reply->result))
        return;
    call->keeps_answer = true;
    buf_clear(&call->answer);
    if (gate_answer(pair->lane->gate, call, reply->result, reply->outcome, exchange->route->answer_bytes,
                    &call->answer, &call->outcome.answer_bytes) != CODE_OK)
        buf_clear(&call->answer);
}

void reply__settle(struct pair *pair, const struct mcp_reply *reply, bool is_refused)
{
    struct exchange *exchange = &pair->exchange;
    enum audit_outcome outcome = reply->is_tool_error ? OUTCOME_TOOL_ERROR : OUTCOME_RESULT;

    keep_answer(pair, reply);
    exchange->call->outcome.has_error_code = reply->is_error;
    exchange->call->outcome.error_code = reply->error_code;
    if (reply->is_error)
        outcome = OUTCOME_PROTOCOL_ERROR;
    exchange_settle(exchange, is_refused ? OUTCOME_REFUSED : outcome,
                    is_refused ? REASON_VERSION_NEGOTIATED : REASON_COMPLETED);
}

bool reply__answer(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply)
{
    const struct exchange *exchange = &pair->exchange;

    if (exchange->batch != NULL)
        return batch__answer(pair, event, reply);
    if (exchange->mailbox != NULL) /* the call that it answers has its outcome already */
        return stream__emit(pair, event, reply->body);
    if (exchange->body_kind == BODY_STREAM)
        return stream__answer(pair, event, reply, false);
    whole__answer(pair, reply);
    return true;
}

/* ---- what kind of reply it is ---- */

static void refuse_redirect(struct pair *pair)
{
    char text[320];

    (void)snprintf(text, sizeof text, "it redirects to %.*s; write that URL into the route's upstream if it is right",
                   SPAN_ARG(span_part(http_without_query(http_head_known(&pair->answers.head, HTTP_NAME_LOCATION)), 0, 200)));
    reply__fail_for(pair, OUTCOME_REFUSED, REASON_UPSTREAM_REDIRECT, text);
}

static bool is_call(const struct exchange *exchange)
{
    return exchange->call->message.kind == MCP_REQUEST && exchange->endpoint.at == NULL;
}

/* Sorts a 2xx. Returns: UNSET: it may be read on. */
static enum reason sort_success(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    const struct http_head *head = &pair->answers.head;
    enum http_media media = http_media_of(head);
    bool is_stream = media == HTTP_MEDIA_SSE && head->framing != HTTP_FRAMING_NONE;
    bool is_empty = head->framing == HTTP_FRAMING_NONE ||
                    (head->framing == HTTP_FRAMING_CONTENT_LENGTH && head->content_length == 0);

    if (exchange->dialect->is_plain)
        return media == HTTP_MEDIA_JSON && !is_empty ? REASON_UNSET : REASON_UPSTREAM_TYPE;
    if (exchange->call->message.kind == MCP_NOTIFICATION || exchange->call->message.kind == MCP_RESPONSE ||
        exchange->endpoint.at != NULL || exchange->method == HTTP_METHOD_DELETE || is_empty || media == HTTP_MEDIA_NONE) {
        exchange->body_kind = media == HTTP_MEDIA_NONE ? BODY_EMPTY : BODY_DROPPED;
        return REASON_UNSET;
    }
    if (is_stream && (is_call(exchange) || exchange->method == HTTP_METHOD_GET)) {
        exchange->body_kind = BODY_STREAM;
        return REASON_UNSET;
    }
    return is_call(exchange) && media == HTTP_MEDIA_JSON ? REASON_UNSET : REASON_UPSTREAM_TYPE;
}

static void sort_error(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    enum http_media media = http_media_of(&pair->answers.head);

    exchange->body_kind = media == HTTP_MEDIA_TEXT ? BODY_TEXT : media == HTTP_MEDIA_JSON ? BODY_MESSAGE : BODY_DROPPED;
}

/* Whether the agent showed a token that was only for the gate. */
static bool keeps_token(const struct exchange *exchange)
{
    return exchange->identity.token != NULL && exchange->identity.consumed != NULL;
}

static bool shows_own(const struct exchange *exchange)
{
    return exchange->authorization.at != NULL || !buf_is_empty(&exchange->said);
}

static bool head_done(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    const struct http_head *head = &pair->answers.head;
    enum reason reason = REASON_UNSET;

    exchange->reply_status = head->status;
    exchange->first_reply_us = pair_now_us(pair);
    if (http_body_is_encoded(head))
        reason = REASON_UPSTREAM_ENCODED;
    else if (head->status >= 300 && head->status < 400 && !discovery_may_redirect(pair))
        reason = REASON_UPSTREAM_REDIRECT;
    else if (head->status == 401 && (shows_own(exchange) || keeps_token(exchange)))
        reason = REASON_UPSTREAM_UNAUTHORIZED; /* the upstream refuses the gate's credential, which no agent can mend */
    else if (exchange->pass != NULL)
        return pass__begin(pair);
    else if (head->status >= 400)
        sort_error(pair);
    else
        reason = sort_success(pair);
    if (reason == REASON_UPSTREAM_UNAUTHORIZED)
        outgoing__refused(pair);
    if (reason == REASON_UPSTREAM_REDIRECT)
        refuse_redirect(pair);
    else if (reason != REASON_UNSET)
        reply__fail(pair, OUTCOME_REFUSED, reason);
    if (reason != REASON_UNSET)
        return true;
    return exchange->body_kind == BODY_STREAM ? stream__begin(pair) : true;
}

enum http_step reply__feed(struct pair *pair, size_t *used, struct span *body)
{
    struct leg *back = &pair->back;
    enum http_step step;

    *used = 0;
    step = http_reader_feed(&pair->answers, buf_peek(&back->in), used, body);
    if (step == HTTP_STEP_FAULT) {
        reply__fail(pair, OUTCOME_UPSTREAM_FAILURE, pair->answers.reason);
        return step;
    }
    if (step != HTTP_STEP_BODY)
        buf_drop(&back->in, *used);
    if (step != HTTP_STEP_NEED_MORE || (!back->is_eof && !back->is_broken))
        return step;
    if (!back->is_broken && http_reader_eof(&pair->answers) == HTTP_STEP_MESSAGE_DONE)
        return HTTP_STEP_MESSAGE_DONE;
    reply__fail(pair, OUTCOME_UPSTREAM_FAILURE, REASON_UPSTREAM_CLOSED);
    return HTTP_STEP_FAULT;
}

static bool read_head(struct pair *pair)
{
    size_t used;
    struct span body;
    enum http_step step = reply__feed(pair, &used, &body);

    BUG_ON(step == HTTP_STEP_BODY || step == HTTP_STEP_MESSAGE_DONE);
    return step == HTTP_STEP_HEAD_DONE ? head_done(pair) : step == HTTP_STEP_FAULT;
}

/* ---- time ---- */

#define HOLD_US INT64_C(1000000)

static int64_t stall_limit_us(const struct pair *pair)
{
    uint32_t body_ms = pair->conf->listens[pair->listen].body_ms;
    uint32_t idle_ms = pair->exchange.route->reply_idle_ms;

    return (int64_t)(body_ms < idle_ms ? body_ms : idle_ms) * 1000;
}

/* Ends what is late, an agent that is to read or an upstream that is to send, and sets the next deadline. Returns: whether
 * anything was done. */
static bool mind_time(struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    int64_t now_us = pair_now_us(pair);
    int64_t stall_us = stall_limit_us(pair);
    bool has_head = exchange->reply_status != 0;
    int64_t limit_us = (int64_t)(has_head ? exchange->route->reply_idle_ms : exchange->route->reply_head_ms) * 1000;
    bool is_endless = exchange->body_kind == BODY_STREAM && exchange->call->message.lasts;
    int64_t next_us = INT64_MAX;

    if (leg_unsent(&pair->front) > 0) {
        if (now_us - pair->front_moved_us >= stall_us || pair_is_untaken(pair, &next_us)) {
            pair_close(pair, REASON_AGENT_STALLED);
            return true;
        }
        if (pair->front_moved_us + stall_us < next_us)
            next_us = pair->front_moved_us + stall_us;
    } else if (!exchange->upstream_done && !is_endless && exchange->incoming == NULL) {
        if (now_us - pair->back_moved_us >= limit_us) {
            reply__fail(pair, OUTCOME_TIMEOUT, has_head ? REASON_STREAM_IDLE : REASON_UPSTREAM_SILENT);
            return true;
        }
        next_us = pair->back_moved_us + limit_us;
    }
    if (exchange->head == REPLY_HEAD_HELD && now_us - exchange->first_reply_us >= HOLD_US) {
        (void)stream__release_head(pair);
        return true;
    }
    if (exchange->head == REPLY_HEAD_HELD && exchange->first_reply_us + HOLD_US < next_us)
        next_us = exchange->first_reply_us + HOLD_US;
    if (exchange->body_kind == BODY_STREAM && !exchange->upstream_done) {
        stream__tick(pair);
        if (pair->quiet_since_us + QUIET_US < next_us)
            next_us = pair->quiet_since_us + QUIET_US;
    }
    pair->timed_out = false;
    pair->deadline_us = next_us == INT64_MAX ? 0 : next_us;
    return false;
}

bool reply_step(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    if (exchange->upstream_done && leg_unsent(&pair->front) == 0) {
        reply__end_upstream(pair);
        pair_go(pair, STEP_FINISH);
        return true;
    }
    if (exchange->reply_status == 0               ? read_head(pair)
        : exchange->body_kind == BODY_STREAM ? stream__step(pair) : reply__whole(pair))
        return true;
    return mind_time(pair);
}
