/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/discovery.h"
#include "back/incoming_priv.h"
#include "back/reply_priv.h"
#include "back/upstream_priv.h"

#include "base/bug.h"
#include "http/media.h"
#include "http/writer.h"
#include "unicode/unicode.h"

#include <string.h>

/* ---- delivering ---- */

/* The connection is kept where the reply ended cleanly, came after all of the call had gone up, and is followed by nothing. */
void reply__end_upstream(struct pair *pair)
{
    if (pair->back.stream == NULL)
        return;
    if (pair->answers.place == HTTP_PLACE_DONE && pair->answers.head.keep_alive && buf_is_empty(&pair->back.in) &&
        leg_unsent(&pair->back) == 0 && !pair->line.spoke_early && !pair->back.is_eof && !pair->back.is_broken) {
        spare_end_call(pair);
        return;
    }
    pair_drop_back(pair);
}

void reply__deliver(struct pair *pair, int status, bool passes, struct span media, struct span body, struct buf *whole,
                    const struct mcp_reply *reply)
{
    struct exchange *exchange = &pair->exchange;
    struct buf *out = &pair->front.out;

    buf_clear(&exchange->text);
    if (buf_fail(out, reply__session_id(pair, reply, &exchange->text)) == CODE_OK)
        reply__write_head(pair, status, passes, buf_peek(&exchange->text), out);
    if (!span_is_empty(media))
        http_write_line(out, SPAN_LIT("Content-Type: "), media);
    if (status != 204 && exchange->method != HTTP_METHOD_HEAD)
        http_write_line_u64(out, SPAN_LIT("Content-Length: "), body.len);
    if (http_write_head_end(out) == CODE_OK && whole != NULL && body.len > COPIED_BYTES) {
        buf_fit(whole);
        pair->front.rest = body = buf_peek(whole);
    } else {
        buf_add_span(out, body);
    }
    if (buf_code(out) != CODE_OK) {
        pair_close(pair, REASON_MEMORY);
        return;
    }
    if (!span_is_empty(body))
        exchange_delivered(exchange, body);
    exchange->upstream_done = true;
}

/* Delivers a JSON-RPC reply, which is checked as a whole and goes down as canonical bytes. */
static void deliver_message(struct pair *pair, struct span raw)
{
    struct exchange *exchange = &pair->exchange;
    struct mcp_reply reply = {0};
    enum reason reason;

    if (exchange->batch != NULL) {
        batch__deliver(pair, raw);
        return;
    }
    if (!buf_is_empty(&exchange->reply)) {
        buf_clear(&exchange->event);
        exchange->event.cap_bytes = SIZE_MAX / 2;
        buf_move(&exchange->event, &exchange->reply); /* moved, so that a large reply is never held twice */
        raw = buf_peek(&exchange->event);
    }
    reason = reply__read(pair, raw, exchange->route->limits.response_bytes, true, &reply);
    if (reason == REASON_PERMITTED && (reply.kind != MCP_RESPONSE || !span_equals(reply.id, exchange->call->message.id)))
        reason = REASON_UPSTREAM_UNASKED;
    if (reason == REASON_PERMITTED && !reply__session_is_fit(pair, &reply))
        reason = REASON_UPSTREAM_MALFORMED;
    if (reason != REASON_PERMITTED && reason != REASON_VERSION_NEGOTIATED) {
        reply__fail(pair, OUTCOME_REFUSED, reason);
        return;
    }
    if (reason == REASON_PERMITTED) {
        (void)incoming__take(pair, NULL, &reply, true);
        return;
    }
    reply__settle(pair, &reply, true);
    reply__deliver(pair, exchange->reply_status, true, SPAN_LIT("application/json"), reply.body, &exchange->event, NULL);
}

void whole__answer(struct pair *pair, const struct mcp_reply *reply)
{
    struct exchange *exchange = &pair->exchange;
    bool is_ours = reply->body.at == buf_peek(&exchange->body).at;
    /* with an answer all that the upstream's head says is withheld */
    bool is_withheld = exchange->call->outcome.reason == REASON_ANSWER_WITHHELD;
    int status = is_withheld ? deny_status(pair, REASON_ANSWER_WITHHELD) : exchange->reply_status;

    reply__settle(pair, reply, false);
    reply__deliver(pair, status, !is_withheld, SPAN_LIT("application/json"), reply->body,
                   is_ours ? &exchange->body : &exchange->event, reply);
}

/* Whether the reply is to one request, not to several or to none. */
static bool is_of_one(const struct exchange *exchange)
{
    return exchange->call->message.kind == MCP_REQUEST && exchange->batch == NULL;
}

/* Reads an error's body as an answer, since who reads the body and not the status must not find in it what an answer may not
 * hold. *root: what rules for answers look at; NULL: none do. Returns: empty: it is no error's answer. */
static struct span read_error(struct pair *pair, struct span raw, const struct json_node **root)
{
    bool is_plain = pair->exchange.dialect->is_plain;
    struct mcp_reply reply = {0};
    bool is_read = reply__read(pair, raw, ERROR_BODY_MAX, is_of_one(&pair->exchange), &reply) == REASON_PERMITTED;

    *root = reply.outcome;
    if (is_read && (is_plain ? reply.is_tool_error : reply.is_error))
        return reply.body;
    buf_clear(&pair->exchange.event);
    return SPAN_NONE;
}

/* Reads an error's body that is JSON and no message. Takes, returns: as read_error. */
static struct span read_other(struct pair *pair, struct span raw, const struct json_node **root)
{
    struct exchange *exchange = &pair->exchange;
    struct mcp_reply reply = {.kind = MCP_RESPONSE};
    struct json_fault fault;

    if (json_read(raw, &json_reply_rules, &exchange->event, &exchange->event_arena, root, &fault) != CODE_OK)
        return SPAN_NONE;
    reply.outcome = *root;
    reply.body = buf_peek(&exchange->event);
    return !exchange->route->apps.is_on || listed__cut_apps(pair, &reply) == REASON_PERMITTED ? reply.body : SPAN_NONE;
}

/* An error's body is small, so it is judged at once. Text is no document of which a part could be left out. Returns: what goes
 * on; empty: the status alone. */
static struct span weigh_error(struct pair *pair, struct span body, const struct json_node *root, struct span *media)
{
    struct exchange *exchange = &pair->exchange;
    const struct mcp_reply reply = {.kind = MCP_RESPONSE, .body = body, .outcome = root};
    bool is_own = is_of_one(exchange), is_text = exchange->body_kind == BODY_TEXT;
    struct gate_came came = answered__came(exchange, &reply, is_own);
    const struct json_node text = {.type = JSON_STRING, .raw = body, .text = body};
    struct gate_weighed weighed;
    struct json_edits edits;

    if (span_is_empty(body) || !gate_weighs(pair->lane->gate, exchange->call, is_own, &came))
        return body;
    if (is_text)
        came.root = &text;
    json_edits_init(&edits);
    gate_weigh(pair->lane->gate, exchange->call, is_own, &came, &exchange->event_arena, &edits, &weighed);
    if (weighed.effect == ANSWER_REDACT && is_text)
        weighed.effect = ANSWER_WITHHOLD;
    if (answered__note(pair, &weighed, body, is_own) != REASON_UNSET || weighed.effect == ANSWER_WITHHOLD ||
        json_edits_apply(&edits, &exchange->event, NULL, NULL) != CODE_OK)
        body = *media = SPAN_NONE;
    else if (!is_text)
        body = buf_peek(&exchange->event);
    json_edits_fini(&edits);
    return body;
}

/* Delivers an upstream's error: the status, and the body where every reader reads it alike. */
static void deliver_error(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct span raw = buf_peek(&exchange->reply);
    struct span body = SPAN_NONE, media = SPAN_NONE;
    const struct json_node *root = NULL;

    buf_clear(&exchange->event);
    exchange->event.cap_bytes = ERROR_BODY_MAX;
    if (exchange->dialect->is_plain) {
        body = exchange->body_kind == BODY_TEXT ? SPAN_NONE : read_error(pair, raw, &root);
        media = span_is_empty(body) ? SPAN_NONE : SPAN_LIT("application/json");
    } else if (exchange->route->deceptive.results != MCP_PASS &&
        (exchange->body_kind == BODY_TEXT ? unicode_is_deceptive(raw) : mcp_json_is_deceptive(raw))) {
        exchange->was_stripped = !span_is_empty(raw); /* all of the body is left out */
    } else if (mcp_hides_message(raw)) {
        upstream__log(pair, REASON_UPSTREAM_UNASKED,
                      "its error cannot be read, or is a message of another kind: its status alone goes on");
    } else if (exchange->body_kind == BODY_TEXT && unicode_is_utf8(raw)) {
        body = raw;
        media = http_head_known(&pair->answers.head, HTTP_NAME_CONTENT_TYPE);
    } else if (exchange->body_kind != BODY_TEXT && !span_is_empty(raw)) {
        body = read_error(pair, raw, &root);
        if (span_is_empty(body))
            body = read_other(pair, raw, &root);
        media = span_is_empty(body) ? SPAN_NONE : SPAN_LIT("application/json");
    }
    body = weigh_error(pair, body, root, &media);
    exchange_settle(exchange, OUTCOME_HTTP_ERROR, REASON_COMPLETED);
    reply__deliver(pair, exchange->reply_status, false, media, body, NULL, NULL);
}

static void deliver_empty(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    bool is_taken = exchange->call->message.kind == MCP_NOTIFICATION || exchange->call->message.kind == MCP_RESPONSE ||
                    exchange->endpoint.at != NULL;
    /* A stream that ended before it began is still called a stream, since who opened it checks the type. */
    bool is_stream = !is_taken && http_media_of(&pair->answers.head) == HTTP_MEDIA_SSE;

    if (exchange->reply_status >= 400) {
        exchange_settle(exchange, OUTCOME_HTTP_ERROR, REASON_COMPLETED);
        reply__deliver(pair, exchange->reply_status, false, SPAN_NONE, SPAN_NONE, NULL, NULL);
        return;
    }
    exchange_settle(exchange, OUTCOME_ACCEPTED, REASON_COMPLETED);
    reply__deliver(pair, is_taken ? 202 : exchange->reply_status, !is_taken,
                   is_stream ? SPAN_LIT("text/event-stream") : SPAN_NONE, SPAN_NONE, NULL, NULL);
}

/* ---- declared paths ---- */

/* Bodies of declared paths are not judged, so they go down as they come, and a slow reader holds back its upstream. */

static bool is_chunked_down(const struct pair *pair)
{
    const struct http_head *head = &pair->answers.head;

    return pair->exchange.method != HTTP_METHOD_HEAD && head->framing != HTTP_FRAMING_NONE &&
           head->framing != HTTP_FRAMING_CONTENT_LENGTH;
}

static void write_framing(const struct pair *pair, struct buf *out)
{
    const struct http_head *head = &pair->answers.head;

    if (head->status == 204 || pair->exchange.method == HTTP_METHOD_HEAD)
        return;
    if (is_chunked_down(pair))
        buf_add_span(out, SPAN_LIT("Transfer-Encoding: chunked\r\n"));
    else
        http_write_line_u64(out, SPAN_LIT("Content-Length: "),
                            head->framing == HTTP_FRAMING_CONTENT_LENGTH ? head->content_length : 0);
}

bool pass__begin(struct pair *pair)
{
    const struct http_head *head = &pair->answers.head;
    struct span media = http_head_known(head, HTTP_NAME_CONTENT_TYPE);
    struct buf *out = &pair->front.out;

    if (discovery_is_metadata(pair)) {
        pair->exchange.body_kind = BODY_METADATA; /* the body is read whole, and changed before it goes down */
        return true;
    }
    if (pair->exchange.method != HTTP_METHOD_HEAD && head->framing == HTTP_FRAMING_CONTENT_LENGTH &&
        head->content_length > pair->exchange.route->limits.response_bytes) {
        reply__fail(pair, OUTCOME_REFUSED, REASON_UPSTREAM_TOO_LARGE);
        return true;
    }
    reply__write_head(pair, head->status, true, SPAN_NONE, out);
    if (!span_is_empty(media))
        http_write_line(out, SPAN_LIT("Content-Type: "), media);
    write_framing(pair, out);
    if (http_write_head_end(out) != CODE_OK)
        pair_close(pair, REASON_MEMORY);
    return true;
}

static bool pass_on(struct pair *pair, struct span piece)
{
    struct buf *out = &pair->front.out;

    if ((is_chunked_down(pair) ? http_write_chunk(out, piece) : buf_add_span(out, piece)) == CODE_OK) {
        exchange_delivered(&pair->exchange, piece);
        return true;
    }
    pair_close(pair, REASON_MEMORY);
    return false;
}

static void end_pass(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    exchange_settle(exchange, exchange->reply_status >= 400 ? OUTCOME_HTTP_ERROR : OUTCOME_RESULT, REASON_COMPLETED);
    exchange->upstream_done = true;
    if (is_chunked_down(pair) && http_write_last_chunk(&pair->front.out) != CODE_OK)
        pair_close(pair, REASON_MEMORY);
}

static void deliver_metadata(struct pair *pair, struct span raw)
{
    struct exchange *exchange = &pair->exchange;
    enum reason reason;

    buf_clear(&exchange->body);
    reason = discovery_rewrite_metadata(pair, raw, &exchange->body);
    if (reason != REASON_PERMITTED) {
        reply__fail(pair, OUTCOME_REFUSED, reason);
        return;
    }
    exchange_settle(exchange, OUTCOME_RESULT, REASON_COMPLETED);
    reply__deliver(pair, exchange->reply_status, true, SPAN_LIT("application/json"), buf_peek(&exchange->body), NULL, NULL);
}

static bool drops_body(const struct exchange *exchange)
{
    return exchange->body_kind == BODY_DROPPED || exchange->body_kind == BODY_EMPTY;
}

static void deliver_whole(struct pair *pair, struct span raw)
{
    const struct exchange *exchange = &pair->exchange;

    if (exchange->body_kind == BODY_METADATA)
        deliver_metadata(pair, raw);
    else if (exchange->pass != NULL)
        end_pass(pair);
    else if (drops_body(exchange))
        deliver_empty(pair);
    else if (exchange->reply_status >= 400)
        deliver_error(pair);
    else
        deliver_message(pair, raw);
}

/* ---- collecting ---- */

/* Takes a piece of the body. Returns: false: the reply ended here. */
static bool keep(struct pair *pair, struct span piece)
{
    struct exchange *exchange = &pair->exchange;
    bool is_error = exchange->reply_status >= 400 && exchange->pass == NULL;
    bool is_call = exchange->endpoint.at == NULL &&
                   (exchange->call->message.kind == MCP_REQUEST || exchange->method == HTTP_METHOD_GET);
    uint64_t limit = is_error || exchange->body_kind == BODY_METADATA ? ERROR_BODY_MAX : exchange->route->limits.response_bytes;
    enum reason reason;

    if (exchange->body_kind == BODY_EMPTY && is_call) {
        reply__fail(pair, OUTCOME_REFUSED, REASON_UPSTREAM_TYPE);
        return false;
    }
    if (pair->answers.body_bytes > limit) {
        if (!drops_body(exchange) && !is_error) {
            reply__fail(pair, OUTCOME_REFUSED, REASON_UPSTREAM_TOO_LARGE);
            return false;
        }
        /* The status is enough, so the rest of the body is not waited for. */
        exchange->body_kind = BODY_DROPPED;
        deliver_empty(pair);
        return false;
    }
    if (drops_body(exchange))
        return true;
    if (exchange->pass != NULL && exchange->body_kind != BODY_METADATA)
        return pass_on(pair, piece);
    reason = pair_refuses(pair, buf_len(&exchange->reply));
    if (reason == REASON_UNSET && pair_collect(&exchange->reply, piece, &pair->answers.head) != CODE_OK)
        reason = REASON_MEMORY;
    if (reason != REASON_UNSET)
        reply__fail(pair, OUTCOME_REFUSED, reason);
    return reason == REASON_UNSET;
}

/* Whether a server streams an answer to a message that has none, which is not waited for. */
static bool is_endless(const struct pair *pair)
{
    return drops_body(&pair->exchange) && pair->exchange.reply_status < 300 &&
           http_media_of(&pair->answers.head) == HTTP_MEDIA_SSE;
}

bool reply__whole(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct leg *back = &pair->back;
    size_t used;
    struct span body;

    if (exchange->incoming != NULL)
        return incoming__step(pair);
    if (exchange->upstream_done || (exchange->pass != NULL && buf_len(&pair->front.out) > STREAM_HIGH_WATER))
        return false;
    if (batch__gathers(exchange)) {
        batch__go_on(pair);
        return exchange->incoming == NULL;
    }
    if (is_endless(pair)) {
        deliver_empty(pair);
        return true;
    }
    switch (reply__feed(pair, &used, &body)) {
    case HTTP_STEP_BODY:
        if (!drops_body(exchange) && pair->answers.place == HTTP_PLACE_DONE && buf_is_empty(&exchange->reply) &&
            exchange->reply_status < 300 && exchange->pass == NULL &&
            pair->answers.body_bytes <= exchange->route->limits.response_bytes) {
            deliver_message(pair, body); /* the body is whole and in one piece, so it is read in place */
            if (back->stream != NULL)
                buf_drop(&back->in, used);
            return true;
        }
        if (keep(pair, body))
            buf_drop(&back->in, used);
        return true;
    case HTTP_STEP_MESSAGE_DONE:
        deliver_whole(pair, buf_peek(&exchange->reply));
        return true;
    case HTTP_STEP_FAULT:
        return true;
    case HTTP_STEP_NEED_MORE:
        return false;
    case HTTP_STEP_HEAD_DONE:
        break;
    }
    BUG_ON("a second head within a reply");
    return false;
}
