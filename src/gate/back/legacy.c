/* SPDX-License-Identifier: Apache-2.0 */
#include "back/legacy.h"
#include "back/incoming_priv.h"
#include "back/question_priv.h"
#include "back/reply_priv.h"

#include "base/bug.h"
#include "http/authority.h"
#include "mcp/batch.h"
#include "mcp/endpoint.h"
#include "mcp/skim.h"
#include "sse/writer.h"

#include <stdio.h>

/* HTTP+SSE of MCP 2024-11-05: a GET opens a stream, whose first event names a URI for POSTs. These are answered with 202, and
 * the answers to their calls come on the stream. The agent gets a URI of this route in place of the server's. It carries the
 * server's URI under a MAC over route, tenant and principal, and is the session's name, so no table of sessions is needed. */

#define QUERY_PREFIX SPAN_LIT("callgate=")

/* ---- POSTs ---- */

struct span legacy_session_of(const struct proxy_route *route, const struct http_head *head)
{
    struct span query = http_head_query(head);

    if (!route->http_sse || head->method != HTTP_METHOD_POST || !head->has_query || !span_starts_with(query, QUERY_PREFIX))
        return SPAN_NONE;
    return span_part(query, QUERY_PREFIX.len, SIZE_MAX);
}

enum reason legacy_check_session(struct pair *pair, struct span session)
{
    struct exchange *exchange = &pair->exchange;
    struct mcp_session_scope scope = exchange_session_scope(exchange);
    struct mcp_session sealed;

    exchange->session_id = exchange->call->asked.session = session;
    if (mcp_session_check(gate_session_key(pair->lane->gate), &scope, session, &sealed) != CODE_OK ||
        !span_is(sealed.revision, MCP_SESSION_LEGACY))
        return REASON_SESSION_FOREIGN;
    exchange->endpoint = sealed.upstream_id;
    exchange->wants_sse = false;
    return REASON_UNSET;
}

static struct question_key call_key(const struct exchange *exchange, struct span id)
{
    struct question_key key = question_key_of(exchange, id);

    key.is_call = true;
    return key;
}

/* Notes the call as open before a byte goes up, since its answer may be faster than the 202. */
bool legacy_open_call(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    const struct call *call = exchange->call;
    struct question_key key = call_key(exchange, call->message.id);

    if (call->message.kind != MCP_REQUEST)
        return true;
    exchange->call_is_open =
        question_open(pair->lane->gate, &key, call->message.method, pair_now_us(pair)) == CODE_OK;
    return exchange->call_is_open;
}

void legacy_forget_call(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct question_key key;
    char method[128];
    size_t len;

    if (!exchange->call_is_open)
        return;
    /* An agent that did not wait for the 202 may still wait for the answer; one that got an error does not. */
    if (exchange->sent_us != 0 && exchange->call->refusal == REASON_UNSET && exchange->reply_status < 400)
        return;
    key = call_key(exchange, exchange->call->message.id);
    if (question_answer(pair->lane->gate, &key, method, &len) != CODE_OK)
        return; /* it was answered meanwhile */
}

/* ---- the stream ---- */

bool legacy_opens(const struct exchange *exchange)
{
    return exchange->method == HTTP_METHOD_GET && exchange->call->message.kind == MCP_NONE && !exchange_has_session(exchange);
}

/* What was asked of the upstream, to which the URI in its event is relative. */
static struct mcp_endpoint_base base_of(struct pair *pair, struct buf *path)
{
    const struct exchange *exchange = &pair->exchange;
    const struct proxy_upstream *upstream = &exchange->route->upstream;

    buf_add_span(path, exchange->upstream_path);
    if (exchange->route->subtree)
        buf_add_span(path, exchange->call->asked.path);
    return (struct mcp_endpoint_base){
        .is_tls = upstream->tls != NULL,
        .authority = upstream->preserve_host ? http_head_known(&pair->asks.head, HTTP_NAME_HOST) : upstream->authority,
        .path = buf_code(path) == CODE_OK ? buf_peek(path) : SPAN_NONE,
    };
}

/* Refuses a URI that leads to a declared path, where nothing is judged. Takes: uri: where the agent's POSTs would go. */
static enum code check_undeclared(struct pair *pair, struct span uri)
{
    struct span path = span_part(uri, 0, span_find(uri, '?'));

    return proxy_conf_declares(pair->conf, &pair->exchange.route->upstream, path) ? CODE_UNDECIDED : CODE_OK;
}

static void refuse_endpoint(struct pair *pair, enum code code, struct span uri)
{
    char text[256];

    (void)snprintf(text, sizeof text, "its `endpoint` event %s: %.*s",
                   code == CODE_DENIED      ? "names another server"
                   : code == CODE_UNDECIDED ? "names a path that a route's `pass` lets anybody post to; take that out"
                                            : "is not a URI that can be asked",
                   SPAN_ARG(span_part(http_without_query(uri), 0, 160)));
    reply__fail_for(pair, OUTCOME_REFUSED, code == CODE_NOMEM ? REASON_MEMORY : REASON_UPSTREAM_ENDPOINT, text);
}

/* Begins the session: makes its name, its mailbox, and the URI for the agent's POSTs. */
static enum code begin_session(struct pair *pair, struct span uri, struct buf *text)
{
    struct exchange *exchange = &pair->exchange;
    struct mcp_session_scope scope = exchange_session_scope(exchange);
    struct mcp_session sealed = {uri, SPAN_LIT(MCP_SESSION_LEGACY), false};
    enum code code = mcp_session_make(gate_session_key(pair->lane->gate), &scope, &sealed, text);
    char *name = code == CODE_OK ? arena_dup(&exchange->arena, buf_peek(text).at, buf_len(text)) : NULL;

    if (code == CODE_OK && name == NULL)
        code = CODE_NOMEM;
    if (code != CODE_OK)
        return code;
    exchange->session_id = exchange->call->asked.session = span_of(name, buf_len(text));
    exchange->endpoint = span_part(exchange->session_id, 0, uri.len); /* where the refusal of a server's question is posted */
    pair->events.passes_by = true;
    code = mailbox_open(pair, exchange->session_id);
    buf_clear(text);
    buf_add_span(text, http_head_path(&pair->asks.head));
    if (code == CODE_OK)
        code = buf_addf(text, "?%.*s%.*s", SPAN_ARG(QUERY_PREFIX), SPAN_ARG(exchange->session_id));
    return code == CODE_OK ? sse_write_typed(&exchange->text, SPAN_LIT("endpoint"), buf_peek(text)) : code;
}

bool legacy_take_endpoint(struct pair *pair, const struct sse_event *event)
{
    struct exchange *exchange = &pair->exchange;
    bool is_first = !exchange->saw_data;
    struct mcp_endpoint_base base;
    struct buf path, text, uri;
    enum code code;

    exchange->saw_data = true;
    if (!exchange->route->http_sse) {
        reply__fail(pair, OUTCOME_REFUSED, REASON_UPSTREAM_LEGACY);
        return false;
    }
    if (!is_first) {
        reply__fail_for(pair, OUTCOME_REFUSED, REASON_UPSTREAM_EVENT, "an `endpoint` event that is not the first");
        return false;
    }
    buf_init(&path, HTTP_LINE_MAX_BYTES);
    buf_init(&uri, HTTP_LINE_MAX_BYTES);
    buf_init(&text, 2 * HTTP_LINE_MAX_BYTES);
    base = base_of(pair, &path);
    code = mcp_endpoint_resolve(event->data, &base, &uri);
    if (code == CODE_OK)
        code = check_undeclared(pair, buf_peek(&uri));
    if (code == CODE_OK)
        code = begin_session(pair, buf_peek(&uri), &text);
    if (code != CODE_OK)
        refuse_endpoint(pair, code, event->data);
    buf_fini(&path);
    buf_fini(&uri);
    buf_fini(&text);
    return code == CODE_OK && stream__release_head(pair) && stream__flush(pair);
}

/* Reads the answer to a call of which no more is known than its method. */
static enum reason take_answer(struct pair *pair, const struct sse_event *event, const struct mcp_part *part,
                               struct span method)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;
    const struct mcp_message stream = call->message;
    struct mcp_reply reply = {0};
    enum reason reason;
    char *name;

    call->message = (struct mcp_message){.kind = MCP_REQUEST, .method = method, .id = part->id};
    reason = reply__read(pair, part->body, exchange->route->limits.event_bytes, true, &reply);
    call->message = stream;
    if (reason == REASON_VERSION_NEGOTIATED) {
        (void)stream__emit(pair, event, reply.body);
        return REASON_PERMITTED;
    }
    if (reason != REASON_PERMITTED)
        return reason;
    if (reply.kind != MCP_RESPONSE || !span_equals(reply.id, part->id))
        return REASON_UPSTREAM_UNASKED;
    call = arena_alloc(&exchange->event_arena, sizeof *call);
    name = arena_dup(&exchange->event_arena, method.at, method.len);
    if (call == NULL || name == NULL)
        return REASON_MEMORY;
    call_begin(call, exchange->own, &exchange->event_arena);
    call->message = (struct mcp_message){.kind = MCP_REQUEST, .method = span_of(name, method.len), .id = reply.id};
    exchange->call = call;
    (void)incoming__take(pair, event, &reply, true);
    exchange->call = exchange->own;
    return REASON_PERMITTED;
}

static enum reason take_part(struct pair *pair, const struct sse_event *event, const struct mcp_part *part)
{
    struct exchange *exchange = &pair->exchange;
    struct question_key key = call_key(exchange, part->id);
    struct mcp_reply reply = {0};
    char method[128];
    size_t len;
    enum reason reason;

    if (!part->is_response) {
        reason = reply__read(pair, part->body, exchange->route->limits.event_bytes, false, &reply);
        if (reason == REASON_PERMITTED)
            (void)incoming__take(pair, event, &reply, false);
        return reason;
    }
    if (question_answer(pair->lane->gate, &key, method, &len) != CODE_OK)
        return REASON_UPSTREAM_UNASKED;
    return take_answer(pair, event, part, span_of(method, len));
}

/* Tells the agent that a call's answer is not delivered, since no other answer comes. Returns: whether the stream goes on. */
static bool fail_asker(struct pair *pair, struct span id, enum reason reason)
{
    struct exchange *exchange = &pair->exchange;

    buf_clear(&exchange->event);
    exchange->event.cap_bytes = ERROR_BODY_MAX;
    return exchange->dialect->reply_error(id, reason, 0, &exchange->event) != CODE_OK ||
           stream__emit(pair, NULL, buf_peek(&exchange->event));
}

/* Tells the agent which calls have their answers in a message that cannot be taken. Takes: bytes: a piece of it. */
static bool fail_askers(struct pair *pair, struct skim *skim, struct span bytes, enum reason reason)
{
    enum skim_step step;
    char method[128];
    size_t len;

    while ((step = skim_feed(skim, &bytes)) != SKIM_MORE) {
        struct question_key key = call_key(&pair->exchange, skim_id(skim));

        if (step == SKIM_MESSAGE && !skim->has_method && !span_is_empty(skim_id(skim)) &&
            question_answer(pair->lane->gate, &key, method, &len) == CODE_OK && !fail_asker(pair, skim_id(skim), reason))
            return false;
    }
    return true;
}

bool legacy_take_answer(struct pair *pair, const struct sse_event *event)
{
    struct mcp_part part = {0};
    struct buf text;
    size_t count;
    bool is_array, goes_on = true;
    enum reason reason, whole;

    buf_init(&text, pair->exchange.route->limits.event_bytes);
    whole = mcp_batch_split(event->data, &text, &part, 1, &count, &is_array, &pair->exchange.fault);
    if (whole == REASON_PERMITTED && is_array)
        whole = REASON_UPSTREAM_JSON;
    reason = whole == REASON_PERMITTED ? take_part(pair, event, &part) : whole;
    if (reason == REASON_MEMORY) {
        reply__fail(pair, OUTCOME_REFUSED, reason);
        goes_on = false;
    } else if (reason != REASON_PERMITTED) {
        struct skim skim = {0};

        reply__pass_by(pair, reason);
        if (whole != REASON_PERMITTED)
            goes_on = fail_askers(pair, &skim, event->data, reason);
        else if (part.is_response && reason != REASON_UPSTREAM_UNASKED)
            goes_on = fail_asker(pair, part.id, reason);
    }
    buf_fini(&text);
    return goes_on;
}

bool legacy_pass_by(struct pair *pair, const struct sse_event *event)
{
    struct exchange *exchange = &pair->exchange;

    if (exchange->skim == NULL)
        exchange->skim = arena_zalloc(&exchange->arena, sizeof *exchange->skim);
    if (exchange->skim == NULL) {
        pair_close(pair, REASON_MEMORY);
        return false;
    }
    if (event->has_data)
        return fail_askers(pair, exchange->skim, event->data, REASON_UPSTREAM_TOO_LARGE);
    *exchange->skim = (struct skim){0};
    reply__pass_by(pair, REASON_UPSTREAM_TOO_LARGE);
    return true;
}

bool legacy_speak(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    enum code code = mailbox_take(pair, &exchange->text);

    if (code == CODE_EXISTS) { /* the agent lost its network and came again before this stream was seen to be dead */
        (void)stream__flush(pair);
        stream__end(pair);
        return true;
    }
    if (code != CODE_OK) {
        pair_close(pair, REASON_MEMORY);
        return true;
    }
    return !buf_is_empty(&exchange->text) && stream__flush(pair);
}
