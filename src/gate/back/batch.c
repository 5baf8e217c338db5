/* SPDX-License-Identifier: Apache-2.0 */
#include "lane/batch.h"
#include "back/incoming_priv.h"
#include "back/reply_priv.h"

#include "base/bug.h"
#include "mcp/batch.h"

#include <string.h>

/* ---- DENY ---- */

static bool wants_answer(const struct call *member)
{
    return member->message.kind == MCP_REQUEST || member->message.kind == MCP_NONE;
}

/* Appends the denials of all calls to `out`; NULL: only the status is asked for. */
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
        told = deny_status(pair, own);
        if (code == CODE_OK && out != NULL)
            code = deny__write(pair, own, out, form);
        exchange->call = exchange->own;
        if (*status == 0 || *status == 200)
            *status = told; /* a malformed call makes the HTTP status an error too */
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

/* ---- RELAY ---- */

static struct call *find_id(struct exchange *exchange, struct span id)
{
    for (struct call *member = exchange->calls; member != NULL; member = member->next) {
        if (member->message.kind == MCP_REQUEST && !member->is_answered && span_equals(member->message.id, id))
            return member;
    }
    return NULL;
}

/* Finds the call that a part answers. An id "1" also finds the call with the id 1, so that its answer is
 * mended or refused for that fault. */
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

/* Refuses a reply. Where one part of a whole reply may not go down, none of it does. */
void batch__fail(struct pair *pair, enum reason reason)
{
    struct batch *batch = pair->exchange.batch;

    pair->exchange.call = pair->exchange.own; /* this ends all calls, not one of them */
    batch->part_at = batch->part_count;
    for (struct call *call = pair->exchange.calls; call != NULL && batch->is_whole; call = call->next) {
        /* size and digest go too, since the agent gets none of it */
        call->outcome = (struct audit_result){.reason = REASON_UNSET};
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
    bool is_last = batch->part_at == batch->part_count; /* the event's id goes with its last part, since who resumes behind
                                                         * that id must have seen all of it */
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
    exchange_delivered(exchange, reply->body);
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

/* Goes on with the parts of a whole reply. Its list goes down once each part has been judged. */
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
    exchange_settle(exchange, OUTCOME_ACCEPTED, REASON_COMPLETED); /* for notifications and answers among the calls */
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

void batch_fini(struct exchange *exchange)
{
    buf_fini(&exchange->batch->raw);
    buf_fini(&exchange->batch->id);
    buf_fini(&exchange->batch->list);
    exchange->batch = NULL;
}
