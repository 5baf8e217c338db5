/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/front_priv.h"
#include "back/back.h"
#include "discovery/discovery.h"
#include "back/legacy.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/log.h"
#include "http/authority.h"
#include "http/media.h"
#include "os/local.h"
#include "proxy/proxy.h"

#include <string.h>

static const struct proxy_listen *listen_of(const struct pair *pair)
{
    return &pair->conf->listens[pair->listen];
}

/* ---- between requests ---- */

#define REST_US INT64_C(1000000)      /* after so long without a request the buffers are freed */
#define FOREVER_US (INT64_C(1) << 50) /* a pipe's connection lasts as long as its server */

static void give_buffers_back(struct pair *pair)
{
    pair->is_rested = true;
    leg_rest(&pair->front);
    leg_rest(&pair->back);
    http_reader_rest(&pair->asks);
    http_reader_rest(&pair->answers);
    sse_parser_fini(&pair->events);
    sse_parser_init(&pair->events, 0);
    exchange_rest(&pair->exchange);
}

/* Gives up an upstream's connection that has ended, or on which the server speaks without being asked. */
static void look_behind(struct pair *pair)
{
    const struct leg *back = &pair->back;

    if (back->stream != NULL && (back->is_eof || back->is_broken || !buf_is_empty(&back->in)))
        pair_drop_back(pair);
}

/* Gives the connection to the gate that comes after this one, since an agent who writes into one that is being closed learns
 * nothing of his call. Returns: false: that gate has to read first. */
static bool hand_over(struct pair *pair)
{
    struct sock_address address;
    int fd = pair->front.stream->fd;

    if (pair->lane->heir == -1 || pair->lane->proxy == NULL || pair->is_tls || pair->is_pipe || pair->lent != NULL ||
        leg_unsent(&pair->front) > 0)
        return true;
    proxy_address(pair->lane->proxy, pair->listen, &address);
    return local_hand(pair->lane->heir, span_of((const char *)&address, sizeof address), &fd, 1) != CODE_BUSY;
}

static bool idle(struct pair *pair)
{
    int64_t idle_us = pair->is_pipe ? FOREVER_US : (int64_t)listen_of(pair)->idle_ms * 1000;

    if (pair->front.is_eof || pair->front.is_broken) {
        pair_close(pair, pair->has_asked ? REASON_AGENT_DONE : REASON_CLOSED_BEFORE_FIRST_BYTE);
        return true;
    }
    if (pair->lane->way != LANE_SERVES) {
        /* A request that is already here is answered, since closing now would reset it. */
        leg_fill(&pair->front);
        if (!buf_is_empty(&pair->front.in))
            return true;
        if (pair->lane->hurries > 0 || pair->is_pipe) {
            if (!hand_over(pair))
                return false;
            pair_close(pair, REASON_DRAINING);
            return true;
        }
    }
    look_behind(pair);
    if (pair->is_pipe && pair->back.stream == NULL) {
        pair_close(pair, REASON_UPSTREAM_CLOSED);
        return true;
    }
    lane_adopt(pair->lane, pair);
    if (pair->timed_out && pair->is_rested) {
        pair_close(pair, REASON_IDLE_TIMEOUT);
        return true;
    }
    if (pair->timed_out) {
        give_buffers_back(pair);
        pair->timed_out = false;
        pair_deadline(pair, idle_us > REST_US ? idle_us - REST_US : 1);
    } else if (pair->deadline_us == 0) {
        pair_deadline(pair, idle_us < REST_US ? idle_us : REST_US);
    }
    return false;
}

static bool shake_hands(struct pair *pair)
{
    if (pair->front.is_broken) {
        log_debug("proxy", "%s: %s", pair->client, stream_fault(pair->front.stream));
        pair_close(pair, pair->is_tls ? REASON_TLS_FAILED : REASON_CLOSED_BEFORE_FIRST_BYTE);
        return true;
    }
    if (pair->timed_out) {
        pair_close(pair, REASON_HEAD_TIMEOUT);
        return true;
    }
    if (pair->deadline_us == 0)
        pair_deadline(pair, (int64_t)listen_of(pair)->head_ms * 1000);
    return false;
}

/* ---- the head ---- */

static enum reason check_origin(struct pair *pair)
{
    const struct http_head *head = &pair->asks.head;
    struct exchange *exchange = &pair->exchange;
    struct span origin = http_head_known(head, HTTP_NAME_ORIGIN);

    if (origin.at == NULL)
        return head->method == HTTP_METHOD_OPTIONS ? REASON_HTTP_METHOD : REASON_UNSET;
    /* Everybody may read the metadata, so a page of any origin may. */
    if (!discovery_is_told_to_all(exchange) && !route__origin_is_allowed(pair, exchange->route, origin))
        return REASON_ORIGIN_FOREIGN;
    exchange->origin_allowed = true;
    return head->method == HTTP_METHOD_OPTIONS ? REASON_PREFLIGHT : REASON_UNSET;
}

/* Charges the connection to whoever uses its memory. Callers without a credential share one principal, so they are told
 * apart by their addresses. */
static enum reason charge(struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    bool is_shown = exchange->pass == NULL && exchange->identity.kind != IDENTITY_NONE;

    if (pair->account_who == (is_shown ? exchange->who : pair->client_who))
        return REASON_UNSET;
    if (is_shown ? pair_charge_to(pair, exchange->who, budget_tenant(exchange->identity.home),
                               budget_connection_share(pair->lane->worker.budget))
                 : pair_charge_to(pair, pair->client_who, 0, pair_connections_max(pair->lane->worker.budget, pair->conf,
                                                                                  &pair->client_address,
                                                                                  pair->is_pipe || pair->lent != NULL)))
        return REASON_UNSET;
    pair->close_after = true;
    return REASON_CONNECTION_SHARE;
}

/* ---- how often ---- */

/* Takes a token of the route's own bucket. All slugs share it, so that a new slug brings no new bucket. Takes: rate: one
 * that is set. */
static enum reason take_token(struct pair *pair, const struct rate *rate, uint64_t who)
{
    struct exchange *exchange = &pair->exchange;

    const struct proxy_route *route = exchange->route;
    uint64_t own = hash_mix(hash_mix(hash_span(route->host), hash_span(route->path)), hash_span(route->name));

    exchange->wait_us = rates_take(pair->lane->rates, hash_mix(who, own), rate, pair_now_us(pair));
    return exchange->wait_us == 0 ? REASON_UNSET : REASON_REQUEST_RATE;
}

/* The rate for declared paths where the route sets none, since each request of an unknown caller makes two rows. */
static const struct rate pass_rate = {.interval_ns = 50000000, .burst = 200}; /* 20/s */

static enum reason limit_address(struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    const struct rate *rate = &exchange->route->limits.address_rate;

    if (rate->interval_ns == 0 && exchange->pass == NULL)
        return REASON_UNSET;
    return take_token(pair, rate->interval_ns != 0 ? rate : &pass_rate, pair->client_who);
}

/* The tenant's tokens are taken last, so that one principal's flood takes no more of them than its own rate. */
static enum reason limit_principal(struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    const struct proxy_limits *limits = &exchange->route->limits;
    enum reason reason = REASON_UNSET;

    if (limits->principal_rate.interval_ns != 0)
        reason = take_token(pair, &limits->principal_rate, exchange->who);
    if (reason == REASON_UNSET && limits->tenant_rate.interval_ns != 0)
        reason = take_token(pair, &limits->tenant_rate, budget_tenant(exchange->identity.home));
    return reason;
}

static enum reason check_session(struct pair *pair)
{
    const struct http_head *head = &pair->asks.head;
    struct exchange *exchange = &pair->exchange;
    struct span id = http_head_known(head, HTTP_NAME_MCP_SESSION_ID);
    struct mcp_session_scope scope = exchange_session_scope(exchange);
    bool resumes = http_head_known(head, HTTP_NAME_LAST_EVENT_ID).at != NULL;
    struct span legacy = legacy_session_of(exchange->route, head);

    if (legacy.len > 0)
        return id.at != NULL || resumes ? REASON_SESSION_FOREIGN : legacy_check_session(pair, legacy);
    if (exchange->route->http_sse_only && head->method != HTTP_METHOD_GET)
        return REASON_TRANSPORT;
    if (id.at == NULL && exchange->route->http_sse && head->method == HTTP_METHOD_GET)
        return REASON_UNSET; /* EventSource names the last event when it reconnects, but HTTP+SSE cannot resume */
    if (id.at == NULL)
        return resumes ? REASON_SESSION_FOREIGN : REASON_UNSET;
    exchange->session_id = exchange->call->asked.session = id;
    if (mcp_session_check(gate_session_key(pair->lane->gate), &scope, id, &exchange->session) != CODE_OK ||
        span_is(exchange->session.revision, MCP_SESSION_LEGACY))
        return REASON_SESSION_FOREIGN;
    return REASON_UNSET;
}

/* Checks the version of all but POSTs. A POST's is checked with its body, since a modern request is
 * answered in a form of its own. */
static enum reason check_version(struct exchange *exchange, const struct http_head *head)
{
    exchange->version = http_head_known(head, HTTP_NAME_MCP_PROTOCOL_VERSION);
    exchange->call->protocol_version = exchange->version.at ? exchange->version : exchange->session.revision;
    if (head->method != HTTP_METHOD_POST && mcp_revision_is_modern(exchange->version))
        return REASON_HTTP_METHOD; /* those revisions have neither streams of their own nor sessions */
    if (head->method != HTTP_METHOD_POST && exchange->version.at != NULL &&
        !mcp_revision_is_listed(exchange->route->revisions, exchange->version))
        return REASON_VERSION_HEADER;
    return REASON_UNSET;
}

/* A declared path needs no identity, so it takes small bodies only. */
static uint64_t body_limit(const struct exchange *exchange)
{
    uint64_t limit = exchange->route->limits.body_bytes;

    return exchange->pass != NULL && limit > PASS_BODY_MAX ? PASS_BODY_MAX : limit;
}

static enum reason check_body(const struct pair *pair)
{
    const struct http_head *head = &pair->asks.head;

    if (head->method != HTTP_METHOD_POST)
        return REASON_UNSET;
    if (pair->exchange.pass == NULL && http_media_of(head) != HTTP_MEDIA_JSON)
        return REASON_MEDIA_TYPE;
    if (http_body_is_encoded(head))
        return REASON_CONTENT_ENCODING;
    if (head->content_length > body_limit(&pair->exchange))
        return REASON_BODY_TOO_LARGE;
    return pair_refuses(pair, head->content_length);
}

static enum reason check_method(const struct pair *pair)
{
    enum http_method method = pair->asks.head.method;

    if (pair->exchange.pass != NULL && method != HTTP_METHOD_OPTIONS)
        return route__takes_verb(pair->exchange.pass, method) ? REASON_UNSET : REASON_HTTP_METHOD;
    return method == HTTP_METHOD_GET || method == HTTP_METHOD_POST || method == HTTP_METHOD_DELETE ? REASON_UNSET
                                                                                                  : REASON_HTTP_METHOD;
}

/* Counts one more request of this principal, on all workers together. Of a joined endpoint each part is counted. */
static enum reason enter(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    if (exchange->call->is_join)
        return REASON_UNSET;
    exchange->slot_taken = budget_enter(pair->lane->worker.budget, exchange->who,
                                        exchange->route->limits.per_principal_requests, &exchange->slot);
    return exchange->slot_taken ? REASON_UNSET : REASON_PRINCIPAL_LIMIT;
}

/* Whether its query is a front's to read; it holds what a client keeps for its answer, and is not recorded. */
static bool is_authorize(const struct exchange *exchange)
{
    return exchange->pass != NULL && exchange->pass->oauth == OAUTH_AUTHORIZE;
}

/* Settles the route, and all checks that need no identity.
 * Returns: UNSET to go on, PREFLIGHT to answer one, anything else is a refusal. */
static enum reason settle_place(struct pair *pair)
{
    const struct http_head *head = &pair->asks.head;
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;
    enum reason reason = pair->is_pipe ? pipe__find(pair) : pair->lent != NULL ? route__serve(pair) : route__find(pair);
    struct http_accept accept;

    route__correlate(pair, head);
    if (reason != REASON_UNSET)
        return reason;
    call->dialect = span_text(exchange->dialect->name);
    accept = http_accept_of(head);
    exchange->wants_sse = exchange->route->denials_sse ? accept.sse || accept.any || accept.is_absent
                                                       : http_accept_wants_sse(accept);
    reason = limit_address(pair);
    if (reason == REASON_UNSET)
        reason = check_origin(pair);
    if (reason == REASON_UNSET)
        reason = http_head_check(head, &exchange->route->rules);
    if (reason == REASON_UNSET && head->has_query && !is_authorize(exchange) &&
        span_is_empty(legacy_session_of(exchange->route, head))) {
        call->asked.query = http_head_query(head);
        if (!exchange->route->query_pass || call->asked.query.len > HTTP_QUERY_MAX_BYTES)
            reason = REASON_QUERY_REFUSED;
    }
    if (reason == REASON_UNSET && discovery_is_spread(exchange->route, head))
        reason = REASON_CREDENTIAL_TWICE;
    if (reason == REASON_UNSET)
        reason = check_method(pair);
    if (reason == REASON_UNSET && exchange->pass != NULL)
        reason = check_body(pair);
    return reason == REASON_UNSET && exchange->pass != NULL ? charge(pair) : reason;
}

/* Reads what verb and path say of the message, also where the message is refused for something else. */
static enum reason open_message(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;

    if (exchange->pass != NULL) {
        call->asked.method = SPAN_LIT("pass");
        call->target = http_head_path(&pair->asks.head);
        return REASON_UNSET;
    }
    return exchange->dialect->open(exchange->method, call->asked.path, &call->message);
}

/* Goes on to the body, or to the judgement where there is none. */
static void read_on(struct pair *pair)
{
    const struct http_head *head = &pair->asks.head;
    struct exchange *exchange = &pair->exchange;

    if (exchange->opened != REASON_UNSET) {
        exchange__refuse(pair, exchange->opened);
        return;
    }
    if (head->method != HTTP_METHOD_POST) {
        exchange->call->refused = exchange->pass != NULL ? REASON_PERMITTED : REASON_UNSET;
        pair_go(pair, STEP_JUDGE);
        return;
    }
    pair_go(pair, STEP_READ_BODY);
    if (head->expect_continue && buf_add_text(&pair->front.out, "HTTP/1.1 100 Continue\r\n\r\n") != CODE_OK)
        pair_close(pair, REASON_MEMORY);
}

bool front__find_route(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    enum reason reason = settle_place(pair);

    if (reason == REASON_PREFLIGHT) {
        deny_preflight(pair);
        return true;
    }
    if (exchange->route != NULL)
        exchange->opened = open_message(pair);
    if (reason != REASON_UNSET)
        exchange__refuse(pair, reason);
    else if (discovery_is_answered(exchange) && exchange->method != HTTP_METHOD_POST)
        deny_by_telling(pair, SPAN_NONE);
    else if (exchange->pass != NULL) /* a declared path asks for no identity */
        read_on(pair);
    else
        pair_go(pair, STEP_IDENTIFY);
    return true;
}

/* Finds who asks. Where that is not known yet, the pair waits. */
bool front__identify(struct pair *pair)
{
    const struct identity *identity = &pair->exchange.identity;
    bool has_waited = identity->ticket != 0;
    enum reason reason = REASON_IDENTITY_UNAVAILABLE;

    if (!pair->timed_out) {
        reason = who__identify(pair);
        if (identity->ticket != 0) {
            lane_wait_for_lookup(pair, identity->ticket);
            return false;
        }
        if (reason == REASON_UNSET && has_waited && !lane_token_holds(pair->lane, identity))
            reason = REASON_CREDENTIAL_WRONG; /* its provider left the configuration meanwhile */
    } else if (identity->consumed != NULL) {
        http_head_wipe(&pair->asks.head, span_text(identity->consumed));
    }
    pair_stop_waiting(pair);
    if (reason != REASON_UNSET)
        exchange__refuse(pair, reason);
    else
        pair_go(pair, STEP_ADMIT);
    return true;
}

/* Settles what follows from who asks, before a byte of the body is read. */
bool front__admit(struct pair *pair)
{
    enum reason reason = limit_principal(pair);

    if (reason == REASON_UNSET)
        reason = who__prove(pair);
    if (reason == REASON_UNSET)
        reason = charge(pair);
    if (reason == REASON_UNSET)
        reason = check_session(pair);
    if (reason == REASON_UNSET)
        reason = check_version(&pair->exchange, &pair->asks.head);
    if (reason == REASON_UNSET)
        reason = check_body(pair);
    if (reason == REASON_UNSET)
        reason = enter(pair);
    if (reason != REASON_UNSET)
        exchange__refuse(pair, reason);
    else
        read_on(pair);
    return true;
}

static void head_done(struct pair *pair)
{
    const struct http_head *head = &pair->asks.head;

    if (!exchange__begin(pair))
        return;
    pair->exchange.method = head->method;
    pair->close_after = !head->keep_alive || (pair->is_pipe && pair->back.stream == NULL);
    route__client(pair, head);
    pair_go(pair, STEP_FIND_ROUTE);
}

/* Refuses a head that the reader could not read. It has no route. */
static void refuse_unread(struct pair *pair)
{
    log_debug("proxy", "%s: %s: %s", pair->client, reason_name(pair->asks.reason), pair->asks.detail);
    if (!exchange__begin(pair))
        return;
    pair->close_after = true;
    route__client(pair, NULL);
    route__correlate(pair, NULL);
    exchange__refuse(pair, pair->asks.reason);
}

bool front__read_head(struct pair *pair)
{
    size_t used = 0;
    struct span body;
    enum http_step step;

    if (!pair->front.is_ready)
        return shake_hands(pair);
    if (pair->is_pipe && !pair->is_introduced)
        pipe__introduced(pair);
    if (pair->is_pipe && pipe__waits(pair))
        return false;
    if (http_reader_is_idle(&pair->asks) && buf_is_empty(&pair->front.in))
        return idle(pair);
    if (http_reader_is_idle(&pair->asks)) {
        look_behind(pair);
        lane_adopt(pair->lane, pair);
        pair->has_asked = true;
        pair->is_rested = pair->timed_out = false;
        pair_deadline(pair, (int64_t)listen_of(pair)->head_ms * 1000);
    }
    step = http_reader_feed(&pair->asks, buf_peek(&pair->front.in), &used, &body);
    buf_drop(&pair->front.in, used);
    switch (step) {
    case HTTP_STEP_HEAD_DONE:
        head_done(pair);
        return true;
    case HTTP_STEP_FAULT:
        refuse_unread(pair);
        return true;
    case HTTP_STEP_NEED_MORE:
        break;
    case HTTP_STEP_BODY:
    case HTTP_STEP_MESSAGE_DONE:
        BUG_ON("a body before its head");
    }
    if (pair->front.is_eof || pair->front.is_broken) {
        pair_close(pair, REASON_AGENT_GONE);
        return true;
    }
    if (pair->timed_out) {
        pair->asks.reason = REASON_HEAD_TIMEOUT;
        refuse_unread(pair);
        return true;
    }
    return false;
}

/* ---- the body ---- */

static void keep(struct pair *pair, struct span piece)
{
    struct exchange *exchange = &pair->exchange;
    enum reason reason = REASON_BODY_TOO_LARGE;

    if (buf_len(&exchange->body) + piece.len <= body_limit(exchange))
        reason = pair_refuses(pair, buf_len(&exchange->body));
    if (reason == REASON_UNSET && pair_collect(&exchange->body, piece, &pair->asks.head) != CODE_OK)
        reason = REASON_MEMORY;
    if (reason != REASON_UNSET)
        exchange__refuse(pair, reason);
}

static bool body_ended(struct pair *pair)
{
    if (pair->front.is_eof || pair->front.is_broken) {
        pair_close(pair, REASON_AGENT_GONE);
        return true;
    }
    if (pair->timed_out) {
        exchange__refuse(pair, REASON_BODY_TIMEOUT);
        return true;
    }
    if (pair->deadline_us == 0)
        pair_deadline(pair, (int64_t)listen_of(pair)->body_ms * 1000);
    return false;
}

bool front__read_body(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    size_t used = 0;
    struct span body;

    switch (http_reader_feed(&pair->asks, buf_peek(&pair->front.in), &used, &body)) {
    case HTTP_STEP_BODY:
        if (buf_is_empty(&exchange->body) && pair->asks.place == HTTP_PLACE_DONE) {
            buf_drop(&pair->front.in, used - body.len); /* the body is whole and in one piece, so it is read in place */
            exchange->body_left = body.len;
            pair_go(pair, STEP_UNDERSTAND);
            return true;
        }
        keep(pair, body);
        buf_drop(&pair->front.in, used); /* also of a refused body, whose rest must not be read as the next request */
        return true;
    case HTTP_STEP_MESSAGE_DONE:
        buf_drop(&pair->front.in, used);
        pair_go(pair, STEP_UNDERSTAND);
        return true;
    case HTTP_STEP_FAULT:
        pair->close_after = true;
        exchange__refuse(pair, pair->asks.reason);
        return true;
    case HTTP_STEP_NEED_MORE:
        buf_drop(&pair->front.in, used);
        return body_ended(pair);
    case HTTP_STEP_HEAD_DONE:
        BUG_ON("a second head within a message");
    }
    return false;
}

bool front__understand(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    size_t left = exchange->body_left;
    struct span body = left > 0 ? span_part(buf_peek(&pair->front.in), 0, left) : buf_peek(&exchange->body);

    if (exchange->pass != NULL)
        exchange__pass_body(pair, body);
    else
        exchange__read_message(pair, body);
    buf_drop(&pair->front.in, left);
    return true;
}

/* ---- FINISH ---- */

bool front__finish(struct pair *pair)
{
    /* Where a part of the request was not read, the connection cannot go on, since the next request could not be found. */
    bool is_whole = pair->asks.place == HTTP_PLACE_DONE;

    exchange__finish(pair);
    if (!is_whole || pair->close_after) { /* an agent who was not told so may be writing its next request */
        pair->lingers = !is_whole;
        spare_give(pair);
        pair_drop_back(pair);
        pair_go(pair, STEP_CLOSING);
        return true;
    }
    http_reader_next(&pair->asks, HTTP_METHOD_NONE);
    http_reader_next(&pair->answers, HTTP_METHOD_NONE);
    pair_go(pair, STEP_READ_HEAD);
    return true;
}
