/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/question_priv.h"
#include "proxy/reply_priv.h"

#include "base/bug.h"
#include "mcp/batch.h"

#include <string.h>

/* Several calls in one body. Each is read, judged, recorded and ended as it would be alone: the exchange's `call` leads to the
 * one that is looked at, so that the same functions do with it all that is done with a call. None goes up unless all do: what
 * goes up is one body. */

struct batch {
    size_t recorded;         /* members whose record is in the ring */
    size_t known;            /* of these, whose fate was seen: the audit forgets it, and the others may wait long for room */
    struct buf raw;          /* what the server sent last, taken apart into `parts` */
    struct buf id;           /* of its event */
    struct sse_event event;
    struct mcp_part *parts;  /* MCP_BATCH_PARTS_MAX; NULL: none was needed yet */
    size_t part_count, part_at;
    uint64_t part_bytes;     /* no part may have more */
    bool is_whole;           /* the parts are those of a whole reply, and become */
    struct buf list;
    size_t count;
    struct call members[];
};

size_t batch__held_bytes(const struct exchange *exchange)
{
    const struct batch *batch = exchange->batch;
    size_t bytes = batch->raw.size + batch->id.size + batch->list.size;

    for (size_t i = 0; i < batch->count; i++)
        bytes += batch->members[i].canonical.size + batch->members[i].answer.size;
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
static void check_members(const struct exchange *exchange)
{
    struct batch *batch = exchange->batch;

    for (size_t i = 0; i < batch->count; i++) {
        struct call *member = &batch->members[i];

        if (exchange->dialect->begins_session(&member->message))
            member->refused = REASON_BATCH_MEMBER;
        for (size_t j = 0; j < i && !span_is_empty(member->message.id); j++)
            if (batch->members[j].message.kind != MCP_RESPONSE && member->message.kind != MCP_RESPONSE &&
                span_equals(batch->members[j].message.id, member->message.id))
                member->refused = batch->members[j].refused = REASON_BATCH_MEMBER;
    }
}

/* What goes up: the canonical bytes of all members, as they were judged. */
static enum code join(struct exchange *exchange)
{
    struct call *call = exchange->call;
    const struct batch *batch = exchange->batch;

    for (size_t i = 0; i < batch->count; i++) {
        buf_add_byte(&call->canonical, i == 0 ? '[' : ',');
        buf_add_span(&call->canonical, buf_peek(&batch->members[i].canonical));
    }
    return buf_add_byte(&call->canonical, ']');
}

enum reason batch__read(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    const struct json_node *array = exchange->call->message.root;
    size_t bytes = sizeof(struct batch) + array->count * sizeof(struct call);
    enum mcp_kind kind = MCP_NOTIFICATION;
    enum reason reason = pair__refuses(pair, bytes);
    struct batch *batch;
    struct buf whole;
    size_t i = 0;

    if (array->count == 0 || array->count > MCP_BATCH_MAX)
        return REASON_BATCH_LIMIT;
    batch = reason == REASON_UNSET ? arena_zalloc(&exchange->arena, bytes) : NULL;
    if (batch == NULL)
        return reason == REASON_UNSET ? REASON_MEMORY : reason;
    exchange->batch = batch;
    buf_init(&batch->raw, SIZE_MAX / 2);
    buf_init(&batch->id, SSE_ID_MAX_BYTES);
    buf_init(&batch->list, SIZE_MAX / 2);
    buf_init(&whole, SIZE_MAX / 2);
    buf_move(&whole, &exchange->call->canonical);
    batch->count = array->count;
    for (const struct json_node *node = array->child; node != NULL; node = node->next) {
        struct call *member = &batch->members[i++];

        call_begin(member, exchange->own, &exchange->arena);
        exchange->call = member;
        exchange->call->refused = exchange__read(pair, node->raw);
        kind = exchange->call->message.kind == MCP_REQUEST ? MCP_REQUEST : kind;
        exchange->call = exchange->own;
    }
    buf_fini(&whole);
    check_members(exchange);
    exchange->call->message = (struct mcp_message){.kind = kind}; /* how it is answered: as a request where one is among them */
    return join(exchange) == CODE_OK ? REASON_UNSET : REASON_MEMORY;
}

/* ---- JUDGE and AUDIT ---- */

/* Who may have been called before whom nobody knows, since the server may take them in any order. */
static bool asks_for_order(const struct batch *batch)
{
    const struct policy *policy = batch->members[0].policy;
    bool is_ordered = policy != NULL && policy_watches(policy);
    size_t calls = 0;

    for (size_t i = 0; i < batch->count; i++) {
        calls += !span_is_empty(batch->members[i].message.target);
        is_ordered |= call_is_ordered(&batch->members[i]);
    }
    return calls > 1 && is_ordered;
}

void batch__decide(struct exchange *exchange, struct gate *gate)
{
    struct batch *batch = exchange->batch;
    enum reason others = REASON_UNSET;

    for (size_t i = 0; i < batch->count; i++) {
        struct call *member = &batch->members[i];

        member->expects_outcome = true;
        member->asked.time_us = exchange->call->asked.time_us;
        call_ask(member);
        member->read_us = exchange->call->read_us;
        if (exchange->call->refused != REASON_UNSET)
            member->refused = exchange->call->refused;
        gate_judge(gate, member);
        if (member->verdict.kind != VERDICT_PERMIT)
            others = REASON_BATCH_DENIED;
    }
    if (others == REASON_UNSET && asks_for_order(batch))
        others = REASON_BATCH_ORDER;
    for (size_t i = 0; i < batch->count; i++) {
        struct call *member = &batch->members[i];

        if (others != REASON_UNSET && member->verdict.kind == VERDICT_PERMIT)
            gate_revoke(member, others);
        member->is_permitted = others == REASON_UNSET;
        member->refusal = others == REASON_UNSET ? REASON_UNSET : member->verdict.reason;
    }
    exchange->call->is_permitted = others == REASON_UNSET;
    exchange->call->refusal = others;
}

static void see_fates(struct pair *pair)
{
    struct batch *batch = pair->exchange.batch;

    for (; batch->known < batch->recorded; batch->known++) {
        struct call *member = &batch->members[batch->known];
        enum audit_fate fate = AUDIT_FAILED; /* of one that was folded: it has no row */

        if (!member->folded)
            fate = gate_fate(pair->lane->gate, member->ticket, &member->seq);
        if (fate == AUDIT_WAITING)
            return;
        member->owes_outcome = member->owes_outcome && fate == AUDIT_DURABLE; /* of what has no row none is due */
        gate_settle(pair->lane->gate, member);
    }
}

/* Returns: CODE_BUSY: the ring is full; what of it was recorded is not recorded again. */
static enum code record(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct batch *batch = exchange->batch;
    int status = exchange->call->is_permitted ? 0 : batch__status(pair, exchange->call->refusal);
    enum code code = CODE_OK;

    while (batch->recorded < batch->count && code == CODE_OK) {
        struct call *member = &batch->members[batch->recorded];

        code = gate_record(pair->lane->gate, member, status);
        if (code != CODE_OK)
            break;
        member->owes_outcome = member->is_permitted;
        batch->recorded++;
    }
    return code;
}

bool batch__record(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    enum code code;

    see_fates(pair);
    code = record(pair);
    if (code == CODE_OK) {
        exchange->recorded_us = pair__now_us(pair);
        pair__set_state(pair, STATE_AUDIT);
        return true;
    }
    if (code != CODE_BUSY || pair->timed_out) {
        enum reason reason = code == CODE_BUSY ? REASON_AUDIT_FULL : REASON_AUDIT_DOWN;

        exchange->call->is_permitted = false;
        exchange__settle(pair, OUTCOME_NOT_SENT, reason);
        deny__answer(pair, reason);
        batch__finish(pair); /* at once, as exchange__audit does */
        return true;
    }
    return false;
}

bool batch__settled(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct batch *batch = exchange->batch;
    bool is_durable = true;

    see_fates(pair);
    for (size_t i = 0; i < batch->count; i++)
        is_durable = is_durable && (batch->members[i].seq != 0 || batch->members[i].folded);
    exchange->call->seq = batch->members[0].seq;
    return is_durable;
}

uint64_t batch__last_ticket(const struct exchange *exchange)
{
    size_t i = exchange->batch->count;

    while (i-- > 0)
        if (!exchange->batch->members[i].folded)
            return exchange->batch->members[i].ticket;
    return 0;
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
    struct batch *batch = exchange->batch;
    bool is_list = !exchange->wants_sse, is_first = true;
    enum code code = CODE_OK;

    *form = MCP_FORM_NONE;
    *status = 0;
    for (size_t i = 0; i < batch->count && code == CODE_OK; i++) {
        struct call *member = &batch->members[i];
        enum reason own = member->refusal != REASON_UNSET ? member->refusal : reason;
        int told;

        if (!wants_answer(member) && (exchange->call->message.kind == MCP_REQUEST || i > 0))
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

static struct call *find_id(struct batch *batch, struct span id)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct call *member = &batch->members[i];

        if (member->message.kind == MCP_REQUEST && !member->is_answered && span_equals(member->message.id, id))
            return member;
    }
    return NULL;
}

/* A number's id as text is that call's, whose answer is mended or refused by the name of its fault. */
static struct call *find(struct batch *batch, const struct mcp_part *part)
{
    struct call *member = part->is_response ? find_id(batch, part->id) : NULL;

    if (member == NULL && part->is_response && part->id.len > 2 && part->id.at[0] == '"')
        member = find_id(batch, span_part(part->id, 1, part->id.len - 2));
    return member;
}

bool batch__owes_answer(const struct exchange *exchange)
{
    const struct batch *batch = exchange->batch;

    for (size_t i = 0; i < batch->count; i++)
        if (batch->members[i].message.kind == MCP_REQUEST && !batch->members[i].is_answered)
            return true;
    return false;
}

void batch__unsettle(struct exchange *exchange)
{
    for (size_t i = 0; exchange->batch != NULL && i < exchange->batch->count; i++)
        exchange->batch->members[i].outcome.reason = REASON_UNSET;
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
    struct batch *batch = exchange->batch;
    enum code code = CODE_OK;

    for (size_t i = 0; i < batch->count && code == CODE_OK; i++) {
        struct call *member = &batch->members[i];

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
static void fail(struct pair *pair, enum reason reason)
{
    struct batch *batch = pair->exchange.batch;

    batch->part_at = batch->part_count;
    if (batch->is_whole)
        batch__unsettle(&pair->exchange);
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
    struct call *member = find(batch, part);
    struct mcp_reply reply = {0};
    enum reason reason = REASON_UPSTREAM_UNASKED;
    bool goes_on;

    exchange->call = member != NULL ? member : exchange->own;
    if (member != NULL || (!part->is_response && !batch->is_whole))
        reason = reply__read(pair, part->body, batch->part_bytes, &reply);
    if (member != NULL && reason == REASON_PERMITTED &&
        (reply.kind != MCP_RESPONSE || !span_equals(reply.id, member->message.id)))
        reason = REASON_UPSTREAM_UNASKED;
    goes_on = reason == REASON_PERMITTED && question__take(pair, is_last ? &batch->event : &bare, &reply, member != NULL);
    exchange->call = exchange->own;
    if (reason != REASON_PERMITTED)
        fail(pair, reason);
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
    fail(pair, REASON_MEMORY);
    return false;
}

struct call *batch__first(const struct exchange *exchange)
{
    return &exchange->batch->members[0];
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

    while (exchange->question == NULL && batch__has_parts(exchange))
        (void)batch__next(pair);
    if (exchange->question != NULL || exchange->upstream_done || pair->ending != REASON_UNSET)
        return;
    if (add_missing(pair, &batch->list) != CODE_OK || buf_add_byte(&batch->list, ']') != CODE_OK) {
        fail(pair, REASON_MEMORY);
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
        fail(pair, reason);
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
    struct batch *batch = exchange->batch;

    for (size_t i = 0; i < batch->count; i++) {
        struct call *member = &batch->members[i];

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

void batch__finish(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct batch *batch = exchange->batch;
    enum audit_outcome outcome = exchange->call->outcome.outcome;
    enum reason ended = exchange->call->outcome.reason;

    for (size_t i = 0; i < batch->count; i++) {
        struct call *member = &batch->members[i];

        exchange->call = member;
        exchange__settle(pair, outcome, ended);
        exchange__end_call(pair);
        gate_let_go(exchange->call);
        exchange->call = exchange->own;
        call_fini(member);
        exchange->server_requests = exchange->server_notifications = exchange->server_denied = 0; /* told with the first */
        exchange->server_withheld = 0;
    }
    buf_fini(&batch->raw);
    buf_fini(&batch->id);
    buf_fini(&batch->list);
    exchange->batch = NULL;
}
