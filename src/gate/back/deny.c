/* SPDX-License-Identifier: Apache-2.0 */
#include "back/reply_priv.h"
#include "discovery/discovery.h"
#include "back/legacy.h"

#include "base/bug.h"
#include "http/writer.h"

#define ALLOW_HEADERS \
    "Authorization, Content-Type, Accept, X-API-Key, Last-Event-ID, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, " \
    "Mcp-Name, traceparent"
#define EXPOSE_HEADERS "Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate, Retry-After, X-Callgate-Decision"

static void write_cors(const struct pair *pair, struct buf *out)
{
    const struct exchange *exchange = &pair->exchange;
    struct span origin = http_head_known(&pair->asks.head, HTTP_NAME_ORIGIN);

    if (discovery_is_told_to_all(exchange)) {
        /* One answer for all pages, since caches on the way keep it. */
        buf_add_span(out, SPAN_LIT("Access-Control-Allow-Origin: *\r\n"));
    } else {
        http_write_line(out, SPAN_LIT("Access-Control-Allow-Origin: "), origin);
        buf_add_span(out, SPAN_LIT("Vary: Origin\r\n"));
    }
    buf_addf(out, "Access-Control-Expose-Headers: " EXPOSE_HEADERS ", %.*s\r\n",
             SPAN_ARG(exchange_correlation_name(exchange)));
}

enum code deny__common_headers(struct pair *pair, struct buf *out)
{
    const struct exchange *exchange = &pair->exchange;
    const struct call *call = exchange->call;

    if (!span_is_empty(call->asked.correlation))
        http_write_header(out, exchange_correlation_name(exchange), call->asked.correlation);
    if (call->seq != 0)
        http_write_line_u64(out, SPAN_LIT("X-Callgate-Decision: "), call->seq);
    if (exchange->origin_allowed || discovery_is_told_to_all(exchange))
        write_cors(pair, out);
    pair->close_after = pair->close_after || pair->lane->way != LANE_SERVES;
    if (pair->close_after || pair->asks.place != HTTP_PLACE_DONE)
        buf_add_span(out, SPAN_LIT("Connection: close\r\n"));
    return buf_code(out);
}

/* Whole seconds, rounded up, so that who waits that long finds room. */
static uint64_t retry_after_s(const struct exchange *exchange, enum reason reason)
{
    int64_t wait_us = reason == REASON_RATE_LIMITED   ? exchange->call->verdict.wait_us
                      : reason == REASON_REQUEST_RATE ? exchange->wait_us : 1;

    return wait_us > 0 ? ((uint64_t)wait_us + 999999) / 1000000 : 1;
}

static struct span verbs_of(const struct exchange *exchange)
{
    bool is_declared = exchange->pass == NULL || exchange->pass->oauth == OAUTH_NONE;

    return span_text(is_declared ? exchange->dialect->verbs : exchange->pass->is_post ? "POST" : "GET, HEAD");
}

/* Writes why the pipe is refused, for the pipe's stderr and not for the agent, since it names files. Whatever the
 * text holds, it becomes one line of visible ASCII. */
static void write_difference(const struct pair *pair, struct buf *out)
{
    struct buf text;

    buf_init(&text, 4096);
    pair->lane->above->write_difference(pair->lane, &text);
    buf_add_text(out, "Callgate-Why: ");
    for (size_t i = 0; i < buf_len(&text); i++)
        buf_add_byte(out, buf_peek(&text).at[i] >= ' ' && buf_peek(&text).at[i] < 0x7f ? buf_peek(&text).at[i] : '?');
    buf_add_text(out, "\r\n");
    buf_fini(&text);
}

/* Writes the headers that some refusals have besides their status. RFC 9110, 11.6.1, 10.2.1, 10.2.3. */
static void write_hints(const struct pair *pair, enum reason reason, int status, struct buf *out)
{
    const struct exchange *exchange = &pair->exchange;
    /* Where a policy denies streams or the end of a session, or the revision has none, POST is still allowed. Where the
     * method itself is unknown, all of the dialect's methods are. */
    bool is_unknown = reason == REASON_HTTP_METHOD && !mcp_revision_is_modern(exchange->version);

    if ((status == 401 || discovery_steps_up(exchange, reason)) && exchange->route != NULL)
        discovery_challenge(exchange, reason, out);
    if (reason == REASON_METADATA)
        buf_add_span(out, SPAN_LIT("Cache-Control: public, max-age=300\r\n"));
    if (reason == REASON_OAUTH_SENT || reason == REASON_OAUTH_REGISTERED)
        buf_add_span(out, SPAN_LIT("Cache-Control: no-store\r\n"));
    if (reason == REASON_OAUTH_SENT)
        http_write_line(out, SPAN_LIT("Location: "), buf_peek(&exchange->text));
    if (status == 429 || reason == REASON_RATE_LIMITED || reason == REASON_STARTING)
        http_write_line_u64(out, SPAN_LIT("Retry-After: "), retry_after_s(exchange, reason));
    if (reason == REASON_CONFIGURATION_DIFFERS)
        write_difference(pair, out);
    if (status == 405)
        http_write_line(out, SPAN_LIT("Allow: "), reason == REASON_TRANSPORT                   ? SPAN_LIT("GET")
                                                  : is_unknown || exchange->route == NULL ? verbs_of(exchange)
                                                                                          : SPAN_LIT("POST"));
}

static struct span media_of(enum mcp_form form)
{
    return form == MCP_FORM_SSE ? SPAN_LIT("text/event-stream") : SPAN_LIT("application/json");
}

static enum code write_answer(struct pair *pair, enum reason reason, int status, enum mcp_form form, struct span body)
{
    struct buf *out = &pair->front.out;

    http_write_status(out, status);
    if (form != MCP_FORM_NONE)
        http_write_line(out, SPAN_LIT("Content-Type: "), media_of(form));
    http_write_line_u64(out, SPAN_LIT("Content-Length: "), body.len);
    write_hints(pair, reason, status, out);
    deny__common_headers(pair, out);
    http_write_head_end(out);
    if (pair->exchange.method != HTTP_METHOD_HEAD)
        buf_add_span(out, body);
    return buf_code(out);
}

/* The message that the denial is about; one that could not be read counts where its id is known. */
static const struct mcp_message *subject_of(const struct exchange *exchange)
{
    struct call *call = exchange->call;

    return call->message.kind != MCP_NONE || !span_is_empty(call->message.id) ? &call->message : NULL;
}

static struct mcp_denial denial_of(struct pair *pair, enum reason reason)
{
    struct exchange *exchange = &pair->exchange;
    const struct call *call = exchange->call;

    return (struct mcp_denial){
        .reason = reason,
        .say = reason == REASON_CREDENTIAL_MISSING           ? discovery_say(exchange)
               : reason == call->verdict.reason ? call->verdict.say
                                                             : SPAN_NONE,
        .decision = call->seq,
        .asked = call->held_as,
        .console = call->is_offered || (reason == REASON_ACCOUNT_MISSING && call->message.opens_urls &&
                                            !span_is(call->message.method, "initialize"))
                       ? pair->conf->console_url : NULL,
        .connect = reason == REASON_ACCOUNT_MISSING ? pair->conf->console_url : NULL,
        .retry_after_s = reason_status(reason) == 429 ? retry_after_s(exchange, reason) : 0,
        .wants_sse = exchange->wants_sse,
        .was_sent = exchange->sent_us != 0,
        .by_status = discovery_steps_up(exchange, reason),
        .revisions = exchange->route ? exchange->route->revisions : NULL,
        .requested = call->message.modern_version,
        .route = exchange->route ? exchange->route->name : SPAN_NONE,
        .detail = call->message.detail,
        .unknown = call->message.unknown,
        .pseudo = call->message.kind == MCP_NONE ? call->asked.method : SPAN_NONE,
    };
}

/* Whether the denial is about a batch as a whole, not about one of its calls. */
static bool is_several(const struct exchange *exchange)
{
    return exchange->batch != NULL && exchange->call == exchange->own;
}

int deny_status(struct pair *pair, enum reason reason)
{
    struct mcp_denial denial;

    if (is_several(&pair->exchange))
        return batch__status(pair, reason);
    denial = denial_of(pair, reason);
    if (exchange_answers_by_stream(&pair->exchange))
        return 202;
    if (denial.by_status)
        return reason_status(reason);
    return pair->exchange.dialect->denial_status(subject_of(&pair->exchange), &denial);
}

/* Whether the reason is one of the gate's own bounds on requests, which no policy sets and no protocol has a form for. */
static bool is_request_limit(enum reason reason)
{
    return reason == REASON_REQUEST_RATE || reason == REASON_PRINCIPAL_LIMIT || reason == REASON_MEMORY_SHARE ||
           reason == REASON_CONNECTION_SHARE || reason == REASON_PROOF_SHARE ||
           reason == REASON_IDENTITY_SHARE;
}

enum code deny__write(struct pair *pair, enum reason reason, struct buf *out, enum mcp_form *form)
{
    struct exchange *exchange = &pair->exchange;
    struct mcp_denial denial;
    size_t before = buf_len(out);
    enum code code;

    if (is_several(exchange))
        return batch__deny(pair, reason, out, form);
    denial = denial_of(pair, reason);
    *form = MCP_FORM_JSON;
    if (discovery_is_asked(pair))
        code = discovery_refuse(reason, exchange->status, out);
    else if (exchange->route != NULL && exchange->route->limits.is_plain && is_request_limit(reason))
        code = buf_addf(out, "{\"error\":\"%s\"}", reason_text(reason));
    else
        code = exchange->dialect->denial_write(subject_of(exchange), &denial, out, form);
    if (code == CODE_OK && exchange->call->owes_outcome)
        exchange_delivered(exchange, span_part(buf_peek(out), before, SIZE_MAX));
    return code;
}

enum code deny__withheld(struct pair *pair, struct span say, struct buf *out)
{
    struct exchange *exchange = &pair->exchange;
    struct mcp_denial denial = denial_of(pair, REASON_ANSWER_WITHHELD);
    enum mcp_form form;

    denial.say = say;
    denial.wants_sse = false;
    return exchange->dialect->denial_write(&exchange->call->message, &denial, out, &form);
}

/* HTTP+SSE: puts the denial on the session's stream, and the answer to the POST says only that it was taken. Where the
 * stream is gone or full, the answer to the POST says the denial itself. */
static enum code put_on_stream(struct pair *pair, struct buf *text, enum mcp_form *form)
{
    struct exchange *exchange = &pair->exchange;
    enum code code = mailbox_put(pair->lane, exchange->session_id, buf_peek(text));

    if (code == CODE_OK) {
        buf_clear(text);
        *form = MCP_FORM_NONE;
    } else if (code == CODE_NOT_FOUND || code == CODE_LIMIT) {
        exchange->status = code == CODE_NOT_FOUND ? 404 : 503;
        code = CODE_OK;
    }
    return code;
}

void deny_answer(struct pair *pair, enum reason reason)
{
    struct exchange *exchange = &pair->exchange;
    struct buf *text = &exchange->text;
    enum mcp_form form = MCP_FORM_NONE;
    enum code code;

    BUG_ON(exchange->head == REPLY_HEAD_WRITTEN);
    reason_count(reason);
    exchange->call->refusal = reason;
    exchange->status = deny_status(pair, reason);
    buf_clear(text);
    buf_borrow(text);
    code = deny__write(pair, reason, text, &form);
    exchange->head = REPLY_HEAD_WRITTEN;
    if (code == CODE_OK && exchange_answers_by_stream(exchange))
        code = put_on_stream(pair, text, &form);
    if (code == CODE_OK)
        code = write_answer(pair, reason, exchange->status, form, buf_peek(text));
    pair_go(pair, STEP_DENY);
    if (code != CODE_OK)
        pair_close(pair, REASON_MEMORY);
}

/* Mcp-Param-* headers cannot be listed in advance, so those that the browser asks for are allowed by name. */
static void write_allowed_headers(const struct pair *pair, struct buf *out)
{
    struct span prefix = SPAN_LIT("Mcp-Param-");
    struct span list = http_head_named(&pair->asks.head, SPAN_LIT("Access-Control-Request-Headers"));

    buf_addf(out, "Access-Control-Allow-Headers: " ALLOW_HEADERS ", %.*s",
             SPAN_ARG(exchange_correlation_name(&pair->exchange)));
    while (!span_is_empty(list)) {
        struct span name = span_trim(span_cut(list, ',', &list));

        if (span_equals_nocase(span_part(name, 0, prefix.len), prefix) && http_name_is_writable(name))
            buf_addf(out, ", %.*s", SPAN_ARG(name));
    }
    buf_add_text(out, "\r\n");
}

/* Ends an answer to a request for which nothing is judged, and which has no row. */
static void end_unjudged(struct pair *pair, enum reason reason, enum code code)
{
    struct exchange *exchange = &pair->exchange;

    exchange->status = reason_status(reason);
    exchange->head = REPLY_HEAD_WRITTEN;
    exchange->call->refusal = reason;
    reason_count(reason);
    pair_go(pair, STEP_DENY);
    if (code != CODE_OK)
        pair_close(pair, REASON_MEMORY);
}

void deny_preflight(struct pair *pair)
{
    struct buf *out = &pair->front.out;

    http_write_status(out, 204);
    http_write_line(out, SPAN_LIT("Access-Control-Allow-Methods: "), verbs_of(&pair->exchange));
    write_allowed_headers(pair, out);
    buf_add_span(out, SPAN_LIT("Access-Control-Max-Age: 600\r\n"));
    deny__common_headers(pair, out);
    http_write_head_end(out);
    end_unjudged(pair, REASON_PREFLIGHT, buf_code(out));
}

void deny_by_telling(struct pair *pair, struct span body)
{
    struct buf *text = &pair->exchange.text;
    enum reason reason;
    enum code code;

    buf_clear(text);
    reason = discovery_write(pair, body, text);
    if (reason_status(reason) >= 400) {
        pair->exchange.call->refused = reason;
        pair_go(pair, STEP_JUDGE); /* a refusal is recorded */
        return;
    }
    code = reason == REASON_OAUTH_SENT ? write_answer(pair, reason, reason_status(reason), MCP_FORM_NONE, SPAN_NONE)
                                       : write_answer(pair, reason, reason_status(reason), MCP_FORM_JSON, buf_peek(text));
    end_unjudged(pair, reason, code);
}

bool deny_step(struct pair *pair)
{
    if (leg_unsent(&pair->front) == 0) {
        pair_go(pair, STEP_FINISH);
        return true;
    }
    if (pair->timed_out) {
        pair_close(pair, REASON_AGENT_STALLED);
        return true;
    }
    if (pair->deadline_us == 0)
        pair_deadline(pair, (int64_t)pair->conf->listens[pair->listen].body_ms * 1000);
    return false;
}
