/* SPDX-License-Identifier: Apache-2.0 */
#include "back/upstream_priv.h"

#include "http/writer.h"
#include "os/clock.h"

#include <stdio.h>

#define RENEW_GAP_US INT64_C(30000000) /* a token that upstreams refuse is fetched anew no more often than this */

static void log_missing(struct pair *pair, enum reason reason)
{
    const struct identity *identity = &pair->exchange.identity;
    const struct outgoing *outgoing = &pair->exchange.route->upstream.outgoing;
    char detail[512];

    if (outgoing->kind == OUTGOING_ACCOUNT)
        (void)snprintf(detail, sizeof detail, "tenant %.*s, principal %.*s has connected no account",
                       SPAN_ARG(identity->tenant), SPAN_ARG(identity->principal));
    else if (outgoing_find(outgoing, identity->tenant, identity->principal).at == NULL)
        (void)snprintf(detail, sizeof detail, "no file %s is there for tenant %.*s, principal %.*s; make it, and send SIGHUP",
                       outgoing->file, SPAN_ARG(identity->tenant), SPAN_ARG(identity->principal));
    else
        (void)snprintf(detail, sizeof detail, "tenant %.*s, principal %.*s showed no token, or one without a subject",
                       SPAN_ARG(identity->tenant), SPAN_ARG(identity->principal));
    upstream__log(pair, reason, detail);
}

void outgoing_forget(struct exchange *exchange)
{
    outgoing_token_unref(&exchange->outgoing);
    exchange->authorization = SPAN_NONE;
    buf_fini(&exchange->subject);
    buf_fini(&exchange->said);
}

enum code outgoing_keep(struct exchange *exchange, struct span authorization)
{
    struct span token;

    if (exchange->route->upstream.outgoing.kind != OUTGOING_EXCHANGE || exchange->identity.token == NULL)
        return CODE_OK;
    (void)span_cut(authorization, ' ', &token);
    return buf_add_span(&exchange->subject, span_trim(token));
}

static void take(struct exchange *exchange, struct outgoing_token *token)
{
    exchange->outgoing = token;
    exchange->authorization = span_of(token->value, token->len);
}

/* ---- what a provider gives, or a program says ---- */

/* Returns: false: the caller has nothing with which a token could be asked for. */
static bool key_of(const struct exchange *exchange, const struct outgoing *outgoing, struct span secret, struct lookup_key *key)
{
    const struct identity_token *token = exchange->identity.token;
    bool is_exchange = outgoing->kind == OUTGOING_EXCHANGE;

    if (secret.at == NULL || (is_exchange && (token == NULL || token->subject.len == 0 || buf_is_empty(&exchange->subject))))
        return false;
    if (outgoing->kind == OUTGOING_ACCOUNT)
        outgoing_account_key(outgoing, exchange->identity.tenant, exchange->identity.principal,
                             token != NULL ? token->issuer : SPAN_NONE, key);
    else
        outgoing_key(outgoing, secret, exchange->identity.tenant,
                     is_exchange ? span_of((const char *)token->sha256, sizeof token->sha256) : SPAN_NONE, key);
    return true;
}

static enum code pack(const struct exchange *exchange, const struct outgoing *outgoing, struct buf *payload)
{
    const struct identity_token *token = exchange->identity.token;
    const bool is_account = outgoing->kind == OUTGOING_ACCOUNT;
    struct outgoing_wish wish = {.tenant = outgoing->per_tenant || is_account ? exchange->identity.tenant : SPAN_NONE,
                                 .subject = is_account ? exchange->identity.principal : SPAN_NONE,
                                 .login = is_account && token != NULL ? token->issuer : SPAN_NONE};

    memcpy(wish.outgoing, outgoing->digest, sizeof wish.outgoing);
    if (outgoing->kind == OUTGOING_EXCHANGE) {
        wish.until_us = token->expires_us;
        wish.subject = token->subject;
        wish.token = buf_peek(&exchange->subject);
    }
    return outgoing_pack(&wish, payload);
}

static enum reason ask(struct pair *pair, const struct outgoing *outgoing, const struct lookup_key *key, int64_t now_us,
                       bool *waits, struct outgoing_token **token)
{
    enum lookup_state state = LOOKUP_FAILED;
    struct lookup_answer answer = {.reason = REASON_OUTGOING_UNAVAILABLE};
    struct buf payload;

    buf_init(&payload, LOOKUP_PAYLOAD_MAX);
    buf_wipes(&payload);
    if (pack(&pair->exchange, outgoing, &payload) == CODE_OK)
        state = lookup_ask(pair->lane->lookups, key, buf_peek(&payload), now_us, &answer);
    buf_fini(&payload);
    switch (state) {
    case LOOKUP_READY:
        *token = answer.result;
        return REASON_UNSET;
    case LOOKUP_PENDING:
        *waits = true;
        lane_wait_for_lookup(pair, answer.ticket);
        return REASON_UNSET;
    case LOOKUP_FAILED:
        break;
    }
    return answer.reason == REASON_EXCHANGE_REFUSED || answer.reason == REASON_ACCOUNT_MISSING ? answer.reason
                                                                                           : REASON_OUTGOING_UNAVAILABLE;
}

/* Returns: UNSET: *token is there, or *waits. */
static enum reason settle_fetched(struct pair *pair, const struct outgoing *outgoing, struct span secret, bool may_wait,
                                  bool *waits, struct outgoing_token **token)
{
    struct exchange *exchange = &pair->exchange;
    int64_t now_us = clock_wall_us();
    struct outgoing_token *known;
    struct lookup_key key;

    *token = NULL;
    if (!key_of(exchange, outgoing, secret, &key))
        return REASON_OUTGOING_MISSING;
    known = pair->lane->lookups != NULL ? lookup_find(pair->lane->lookups, &key, now_us) : NULL;
    if (known != NULL && (!may_wait || now_us < known->renew_us)) {
        *token = known;
        return REASON_UNSET;
    }
    outgoing_token_unref(&known);
    return may_wait && pair->lane->lookups != NULL ? ask(pair, outgoing, &key, now_us, waits, token)
                                                   : REASON_OUTGOING_UNAVAILABLE;
}

static void ask_newer(struct pair *pair, const struct outgoing *outgoing, struct span secret)
{
    struct lookup_answer answer;
    struct lookup_key key;
    struct buf payload;

    if (!key_of(&pair->exchange, outgoing, secret, &key))
        return;
    buf_init(&payload, LOOKUP_PAYLOAD_MAX);
    buf_wipes(&payload);
    if (pack(&pair->exchange, outgoing, &payload) == CODE_OK)
        (void)lookup_ask_newer(pair->lane->lookups, &key, buf_peek(&payload), clock_wall_us(), RENEW_GAP_US, &answer);
    buf_fini(&payload);
}

void outgoing__refused(struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    const struct proxy_upstream *upstream = &exchange->route->upstream;

    if (exchange->outgoing != NULL)
        ask_newer(pair, &upstream->outgoing,
                  outgoing_find(&upstream->outgoing, exchange->identity.tenant, exchange->identity.principal));
    for (size_t i = 0; i < upstream->header_count && !buf_is_empty(&exchange->said); i++)
        if (upstream->headers[i].program != NULL)
            ask_newer(pair, upstream->headers[i].program, upstream->headers[i].program->entries->value);
}

/* Writes the headers that programs say. They are written together, so that all of them are at hand when the head is. */
static enum reason settle_headers(struct pair *pair, bool may_wait, bool *waits)
{
    struct exchange *exchange = &pair->exchange;
    const struct proxy_upstream *upstream = &exchange->route->upstream;
    enum reason reason = REASON_UNSET;

    if (!upstream__takes_credentials(exchange->pass) ||
        (!buf_is_empty(&exchange->said) && clock_wall_us() < exchange->said_until_us))
        return REASON_UNSET;
    buf_clear(&exchange->said);
    exchange->said_until_us = INT64_MAX;
    for (size_t i = 0; i < upstream->header_count && reason == REASON_UNSET && !*waits; i++) {
        const struct proxy_header *header = &upstream->headers[i];
        struct outgoing_token *token = NULL;

        if (header->program == NULL)
            continue;
        reason = settle_fetched(pair, header->program, header->program->entries->value, may_wait, waits, &token);
        if (token == NULL)
            continue;
        http_write_header(&exchange->said, header->name, span_of(token->value, token->len));
        if (token->until_us < exchange->said_until_us)
            exchange->said_until_us = token->until_us;
        outgoing_token_unref(&token);
    }
    if (reason == REASON_UNSET && buf_code(&exchange->said) != CODE_OK)
        reason = REASON_MEMORY;
    if (reason != REASON_UNSET || *waits)
        buf_clear(&exchange->said);
    return reason;
}

/* ---- which one ---- */

/* Whether the token that was taken before is still valid: between two messages of a stream hours may pass. */
static bool is_settled(struct exchange *exchange)
{
    if (exchange->authorization.at == NULL)
        return false;
    if (exchange->outgoing == NULL || clock_wall_us() < exchange->outgoing->until_us)
        return true;
    outgoing_token_unref(&exchange->outgoing);
    exchange->authorization = SPAN_NONE;
    return false;
}

static enum reason settle_authorization(struct pair *pair, bool may_wait, bool *waits)
{
    struct exchange *exchange = &pair->exchange;
    const struct outgoing *outgoing = &exchange->route->upstream.outgoing;
    bool is_anybodys = !outgoing->per_tenant && (outgoing->kind == OUTGOING_FILE || outgoing->kind == OUTGOING_PROGRAM);
    struct outgoing_token *token = NULL;
    enum reason reason = REASON_UNSET;
    struct span value;

    if (outgoing->kind == OUTGOING_NONE || is_settled(exchange))
        return REASON_UNSET;
    if (exchange->pass != NULL && (!is_anybodys || !upstream__takes_credentials(exchange->pass)))
        return REASON_UNSET; /* nobody has shown an identity there */
    value = outgoing_find(outgoing, exchange->identity.tenant, exchange->identity.principal);
    if (outgoing->kind != OUTGOING_FILE)
        reason = settle_fetched(pair, outgoing, value, may_wait, waits, &token);
    else if (value.at != NULL)
        exchange->authorization = value;
    else
        reason = REASON_OUTGOING_MISSING;
    if (token != NULL)
        take(exchange, token);
    return reason;
}

enum reason outgoing_settle(struct pair *pair, bool may_wait, bool *waits)
{
    enum reason reason;

    *waits = false;
    reason = settle_authorization(pair, may_wait, waits);
    if (reason == REASON_UNSET && !*waits)
        reason = settle_headers(pair, may_wait, waits);
    if (may_wait && (reason == REASON_OUTGOING_MISSING || reason == REASON_ACCOUNT_MISSING))
        log_missing(pair, reason);
    else if (may_wait && reason != REASON_UNSET)
        upstream__log(pair, reason, reason_text(reason));
    return reason;
}
