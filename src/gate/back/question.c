/* SPDX-License-Identifier: Apache-2.0 */
#include "back/question_priv.h"
#include "back/incoming_priv.h"

#include "base/bug.h"
#include "base/mem.h"
#include "mcp/method.h"
#include "os/clock.h"

void question__go(struct server_question *question, enum step step)
{
    BUG_ON(!step_may_follow(question->step, step));
    question->step = step;
}

/* ---- the table of open questions ---- */

struct question_key question_key_of(const struct exchange *exchange, struct span id)
{
    return (struct question_key){
        .route = exchange->call->asked.upstream, .tenant = exchange->identity.tenant, .principal = exchange->identity.principal,
        .path = exchange->call->asked.path, .session = exchange->session_id, .id = id, .home = exchange->identity.home,
    };
}

void question_put_back(struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    const struct call *call = exchange->call;
    struct question_key key;

    if (span_is_empty(call->asked.answers) || exchange->sent_us != 0)
        return;
    key = question_key_of(exchange, call->message.id);
    if (question_open(pair->lane->gate, &key, call->asked.answers, pair_now_us(pair)) != CODE_OK)
        return; /* as many others as may be were asked meanwhile */
}

static bool is_permitted(const struct server_question *question)
{
    return call_is_permit(&question->call);
}

void question__close(struct pair *pair)
{
    const struct incoming *incoming = pair->exchange.incoming;
    const struct server_question *question = incoming->question;
    struct question_key key = question_key_of(&pair->exchange, incoming->reply.id);
    char method[128];
    size_t len;

    if (incoming->reply.kind != MCP_REQUEST || question->ask != NULL || !is_permitted(question))
        return;
    if (question_answer(pair->lane->gate, &key, method, &len) != CODE_OK)
        return; /* it was forgotten because of its age */
}

/* ---- making, ending ---- */

/* Makes the call that is judged next: for a request within the message, or for the message itself. */
static void aim(struct pair *pair, const struct incoming *incoming)
{
    const struct server_question *question = incoming->question;
    const struct mcp_reply *reply = &incoming->reply;
    struct call *call = &incoming->question->call;
    struct question *asked = &call->asked;

    call_begin(call, incoming->within, &pair->exchange.event_arena);
    call->within = incoming->within;
    call->message.id = reply->id;
    call->began_us = pair_now_us(pair);
    call->read_us = clock_monotonic_us();
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
    call->refused = incoming->weighed.effect == ANSWER_WITHHOLD           ? REASON_ANSWER_WITHHELD
                    : reply->kind == MCP_RESPONSE && question->ask == NULL ? REASON_UNSET
                    : mcp_method_may_come(mcp_method_find(asked->method, NULL), true) ? REASON_UNSET : REASON_METHOD_UNKNOWN;
}

void question__end(struct pair *pair)
{
    struct incoming *incoming = pair->exchange.incoming;

    wishes_drop(gate_wishes(pair->lane->gate), &incoming->question->wish);
    gate_let_go(&incoming->question->call);
    mem_free(incoming->question);
    incoming->question = NULL;
}

/* ---- judging ---- */

static bool go_round(struct pair *pair)
{
    struct server_question *question = pair->exchange.incoming->question;

    pair_stop_waiting(pair);
    gate_let_go(&question->call);
    question->step = STEP_JUDGE; /* the next request is a call of its own */
    aim(pair, pair->exchange.incoming);
    return true;
}

/* Ends the judgement of one call. Takes: reason: why it cannot be recorded; UNSET: the verdict decides. */
static bool resolve(struct pair *pair, enum reason reason, uint64_t seq)
{
    const struct incoming *incoming = pair->exchange.incoming;
    struct server_question *question = incoming->question;
    bool goes_on = reason == REASON_UNSET && is_permitted(question);

    if (goes_on && question->ask != NULL) {
        pair->exchange.server_requests++;
        question->ask = question->ask->next;
        if (question->ask != NULL || !incoming->is_own)
            return go_round(pair);
    }
    if (goes_on) {
        incoming__deliver(pair);
        return true;
    }
    question__close(pair);
    incoming__refuse(pair, reason == REASON_UNSET ? question->call.verdict.reason : reason, seq);
    return true;
}

static bool record(struct pair *pair)
{
    struct server_question *question = pair->exchange.incoming->question;
    enum code code;

    pair_stop_waiting(pair);
    code = gate_record(pair->lane->gate, &question->call, 0);
    if (code == CODE_BUSY) {
        lane_wait_for_room(pair);
        return false;
    }
    if (code != CODE_OK)
        return resolve(pair, REASON_AUDIT_DOWN, 0);
    question__go(question, STEP_AWAIT);
    if (question->call.folded)
        gate_alert(pair->lane->gate, &question->call, 0);
    return question->call.ticket != 0 || resolve(pair, REASON_UNSET, 0);
}

static bool await_fate(struct pair *pair)
{
    uint64_t seq = 0;

    switch (lane_fate(pair, pair->exchange.incoming->question->call.ticket, &seq)) {
    case AUDIT_DURABLE:
        gate_alert(pair->lane->gate, &pair->exchange.incoming->question->call, seq);
        return resolve(pair, REASON_UNSET, seq);
    case AUDIT_FAILED:
        return resolve(pair, REASON_AUDIT_DOWN, 0);
    case AUDIT_WAITING:
        break;
    }
    return false;
}

static void refuse(struct pair *pair, enum reason reason)
{
    struct server_question *question = pair->exchange.incoming->question;

    question__close(pair); /* while the call is still permitted */
    gate_let_go(&question->call);
    question->call.refused = reason;
    gate_judge(pair->lane->gate, &question->call);
}

/* A permitted notification gets no row. */
static bool pass(struct pair *pair)
{
    struct server_question *question = pair->exchange.incoming->question;

    if (!is_permitted(question) || question->ask != NULL || pair->exchange.incoming->reply.kind != MCP_NOTIFICATION)
        return true;
    gate_pass(&question->call);
    return resolve(pair, REASON_UNSET, 0);
}

static bool judge(struct pair *pair)
{
    const struct incoming *incoming = pair->exchange.incoming;
    struct server_question *question = incoming->question;
    struct question_key key = question_key_of(&pair->exchange, incoming->reply.id);
    struct gate *gate = pair->lane->gate;

    gate_judge(gate, &question->call);
    if (question->call.refused == REASON_ANSWER_WITHHELD && !span_is_empty(incoming->weighed.rule))
        question->call.verdict.rule = incoming->weighed.rule;
    if (is_permitted(question) && incoming->reply.kind == MCP_REQUEST && question->ask == NULL &&
        question_open(gate, &key, incoming->reply.method, question->call.began_us) != CODE_OK) {
        gate_let_go(&question->call);
        question->call.refused = REASON_QUESTION_LIMIT;
        gate_judge(gate, &question->call);
    }
    if (is_permitted(question) && gate_wish(gate, &question->call, &question->wish) != CODE_OK)
        refuse(pair, REASON_MEMORY);
    question__go(question, is_permitted(question) && question->wish != NULL ? STEP_USE : STEP_RECORD);
    return question->step == STEP_USE || pass(pair);
}

/* What the fleet does not give is denied. No other rule is asked, since nobody holds or repeats a server's message. */
static bool use(struct pair *pair)
{
    struct server_question *question = pair->exchange.incoming->question;
    enum wish_fate fate = lane_wish_fate(pair, question->wish);

    if (fate == WISH_WAITING)
        return false;
    pair_stop_waiting(pair);
    wishes_drop(gate_wishes(pair->lane->gate), &question->wish);
    if (fate != WISH_GIVEN)
        refuse(pair, fate == WISH_FULL ? REASON_RATE_LIMITED : REASON_FLEET_AWAY);
    question__go(question, STEP_RECORD);
    return pass(pair);
}

bool question__step(struct pair *pair)
{
    enum step step = pair->exchange.incoming->question->step;

    return step == STEP_JUDGE    ? judge(pair)
           : step == STEP_USE    ? use(pair)
           : step == STEP_RECORD ? record(pair) : await_fate(pair);
}

/* The call of a question has some 4 KB, and few connections ever have one, so it is made only while it is needed. */
bool question__begin(struct pair *pair)
{
    struct incoming *incoming = pair->exchange.incoming;
    struct server_question *question = mem_zalloc(sizeof *question);

    if (question == NULL) {
        pair_close(pair, REASON_MEMORY);
        return true;
    }
    question->step = STEP_JUDGE;
    if (incoming->reply.asks != NULL && incoming->weighed.effect != ANSWER_WITHHOLD)
        question->ask = incoming->reply.asks->child;
    incoming->question = question;
    aim(pair, incoming);
    return judge(pair);
}
