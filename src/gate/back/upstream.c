/* SPDX-License-Identifier: Apache-2.0 */
#include "back/reply_priv.h"
#include "back/legacy.h"
#include "back/upstream_priv.h"
#include "join/join.h"

#include "base/bug.h"
#include "base/log.h"
#include "base/num.h"
#include "crypto/parts.h"
#include "http/writer.h"

#include <stdio.h>
#include <string.h>

#define STALE_US INT64_C(500000) /* a kept connection that was idle so long is checked before it is used */

/* ---- connecting ---- */

void upstream__log(struct pair *pair, enum reason reason, const char *detail)
{
    const struct exchange *exchange = &pair->exchange;
    const struct call *call = exchange->call;
    const struct proxy_upstream *upstream = &exchange->route->upstream;
    const char *host = upstream->host != NULL ? upstream->host : call->is_join ? "of an endpoint" : "of a pipe";
    char route[128], correlation[130], status[32] = "", port[16] = "";

    if (!lane_may_log(pair->lane))
        return;
    (void)snprintf(route, sizeof route, "%.*s", SPAN_ARG(call->asked.upstream));
    (void)snprintf(correlation, sizeof correlation, "%.*s", SPAN_ARG(call->asked.correlation));
    if (exchange->reply_status != 0)
        (void)snprintf(status, sizeof status, " answers %d", exchange->reply_status);
    if (upstream->port != 0)
        (void)snprintf(port, sizeof port, " port %u", upstream->port);
    log_line(LOG_WARN,
             &(struct log_about){.room = "proxy", .decision = call->seq, .correlation = correlation, .upstream = route,
                                 .reason = reason_name(reason)},
             "upstream %s%s%s: %s", host, port, status, detail);
}

static void log_failure(struct pair *pair, enum reason reason)
{
    const struct leg *back = &pair->back;

    upstream__log(pair, reason,
                  back->stream != NULL && back->is_broken ? stream_fault(back->stream) : reason_text(reason));
}

void upstream__give_up(struct pair *pair, enum audit_outcome outcome, enum reason reason)
{
    log_failure(pair, reason);
    pair_drop_back(pair);
    exchange_settle(&pair->exchange, outcome, reason);
    deny_answer(pair, reason);
}

size_t upstream__addresses(const struct pair *pair, const struct sock_address **addresses)
{
    const struct proxy_upstream *upstream = &pair->exchange.route->upstream;
    size_t count = 0;

    *addresses = NULL;
    if (pair->is_pipe)
        return 0;
    if (!span_is_empty(upstream->command) || pair->exchange.call->is_join) {
        static const struct sock_address none;

        *addresses = &none;
        return 1;
    }
    *addresses = resolve_find(pair->lane->names, span_text(upstream->host), upstream->port, &count);
    if (count == 0)
        *addresses = resolve_find(pair->names, span_text(upstream->host), upstream->port, &count);
    return count;
}

bool upstream_begin(struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    const struct sock_address *addresses;
    size_t count = upstream__addresses(pair, &addresses);

    BUG_ON(pair->back.stream != NULL);
    if (spare_take(pair))
        return true;
    for (; pair->back_address < count; pair->back_address++) {
        struct stream *stream;

        if ((exchange->call->is_join ? join_dial(pair, &stream)
                                     : pair->lane->dial(pair->lane->dial_context, &exchange->route->upstream,
                                                        &addresses[pair->back_address], &stream)) != CODE_OK)
            continue;
        leg_open(&pair->back, stream);
        pair->back_read = 0;
        pair->line = (struct upstream_line){.route = exchange->route, .born_us = pair_now_us(pair)};
        gauge_add(&pair->lane->gauges.upstream_connections, 1);
        leg_ready(&pair->back, LOOP_WRITE);
        return true;
    }
    return false;
}

/* Whether the connection can take the call: it leads to the same upstream, and is silent and open. A call is never sent
 * twice, so a connection that its server is about to close must be found out before bytes of the call go up. */
static bool is_usable(struct pair *pair)
{
    const struct upstream_line *line = &pair->line;
    struct leg *back = &pair->back;

    if (back->stream == NULL || line->route != pair->exchange.route || spare_is_of_another(pair) ||
        (line->until_us != 0 && line->until_us <= pair_now_us(pair)))
        return false;
    if (line->is_kept && pair_now_us(pair) - pair->back_moved_us > STALE_US)
        leg_fill(back);
    return !back->is_eof && !back->is_broken && buf_is_empty(&back->in);
}

static bool begin_sending(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    bool has_body = exchange->method == HTTP_METHOD_POST;
    size_t len = has_body ? buf_len(&exchange->call->canonical) : SIZE_MAX;
    enum code code = upstream__write_head(pair, exchange->method, len, false, &pair->back.out);

    if (code == CODE_OK && has_body && len > COPIED_BYTES)
        pair->back.rest = buf_peek(&exchange->call->canonical);
    else if (code == CODE_OK && has_body)
        code = buf_add_span(&pair->back.out, buf_peek(&exchange->call->canonical));
    if (code != CODE_OK) {
        upstream__give_up(pair, OUTCOME_NOT_SENT, REASON_MEMORY);
        return true;
    }
    http_reader_begin_reply(&pair->answers, exchange->method);
    spare_begin_call(pair);
    exchange->sent_us = pair->back_moved_us = pair_now_us(pair);
    pair_go(pair, STEP_SEND);
    leg_drain(&pair->back);
    return true;
}

/* Why a connection cannot be used. */
static enum reason fault_of(const struct pair *pair)
{
    const struct leg *back = &pair->back;

    if (!buf_is_empty(&back->in))
        return REASON_UPSTREAM_MALFORMED; /* the server speaks without being asked */
    if (back->is_ready)
        return REASON_UPSTREAM_CLOSED;
    return pair->exchange.route->upstream.tls != NULL && tls_is_connected(back->stream) ? REASON_UPSTREAM_TLS
                                                                                       : REASON_UPSTREAM_UNREACHABLE;
}

/* Returns: whether the call was given up. */
static bool try_next(struct pair *pair, bool has_tried)
{
    const struct sock_address *addresses;

    if (has_tried) {
        enum reason reason = fault_of(pair);

        if (pair->back_address + 1 >= upstream__addresses(pair, &addresses)) {
            upstream__give_up(pair, OUTCOME_UPSTREAM_FAILURE, reason);
            return true;
        }
        log_failure(pair, reason);
        pair_drop_back(pair);
        pair->back_address++;
    }
    if (upstream_begin(pair))
        return false;
    upstream__give_up(pair, OUTCOME_UPSTREAM_FAILURE,
            pair->is_pipe                                ? REASON_UPSTREAM_CLOSED
            : upstream__addresses(pair, &addresses) == 0 ? REASON_UPSTREAM_UNRESOLVED
                                                         : REASON_UPSTREAM_UNREACHABLE);
    return true;
}

enum authorized { REFUSED = 0, WAITS, AUTHORIZED };

/* Gets what the gate shows the upstream, before there is a connection, and with a deadline of its own. */
static enum authorized authorize(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    bool is_late = exchange->awaits_outgoing && pair->timed_out, waits = false;
    enum reason reason = is_late ? REASON_OUTGOING_UNAVAILABLE : outgoing_settle(pair, true, &waits);

    if (reason == REASON_UNSET && waits) {
        exchange->awaits_outgoing = true;
        return WAITS;
    }
    if (exchange->awaits_outgoing) {
        exchange->awaits_outgoing = false;
        pair_stop_waiting(pair);
        pair->deadline_us = 0;
        pair->timed_out = false;
    }
    if (reason == REASON_UNSET)
        return AUTHORIZED;
    exchange_settle(exchange, OUTCOME_NOT_SENT, reason);
    deny_answer(pair, reason);
    return REFUSED;
}

bool upstream_connect(struct pair *pair)
{
    struct leg *back = &pair->back;
    bool is_first;

    switch (authorize(pair)) {
    case REFUSED: return true;
    case WAITS: return false;
    case AUTHORIZED: break;
    }
    is_first = pair->deadline_us == 0 && !pair->timed_out;
    if (is_first)
        pair_deadline(pair, (int64_t)pair->exchange.route->connect_ms * 1000);
    if (back->stream != NULL && back->is_ready && is_usable(pair))
        return begin_sending(pair);
    /* The server may have closed a connection that was kept, or made while the record was written: another one is tried. A
     * connection that was made just now is not replaced, since another to the same address would end alike. */
    if (back->stream != NULL && !pair->is_pipe &&
        (pair->line.route != pair->exchange.route || (back->is_ready && (is_first || pair->line.is_kept)))) {
        pair_drop_back(pair);
        pair->back_address = 0;
    }
    if ((back->stream == NULL || back->is_broken || back->is_ready) && try_next(pair, back->stream != NULL))
        return true;
    if (back->is_ready || back->is_broken)
        return true;
    if (pair->timed_out) {
        upstream__give_up(pair, OUTCOME_TIMEOUT, REASON_UPSTREAM_CONNECT_TIMEOUT);
        return true;
    }
    return false;
}

bool upstream_send(struct pair *pair)
{
    struct leg *back = &pair->back;

    /* A server may answer before it has read everything, or close. Its reply is read, since it says why. */
    if (leg_unsent(back) == 0 || !buf_is_empty(&back->in) || back->is_eof || back->is_broken) {
        pair->line.spoke_early = leg_unsent(back) > 0;
        pair_go(pair, STEP_RELAY);
        pair->back_moved_us = pair_now_us(pair);
        return true;
    }
    if (pair->timed_out) {
        upstream__give_up(pair, OUTCOME_TIMEOUT, REASON_UPSTREAM_SILENT);
        return true;
    }
    if (pair->deadline_us == 0)
        pair_deadline(pair, (int64_t)pair->exchange.route->reply_head_ms * 1000);
    return false;
}

/* ---- the head, written anew ---- */

#define EXCEPT_MAX 64

struct except_list {
    struct http_except except; /* its `names` points to the array below */
    struct span names[EXCEPT_MAX];
};

static void add_except(struct except_list *list, struct span name)
{
    BUG_ON(list->except.count == EXCEPT_MAX); /* conf/ lets a route have 8 sources of identity and 32 headers */
    list->names[list->except.count++] = name;
}

/* Lists headers with credentials for the gate, which must not go up. On a declared path nobody has looked for them, and a
 * token for the gate may come beside another credential that has decided. */
static void list_credentials(const struct exchange *exchange, struct except_list *list)
{
    for (size_t i = 0; i < exchange->route->identity_count; i++) {
        const struct identity_source *source = &exchange->route->identity[i];

        if (source->forward || (exchange->pass == NULL && source->kind != IDENTITY_TOKEN))
            continue;
        if (source->kind == IDENTITY_API_KEY)
            add_except(list, span_text(source->header));
        if (source->kind == IDENTITY_BEARER || source->kind == IDENTITY_TOKEN)
            list->except.known |= HTTP_EXCEPT(AUTHORIZATION);
        if (source->kind == IDENTITY_TOKEN)
            add_except(list, SPAN_LIT("DPoP"));
    }
}

/* A POST to a declared path, or a read below a wildcard, goes up with the caller's own credentials, since
 * the operator did not name that path. */
bool upstream__takes_credentials(const struct proxy_pass *pass)
{
    return pass == NULL || !(pass->is_post || pass->is_wild);
}

/* Lists headers of the agent that do not go up, since the gate writes its own. */
static void list_except(const struct pair *pair, bool is_ours, struct except_list *list)
{
    const struct exchange *exchange = &pair->exchange;
    const struct proxy_upstream *upstream = &exchange->route->upstream;

    list->except = (struct http_except){.known = HTTP_EXCEPT(CONTENT_TYPE) | HTTP_EXCEPT(MCP_SESSION_ID), .names = list->names};
    add_except(list, exchange->route->correlation_header);
    if (!span_is_empty(exchange->route->tenant_header))
        add_except(list, exchange->route->tenant_header);
    if (!span_is_empty(exchange->route->plan_header))
        add_except(list, exchange->route->plan_header);
    if (exchange->identity.consumed != NULL)
        add_except(list, span_text(exchange->identity.consumed));
    if (exchange->route->http_sse && exchange->pass == NULL && legacy_opens(exchange))
        list->except.known |= HTTP_EXCEPT(LAST_EVENT_ID);
    if (is_ours)
        list->except.known |= HTTP_EXCEPT(ACCEPT) | HTTP_EXCEPT(LAST_EVENT_ID);
    for (size_t i = 0; i < upstream->header_count && upstream__takes_credentials(exchange->pass); i++)
        add_except(list, upstream->headers[i].name);
    if (upstream->outgoing.kind != OUTGOING_NONE)
        list->except.known |= HTTP_EXCEPT(AUTHORIZATION);
    list_credentials(exchange, list);
}

static void write_path(const struct pair *pair, enum http_method method, struct buf *out)
{
    const struct exchange *exchange = &pair->exchange;
    const struct http_head *head = &pair->asks.head;
    size_t query = span_find(exchange->endpoint, '?');
    struct span path = exchange->upstream_path;
    struct buf text;

    if (exchange->endpoint.at != NULL) {
        http_write_request(out, method, span_part(exchange->endpoint, 0, query), query < exchange->endpoint.len,
                           span_part(exchange->endpoint, query + 1, SIZE_MAX));
        return;
    }
    buf_init(&text, HTTP_LINE_MAX_BYTES);
    if (exchange->route->subtree && exchange->pass == NULL) {
        buf_add_span(&text, path);
        if (exchange->dialect->write_path == NULL)
            buf_add_span(&text, exchange->call->asked.path); /* as it was judged */
        else
            buf_fail(&text, exchange->dialect->write_path(&exchange->call->message, &text));
        path = buf_code(&text) == CODE_OK ? buf_peek(&text) : SPAN_NONE;
    }
    if (buf_fail(out, path.len <= HTTP_LINE_MAX_BYTES ? buf_code(&text) : CODE_LIMIT) == CODE_OK)
        http_write_request(out, method, path, head->has_query, http_head_query(head));
    buf_fini(&text);
}

/* Writes the headers that mirror the body, where the agent sent them. They were compared with the body, and are written
 * anew from it. Without a body nothing was compared, and they do not go up. */
static void write_mirrors(const struct pair *pair, struct buf *out)
{
    const struct exchange *exchange = &pair->exchange;
    const struct dialect *dialect = exchange->dialect;
    const struct http_head *head = &pair->asks.head;
    struct buf value;

    if (exchange->method != HTTP_METHOD_POST || exchange->pass != NULL || dialect->mirror == NULL)
        return;
    buf_init(&value, HTTP_LINE_MAX_BYTES);
    for (size_t i = 0; i < head->count; i++) {
        if (!http_head_mirrors(head, i))
            continue;
        buf_clear(&value);
        if (buf_fail(out, dialect->mirror(&exchange->call->message, http_head_name(head, i), &value)) == CODE_OK)
            http_write_header(out, http_head_name(head, i), buf_peek(&value));
    }
    buf_fini(&value);
}

/* Names the caller to a command upstream, where each caller has his own child. Only the gate can write this header. */
static void write_caller(const struct exchange *exchange, struct buf *out)
{
    const struct span parts[] = {exchange->identity.tenant, exchange->identity.principal};
    unsigned char digest[DIGEST_BYTES];
    char text[2 * DIGEST_BYTES];

    parts_digest(parts, sizeof parts / sizeof parts[0], digest);
    num_hex(digest, sizeof digest, text);
    http_write_line(out, SPAN_LIT("X-Callgate-Caller: "), span_of(text, sizeof text));
}

/* Writes who asks, the correlation and the session, with the values that were judged. */
static void write_judged(const struct pair *pair, struct buf *out)
{
    const struct exchange *exchange = &pair->exchange;
    const struct question *asked = &exchange->call->asked;
    const struct proxy_route *route = exchange->route;

    if (!span_is_empty(asked->correlation))
        http_write_header(out, route->correlation_header, asked->correlation);
    if (!span_is_empty(route->tenant_header) && asked->tenant.at != NULL)
        http_write_header(out, route->tenant_header, asked->tenant);
    if (exchange_has_session(exchange))
        http_write_line(out, SPAN_LIT("Mcp-Session-Id: "), exchange->session.upstream_id);
    for (size_t i = 0; i < route->upstream.header_count && upstream__takes_credentials(exchange->pass); i++)
        if (route->upstream.headers[i].program == NULL)
            http_write_header(out, route->upstream.headers[i].name, route->upstream.headers[i].value);
    buf_add_span(out, buf_peek(&exchange->said));
    if (exchange->authorization.at != NULL)
        http_write_line(out, SPAN_LIT("Authorization: "), exchange->authorization);
    if (route->forwarded) {
        bool is_tls = pair->lent != NULL ? pair->lent->is_tls : pair->is_tls;

        http_write_line(out, SPAN_LIT("X-Forwarded-For: "), span_text(pair->client));
        http_write_line(out, SPAN_LIT("X-Forwarded-Proto: "), span_text(is_tls ? "https" : "http"));
        http_write_line(out, SPAN_LIT("X-Forwarded-Host: "), http_head_known(&pair->asks.head, HTTP_NAME_HOST));
    }
    if (!span_is_empty(route->upstream.command))
        write_caller(exchange, out);
}

/* Writes what of a client's headers goes to the provider behind a front: the origin of its page, by which providers tell pages
 * from programs. Returns: the type of what goes up. */
static struct span write_token_headers(const struct http_head *head, struct buf *out)
{
    struct span origin = http_head_known(head, HTTP_NAME_ORIGIN);

    buf_add_text(out, "Accept: application/json\r\n");
    if (origin.at != NULL)
        http_write_line(out, SPAN_LIT("Origin: "), origin);
    return SPAN_LIT("application/x-www-form-urlencoded");
}

enum code upstream__write_head(const struct pair *pair, enum http_method method, size_t body_len, bool is_ours,
                               struct buf *out)
{
    const struct exchange *exchange = &pair->exchange;
    const struct http_head *head = &pair->asks.head;
    const struct proxy_upstream *upstream = &exchange->route->upstream;
    /* A call's body is the JSON that was judged; a body for a declared path has the type that its sender names. */
    struct span media = exchange->pass != NULL ? http_head_known(head, HTTP_NAME_CONTENT_TYPE) : SPAN_NONE;
    bool is_token = exchange->pass != NULL && exchange->pass->oauth == OAUTH_TOKEN;
    struct except_list list;

    write_path(pair, method, out);
    http_write_line(out, SPAN_LIT("Host: "),
                    upstream->preserve_host ? http_head_known(head, HTTP_NAME_HOST) : upstream->authority);
    if (is_token) {
        media = write_token_headers(head, out);
    } else {
        list_except(pair, is_ours, &list);
        http_write_passing(out, head, &list.except);
    }
    write_judged(pair, out);
    if (is_ours)
        http_write_line(out, SPAN_LIT("Accept: "), SPAN_LIT("application/json, text/event-stream"));
    else
        write_mirrors(pair, out);
    buf_add_span(out, SPAN_LIT("Accept-Encoding: identity\r\n"));
    if (body_len != SIZE_MAX && exchange->pass == NULL)
        buf_add_span(out, SPAN_LIT("Content-Type: application/json\r\n"));
    else if (body_len != SIZE_MAX && !span_is_empty(media))
        http_write_line(out, SPAN_LIT("Content-Type: "), media);
    if (body_len != SIZE_MAX)
        http_write_line_u64(out, SPAN_LIT("Content-Length: "), body_len);
    return http_write_head_end(out);
}
