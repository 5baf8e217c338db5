/* SPDX-License-Identifier: Apache-2.0 */
#include "back/incoming_priv.h"
#include "back/legacy.h"
#include "back/reply_priv.h"

#include "base/bug.h"
#include "http/writer.h"
#include "sse/writer.h"

#define PENDING_MAX_BYTES 65536 /* the most that events may have before the one that the reply's head waits for */

/* ---- going down ---- */

static enum code write_down(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    enum code code = buf_code(&exchange->text);
    struct span text;

    if (code != CODE_OK || buf_is_empty(&exchange->text))
        return code;
    text = buf_peek(&exchange->text);
    code = http_write_chunk(&pair->front.out, text);
    if (code == CODE_OK)
        exchange_delivered(exchange, text);
    buf_fini(&exchange->text);
    buf_fit(&pair->front.out);
    pair->quiet_since_us = pair_now_us(pair);
    return code;
}

static enum code write_stream_head(struct pair *pair, const struct mcp_reply *reply)
{
    struct exchange *exchange = &pair->exchange;
    struct buf *out = &pair->front.out;
    struct buf id;
    enum code code;

    buf_init(&id, HTTP_LINE_MAX_BYTES);
    code = reply__session_id(pair, reply, &id);
    if (code == CODE_OK)
        code = reply__write_head(pair, exchange->reply_status, true, buf_peek(&id), out);
    if (code == CODE_OK)
        code = buf_add_span(out, SPAN_LIT("Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"));
    buf_fini(&id);
    return code;
}

/* Whether more events may be added. Events wait in exchange->text until all that was read has been looked at, so that
 * many go down in one write. Before the head is written they wait for it, since the session's name is known only with
 * the answer to `initialize`. */
static bool may_say_more(struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;

    if (buf_code(&exchange->text) != CODE_OK) {
        pair_close(pair, REASON_MEMORY);
        return false;
    }
    if (exchange->head == REPLY_HEAD_WRITTEN || buf_len(&exchange->text) <= PENDING_MAX_BYTES)
        return true;
    reply__fail(pair, OUTCOME_REFUSED, REASON_UPSTREAM_EVENT);
    return false;
}

bool stream__flush(struct pair *pair)
{
    if (!may_say_more(pair))
        return false;
    if (pair->exchange.head != REPLY_HEAD_WRITTEN || write_down(pair) == CODE_OK)
        return true;
    pair_close(pair, REASON_MEMORY);
    return false;
}

bool stream__emit(struct pair *pair, const struct sse_event *event, struct span json)
{
    struct buf *text = &pair->exchange.text;

    buf_borrow(text);
    (void)buf_fail(text, sse_write_message(text, event, json));
    return may_say_more(pair);
}

bool stream__emit_refusal(struct pair *pair, struct span json)
{
    struct buf *text = &pair->exchange.text;

    buf_borrow(text);
    (void)buf_fail(text, sse_write_typed(text, SPAN_LIT("refusal"), json));
    return stream__flush(pair);
}

bool stream__release_head(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    if (exchange->head != REPLY_HEAD_HELD)
        return true;
    if (write_stream_head(pair, NULL) == CODE_OK)
        return stream__flush(pair);
    pair_close(pair, REASON_MEMORY);
    return false;
}

static void end_down(struct pair *pair)
{
    if (!stream__release_head(pair))
        return;
    mailbox_close(pair, &pair->exchange.text); /* from now on what is to be said goes into the answer to its POST */
    if (!stream__flush(pair))
        return;
    pair->exchange.upstream_done = true;
    if (http_write_last_chunk(&pair->front.out) != CODE_OK)
        pair_close(pair, REASON_MEMORY);
}

void stream__end(struct pair *pair)
{
    exchange_settle(&pair->exchange, OUTCOME_STREAM_ENDED, REASON_STREAM_ENDED);
    pair_drop_back(pair);
    end_down(pair);
}

static bool owes_answer(const struct exchange *exchange)
{
    if (exchange->batch != NULL)
        return batch__owes_answer(exchange);
    return exchange->call->message.kind == MCP_REQUEST && !exchange->call->is_answered;
}

void stream__fail(struct pair *pair, enum audit_outcome outcome, enum reason reason)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;

    exchange_settle(exchange, outcome, reason);
    if (exchange->head != REPLY_HEAD_WRITTEN) {
        buf_clear(&exchange->text);
        deny_answer(pair, reason);
        return;
    }
    reason_count(reason);
    buf_clear(&exchange->event);
    exchange->event.cap_bytes = PENDING_MAX_BYTES;
    if (exchange->batch != NULL && !batch__answer_rest(pair, reason))
        return;
    if (exchange->batch == NULL && owes_answer(exchange) &&
        exchange->dialect->reply_error(call->message.id, reason, call->seq, &exchange->event) == CODE_OK &&
        !stream__emit(pair, NULL, buf_peek(&exchange->event)))
        return;
    call->is_answered = true;
    end_down(pair);
}

/* Frees what a stream's largest event needed, since thousands of streams may wait. */
static void give_buffers_back(struct pair *pair)
{
    leg_rest(&pair->front);
    leg_rest(&pair->back);
    if (pair->exchange.incoming != NULL)
        return; /* the incoming message lies in the buffers below */
    sse_parser_rest(&pair->events);
    buf_fini(&pair->exchange.event);
    arena_fini(&pair->exchange.event_arena);
}

void stream__tick(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    if (exchange->head != REPLY_HEAD_WRITTEN || pair_now_us(pair) - pair->quiet_since_us < QUIET_US)
        return;
    pair->quiet_since_us = pair_now_us(pair);
    give_buffers_back(pair);
    /* Bytes that wait already show whether the agent is there, so no comment is needed. */
    if (leg_unsent(&pair->front) > 0)
        return;
    if (sse_write_comment(&exchange->text) != CODE_OK)
        pair_close(pair, REASON_MEMORY);
    else
        (void)stream__flush(pair);
}

/* ---- coming up ---- */

bool stream__begin(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    gauge_add(&pair->lane->gauges.streams, 1);
    sse_parser_begin(&pair->events, exchange->route->limits.event_bytes);
    exchange->event.cap_bytes = exchange->route->limits.event_bytes;
    pair->quiet_since_us = pair_now_us(pair);
    if (exchange->dialect->begins_session(&exchange->call->message))
        return true;
    if (legacy_opens(exchange)) {
        exchange->head = REPLY_HEAD_HELD;
        return true;
    }
    if (write_stream_head(pair, NULL) != CODE_OK)
        pair_close(pair, REASON_MEMORY);
    return true;
}

/* Takes the answer to the request of this exchange. */
static bool take_response(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply, bool is_refused)
{
    struct exchange *exchange = &pair->exchange;

    if (exchange->call->is_answered || !span_equals(reply->id, exchange->call->message.id)) {
        reply__fail(pair, OUTCOME_REFUSED, REASON_UPSTREAM_UNASKED);
        return false;
    }
    if (exchange->head != REPLY_HEAD_WRITTEN && !is_refused && !reply__session_is_fit(pair, reply)) {
        reply__fail(pair, OUTCOME_REFUSED, REASON_UPSTREAM_MALFORMED);
        return false;
    }
    return is_refused ? stream__answer(pair, event, reply, true) : incoming__take(pair, event, reply, true);
}

bool stream__answer(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply, bool is_refused)
{
    struct exchange *exchange = &pair->exchange;

    exchange->call->is_answered = true;
    reply__settle(pair, reply, is_refused);
    if (exchange->head != REPLY_HEAD_WRITTEN && write_stream_head(pair, is_refused ? NULL : reply) != CODE_OK) {
        pair_close(pair, REASON_MEMORY);
        return false;
    }
    return stream__emit(pair, event, reply->body);
}

/* Whether the agent came back to a stream of its session, which may hold answers to whatever it asked before. */
static bool is_resuming(const struct pair *pair)
{
    return pair->exchange.method == HTTP_METHOD_GET && exchange_has_session(&pair->exchange) &&
           http_head_has(&pair->asks.head, HTTP_NAME_LAST_EVENT_ID);
}

static bool take_message(struct pair *pair, const struct sse_event *event)
{
    struct exchange *exchange = &pair->exchange;
    bool is_resumed = is_resuming(pair);
    struct mcp_reply reply = {0};
    enum reason reason;

    if (exchange->batch != NULL)
        return batch__take(pair, event) && !batch__has_parts(exchange);
    if (exchange->mailbox != NULL)
        return legacy_take_answer(pair, event);
    reason = reply__read(pair, event->data, exchange->route->limits.event_bytes, !is_resumed, &reply);
    if (reason != REASON_PERMITTED && reason != REASON_VERSION_NEGOTIATED) {
        reply__fail(pair, OUTCOME_REFUSED, reason);
        return false;
    }
    /* Since 2026-07-28 a server asks within its answers, and nobody would answer a request on a stream. */
    if (exchange->call->message.is_modern && reply.kind == MCP_REQUEST) {
        reply__fail(pair, OUTCOME_REFUSED, REASON_UPSTREAM_UNASKED);
        return false;
    }
    if (reply.kind != MCP_RESPONSE || is_resumed)
        return incoming__take(pair, event, &reply, false);
    return take_response(pair, event, &reply, reason == REASON_VERSION_NEGOTIATED);
}

/* Returns: whether the next event may be read. */
static bool take_event(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    const struct sse_event *event = &pair->events.event;

    if (span_is(event->type, "endpoint") && event->has_data && legacy_opens(exchange) &&
        (exchange->route->http_sse || !exchange->saw_data))
        return legacy_take_endpoint(pair, event);
    if (event->has_data && !span_is_empty(event->data) && !span_is(event->type, "message")) {
        /* `ping`, `keepalive`: nothing that a client of this dialect could read */
        gauge_add(&pair->lane->gauges.events_dropped, 1);
        return true;
    }
    exchange->saw_event_id = exchange->saw_event_id || (event->has_id && !span_is_empty(event->id));
    if (!event->has_data || span_is_empty(event->data)) {
        (void)buf_fail(&exchange->text, sse_write_priming(&exchange->text, event));
        return may_say_more(pair);
    }
    exchange->saw_data = true;
    if (exchange->route->http_sse_only && exchange->mailbox == NULL && legacy_opens(exchange)) {
        reply__fail_for(pair, OUTCOME_REFUSED, REASON_UPSTREAM_EVENT, "a message before its `endpoint` event");
        return false;
    }
    return stream__release_head(pair) && take_message(pair, event);
}

/* Takes the end of the upstream's stream, between two events or within one. */
static void take_end(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    bool owes = owes_answer(exchange) && !exchange->call->message.lasts;
    bool may_resume = exchange->saw_event_id && exchange->head == REPLY_HEAD_WRITTEN && !exchange->call->message.is_modern;

    if (sse_parser_eof(&pair->events) == SSE_STEP_FAULT) {
        reply__fail(pair, OUTCOME_REFUSED, pair->events.reason);
        return;
    }
    if (owes && !may_resume) {
        reply__fail(pair, OUTCOME_UPSTREAM_FAILURE, REASON_UPSTREAM_CLOSED);
        return;
    }
    /* An agent that has an event's id can ask for the rest by GET and Last-Event-ID. */
    exchange_settle(exchange, owes ? OUTCOME_DETACHED : OUTCOME_STREAM_ENDED, REASON_STREAM_ENDED);
    end_down(pair);
}

/* Whether the agent has left so much that the upstream is read no further. */
static bool is_full(const struct pair *pair)
{
    return buf_len(&pair->front.out) + buf_len(&pair->exchange.text) > STREAM_HIGH_WATER;
}

/* Parses one step of what is decoded. Returns: whether the next may be taken. */
static bool parse_once(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    size_t used = 0;
    enum sse_step step = sse_parser_feed(&pair->events, span_part(buf_peek(&pair->back.in), 0, exchange->sse_left), &used);
    bool goes_on = false;

    exchange->sse_left -= used;
    buf_drop(&pair->back.in, used);
    switch (step) {
    case SSE_STEP_FAULT:
        reply__fail(pair, OUTCOME_REFUSED, pair->events.reason);
        break;
    case SSE_STEP_EVENT:
        goes_on = take_event(pair);
        if (exchange->event.size > STREAM_HIGH_WATER && stream__flush(pair))
            give_buffers_back(pair); /* what goes down is a copy, which may stay for long */
        break;
    case SSE_STEP_COMMENT:
        (void)buf_fail(&exchange->text, sse_write_comment(&exchange->text));
        goes_on = may_say_more(pair);
        break;
    case SSE_STEP_PASSED:
        goes_on = legacy_pass_by(pair, &pair->events.event);
        break;
    case SSE_STEP_NEED_MORE:
        break;
    }
    return goes_on;
}

static void parse(struct pair *pair)
{
    while (parse_once(pair) && pair->exchange.sse_left > 0 && !is_full(pair))
        ;
}

static bool read_body(struct pair *pair)
{
    struct span in = buf_peek(&pair->back.in), body;
    size_t used;

    switch (reply__feed(pair, &used, &body)) {
    case HTTP_STEP_BODY:
        BUG_ON(body.at + body.len != in.at + used);
        buf_drop(&pair->back.in, used - body.len);
        pair->exchange.sse_left = body.len;
        return true;
    case HTTP_STEP_MESSAGE_DONE:
        take_end(pair);
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

/* Ends a lasting stream because the gate drains, in good order where its dialect has words for that. */
static void end_lasting(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;
    const struct dialect *dialect = exchange->dialect;

    exchange_settle(exchange, OUTCOME_STREAM_ENDED, REASON_DRAINING);
    pair_drop_back(pair);
    buf_clear(&exchange->event);
    exchange->event.cap_bytes = PENDING_MAX_BYTES;
    if (call->message.kind == MCP_REQUEST && dialect->stream_end != NULL &&
        dialect->stream_end(&call->message, &exchange->event) == CODE_OK &&
        !stream__emit(pair, NULL, buf_peek(&exchange->event)))
        return;
    call->is_answered = true;
    end_down(pair);
}

/* Returns: whether anything was done. */
static bool advance(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    enum reason reason;

    if (exchange->upstream_done || pair->ending != REASON_UNSET)
        return false;
    if (exchange->incoming != NULL)
        return incoming__step(pair);
    if (batch__has_parts(exchange)) {
        (void)batch__next(pair);
        return true;
    }
    if (pair->lane->way != LANE_SERVES && exchange->call->message.lasts) {
        end_lasting(pair);
        return true;
    }
    if (is_full(pair))
        return false;
    if (exchange->mailbox != NULL && legacy_speak(pair))
        return true;
    reason = pair_refuses(pair, pair->events.event_bytes);
    if (reason != REASON_UNSET) {
        reply__fail(pair, OUTCOME_REFUSED, reason);
        return true;
    }
    if (exchange->sse_left == 0)
        return read_body(pair);
    parse(pair);
    return true;
}

bool stream__step(struct pair *pair)
{
    bool has_moved = false;

    while (advance(pair))
        has_moved = true;
    if (!pair->exchange.upstream_done)
        (void)stream__flush(pair);
    return has_moved;
}
