/* SPDX-License-Identifier: Apache-2.0 */
/* UNDERSTAND, RECORD, AWAIT and FINISH: what a call goes through here, whatever brought it and wherever it leads. */
#include "proxy/front_priv.h"
#include "back/back.h"
#include "discovery/discovery.h"
#include "back/legacy.h"
#include "join/join.h"
#include "join/name.h"

#include "base/bug.h"
#include "base/log.h"
#include "os/clock.h"

#include <string.h>

/* ---- beginning ---- */

bool exchange__begin(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    BUG_ON(exchange->progress != CALL_NONE || exchange->own != NULL);
    memset(exchange, 0, offsetof(struct exchange, arena)); /* exchange__finish has given the memory back */
    exchange->own = arena_alloc(&exchange->arena, sizeof *exchange->own);
    if (exchange->own == NULL) {
        pair_close(pair, REASON_MEMORY);
        return false;
    }
    call_begin(exchange->own, NULL, &exchange->arena);
    exchange->call = exchange->own;
    exchange__take_calls(exchange, exchange->own);
    exchange->progress = CALL_BEGUN;
    exchange->dialect = dialects[0];
    exchange->call->asked.time_us = clock_wall_us();
    exchange->call->began_us = pair_now_us(pair);
    pair->back_address = 0;
    pair->untaken_us = pair->untaken_since_us = 0;
    pair->taken_from = pair->front.written_bytes;
    gauge_add(&pair->lane->gauges.requests, 1);
    gauge_add(&pair->lane->gauges.in_flight, 1);
    return true;
}

void exchange__take_calls(struct exchange *exchange, struct call *calls)
{
    exchange->calls = exchange->unrecorded = exchange->unsettled = calls;
}

/* ---- the message ---- */

void exchange__refuse(struct pair *pair, enum reason reason)
{
    struct exchange *exchange = &pair->exchange;

    exchange->call->refused = reason;
    if (exchange->route == NULL)
        exchange->dialect = route__dialect(pair);
    pair_go(pair, STEP_JUDGE);
}

/* Finds the question that a client's answer is for, since the answer is judged as that method. An answer to none is refused. */
static enum reason find_question(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;
    struct question_key key = question_key_of(exchange, call->message.id);
    char method[128];
    size_t len;
    char *kept;

    if (question_answer(pair->lane->gate, &key, method, &len) != CODE_OK)
        return REASON_ANSWER_UNASKED;
    kept = arena_dup(&exchange->arena, method, len);
    if (kept == NULL)
        return REASON_MEMORY;
    call->asked.answers = span_of(kept, len);
    return REASON_UNSET;
}

/* What a client says of its own call that nobody knows, because it was forgotten, changes nothing. */
static enum reason take_report(struct pair *pair)
{
    struct question_key key = question_key_of(&pair->exchange, pair->exchange.call->message.id);

    key.is_own = pair->exchange.call->is_report = true;
    if (question_report(pair->lane->gate, &key, pair_now_us(pair)) != CODE_OK)
        log_debug("proxy", "%s: a call is reported that is not open, or cannot be written now", pair->client);
    return REASON_PERMITTED;
}

/* Takes a body for a declared path. It is neither read nor recorded, because it holds credentials for others. */
void exchange__pass_body(struct pair *pair, struct span body)
{
    struct exchange *exchange = &pair->exchange;
    enum reason reason = body.len > PASS_BODY_MAX ? REASON_BODY_TOO_LARGE : REASON_PERMITTED;

    if (reason == REASON_PERMITTED && discovery_is_answered(exchange)) {
        deny_by_telling(pair, body);
        return;
    }
    if (reason == REASON_PERMITTED && exchange->pass->oauth == OAUTH_TOKEN)
        reason = oauth_front_token(&exchange->route->front, body, &exchange->call->canonical);
    else if (reason == REASON_PERMITTED && buf_add_span(&exchange->call->canonical, body) != CODE_OK)
        reason = REASON_MEMORY;
    buf_fini(&exchange->body);
    exchange__refuse(pair, reason);
}

static bool may_ask(void *context, struct span method)
{
    struct pair *pair = context;

    return gate_may_see(pair->lane->gate, pair->exchange.call, method, SPAN_NONE, false);
}

/* The schema of a tool that a joined endpoint names: its server's. */
static struct span schema_of_server(struct pair *pair, struct span tool)
{
    const struct proxy_route *route = pair->exchange.route;
    const struct join_names names = {route->servers, route->server_count};
    struct span *upstream = &pair->exchange.call->asked.upstream, own = *upstream, schema = SPAN_NONE;
    struct buf name;
    size_t server;

    buf_init(&name, HTTP_LINE_MAX_BYTES);
    if (join_name_take(JOIN_NAME, &names, tool, &server, &name) == CODE_OK) {
        *upstream = route->servers[server];
        schema = gate_schema_text(pair->lane->gate, pair->exchange.call, buf_peek(&name));
        *upstream = own;
    }
    buf_fini(&name);
    return schema;
}

static struct span schema_of(void *context, struct span tool)
{
    struct pair *pair = context;

    return pair->exchange.call->is_join ? schema_of_server(pair, tool)
                                        : gate_schema_text(pair->lane->gate, pair->exchange.call, tool);
}

enum reason exchange__read(struct pair *pair, struct span body)
{
    const struct http_head *head = &pair->asks.head;
    struct exchange *exchange = &pair->exchange;
    struct mcp_message *message = &exchange->call->message;
    const struct mcp_binding binding = exchange_binding(&pair->exchange, pair->lane->gate);
    struct mcp_read_rules rules = {
        .strict_tool_names = exchange->route->strict_tool_names,
        .mcp_method = http_head_known(head, HTTP_NAME_MCP_METHOD),
        .mcp_name = http_head_known(head, HTTP_NAME_MCP_NAME),
        .version = exchange->version,
        .revisions = exchange->route->revisions,
        .opens_urls = exchange->session.opens_urls,
        .in_session = !span_is_empty(exchange->call->asked.session),
        .head = head,
        .binding = &binding,
        .meta = exchange->route->meta,
        .may_ask = may_ask,
        .schema_of = schema_of,
        .ask_context = pair,
        .params = exchange->route->params,
        .param_count = exchange->route->param_count,
        .own = &exchange->route->methods,
    };
    struct json_fault fault = {0};
    /* Asks the budget once more, since the account may hold more by now, and a tree can take thirty times the message's
     * bytes. */
    enum reason reason = pair_refuses(pair, body.len);

    if (reason == REASON_UNSET)
        reason = exchange->dialect->read(body, &rules, &exchange->call->canonical, &exchange->arena, message, &fault);
    if (fault.kind != JSON_FAULT_NONE)
        log_debug("proxy", "%s: a body of %zu bytes is refused at offset %zu: %s", pair->client, body.len, fault.offset,
                  fault.text ? fault.text : "");
    if (reason == REASON_TOOL_NAME_INVALID && message->detail != NULL && lane_may_log(pair->lane))
        log_warn("proxy", "route %.*s: a call is refused for its tool's name: %s", SPAN_ARG(exchange->route->name),
                 message->detail);
    message->opens_urls = message->opens_urls && pair->conf->console_url != NULL;
    route__correlate_body(exchange);
    exchange->call->body = buf_peek(&exchange->call->canonical);
    if (reason == REASON_PERMITTED && exchange->dialect->session != NULL)
        exchange->session_id = exchange->call->asked.session = exchange->dialect->session(message);
    if (reason == REASON_PERMITTED && exchange->call->is_join)
        reason = join_refuses(exchange->route, message);
    if (reason == REASON_PERMITTED)
        reason = message->kind != MCP_RESPONSE       ? REASON_UNSET
                 : exchange->dialect->is_asked ? take_report(pair) : find_question(pair);
    return reason;
}

void exchange__read_message(struct pair *pair, struct span body)
{
    struct exchange *exchange = &pair->exchange;
    enum reason reason = exchange__read(pair, body);

    if (exchange->is_unlisted && (reason == REASON_UNSET || reason == REASON_BATCH))
        reason = REASON_ROUTE_UNKNOWN;
    if (reason == REASON_BATCH && batch__may_come(exchange))
        reason = batch__read(pair);
    buf_fini(&exchange->body); /* from here on only the canonical bytes are the message */
    exchange->call->refused = reason;
    pair_go(pair, STEP_JUDGE);
}

/* ---- RECORD, AWAIT ---- */

/* Takes the fates that are known. It asks for each as soon as possible, since the audit forgets fates, and calls of one
 * body may wait long for room. */
static void see_fates(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    while (exchange->unsettled != exchange->unrecorded) {
        struct call *call = exchange->unsettled;
        enum audit_fate fate = AUDIT_FAILED; /* a folded call has no row */

        if (!call->folded)
            fate = gate_fate(pair->lane->gate, call->ticket, &call->seq);
        if (fate == AUDIT_WAITING)
            return;
        call->owes_outcome = call->owes_outcome && fate == AUDIT_DURABLE; /* a call without a row has no outcome */
        gate_settle(pair->lane->gate, call);
        exchange->unsettled = call->next;
    }
}

/* Records what is not recorded yet. Returns: CODE_BUSY: the ring is full; calls that were recorded are not recorded again. */
static enum code record(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    enum reason refusal = exchange->own->refusal;
    int status = refusal == REASON_UNSET ? 0 : deny_status(pair, refusal);

    see_fates(pair);
    while (exchange->unrecorded != NULL) {
        struct call *call = exchange->unrecorded;
        enum code code = gate_record(pair->lane->gate, call, status);

        if (code != CODE_OK)
            return code;
        call->is_permitted = call_is_permit(call);
        call->owes_outcome = call->is_permitted && !call->is_own;
        exchange->unrecorded = call->next;
    }
    exchange->own->is_permitted = refusal == REASON_UNSET;
    exchange->recorded_us = pair_now_us(pair);
    return CODE_OK;
}

static void end_calls(struct pair *pair);

/* Denies what cannot be recorded, and records the outcome at once: the agent may take long to read the denial, but the
 * audit remembers a ticket only for a while. */
static void give_up(struct pair *pair, enum reason reason)
{
    struct exchange *exchange = &pair->exchange;

    exchange->own->seq = 0;
    exchange_settle(exchange, OUTCOME_NOT_SENT, reason);
    deny_answer(pair, reason);
    exchange->own->is_permitted = false;
    for (struct call *call = exchange->calls; call != NULL; call = call->next)
        call->is_permitted = false; /* whatever the verdict was, the call is denied, and counts as denied */
    end_calls(pair);
}

bool exchange__record(struct pair *pair)
{
    enum code code;

    pair_stop_waiting(pair);
    code = record(pair);
    if (code == CODE_BUSY && !pair->timed_out) {
        lane_wait_for_room(pair);
        return false;
    }
    if (code == CODE_OK)
        pair_go(pair, STEP_AWAIT);
    else
        give_up(pair, code == CODE_BUSY ? REASON_AUDIT_FULL : REASON_AUDIT_DOWN);
    return true;
}

/* Notes a call that its client makes itself as open, until it says that it is over. */
static void await_report(struct pair *pair)
{
    const struct call *call = pair->exchange.own;
    struct question_key key = question_key_of(&pair->exchange, call->message.id);

    key.is_own = true;
    key.decision = call->seq;
    if (call->seq != 0 && call->expects_outcome &&
        question_open(pair->lane->gate, &key, call->message.method, pair_now_us(pair)) != CODE_OK)
        log_debug("proxy", "%s: a call of a client's own is open twice; the second has no outcome of its own", pair->client);
}

/* Goes on with a call whose record is on disk. */
static bool go_on(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct call *own = exchange->own;

    exchange->progress = CALL_DURABLE;
    if (!own->is_permitted) {
        deny_answer(pair, own->refusal);
        return true;
    }
    if (exchange->dialect->is_asked) {
        await_report(pair);
        deny_answer(pair, REASON_PERMITTED);
        return true;
    }
    if (exchange->endpoint.at != NULL && !legacy_open_call(pair)) {
        exchange_settle(exchange, OUTCOME_NOT_SENT, REASON_CALL_OPEN);
        deny_answer(pair, REASON_CALL_OPEN);
        return true;
    }
    pair_go(pair, STEP_CONNECT);
    return true;
}

/* Waits for the last ticket, since tickets settle in order. */
static enum audit_fate await_fates(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    enum audit_fate fate = AUDIT_DURABLE;
    uint64_t last = 0, seq;

    for (const struct call *call = exchange->calls; call != NULL; call = call->next)
        last = call->folded ? last : call->ticket;
    if (last != 0 && lane_fate(pair, last, &seq) == AUDIT_WAITING)
        return AUDIT_WAITING;
    see_fates(pair);
    for (const struct call *call = exchange->calls; call != NULL; call = call->next)
        fate = call->seq != 0 || call->folded ? fate : AUDIT_FAILED;
    exchange->own->seq = exchange->calls->seq;
    exchange->durable_us = last != 0 ? pair_now_us(pair) : 0;
    return fate;
}

bool exchange__await(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    bool waits;

    /* The connection may be made while the record is being written; the call goes up only when that is on disk. */
    if (exchange->own->is_permitted && pair->back.stream == NULL && outgoing_settle(pair, false, &waits) == REASON_UNSET &&
        !upstream_begin(pair))
        pair_drop_back(pair); /* CONNECT tries again, and denies the call if it cannot */
    switch (await_fates(pair)) {
    case AUDIT_DURABLE:
        return go_on(pair);
    case AUDIT_FAILED:
        break;
    case AUDIT_WAITING:
        if (!pair->timed_out) {
            if (pair->deadline_us == 0)
                pair_deadline(pair, AUDIT_WAIT_US);
            return false;
        }
        pair_stop_waiting(pair);
    }
    give_up(pair, REASON_AUDIT_DOWN);
    return true;
}

/* ---- the outcome ---- */

static void put_outcome(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;
    struct audit_result *result = &call->outcome;
    struct buf texts[2];

    /* The record may have settled since the last look; only an unsettled record is named by its ticket. */
    result->decision = call->seq;
    if (call->seq == 0 && gate_fate(pair->lane->gate, call->ticket, &result->decision) == AUDIT_FAILED)
        return;
    result->ticket = result->decision != 0 ? 0 : call->ticket;
    result->time_us = clock_wall_us();
    result->status = exchange->status;
    result->server_requests = exchange->server_requests;
    result->server_notifications = exchange->server_notifications;
    result->server_denied = exchange->server_denied;
    result->server_withheld = exchange->server_withheld;
    result->latency_us = pair_now_us(pair) - call->began_us;
    result->upstream_us = exchange->first_reply_us && exchange->sent_us ? exchange->first_reply_us - exchange->sent_us : -1;
    if (call->keeps_answer)
        result->answer = buf_is_empty(&call->answer) ? SPAN_LIT("") : buf_peek(&call->answer);
    for (size_t i = 0; i < 2; i++)
        buf_init(&texts[i], SIZE_MAX / 2);
    if (call->answered != NULL)
        answered_write(call->answered, result, texts);
    if (result->response_bytes > 0) {
        digest_final(&call->digest, result->response_digest);
        result->has_digest = true;
    }
    gate_outcome(pair->lane->gate, result);
    for (size_t i = 0; i < 2; i++)
        buf_fini(&texts[i]);
}

static void report(struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    const struct verdict *verdict = &exchange->call->verdict;
    struct proxy_call call;

    if (pair->lane->ended == NULL || (exchange->call->is_join && exchange->call->is_permitted))
        return;
    call = (struct proxy_call){
        .worker = pair->lane->worker.index,
        .upstream = exchange->label,
        .tenant = exchange->identity.tenant,
        .tool = exchange->call->asked.tool,
        .verdict = verdict->kind == VERDICT_PERMIT && !exchange->call->is_permitted ? VERDICT_DENY : verdict->kind,
        .names_tool = exchange->call->policy != NULL &&
                      policy_names_tool(exchange->call->policy, exchange->call->asked.tool),
        .reason = exchange->call->is_permitted ? REASON_PERMITTED : exchange->call->refusal,
        .judge_us = exchange->call->judge_us,
        .audit_us = exchange->durable_us ? exchange->durable_us - exchange->recorded_us : -1,
        .upstream_us = exchange->first_reply_us && exchange->sent_us ? exchange->first_reply_us - exchange->sent_us : -1,
    };
    pair->lane->ended(pair->lane->ended_context, &call);
}

static void end_call(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct call *call = exchange->call;

    if (reason_blame(call->outcome.reason) == BLAME_NOBODY && call->was_mended)
        call->outcome.reason = exchange->was_stripped ? REASON_MENDED_STRIPPED : REASON_MENDED;
    else if (reason_blame(call->outcome.reason) == BLAME_NOBODY && exchange->was_stripped)
        call->outcome.reason = REASON_STRIPPED;
    if (call->owes_outcome)
        put_outcome(pair);
    call->owes_outcome = false;
    report(pair);
    question_put_back(pair);
    legacy_forget_call(pair);
    gate_let_go(call);
    /* The first call's outcome counts what the server said. */
    exchange->server_requests = exchange->server_notifications = exchange->server_denied = exchange->server_withheld = 0;
}

static void end_calls(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct call *own = exchange->own;

    for (; exchange->calls != NULL; exchange->calls = exchange->calls->next) {
        exchange->call = exchange->calls;
        exchange_settle(exchange, own->outcome.outcome, own->outcome.reason);
        end_call(pair);
        if (exchange->call != own)
            call_fini(exchange->call);
    }
    exchange->call = own;
}

void exchange__finish(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    if (exchange->progress == CALL_NONE)
        return;
    exchange->progress = CALL_NONE;
    exchange_settle(exchange, OUTCOME_REFUSED, REASON_INTERNAL);
    end_calls(pair);
    if (exchange->batch != NULL)
        batch_fini(exchange);
    pair_stop_waiting(pair);
    judge_leave(pair);
    if (exchange->wish != NULL)
        wishes_drop(gate_wishes(pair->lane->gate), &exchange->wish);
    exchange->wish_rounds = 0;
    incoming_forget(pair);
    mailbox_close(pair, NULL);
    if (exchange->slot_taken)
        budget_leave(pair->lane->worker.budget, exchange->slot);
    exchange->slot_taken = false;
    if (exchange->body_kind == BODY_STREAM)
        gauge_add(&pair->lane->gauges.streams, -1);
    gauge_add(&pair->lane->gauges.in_flight, -1);
    outgoing_forget(exchange);
    sse_parser_fini(&pair->events);
    if (pair->back.rest.len > 0)
        pair_drop_back(pair); /* the upstream answered before it had read all of the call, whose memory goes now */
    pair->front.rest = SPAN_NONE;
    exchange_rest(exchange); /* for the next call on this worker, on whatever connection */
    identity_leave(&exchange->identity);
}
