/* SPDX-License-Identifier: Apache-2.0 */
/* Several calls in one body, as they come: read one by one, and judged so that all go up or none. */
#include "proxy/front_priv.h"

#include "lane/batch.h"

/* ---- reading ---- */

bool batch__may_come(const struct exchange *exchange)
{
    const char *revision = exchange->dialect->batch_revision;

    return revision != NULL && !exchange->call->is_join && exchange_has_session(exchange) &&
           span_is(exchange->session.revision, revision) &&
           mcp_revision_is_listed(exchange->route->revisions, exchange->session.revision) &&
           (exchange->version.at == NULL || span_is(exchange->version, revision));
}

/* Refuses two calls under one id, since nobody could say whose an answer is, and a call that begins a
 * session, which must come alone. */
static void check_calls(const struct exchange *exchange)
{
    for (struct call *call = exchange->calls; call != NULL; call = call->next) {
        if (exchange->dialect->begins_session(&call->message))
            call->refused = REASON_BATCH_MEMBER;
        for (struct call *other = exchange->calls; other != call && !span_is_empty(call->message.id); other = other->next)
            if (other->message.kind != MCP_RESPONSE && call->message.kind != MCP_RESPONSE &&
                span_equals(other->message.id, call->message.id))
                call->refused = other->refused = REASON_BATCH_MEMBER;
    }
}

/* Writes what goes up: the canonical bytes of all calls, as they were judged. */
static enum code join(struct exchange *exchange)
{
    struct buf *whole = &exchange->own->canonical;

    for (const struct call *call = exchange->calls; call != NULL; call = call->next) {
        buf_add_byte(whole, call == exchange->calls ? '[' : ',');
        buf_add_span(whole, buf_peek(&call->canonical));
    }
    return buf_add_byte(whole, ']');
}

/* Reads the calls, side by side in the exchange's arena. */
static struct call *read_calls(struct pair *pair, const struct json_node *array)
{
    struct exchange *exchange = &pair->exchange;
    struct call *calls = arena_alloc(&exchange->arena, array->count * sizeof *calls);
    size_t i = 0;

    for (const struct json_node *node = array->child; calls != NULL && node != NULL; node = node->next, i++) {
        struct call *call = exchange->call = &calls[i];

        call_begin(call, exchange->own, &exchange->arena);
        call->refused = exchange__read(pair, node->raw);
        call->next = node->next != NULL ? call + 1 : NULL;
    }
    exchange->call = exchange->own;
    return calls;
}

enum reason batch__read(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    const struct json_node *array = exchange->own->message.root;
    enum mcp_kind kind = MCP_NOTIFICATION;
    enum reason reason = pair_refuses(pair, array->count * sizeof(struct call));
    struct call *calls = NULL;
    struct buf whole;

    if (array->count == 0 || array->count > MCP_BATCH_MAX)
        return REASON_BATCH_LIMIT;
    if (reason != REASON_UNSET)
        return reason;
    exchange->batch = arena_zalloc(&exchange->arena, sizeof *exchange->batch);
    if (exchange->batch == NULL)
        return REASON_MEMORY;
    buf_init(&exchange->batch->raw, SIZE_MAX / 2);
    buf_init(&exchange->batch->id, SSE_ID_MAX_BYTES);
    buf_init(&exchange->batch->list, SIZE_MAX / 2);
    buf_init(&whole, SIZE_MAX / 2);
    buf_move(&whole, &exchange->own->canonical);
    calls = read_calls(pair, array);
    buf_fini(&whole);
    if (calls == NULL) {
        exchange->batch = NULL;
        return REASON_MEMORY;
    }
    exchange__take_calls(exchange, calls);
    check_calls(exchange);
    for (const struct call *call = calls; call != NULL; call = call->next)
        kind = call->message.kind == MCP_REQUEST ? MCP_REQUEST : kind;
    /* a batch is answered as a request where a request is among its calls */
    exchange->own->message = (struct mcp_message){.kind = kind};
    return join(exchange) == CODE_OK ? REASON_UNSET : REASON_MEMORY;
}

/* ---- JUDGE ---- */

/* Whether a rule or a plan asks in which order these are called. The server may take them in any order, so nobody could say. */
static bool asks_for_order(const struct exchange *exchange)
{
    const struct policy *policy = exchange->calls->policy;
    bool is_ordered = policy != NULL && policy_watches(policy);
    size_t count = 0;

    for (const struct call *call = exchange->calls; call != NULL; call = call->next) {
        count += !span_is_empty(call->message.target);
        is_ordered |= call_is_ordered(call);
    }
    return count > 1 && is_ordered;
}

void batch__agree(struct exchange *exchange)
{
    enum reason others = REASON_UNSET;

    for (const struct call *call = exchange->calls; call != NULL; call = call->next)
        others = call_is_permit(call) ? others : REASON_BATCH_DENIED;
    if (others == REASON_UNSET && asks_for_order(exchange))
        others = REASON_BATCH_ORDER;
    for (struct call *call = exchange->calls; call != NULL && others != REASON_UNSET; call = call->next) {
        if (call_is_permit(call))
            gate_revoke(call, others);
        call->refusal = call->verdict.reason;
    }
    exchange->own->refusal = others;
}
