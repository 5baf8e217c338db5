/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/front_priv.h"
#include "discovery/discovery.h"

#include "base/ascii.h"
#include "base/glob.h"
#include "base/num.h"
#include "http/authority.h"
#include "http/trace.h"

#include <stdio.h>
#include <string.h>

/* ---- Host and Origin ---- */

static bool is_among(const struct span *names, size_t count, struct span name)
{
    for (size_t i = 0; i < count; i++)
        if (span_equals_nocase(names[i], name))
            return true;
    return false;
}

/* For a configuration without names: the address that the gate listens on, and this machine's own names. */
static bool is_own_name(const struct pair *pair, struct span name)
{
    static const struct span own[] = {{"localhost", 9}, {"127.0.0.1", 9}, {"[::1]", 5}};
    const struct sock_address *listen = &pair->conf->listens[pair->listen].address;
    char ip[SOCK_TEXT_BYTES], text[SOCK_TEXT_BYTES + 2];

    if (is_among(own, sizeof own / sizeof own[0], name))
        return true;
    sock_ip_text(listen, ip);
    (void)snprintf(text, sizeof text, strchr(ip, ':') ? "[%s]" : "%s", ip);
    return span_equals_nocase(span_text(text), name);
}

static bool name_is_served(const struct pair *pair, struct span name)
{
    const struct proxy_conf *conf = pair->conf;

    if (!conf->has_hosts)
        return is_own_name(pair, name);
    if (is_among(conf->hosts, conf->host_count, name))
        return true;
    for (size_t i = 0; i < conf->route_count; i++)
        if (!span_is_empty(conf->routes[i].host) && span_equals_nocase(conf->routes[i].host, name))
            return true;
    return false;
}

bool route__origin_is_allowed(const struct pair *pair, const struct proxy_route *route, struct span origin)
{
    struct http_origin parts;

    if (!http_origin_read(origin, &parts))
        return false;
    for (size_t i = 0; i < route->origin_count; i++)
        if (glob_matches(route->origins[i], origin))
            return true;
    return route->origin_count == 0 && name_is_served(pair, parts.authority.name);
}

/* ---- the route ---- */

static bool takes_path(const struct proxy_route *route, const struct slug_list *slugs, struct span path, struct place *place)
{
    return span_is_empty(route->front.client) && slug_matches_below(slugs, route->path, path, &place->slug, &place->rest) &&
           route->subtree == !span_is_empty(place->rest);
}

bool route__takes_verb(const struct proxy_pass *pass, enum http_method verb)
{
    switch (verb) {
    case HTTP_METHOD_GET:
    case HTTP_METHOD_HEAD:
        return !pass->is_post;
    case HTTP_METHOD_POST:
        return pass->is_post;
    case HTTP_METHOD_OPTIONS:
        return true; /* a browser asks before it posts */
    case HTTP_METHOD_DELETE:
    case HTTP_METHOD_NONE:
        break;
    }
    return false;
}

/* Whether a declared path is one single path that is only read: it counts even where a route takes it. */
static bool is_narrow(const struct proxy_pass *pass)
{
    return !pass->is_post && !pass->is_wild && !slug_is_in(pass->path);
}

static bool takes_pass(const struct proxy_route *route, enum http_method verb, struct span path, bool narrow,
                       struct place *place)
{
    for (size_t i = 0; i < route->pass_count; i++) {
        const struct proxy_pass *pass = &route->pass[i];

        if (route__takes_verb(pass, verb) && is_narrow(pass) == narrow &&
            slug_matches_below(&route->slugs, pass->path, path, &place->slug, &place->rest) &&
            pass->is_wild == !span_is_empty(place->rest) && discovery_is_own(route, pass, path, &place->slug)) {
            place->pass = pass;
            return true;
        }
    }
    return false;
}

/* The dialect for a head without a known route, so that its refusal has a form that its client can read. */
const struct dialect *route__dialect(const struct pair *pair)
{
    const struct proxy_conf *conf = pair->conf;
    struct span path = http_head_path(&pair->asks.head);

    for (size_t i = 0; i < conf->route_count && path.len > 0; i++) {
        const struct proxy_route *route = &conf->routes[i];

        if (!route->is_pipe && slug_resembles(route->path, path, route->subtree))
            return route->dialect;
    }
    return dialects[0];
}

static bool takes_host(const struct proxy_route *route, struct span host)
{
    return !route->is_pipe && (span_is_empty(route->host) || span_equals_nocase(route->host, host));
}

/* Finds a route that would take the path if its slug were listed. OPTIONS counts, since a browser asks before it posts. */
static bool find_unlisted(const struct proxy_conf *conf, enum http_method verb, struct span host, struct span path,
                          struct place *place)
{
    static const struct span any = {"*", 1};
    static const struct slug_list all = {&any, 1};

    for (size_t i = 0; i < conf->route_count && (verb == HTTP_METHOD_POST || verb == HTTP_METHOD_OPTIONS); i++) {
        place->route = &conf->routes[i];
        if (place->route->unlisted_is_error && takes_host(place->route, host) && takes_path(place->route, &all, path, place)) {
            place->is_unlisted = true;
            return true;
        }
    }
    return false;
}

static bool find_place(const struct proxy_conf *conf, enum http_method verb, struct span host, struct span path,
                       struct place *place)
{
    bool is_read = verb == HTTP_METHOD_GET || verb == HTTP_METHOD_HEAD || verb == HTTP_METHOD_OPTIONS;

    for (size_t i = 0; i < conf->route_count && (is_read || conf->has_fronts); i++) {
        place->route = &conf->routes[i];
        place->pass = discovery_find(place->route, path, &place->slug);
        if (place->pass != NULL && takes_host(place->route, host))
            return true;
    }
    place->pass = NULL;
    for (size_t i = 0; i < conf->route_count; i++) {
        place->route = &conf->routes[i];
        if (takes_host(place->route, host) &&
            (takes_pass(place->route, verb, path, true, place) || takes_path(place->route, &place->route->slugs, path, place)))
            return true;
    }
    for (size_t i = 0; i < conf->route_count; i++) {
        place->route = &conf->routes[i];
        if (takes_host(place->route, host) && takes_pass(place->route, verb, path, false, place))
            return true;
    }
    return find_unlisted(conf, verb, host, path, place);
}

/* ---- where it leads ---- */

static struct span filled(struct exchange *exchange, struct span template, struct span slug, struct span rest)
{
    size_t size = template.len + slug.len + rest.len, len;
    char *text;

    if (span_is_empty(slug) && span_is_empty(rest))
        return template.at != NULL ? template : SPAN_LIT("");
    text = arena_alloc(&exchange->arena, size);
    if (text == NULL)
        return SPAN_NONE;
    len = slug_put(template, slug, text, size);
    if (rest.len > 0)
        memcpy(text + len, rest.at, rest.len);
    return span_of(text, len + rest.len);
}

enum reason route__lead(struct pair *pair, const struct place *place)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;
    const struct proxy_route *route = place->route;
    const struct proxy_pass *pass = place->pass;

    exchange->route = route;
    exchange->dialect = route->dialect;
    exchange->pass = pass;
    exchange->slug = place->slug;
    exchange->is_unlisted = place->is_unlisted;
    call->asked.upstream = filled(exchange, route->name, place->slug, SPAN_NONE);
    exchange->label = span_is_empty(place->slug) || slug_is_named(&route->slugs, place->slug) ? call->asked.upstream
                                                                                              : route->name;
    call->definitions = route->definitions;
    call->asked.is_agent_judged = route->agent_judged;
    call->is_join = route->server_count > 0 && pass == NULL;
    if (route->subtree && pass == NULL)
        call->asked.path = place->rest;
    exchange->upstream_path = pass != NULL && pass->oauth == OAUTH_NONE
                                  ? filled(exchange, pass->upstream_path, place->slug, place->rest)
                                  : filled(exchange, route->upstream.path, place->slug, SPAN_NONE);
    if (call->asked.upstream.at == NULL || exchange->upstream_path.at == NULL)
        return REASON_MEMORY;
    if (place->is_unlisted)
        call->asked.upstream = SPAN_NONE; /* no upstream has this name in policies and in the audit */
    if (pass != NULL && !is_narrow(pass) && proxy_conf_judges(pair->conf, &route->upstream, exchange->upstream_path))
        return REASON_ROUTE_UNKNOWN;
    return REASON_UNSET;
}

enum reason route__find(struct pair *pair)
{
    const struct http_head *head = &pair->asks.head;
    struct span host = http_head_text(head, head->host_name);
    struct place place = {0};

    if (span_is_empty(host))
        return REASON_HTTP_MALFORMED;
    if (pair->is_tls) {
        struct span asked = tls_server_name(pair->front.stream);

        if (!span_is_empty(asked) && !span_equals_nocase(asked, host))
            return REASON_TLS_NAME;
    }
    if (!name_is_served(pair, host))
        return REASON_HOST_FOREIGN;
    return find_place(pair->conf, head->method, host, http_head_path(head), &place) ? route__lead(pair, &place)
                                                                                       : REASON_ROUTE_UNKNOWN;
}

enum reason route__serve(struct pair *pair)
{
    const struct proxy_conf *conf = pair->conf;

    for (size_t i = 0; i < conf->route_count; i++)
        if (span_equals(conf->routes[i].name, pair->served))
            return route__lead(pair, &(struct place){.route = &conf->routes[i]});
    return REASON_ROUTE_UNKNOWN; /* the configuration has changed meanwhile */
}

/* ---- who and what, as it is recorded ---- */

/* Cuts the last address off a list. */
static struct span cut_last(struct span *list)
{
    size_t at = list->len;
    struct span last;

    while (at > 0 && list->at[at - 1] != ',')
        at--;
    last = span_trim(span_part(*list, at, SIZE_MAX));
    *list = span_part(*list, 0, at > 0 ? at - 1 : 0);
    return last;
}

/* Finds the caller's address: the peer's, or where that is a trusted proxy the first from the right that is none, or the last
 * one where all are trusted. Returns: false: a trusted proxy names nobody, or in a way that cannot be read; then the caller is
 * somewhere behind *address. */
static bool find_client(const struct proxy_conf *conf, const struct http_head *head, struct sock_address *address)
{
    bool is_named = !proxy_conf_trusts(conf, address);

    for (size_t i = head != NULL ? head->count : 0; i-- > 0;) {
        struct span list = head->headers[i].known == HTTP_NAME_X_FORWARDED_FOR ? http_head_value(head, i) : SPAN_NONE;

        while (!span_is_empty(list) && proxy_conf_trusts(conf, address)) {
            struct span last = cut_last(&list);

            if (last.len == 0)
                continue; /* RFC 9110, 5.6.1 */
            if (sock_parse_ip(last, 0, address) != CODE_OK && sock_parse(last, address, NULL) != CODE_OK)
                return false;
            is_named = true;
        }
    }
    return is_named;
}

/* Sets the caller's address. One that is not known is written as X-Forwarded-For would write it ("unknown,
 * ..."), so that it is in no range of a policy. */
void route__client(struct pair *pair, const struct http_head *head)
{
    if (pair->conf->trusted_proxy_count > 0 && !pair->is_pipe && pair->lent == NULL) {
        char address[SOCK_TEXT_BYTES];
        bool is_known;

        pair->client_address = pair->peer; /* the call before on this connection may have had another caller */
        is_known = find_client(pair->conf, head, &pair->client_address);
        pair->client_who = budget_address(&pair->client_address);
        sock_ip_text(&pair->client_address, address);
        (void)snprintf(pair->client, sizeof pair->client, "%s%.50s", is_known ? "" : "unknown, ", address);
    }
    pair->exchange.call->asked.client = span_text(pair->client);
}

static bool is_visible(struct span text)
{
    return text.len >= 1 && text.len <= 128 && ascii_is_all(text, ASCII_VISIBLE);
}

/* Returns: the trace id of a traceparent; at == NULL: it is none. */
static struct span trace_of(struct span value)
{
    struct trace trace;

    (void)trace_read(value, &trace);
    return trace.id;
}

/* Escapes a correlation that may not be sent on, for the record: at most 128 bytes of visible ASCII. */
static struct span escaped(struct exchange *exchange, struct span text)
{
    char *out = arena_alloc(&exchange->arena, 128);
    size_t len = 0;

    if (out == NULL)
        return SPAN_LIT("");
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.at[i];
        bool plain = byte >= 0x20 && byte < 0x7f && byte != '%';

        if (len + (plain ? 1 : 3) > 128)
            break;
        if (plain) {
            out[len++] = (char)byte;
            continue;
        }
        out[len++] = '%';
        num_hex(&byte, 1, out + len);
        len += 2;
    }
    return span_of(out, len);
}

void route__correlate(struct pair *pair, const struct http_head *head)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;
    struct span sent = head ? http_head_named(head, exchange_correlation_name(exchange)) : SPAN_NONE;
    char *made;

    if (head != NULL)
        call->user_agent = http_head_known(head, HTTP_NAME_USER_AGENT);
    if (head != NULL)
        call->trace = trace_of(http_head_known(head, HTTP_NAME_TRACEPARENT));
    if (sent.at != NULL && is_visible(sent)) {
        call->asked.correlation = sent;
        return;
    }
    if (sent.at != NULL)
        call->correlation_replaced = escaped(exchange, sent);
    if (call->trace.at != NULL) {
        call->asked.correlation = call->trace;
        return;
    }
    made = arena_alloc(&exchange->arena, 32);
    if (made == NULL)
        return; /* without memory the next allocation refuses the call */
    lane_random_hex(pair->lane, made);
    call->asked.correlation = span_of(made, 32);
    exchange->correlation_made = true;
}

void route__correlate_body(struct exchange *exchange)
{
    const struct json_node *parent = json_member(exchange->call->message.meta, SPAN_LIT("traceparent"));
    struct call *call = exchange->call;
    struct span trace = parent != NULL ? trace_of(parent->text) : SPAN_NONE;

    if (trace.at == NULL || call->trace.at != NULL)
        return;
    call->trace = trace;
    /* the messages of a batch share one correlation, whatever each says */
    if (exchange->correlation_made && exchange->batch == NULL)
        call->asked.correlation = trace;
}
