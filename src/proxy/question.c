/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/proxy_priv.h"

#include "base/bug.h"
#include "base/mem.h"
#include "mcp/method.h"
#include "os/clock.h"

struct question_key question__key(const struct exchange *exchange, struct span id)
{
    return (struct question_key){
        .route = exchange->route->name, .tenant = exchange->identity.tenant, .principal = exchange->identity.principal,
        .path = exchange->asked.path, .session = exchange->session_id, .id = id,
    };
}

void question__put_back(struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    struct question_key key;

    if (span_is_empty(exchange->asked.answers) || exchange->sent_us != 0)
        return;
    key = question__key(exchange, exchange->message.id);
    if (question_open(pair->lane->gate, &key, exchange->asked.answers, pair__now_us(pair)) != CODE_OK)
        return; /* others were asked meanwhile, as many as may be */
}

/* What was opened for an agent that never sees it is closed again. */
static void close_question(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct question_key key = question__key(exchange, exchange->question_reply.id);
    char method[128];
    size_t len;

    if (!exchange->question_open)
        return;
    exchange->question_open = false;
    if (question_answer(pair->lane->gate, &key, method, &len) != CODE_OK)
        return; /* it was forgotten for its age */
}

static void drop_decision(struct exchange *exchange)
{
    if (exchange->question_decision == NULL)
        return;
    gate_decision_fini(exchange->question_decision);
    mem_free(exchange->question_decision);
    exchange->question_decision = NULL;
}

void question__forget(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    if (exchange->question_waits)
        close_question(pair);
    exchange->question_waits = false;
    drop_decision(exchange);
}

/* Few connections ever see a question of the server: its decision, nearly 3 KB, is theirs only while there is one. */
static bool judge(struct pair *pair, enum reason refused)
{
    struct exchange *exchange = &pair->exchange;

    drop_decision(exchange);
    exchange->question_decision = mem_zalloc(sizeof *exchange->question_decision);
    if (exchange->question_decision == NULL) {
        pair__close(pair, REASON_MEMORY);
        return false;
    }
    exchange->question.refused = refused;
    gate_judge(pair->lane->gate, &exchange->question, exchange->question_decision);
    exchange->question_permitted = exchange->question_decision->verdict.kind == VERDICT_PERMIT;
    return true;
}

static void fill_message(struct pair *pair, const struct mcp_reply *reply)
{
    struct exchange *exchange = &pair->exchange;
    struct gate_message *question = &exchange->question;

    *question = exchange->asked;
    question->from_server = true;
    question->time_us = clock_wall_us();
    question->began_us = pair__now_us(pair);
    question->method = reply->kind == MCP_RESPONSE ? DIALECT_STREAM_MESSAGE : reply->method;
    question->answers = question->tool = question->target = question->query = SPAN_NONE;
    question->rpc_id = reply->id;
    question->root = reply->params;
    question->params = NULL;
    question->meta = reply->meta;
    question->body = reply->body;
    question->expects_outcome = false;
}

/* ---- what becomes of it ---- */

static bool deliver(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    if (exchange->question_reply.kind == MCP_REQUEST)
        exchange->server_requests++;
    else if (exchange->question_reply.kind == MCP_NOTIFICATION)
        exchange->server_notifications++;
    exchange->question_open = false; /* from here on it waits for the agent's answer */
    return stream__emit(pair, &exchange->question_event, exchange->question_reply.body);
}

/* A request is answered for the agent, upstream; the answer to one that the agent resumed gets an error in its place; a
 * notification is missed by nobody. */
static bool refuse(struct pair *pair, enum reason reason, uint64_t seq)
{
    struct exchange *exchange = &pair->exchange;
    struct span id = exchange->question_reply.id;

    exchange->server_denied++;
    reason_count(reason);
    close_question(pair);
    if (exchange->question_reply.kind == MCP_NOTIFICATION)
        return true;
    buf_clear(&exchange->body);
    if (exchange->question_reply.kind == MCP_REQUEST) {
        /* Whatever rule it was, or that there was none: a server learns one thing only. */
        if (reason_blame(reason) == BLAME_POLICY)
            reason = REASON_QUESTION_DENIED;
        if (exchange->route->dialect->refusal_write(id, reason, &exchange->body) == CODE_OK)
            errand__send(pair, buf_peek(&exchange->body));
        return true;
    }
    if (exchange->route->dialect->reply_error(id, reason, seq, &exchange->body) != CODE_OK) {
        pair__close(pair, REASON_MEMORY);
        return false;
    }
    return stream__emit(pair, &exchange->question_event, buf_peek(&exchange->body));
}

static bool resolve(struct pair *pair, enum reason reason, uint64_t seq)
{
    struct exchange *exchange = &pair->exchange;

    exchange->question_waits = false;
    pair__stop_waiting(pair);
    if (reason == REASON_UNSET && exchange->question_permitted)
        (void)deliver(pair);
    else
        (void)refuse(pair, reason == REASON_UNSET ? exchange->question_decision->verdict.reason : reason, seq);
    drop_decision(exchange);
    return true;
}

bool question__step(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    uint64_t seq = 0;

    if (!exchange->question_recorded) {
        enum code code;

        pair__stop_waiting(pair);
        code = gate_record(pair->lane->gate, &exchange->question, exchange->question_decision, 0);
        if (code == CODE_BUSY) {
            lane__wait_for_room(pair);
            return false;
        }
        if (code != CODE_OK)
            return resolve(pair, REASON_AUDIT_DOWN, 0);
        exchange->question_recorded = true;
        if (exchange->question_decision->ticket == 0)
            return resolve(pair, REASON_UNSET, 0);
    }
    switch (lane__fate(pair, exchange->question_decision->ticket, &seq)) {
    case AUDIT_DURABLE:
        return resolve(pair, REASON_UNSET, seq);
    case AUDIT_FAILED:
        return resolve(pair, REASON_AUDIT_DOWN, 0);
    case AUDIT_WAITING:
        break;
    }
    return false;
}

bool question__take(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply)
{
    struct exchange *exchange = &pair->exchange;
    struct sse_event kept = *event;

    kept.data = kept.type = SPAN_NONE;
    kept.id = span_of(arena_dup(&exchange->event_arena, event->id.at, event->id.len), event->id.len);
    if (kept.id.at == NULL) {
        pair__close(pair, REASON_MEMORY);
        return false;
    }
    exchange->question_event = kept;
    exchange->question_reply = *reply;
    exchange->question_recorded = exchange->question_open = false;
    fill_message(pair, reply);
    if (!judge(pair, mcp_method_may_come(reply->method, true) ? REASON_UNSET : REASON_METHOD_UNKNOWN))
        return false;
    if (exchange->question_permitted && reply->kind == MCP_NOTIFICATION) {
        gate_pass(exchange->question_decision);
        drop_decision(exchange);
        return deliver(pair);
    }
    if (exchange->question_permitted && reply->kind == MCP_REQUEST) {
        struct question_key key = question__key(exchange, exchange->question_reply.id);

        exchange->question_open =
            question_open(pair->lane->gate, &key, reply->method, exchange->question.began_us) == CODE_OK;
        if (!exchange->question_open && !judge(pair, REASON_QUESTION_LIMIT))
            return false;
    }
    exchange->question_waits = true;
    return true;
}
