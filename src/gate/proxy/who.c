/* SPDX-License-Identifier: Apache-2.0 */
/* Finds who asks by what the head shows, once more where a provider's answer was waited for. */
#include "proxy/front_priv.h"
#include "back/back.h"
#include "discovery/discovery.h"
#include "proxy/proxy.h"

#include "base/log.h"
#include "base/num.h"
#include "http/authority.h"
#include "os/clock.h"

static struct span header_of(const void *context, const char *name)
{
    return http_head_named(&((const struct pair *)context)->asks.head, span_text(name));
}

/* Whether agents who write this host reached the gate itself, because it listens on that port. Behind a proxy there is
 * public_url. */
static bool is_own_port(const struct pair *pair, struct span written)
{
    uint64_t port = pair->is_tls ? 443 : 80;
    struct http_authority host;

    if (!http_authority_read(written, &host) || (host.port.len > 0 && num_u64(host.port, &port) != CODE_OK))
        return false;
    for (size_t i = 0; i < pair->conf->listen_count; i++) {
        const struct proxy_listen *listen = &pair->conf->listens[i];
        struct sock_address address = listen->address;

        if (pair->lane->proxy != NULL) /* the proxy knows which port the kernel chose */
            proxy_address(pair->lane->proxy, i, &address);
        if (listen->socket == NULL && (listen->tls != NULL) == pair->is_tls && sock_port(&address) == port)
            return true;
    }
    return false;
}

/* The URL of the request for a proof (RFC 9449, 4.2), without query and fragment. Empty: no agent can know
 * the gate by such a URL. */
static struct span url_of(const void *context, bool is_public)
{
    const struct pair *pair = context;
    const struct http_head *head = &pair->asks.head;
    const struct exchange *exchange = &pair->exchange;
    const struct proxy_route *route = exchange->route;
    struct span path = http_head_path(head);
    struct buf text;
    char *kept = NULL;
    size_t len;

    buf_init(&text, 2 * HTTP_LINE_MAX_BYTES);
    if (!is_public && is_own_port(pair, http_head_known(head, HTTP_NAME_HOST))) {
        buf_addf(&text, "%s://%.*s", pair->is_tls ? "https" : "http", SPAN_ARG(http_head_known(head, HTTP_NAME_HOST)));
        buf_add_span(&text, path);
    } else if (is_public && !span_is_empty(route->public_url)) {
        discovery_public_url(exchange, &text);
        if (route->subtree && span_is_empty(exchange->slug))
            buf_add_span(&text, span_part(path, route->path.len, SIZE_MAX));
    }
    len = buf_len(&text);
    if (buf_add_byte(&text, '\0') == CODE_OK)
        kept = arena_dup((struct arena *)(uintptr_t)&exchange->arena, buf_peek(&text).at, len);
    buf_fini(&text);
    return span_of(kept, kept != NULL ? len : 0);
}

static struct identity_request request_of(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    const struct http_head *head = &pair->asks.head;
    struct span tenant = exchange->route->tenant_header;

    return (struct identity_request){
        .header = header_of,
        .certificate = pair->is_tls ? tls_peer_names(pair->front.stream) : NULL,
        .uid = pair->is_pipe ? &pair->peer_uid : NULL,
        .is_from_proxy = !pair->is_pipe && proxy_conf_trusts(pair->conf, &pair->peer),
        .arena = &exchange->arena,
        .url = url_of,
        .context = pair,
        .method = span_text(http_method_text(head->method)),
        .slug = exchange->slug,
        .from = pair->client_who,
        .lookups = pair->lane->lookups,
        .proofs = pair->lane->proofs,
        .claimed_tenant = span_is_empty(tenant) ? SPAN_NONE : http_head_named(head, tenant),
        /* when the head came; where a provider was waited for, now */
        .now_us = exchange->identity.ticket == 0 ? exchange->call->asked.time_us : clock_wall_us(),
    };
}

static bool copy(struct exchange *exchange, struct span *text)
{
    char *kept = arena_dup(&exchange->arena, text->at, text->len);

    *text = span_of(kept, text->len);
    return kept != NULL;
}

/* Copies the names unless a token holds them, since they belong to the table of keys, which may be replaced meanwhile, to the
 * head, or to the connection's certificate. */
static enum reason keep_names(struct exchange *exchange)
{
    struct identity *identity = &exchange->identity;
    const struct identity_token *token = identity->token;
    struct question *asked = &exchange->call->asked;
    bool is_home = identity->home.at == identity->tenant.at;
    bool is_tokens = token != NULL && identity->agent.at == token->agent.at;

    if (identity->agent.len > 0 && !is_tokens && !copy(exchange, &identity->agent))
        return REASON_MEMORY;
    if (token == NULL) {
        if (!copy(exchange, &identity->principal) || !copy(exchange, &identity->tenant) ||
            (!is_home && !copy(exchange, &identity->home)))
            return REASON_MEMORY;
        if (is_home)
            identity->home = identity->tenant;
        return REASON_UNSET;
    }
    asked->groups = token->groups;
    asked->group_count = (uint32_t)token->group_count;
    asked->scopes = token->scopes;
    asked->scope_count = (uint32_t)token->scope_count;
    exchange->call->may_step_up = exchange->route->step_up;
    asked->claims = token->claims;
    return REASON_UNSET;
}

static void log_fault(const struct pair *pair)
{
    if (pair->exchange.identity.fault != NULL)
        log_debug("proxy", "%s: a token is not taken: %s", pair->client, pair->exchange.identity.fault);
}

/* A joined endpoint asks in the name of its agent, whom its own route has identified. */
static enum reason borrow(struct pair *pair)
{
    struct identity *identity = &pair->exchange.identity;

    *identity = pair->lent->who;
    if (identity->token != NULL)
        identity->token = identity_token_ref(identity->token);
    return REASON_PERMITTED;
}

static enum reason decide(struct pair *pair)
{
    const struct proxy_route *route = pair->exchange.route;
    struct identity_request request = request_of(pair);

    return identity_decide(route->identity, route->identity_count, gate_keys(pair->lane->gate), &request,
                           &pair->exchange.identity);
}

enum reason who__identify(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;
    const struct proxy_route *route = exchange->route;
    enum reason reason = pair->lent != NULL ? borrow(pair) : decide(pair);

    if (exchange->identity.ticket != 0)
        return REASON_UNSET;
    call->who = &exchange->identity;
    log_fault(pair);
    if (outgoing_keep(exchange, http_head_known(&pair->asks.head, HTTP_NAME_AUTHORIZATION)) != CODE_OK)
        reason = REASON_MEMORY;
    if (exchange->identity.consumed != NULL)
        http_head_wipe(&pair->asks.head, span_text(exchange->identity.consumed));
    if (reason == REASON_PERMITTED && !lane_certificate_holds(pair->lane, pair))
        reason = REASON_CREDENTIAL_WRONG; /* whichever credential has decided, this connection ends */
    if (reason == REASON_PERMITTED)
        reason = keep_names(exchange);
    else if (reason == REASON_UNSET)
        reason = REASON_INTERNAL;
    if (reason != REASON_UNSET)
        return reason;
    exchange->who = budget_principal(exchange->identity.home, exchange->identity.principal);
    if (!span_is_empty(route->plan_header)) {
        call->plan_keys = &route->plan_keys;
        call->shown_plan = http_head_named(&pair->asks.head, route->plan_header);
    }
    call->asked.principal = exchange->identity.principal;
    call->asked.tenant = exchange->identity.tenant;
    call->asked.agent = exchange->identity.agent;
    return REASON_UNSET;
}

enum reason who__prove(struct pair *pair)
{
    struct identity *identity = &pair->exchange.identity;
    enum reason reason = REASON_PERMITTED;

    if (identity->proof != 0)
        reason = identity_use_proof(identity, pair->lane->proofs, clock_wall_us());
    log_fault(pair);
    return reason == REASON_PERMITTED ? REASON_UNSET : reason;
}
