/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/incoming_priv.h"
#include "proxy/reply_priv.h"

#include "base/bug.h"
#include "mcp/batch.h"

#include <string.h>

/* Several calls in one body. Each is read, judged, recorded and ended as it would be alone: the exchange's `call` leads to the
 * one that is looked at, so that the same functions do with it all that is done with a call. None goes up unless all do: what
 * goes up is one body. */

struct batch {
    struct buf raw;          /* what the server sent last, taken apart into `parts` */
    struct buf id;           /* of its event */
    struct sse_event event;
    struct mcp_part *parts;  /* MCP_BATCH_PARTS_MAX; NULL: none was needed yet */
    size_t part_count, part_at;
    uint64_t part_bytes;     /* no part may have more */
    bool is_whole;           /* the parts are those of a whole reply, and become */
    struct buf list;
};

size_t batch__held_bytes(const struct exchange *exchange)
{
    const struct batch *batch = exchange->batch;
    size_t bytes = batch->raw.size + batch->id.size + batch->list.size;

    for (const struct call *call = exchange->calls; call != NULL; call = call->next)
        bytes += call->canonical.size + call->answer.size;
    return bytes;
}

/* ---- reading ---- */

bool batch__may_come(const struct exchange *exchange)
{
    const char *revision = exchange->dialect->batch_revision;

    return revision != NULL && exchange__has_session(exchange) && span_is(exchange->session.revision, revision) &&
           mcp_revision_is_listed(exchange->route->revisions, exchange->session.revision) &&
           (exchange->version.at == NULL || span_is(exchange->version, revision));
}

/* Whose answer would it be, where two ask under one id? And a session begins with one message alone. */
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

/* What goes up: the canonical bytes of all calls, as they were judged. */
static enum code join(struct exchange *exchange)
{
    struct buf *whole = &exchange->own->canonical;

    for (const struct call *call = exchange->calls; call != NULL; call = call->next) {
        buf_add_byte(whole, call == exchange->calls ? '[' : ',');
        buf_add_span(whole, buf_peek(&call->canonical));
    }
    return buf_add_byte(whole, ']');
}

/* They lie side by side in the memory of their exchange. */
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
    enum reason reason = pair__refuses(pair, array->count * sizeof(struct call));
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
    exchange->own->message = (struct mcp_message){.kind = kind}; /* it is answered as a request where one is among them */
    return join(exchange) == CODE_OK ? REASON_UNSET : REASON_MEMORY;
}

/* ---- JUDGE ---- */

/* Who may have been called before whom nobody knows, since the server may take them in any order. */
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

/* ---- DENY ---- */

static bool wants_answer(const struct call *member)
{
    return member->message.kind == MCP_REQUEST || member->message.kind == MCP_NONE;
}

/* Appends to `out` what each of them is told; NULL: the status alone is asked for. */
static enum code write_denials(struct pair *pair, enum reason reason, struct buf *out, enum mcp_form *form, int *status)
{
    struct exchange *exchange = &pair->exchange;
    bool is_list = !exchange->wants_sse, is_first = true;
    enum code code = CODE_OK;

    *form = MCP_FORM_NONE;
    *status = 0;
    for (struct call *member = exchange->calls; member != NULL && code == CODE_OK; member = member->next) {
        enum reason own = member->refusal != REASON_UNSET ? member->refusal : reason;
        int told;

        if (!wants_answer(member) && (exchange->own->message.kind == MCP_REQUEST || member != exchange->calls))
            continue;
        if (out != NULL && is_list && wants_answer(member)) {
            code = buf_add_byte(out, is_first ? '[' : ',');
            is_first = false;
        }
        exchange->call = member;
        told = deny__status(pair, own);
        if (code == CODE_OK && out != NULL)
            code = deny__write(pair, own, out, form);
        exchange->call = exchange->own;
        if (*status == 0 || *status == 200)
            *status = told; /* what is malformed is told by HTTP too */
    }
    return code == CODE_OK && out != NULL && is_list && *form != MCP_FORM_NONE ? buf_add_byte(out, ']') : code;
}

int batch__status(struct pair *pair, enum reason reason)
{
    enum mcp_form form;
    int status;

    (void)write_denials(pair, reason, NULL, &form, &status);
    return status;
}

enum code batch__deny(struct pair *pair, enum reason reason, struct buf *out, enum mcp_form *form)
{
    int status;

    return write_denials(pair, reason, out, form, &status);
}

/* ---- REPLY ---- */

static struct call *find_id(struct exchange *exchange, struct span id)
{
    for (struct call *member = exchange->calls; member != NULL; member = member->next) {
        if (member->message.kind == MCP_REQUEST && !member->is_answered && span_equals(member->message.id, id))
            return member;
    }
    return NULL;
}

/* A number's id as text is that call's, whose answer is mended or refused by the name of its fault. */
static struct call *find(struct exchange *exchange, const struct mcp_part *part)
{
    struct call *member = part->is_response ? find_id(exchange, part->id) : NULL;

    if (member == NULL && part->is_response && part->id.len > 2 && part->id.at[0] == '"')
        member = find_id(exchange, span_part(part->id, 1, part->id.len - 2));
    return member;
}

bool batch__owes_answer(const struct exchange *exchange)
{
    for (const struct call *call = exchange->calls; call != NULL; call = call->next)
        if (call->message.kind == MCP_REQUEST && !call->is_answered)
            return true;
    return false;
}

void batch__unsettle(struct exchange *exchange)
{
    for (struct call *call = exchange->calls; call != NULL; call = call->next)
        call->outcome.reason = REASON_UNSET;
}

static enum reason take_apart(struct pair *pair, struct span data, uint64_t max_bytes, bool *is_array)
{
    struct exchange *exchange = &pair->exchange;
    struct batch *batch = exchange->batch;

    if (batch->parts == NULL)
        batch->parts = arena_alloc(&exchange->arena, MCP_BATCH_PARTS_MAX * sizeof *batch->parts);
    if (batch->parts == NULL)
        return REASON_MEMORY;
    buf_clear(&batch->raw);
    batch->raw.cap_bytes = batch->part_bytes = max_bytes;
    batch->part_at = 0;
    return mcp_batch_split(data, &batch->raw, batch->parts, MCP_BATCH_PARTS_MAX, &batch->part_count, is_array,
                           &exchange->fault);
}

static enum code add_to_list(struct buf *list, struct span json)
{
    buf_add_byte(list, buf_is_empty(list) ? '[' : ',');
    return buf_add_span(list, json);
}

/* Appends an error in place of each answer that did not come. */
static enum code add_missing(struct pair *pair, struct buf *list)
{
    struct exchange *exchange = &pair->exchange;
    enum code code = CODE_OK;

    for (struct call *member = exchange->calls; member != NULL && code == CODE_OK; member = member->next) {
        if (member->message.kind != MCP_REQUEST || member->is_answered)
            continue;
        member->is_answered = true;
        member->outcome.outcome = OUTCOME_UPSTREAM_FAILURE;
        member->outcome.reason = REASON_UPSTREAM_CLOSED;
        buf_clear(&exchange->event);
        code = exchange->dialect->reply_error(member->message.id, REASON_UPSTREAM_CLOSED, member->seq, &exchange->event);
        if (code == CODE_OK)
            code = add_to_list(list, buf_peek(&exchange->event));
    }
    return code;
}

/* Nothing of a whole reply goes down where a part of it may not. */
void batch__fail(struct pair *pair, enum reason reason)
{
    struct batch *batch = pair->exchange.batch;

    pair->exchange.call = pair->exchange.own; /* it is no one call's end */
    batch->part_at = batch->part_count;
    for (struct call *call = pair->exchange.calls; call != NULL && batch->is_whole; call = call->next) {
        call->outcome = (struct audit_result){.reason = REASON_UNSET}; /* nor its size and digest: the agent gets none of it */
        call->keeps_answer = false;
    }
    reply__fail(pair, OUTCOME_REFUSED, reason);
}

bool batch__has_parts(const struct exchange *exchange)
{
    return exchange->batch != NULL && exchange->batch->part_at < exchange->batch->part_count;
}

bool batch__next(struct pair *pair)
{
    static const struct sse_event bare = {.has_id = false};
    struct exchange *exchange = &pair->exchange;
    struct batch *batch = exchange->batch;
    const struct mcp_part *part = &batch->parts[batch->part_at++];
    bool is_last = batch->part_at == batch->part_count; /* who resumes behind the event's id has seen all of it */
    struct call *member = find(exchange, part);
    struct mcp_reply reply = {0};
    enum reason reason = REASON_UPSTREAM_UNASKED;
    bool goes_on;

    exchange->call = member != NULL ? member : exchange->own;
    if (member != NULL || (!part->is_response && !batch->is_whole))
        reason = reply__read(pair, part->body, batch->part_bytes, member != NULL, &reply);
    if (member != NULL && reason == REASON_PERMITTED &&
        (reply.kind != MCP_RESPONSE || !span_equals(reply.id, member->message.id)))
        reason = REASON_UPSTREAM_UNASKED;
    goes_on = reason == REASON_PERMITTED && incoming__take(pair, is_last ? &batch->event : &bare, &reply, member != NULL);
    exchange->call = exchange->own;
    if (reason != REASON_PERMITTED)
        batch__fail(pair, reason);
    return goes_on;
}

bool batch__answer(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply)
{
    struct exchange *exchange = &pair->exchange;
    struct batch *batch = exchange->batch;

    exchange->call->is_answered = true;
    reply__settle(pair, reply, false);
    exchange__delivered(pair, reply->body);
    exchange->call = exchange->own;
    if (!batch->is_whole)
        return stream__emit(pair, event, reply->body);
    if (add_to_list(&batch->list, reply->body) == CODE_OK)
        return true;
    batch__fail(pair, REASON_MEMORY);
    return false;
}

bool batch__gathers(const struct exchange *exchange)
{
    return exchange->batch != NULL && exchange->batch->is_whole;
}

/* Its list goes down once each part has been judged. */
void batch__go_on(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct batch *batch = exchange->batch;

    while (exchange->incoming == NULL && batch__has_parts(exchange))
        (void)batch__next(pair);
    if (exchange->incoming != NULL || exchange->upstream_done || pair->ending != REASON_UNSET)
        return;
    if (add_missing(pair, &batch->list) != CODE_OK || buf_add_byte(&batch->list, ']') != CODE_OK) {
        batch__fail(pair, REASON_MEMORY);
        return;
    }
    exchange__settle(pair, OUTCOME_ACCEPTED, REASON_COMPLETED); /* of notifications and answers among them */
    reply__deliver(pair, exchange->reply_status, true, SPAN_LIT("application/json"), buf_peek(&batch->list), &batch->list,
                   NULL);
}

void batch__deliver(struct pair *pair, struct span raw)
{
    struct exchange *exchange = &pair->exchange;
    struct batch *batch = exchange->batch;
    bool is_array;
    enum reason reason = take_apart(pair, raw, exchange->route->limits.response_bytes, &is_array);

    batch->is_whole = true;
    buf_fini(&exchange->reply);
    if (reason == REASON_PERMITTED)
        batch__go_on(pair);
    else
        batch__fail(pair, reason);
}

/* ---- event streams ---- */

bool batch__take(struct pair *pair, const struct sse_event *event)
{
    struct exchange *exchange = &pair->exchange;
    struct batch *batch = exchange->batch;
    bool is_array;
    enum reason reason = take_apart(pair, event->data, exchange->route->limits.event_bytes, &is_array);

    buf_clear(&batch->id);
    if (reason == REASON_PERMITTED && buf_add_span(&batch->id, event->id) != CODE_OK)
        reason = REASON_MEMORY;
    if (reason != REASON_PERMITTED) {
        batch->part_count = 0;
        reply__fail(pair, OUTCOME_REFUSED, reason);
        return false;
    }
    batch->event = *event;
    batch->event.id = buf_is_empty(&batch->id) ? SPAN_LIT("") : buf_peek(&batch->id);
    batch->event.data = batch->event.type = SPAN_NONE;
    return batch__next(pair);
}

bool batch__answer_rest(struct pair *pair, enum reason reason)
{
    struct exchange *exchange = &pair->exchange;

    for (struct call *member = exchange->calls; member != NULL; member = member->next) {
        if (member->message.kind != MCP_REQUEST || member->is_answered)
            continue;
        member->is_answered = true;
        buf_clear(&exchange->event);
        if (exchange->dialect->reply_error(member->message.id, reason, member->seq, &exchange->event) == CODE_OK &&
            !stream__emit(pair, NULL, buf_peek(&exchange->event)))
            return false;
    }
    return true;
}

/* ---- the end ---- */

void batch__fini(struct exchange *exchange)
{
    buf_fini(&exchange->batch->raw);
    buf_fini(&exchange->batch->id);
    buf_fini(&exchange->batch->list);
    exchange->batch = NULL;
}
