/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/question_priv.h"
#include "proxy/reply_priv.h"
#include "proxy/upstream_priv.h"

#include "base/bug.h"
#include "base/mem.h"
#include "mcp/method.h"
#include "os/clock.h"

void question__go(struct server_question *question, enum step step)
{
    BUG_ON(!step__may_follow(question->step, step));
    question->step = step;
}

/* ---- the table of open questions ---- */

struct question_key question__key(const struct exchange *exchange, struct span id)
{
    return (struct question_key){
        .route = exchange->call->asked.upstream, .tenant = exchange->identity.tenant, .principal = exchange->identity.principal,
        .path = exchange->call->asked.path, .session = exchange->session_id, .id = id, .home = exchange->identity.home,
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
    return call_is_permit(&question->call);
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
static void aim(struct pair *pair, struct server_question *question, struct call *within)
{
    const struct mcp_reply *reply = &question->reply;
    struct call *call = &question->call;
    struct question *asked = &call->asked;

    call_begin(call, within, &pair->exchange.event_arena);
    call->within = within;
    call->message.id = reply->id;
    call->began_us = call->read_us = pair__now_us(pair);
    asked->time_us = clock_wall_us();
    asked->answers = asked->tool = asked->prompt = asked->resource = asked->shown = asked->query = SPAN_NONE;
    asked->params = NULL;
    if (question->ask != NULL) {
        asked->method = json_member(question->ask, SPAN_LIT("method"))->text;
        asked->root = json_member(question->ask, SPAN_LIT("params"));
        asked->meta = json_member(asked->root, SPAN_LIT("_meta"));
        call->body = question->ask->raw;
    } else {
        asked->method = reply->kind == MCP_RESPONSE ? DIALECT_STREAM_MESSAGE : reply->method;
        asked->root = reply->params;
        asked->meta = reply->meta;
        call->body = reply->body;
    }
    call->refused = question->weighed.effect == ANSWER_WITHHOLD           ? REASON_ANSWER_WITHHELD
                    : reply->kind == MCP_RESPONSE && question->ask == NULL ? REASON_UNSET
                    : mcp_method_may_come(asked->method, true)           ? REASON_UNSET : REASON_METHOD_UNKNOWN;
}

/* Few connections ever see a question of the server: its call, some 4 KB, is theirs only while there is one. */
static struct server_question *question_new(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply,
                                            bool is_own, bool is_weighed)
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
    question->step = STEP_UNDERSTAND;
    question->is_own = is_own;
    question->call.within = exchange->call;
    question->came = answered__came(exchange, reply, is_own);
    question->weighed.effect = is_weighed ? ANSWER_WITHHOLD : ANSWER_NONE; /* until it is judged */
    question->reply = *reply;
    question->event = *event;
    question->event.data = question->event.type = SPAN_NONE;
    question->event.id = span_of(id, event->id.len);
    buf_init(&question->changed, exchange->event.cap_bytes); /* as long as what came may be */
    return question;
}

static void end(struct pair *pair)
{
    struct server_question *question = pair->exchange.question;

    pair__stop_waiting(pair);
    gate_let_go(&question->call);
    buf_fini(&question->changed);
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

    if (question->is_own) {
        (void)reply__answer(pair, &question->event, &question->reply);
        return;
    }
    if (question->reply.kind == MCP_REQUEST)
        exchange->server_requests++;
    else if (question->reply.kind == MCP_NOTIFICATION)
        exchange->server_notifications++;
    (void)stream__emit(pair, &question->event, question->reply.body);
}

/* In the place of an answer that is withheld, or asks for what is not permitted; the agent's request has its end with it. */
static void refuse_answer(struct pair *pair, const struct server_question *question, enum reason reason, uint64_t seq)
{
    struct exchange *exchange = &pair->exchange;
    bool is_withheld = reason == REASON_ANSWER_WITHHELD;
    struct mcp_reply reply = {.kind = MCP_RESPONSE, .id = question->reply.id, .error_code = reason_rpc_code(reason),
                              .is_error = !is_withheld || span_is_empty(question->call.within->asked.tool)};

    exchange__settle(pair, OUTCOME_REFUSED, reason);
    buf_clear(&exchange->body);
    if ((is_withheld ? deny__withheld(pair, question->weighed.say, &exchange->body)
                     : exchange->dialect->reply_error(reply.id, reason, seq, &exchange->body)) != CODE_OK) {
        pair__close(pair, REASON_MEMORY);
        return;
    }
    reply.body = buf_peek(&exchange->body);
    (void)reply__answer(pair, &question->event, &reply);
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
    if ((question->reply.kind == MCP_REQUEST || question->is_own) && reason_blame(reason) == BLAME_POLICY)
        reason = REASON_QUESTION_DENIED;
    if (question->is_own) {
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
    gate_let_go(&question->call);
    question->step = STEP_JUDGE; /* a call of its own */
    aim(pair, question, question->call.within);
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
        if (question->ask != NULL || !question->is_own)
            return go_round(pair);
    }
    if (goes_on)
        deliver(pair, question);
    else
        refuse(pair, question, reason == REASON_UNSET ? question->call.verdict.reason : reason, seq);
    end(pair);
    return true;
}

static bool record(struct pair *pair)
{
    struct server_question *question = pair->exchange.question;
    enum code code;

    pair__stop_waiting(pair);
    code = gate_record(pair->lane->gate, &question->call, 0);
    if (code == CODE_BUSY) {
        lane__wait_for_room(pair);
        return false;
    }
    if (code != CODE_OK)
        return resolve(pair, REASON_AUDIT_DOWN, 0);
    question__go(question, STEP_AWAIT);
    return question->call.ticket != 0 || resolve(pair, REASON_UNSET, 0);
}

static bool await_fate(struct pair *pair)
{
    uint64_t seq = 0;

    switch (lane__fate(pair, pair->exchange.question->call.ticket, &seq)) {
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

    gate_judge(gate, &question->call);
    if (question->call.refused == REASON_ANSWER_WITHHELD && !span_is_empty(question->weighed.rule))
        question->call.verdict.rule = question->weighed.rule;
    if (is_permitted(question) && question->reply.kind == MCP_REQUEST && question->ask == NULL &&
        question_open(gate, &key, question->reply.method, question->call.began_us) != CODE_OK) {
        gate_let_go(&question->call);
        question->call.refused = REASON_QUESTION_LIMIT;
        gate_judge(gate, &question->call);
    }
    question__go(question, STEP_RECORD);
    if (!is_permitted(question) || question->ask != NULL || question->reply.kind != MCP_NOTIFICATION)
        return true;
    gate_pass(&question->call);
    return resolve(pair, REASON_UNSET, 0);
}

/* It may go on as it is; whether it may go on at all is the next question. */
static bool judge_message(struct pair *pair)
{
    struct server_question *question = pair->exchange.question;
    bool is_withheld = question->weighed.effect == ANSWER_WITHHOLD;

    question->ask = question->reply.asks != NULL && !is_withheld ? question->reply.asks->child : NULL;
    question__go(question, STEP_JUDGE);
    aim(pair, question, question->call.within);
    return judge(pair);
}

/* ---- what it holds ---- */

static void weigh(struct pair *pair, struct gate *gate)
{
    struct server_question *question = pair->exchange.question;

    gate_weigh(gate, question->call.within, question->is_own, &question->came, &pair->exchange.event_arena,
               &question->changed, &question->weighed);
}

/* What goes on is what is judged, recorded and kept from now on. */
static bool take_changed(struct pair *pair, struct server_question *question)
{
    struct exchange *exchange = &pair->exchange;
    struct mcp_reply *reply = &question->reply;
    size_t begin = (size_t)(question->came.subject.at - question->came.body.at), was = question->came.body.len;
    const struct json_node *root, *holder;
    struct json_fault fault;

    buf_fini(&exchange->event);
    buf_move(&exchange->event, &question->changed);
    reply->body = buf_peek(&exchange->event);
    if (reply->kind == MCP_RESPONSE)
        reply->result = span_part(reply->body, begin, question->came.subject.len + reply->body.len - was);
    if (reply->kind == MCP_RESPONSE && reply->asks == NULL)
        return true;
    if (json_read(reply->body, &json_reply_rules, &exchange->event, &exchange->event_arena, &root, &fault) != CODE_OK)
        return false;
    reply->params = json_member(root, SPAN_LIT("params"));
    reply->meta = json_member(reply->params, SPAN_LIT("_meta"));
    holder = reply->kind == MCP_RESPONSE ? json_member(root, SPAN_LIT("result")) : reply->params;
    reply->asks = reply->asks != NULL ? json_member(holder, SPAN_LIT("inputRequests")) : NULL;
    return true;
}

/* A request, and the answer to one that the agent resumed, are refused with a record of their own. */
static bool withhold(struct pair *pair, struct server_question *question)
{
    if (question->is_own) {
        reason_count(REASON_ANSWER_WITHHELD);
        refuse_answer(pair, question, REASON_ANSWER_WITHHELD, 0);
    } else if (question->reply.kind == MCP_NOTIFICATION) {
        reason_count(REASON_ANSWER_WITHHELD);
        pair->exchange.server_withheld++;
    } else {
        return false;
    }
    end(pair);
    return true;
}

static bool judge_content(struct pair *pair)
{
    struct server_question *question = pair->exchange.question;
    enum reason reason;

    if (!judge__has_done(pair, question->reply.body.len, weigh))
        return false;
    judge__leave(pair);
    reason = answered__note(pair, &question->weighed, question->came.body, question->is_own);
    if (reason == REASON_UNSET && question->weighed.effect == ANSWER_REDACT && !take_changed(pair, question))
        reason = REASON_MEMORY;
    if (reason != REASON_UNSET) {
        end(pair);
        if (pair->exchange.batch != NULL)
            batch__fail(pair, reason);
        else
            reply__fail(pair, OUTCOME_REFUSED, reason);
        return true;
    }
    if (question->weighed.effect == ANSWER_WITHHOLD && withhold(pair, question))
        return true;
    if (question->is_own && question->reply.asks == NULL) {
        deliver(pair, question);
        end(pair);
        return true;
    }
    return judge_message(pair);
}

static bool step(struct pair *pair)
{
    enum step step = pair->exchange.question->step;

    return step == STEP_UNDERSTAND ? judge_content(pair)
           : step == STEP_JUDGE    ? judge(pair)
           : step == STEP_RECORD   ? record(pair) : await_fate(pair);
}

bool question__step(struct pair *pair)
{
    bool has_moved;

    pair->exchange.call = pair->exchange.question->call.within;
    has_moved = step(pair);
    pair->exchange.call = pair->exchange.own;
    return has_moved;
}

bool question__take(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply, bool is_own)
{
    struct exchange *exchange = &pair->exchange;
    struct gate_came came = answered__came(exchange, reply, is_own);
    bool is_weighed;

    BUG_ON(exchange->question != NULL);
    if (reply->passes) {
        exchange->server_notifications++;
        return stream__emit(pair, event, reply->body);
    }
    is_weighed = gate_weighs(pair->lane->gate, exchange->call, is_own, &came);
    if (!is_weighed && is_own && reply->asks == NULL)
        return reply__answer(pair, event, reply);
    exchange->question = question_new(pair, event, reply, is_own, is_weighed);
    if (exchange->question == NULL)
        pair__close(pair, REASON_MEMORY);
    else
        (void)(is_weighed ? question__step(pair) : judge_message(pair));
    return exchange->question == NULL;
}
