/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/question_priv.h"
#include "proxy/reply_priv.h"
#include "proxy/upstream_priv.h"

#include "base/bug.h"
#include "base/mem.h"
#include "mcp/method.h"
#include "os/clock.h"

/* ---- states ---- */

static const struct state_row states[] = {
#define QUESTION_ROW(name, text, moves, about) [QUESTION_##name] = {text, moves},
#define QUESTION_BIT(name) (1u << QUESTION_##name)
    QUESTION_TABLE(QUESTION_ROW, QUESTION_BIT)
};

bool question__may_follow(enum question_state from, enum question_state to)
{
    return state_row_leads(&states[from], to);
}

void question__set_state(struct server_question *question, enum question_state state)
{
    BUG_ON(!question__may_follow(question->state, state));
    question->state = state;
}

/* ---- the table of open questions ---- */

struct question_key question__key(const struct exchange *exchange, struct span id)
{
    return (struct question_key){
        .route = exchange->call->asked.upstream, .tenant = exchange->identity.tenant, .principal = exchange->identity.principal,
        .path = exchange->call->asked.path, .session = exchange->session_id, .id = id,
    };
}

void question__put_back(struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    const struct call *call = exchange->call;
    struct question_key key;

    if (span_is_empty(call->asked.answers) || exchange->sent_us != 0)
        return;
    key = question__key(exchange, call->message.id);
    if (question_open(pair->lane->gate, &key, call->asked.answers, pair__now_us(pair)) != CODE_OK)
        return; /* others were asked meanwhile, as many as may be */
}

static bool is_permitted(const struct server_question *question)
{
    return question->decision.verdict.kind == VERDICT_PERMIT;
}

/* To the exchange's own request: what it asks for was judged in its place. */
static bool is_answer(const struct server_question *question)
{
    return question->reply.kind == MCP_RESPONSE && question->reply.asks != NULL;
}

/* What was opened for an agent that never sees it is closed again. */
static void close_question(struct pair *pair, const struct server_question *question)
{
    struct question_key key = question__key(&pair->exchange, question->reply.id);
    char method[128];
    size_t len;

    if (question->reply.kind != MCP_REQUEST || question->ask != NULL || !is_permitted(question))
        return;
    if (question_answer(pair->lane->gate, &key, method, &len) != CODE_OK)
        return; /* it was forgotten for its age */
}

/* ---- making, ending ---- */

/* What is judged next: a request within the message, or the message itself. */
static void aim(struct pair *pair, struct server_question *question)
{
    const struct exchange *exchange = &pair->exchange;
    const struct mcp_reply *reply = &question->reply;
    struct gate_message *message = &question->message;

    *message = exchange->call->asked;
    message->from_server = true;
    message->time_us = clock_wall_us();
    message->began_us = message->read_us = pair__now_us(pair);
    message->answers = message->tool = message->target = message->query = SPAN_NONE;
    message->rpc_id = reply->id;
    message->params = NULL;
    message->expects_outcome = false;
    if (question->ask != NULL) {
        message->method = json_member(question->ask, SPAN_LIT("method"))->text;
        message->root = json_member(question->ask, SPAN_LIT("params"));
        message->meta = json_member(message->root, SPAN_LIT("_meta"));
        message->body = question->ask->raw;
    } else {
        message->method = reply->kind == MCP_RESPONSE ? DIALECT_STREAM_MESSAGE : reply->method;
        message->root = reply->params;
        message->meta = reply->meta;
        message->body = reply->body;
    }
    message->refused = reply->kind == MCP_RESPONSE && question->ask == NULL ? REASON_UNSET
                       : mcp_method_may_come(message->method, true)         ? REASON_UNSET : REASON_METHOD_UNKNOWN;
}

/* Few connections ever see a question of the server: its decision, nearly 3 KB, is theirs only while there is one. */
static struct server_question *question_new(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply)
{
    struct exchange *exchange = &pair->exchange;
    struct server_question *question = mem_zalloc(sizeof *question);
    static const struct sse_event none;
    char *id;

    event = event != NULL ? event : &none;
    id = question != NULL ? arena_dup(&exchange->event_arena, event->id.at, event->id.len) : NULL;
    if (id == NULL) {
        mem_free(question);
        return NULL;
    }
    question->reply = *reply;
    question->ask = reply->asks != NULL ? reply->asks->child : NULL;
    question->event = *event;
    question->event.data = question->event.type = SPAN_NONE;
    question->event.id = span_of(id, event->id.len);
    aim(pair, question);
    return question;
}

static void end(struct pair *pair)
{
    struct server_question *question = pair->exchange.question;

    question__set_state(question, QUESTION_OVER);
    pair__stop_waiting(pair);
    gate_decision_fini(&question->decision);
    mem_free(question);
    pair->exchange.question = NULL;
}

void question__forget(struct pair *pair)
{
    if (pair->exchange.question == NULL)
        return;
    close_question(pair, pair->exchange.question);
    end(pair);
}

/* ---- what becomes of it ---- */

static void deliver(struct pair *pair, const struct server_question *question)
{
    struct exchange *exchange = &pair->exchange;

    if (is_answer(question)) {
        reply__answer(pair, &question->event, &question->reply);
        return;
    }
    if (question->reply.kind == MCP_REQUEST)
        exchange->server_requests++;
    else if (question->reply.kind == MCP_NOTIFICATION)
        exchange->server_notifications++;
    (void)stream__emit(pair, &question->event, question->reply.body);
}

/* In the place of an answer that asks for what is not permitted; the agent's request has its end with it. */
static void refuse_answer(struct pair *pair, const struct server_question *question, enum reason reason, uint64_t seq)
{
    struct exchange *exchange = &pair->exchange;
    struct mcp_reply reply = {.kind = MCP_RESPONSE, .id = question->reply.id, .is_error = true,
                              .error_code = reason_rpc_code(reason)};

    exchange__settle(pair, OUTCOME_REFUSED, reason);
    if (exchange->dialect->reply_error(reply.id, reason, seq, &exchange->body) != CODE_OK) {
        pair__close(pair, REASON_MEMORY);
        return;
    }
    reply.body = buf_peek(&exchange->body);
    reply__answer(pair, &question->event, &reply);
}

/* A request is answered for the agent, upstream; the answer to one that the agent resumed gets an error in its place; a
 * notification is missed by nobody. */
static void refuse(struct pair *pair, const struct server_question *question, enum reason reason, uint64_t seq)
{
    struct exchange *exchange = &pair->exchange;
    struct span id = question->reply.id;

    exchange->server_denied++;
    reason_count(reason);
    close_question(pair, question);
    if (question->reply.kind == MCP_NOTIFICATION)
        return;
    buf_clear(&exchange->body);
    /* Whatever rule it was, or that there was none: a server learns one thing only. */
    if ((question->reply.kind == MCP_REQUEST || is_answer(question)) && reason_blame(reason) == BLAME_POLICY)
        reason = REASON_QUESTION_DENIED;
    if (is_answer(question)) {
        refuse_answer(pair, question, reason, seq);
        return;
    }
    if (question->reply.kind == MCP_REQUEST) {
        if (exchange->dialect->refusal_write(id, reason, &exchange->body) == CODE_OK)
            errand__send(pair, buf_peek(&exchange->body));
        return;
    }
    if (exchange->dialect->reply_error(id, reason, seq, &exchange->body) == CODE_OK)
        (void)stream__emit(pair, &question->event, buf_peek(&exchange->body));
    else
        pair__close(pair, REASON_MEMORY);
}

static bool go_round(struct pair *pair)
{
    struct server_question *question = pair->exchange.question;

    pair__stop_waiting(pair);
    gate_decision_fini(&question->decision);
    question__set_state(question, QUESTION_READ);
    aim(pair, question);
    return true;
}

/* Takes: reason: why it cannot be recorded; UNSET: what the verdict says happens. */
static bool resolve(struct pair *pair, enum reason reason, uint64_t seq)
{
    struct server_question *question = pair->exchange.question;
    bool goes_on = reason == REASON_UNSET && is_permitted(question);

    if (goes_on && question->ask != NULL) {
        pair->exchange.server_requests++;
        question->ask = question->ask->next;
        if (question->ask != NULL || !is_answer(question))
            return go_round(pair);
    }
    if (goes_on)
        deliver(pair, question);
    else
        refuse(pair, question, reason == REASON_UNSET ? question->decision.verdict.reason : reason, seq);
    end(pair);
    return true;
}

static bool record(struct pair *pair)
{
    struct server_question *question = pair->exchange.question;
    enum code code;

    pair__stop_waiting(pair);
    code = gate_record(pair->lane->gate, &question->message, &question->decision, 0);
    if (code == CODE_BUSY) {
        lane__wait_for_room(pair);
        return false;
    }
    if (code != CODE_OK)
        return resolve(pair, REASON_AUDIT_DOWN, 0);
    question__set_state(question, QUESTION_RECORDED);
    return question->decision.ticket != 0 || resolve(pair, REASON_UNSET, 0);
}

static bool await_fate(struct pair *pair)
{
    uint64_t seq = 0;

    switch (lane__fate(pair, pair->exchange.question->decision.ticket, &seq)) {
    case AUDIT_DURABLE:
        return resolve(pair, REASON_UNSET, seq);
    case AUDIT_FAILED:
        return resolve(pair, REASON_AUDIT_DOWN, 0);
    case AUDIT_WAITING:
        break;
    }
    return false;
}

/* A notification that is permitted leaves no row of its own. */
static bool judge(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    struct server_question *question = exchange->question;
    struct question_key key = question__key(exchange, question->reply.id);
    struct gate *gate = pair->lane->gate;

    gate_judge(gate, &question->message, &question->decision);
    if (is_permitted(question) && question->reply.kind == MCP_REQUEST && question->ask == NULL &&
        question_open(gate, &key, question->reply.method, question->message.began_us) != CODE_OK) {
        gate_decision_fini(&question->decision);
        question->message.refused = REASON_QUESTION_LIMIT;
        gate_judge(gate, &question->message, &question->decision);
    }
    question__set_state(question, QUESTION_JUDGED);
    if (!is_permitted(question) || question->ask != NULL || question->reply.kind != MCP_NOTIFICATION)
        return true;
    gate_pass(&question->decision);
    return resolve(pair, REASON_UNSET, 0);
}

bool question__step(struct pair *pair)
{
    switch (pair->exchange.question->state) {
    case QUESTION_READ:
        return judge(pair);
    case QUESTION_JUDGED:
        return record(pair);
    case QUESTION_RECORDED:
        return await_fate(pair);
    case QUESTION_OVER:
    case QUESTION_COUNT:
        break;
    }
    BUG_ON("a question that is over and still held");
    return false;
}

bool question__take(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply)
{
    BUG_ON(pair->exchange.question != NULL);
    if (reply->passes) {
        pair->exchange.server_notifications++;
        return stream__emit(pair, event, reply->body);
    }
    pair->exchange.question = question_new(pair, event, reply);
    if (pair->exchange.question == NULL)
        pair__close(pair, REASON_MEMORY);
    else
        (void)judge(pair);
    return pair->exchange.question == NULL;
}
