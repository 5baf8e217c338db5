/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks, by what the head shows: asked at the end of HEAD, and again in WHO where it was not known yet. */
#include "proxy/front_priv.h"
#include "proxy/upstream_priv.h"

#include "base/log.h"
#include "os/clock.h"

static bool copy(struct exchange *exchange, struct span *text)
{
    char *kept = arena_dup(&exchange->arena, text->at, text->len);

    *text = span_of(kept, text->len);
    return kept != NULL;
}

/* A token's names are held with it; others belong to the table of keys, which may be replaced while the call lasts, or to the
 * head: they are copied. */
static enum reason keep_names(struct exchange *exchange)
{
    struct identity *identity = &exchange->identity;
    const struct identity_token *token = identity->token;
    struct gate_message *asked = &exchange->call->asked;
    bool is_home = identity->home.at == identity->tenant.at;

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
    asked->may_step_up = exchange->route->step_up;
    asked->claims = token->claims;
    asked->issuer = token->issuer;
    asked->token_key = token->key_id;
    return REASON_UNSET;
}

static void tell_fault(const struct pair *pair)
{
    if (pair->exchange.identity.fault != NULL)
        log_debug("proxy", "%s: a token is not taken: %s", pair->client, pair->exchange.identity.fault);
}

enum reason who__identify(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;
    const struct proxy_route *route = exchange->route;
    struct identity_request request = exchange__identity_request(pair);
    enum reason reason = identity_decide(route->identity, route->identity_count, gate_keys(pair->lane->gate), &request,
                                         &exchange->identity);

    if (exchange->identity.ticket != 0)
        return REASON_UNSET;
    call->asked.api_key = exchange->identity.key_id;
    tell_fault(pair);
    if (outgoing__keep(exchange, http_head_known(&pair->asks.head, HTTP_NAME_AUTHORIZATION)) != CODE_OK)
        reason = REASON_MEMORY;
    if (exchange->identity.consumed != NULL)
        http_head_wipe(&pair->asks.head, span_text(exchange->identity.consumed));
    if (reason == REASON_PERMITTED && !lane__certificate_holds(pair->lane, pair))
        reason = REASON_CREDENTIAL_WRONG; /* whichever credential decides: this connection ends */
    if (reason == REASON_PERMITTED)
        reason = keep_names(exchange);
    else if (reason == REASON_UNSET)
        reason = REASON_INTERNAL;
    if (reason != REASON_UNSET)
        return reason;
    exchange->who = budget_principal(exchange->identity.home, exchange->identity.principal);
    if (!span_is_empty(route->plan_header)) {
        call->asked.plan_keys = &route->plan_keys;
        call->asked.plan = head__value(&pair->asks.head, route->plan_header);
    }
    call->asked.home = exchange->identity.home;
    call->asked.principal = exchange->identity.principal;
    call->asked.tenant = exchange->identity.tenant;
    call->asked.authentication = exchange->identity.authentication;
    return REASON_UNSET;
}

enum reason who__prove(struct pair *pair)
{
    enum reason reason = identity_use_proof(&pair->exchange.identity, pair->lane->proofs, clock_wall_us());

    tell_fault(pair);
    return reason == REASON_PERMITTED ? REASON_UNSET : reason;
}
