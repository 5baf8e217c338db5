/* SPDX-License-Identifier: Apache-2.0 */
#include "lane/exchange.h"

#include "base/bug.h"
#include "lane/batch.h"

#include <string.h>

#define CALL_ARENA_BYTES (64u << 20)

void exchange_init(struct exchange *exchange)
{
    memset(exchange, 0, sizeof *exchange);
    arena_init(&exchange->arena, CALL_ARENA_BYTES);
    arena_init(&exchange->event_arena, CALL_ARENA_BYTES);
    buf_init(&exchange->subject, IDENTITY_TOKEN_BYTES_MAX);
    buf_wipes(&exchange->subject);
    buf_init(&exchange->said, SIZE_MAX / 2);
    buf_wipes(&exchange->said);
    buf_init(&exchange->body, SIZE_MAX / 2);
    buf_init(&exchange->reply, SIZE_MAX / 2);
    buf_init(&exchange->event, SIZE_MAX / 2);
    buf_init(&exchange->text, SIZE_MAX / 2);
}

void exchange_rest(struct exchange *exchange)
{
    if (exchange->own != NULL)
        call_fini(exchange->own);
    exchange->own = exchange->call = NULL;
    arena_fini(&exchange->arena);
    arena_fini(&exchange->event_arena);
    buf_fini(&exchange->body);
    buf_fini(&exchange->reply);
    buf_fini(&exchange->event);
    buf_fini(&exchange->text);
}

void exchange_fini(struct exchange *exchange)
{
    BUG_ON(exchange->own != NULL || exchange->slot_taken);
    exchange_rest(exchange);
}

static size_t call_bytes(const struct call *call)
{
    return call->canonical.size + call->answer.size;
}

size_t exchange_held_bytes(const struct exchange *exchange)
{
    const struct batch *batch = exchange->batch;
    size_t bytes = exchange->body.size + exchange->reply.size + exchange->event.size + exchange->text.size +
                   exchange->subject.size + exchange->said.size + exchange->arena.used_bytes + exchange->event_arena.used_bytes;

    if (exchange->call != NULL)
        bytes += call_bytes(exchange->call);
    if (batch == NULL)
        return bytes;
    for (const struct call *call = exchange->calls; call != NULL; call = call->next)
        bytes += call_bytes(call);
    return bytes + batch->raw.size + batch->id.size + batch->list.size;
}

struct mcp_session_scope exchange_session_scope(const struct exchange *exchange)
{
    const struct identity *who = &exchange->identity;

    return (struct mcp_session_scope){exchange->call->asked.upstream, who->tenant, who->principal, who->agent,
                                      exchange->call->asked.path};
}

struct mcp_binding exchange_binding(const struct exchange *exchange, const struct gate *gate)
{
    return (struct mcp_binding){gate_session_key(gate), exchange_session_scope(exchange)};
}

struct span exchange_correlation_name(const struct exchange *exchange)
{
    return exchange->route ? exchange->route->correlation_header : PROXY_DEFAULT_CORRELATION;
}

void exchange_settle(struct exchange *exchange, enum audit_outcome outcome, enum reason reason)
{
    struct call *call = exchange->call;

    if (call->outcome.reason != REASON_UNSET)
        return;
    call->outcome.outcome = outcome;
    call->outcome.reason = reason;
}

void exchange_unsettle(struct exchange *exchange)
{
    exchange->own->outcome.reason = REASON_UNSET;
    for (struct call *call = exchange->calls; call != NULL; call = call->next)
        call->outcome.reason = REASON_UNSET;
}

void exchange_delivered(struct exchange *exchange, struct span bytes)
{
    struct call *call = exchange->call;

    if (call->outcome.response_bytes == 0)
        digest_init(&call->digest);
    call->outcome.response_bytes += bytes.len;
    digest_add(&call->digest, bytes.at, bytes.len);
}
