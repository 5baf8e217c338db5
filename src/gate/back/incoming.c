/* SPDX-License-Identifier: Apache-2.0 */
#include "back/incoming_priv.h"
#include "back/question_priv.h"
#include "back/reply_priv.h"
#include "back/upstream_priv.h"

#include "base/bug.h"

/* ---- making, ending ---- */

static struct incoming *incoming_new(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply,
                                     bool is_own, bool is_weighed)
{
    static const struct sse_event none;
    struct exchange *exchange = &pair->exchange;
    struct incoming *incoming = arena_zalloc(&exchange->event_arena, sizeof *incoming);
    char *id;

    event = event != NULL ? event : &none;
    id = incoming != NULL ? arena_dup(&exchange->event_arena, event->id.at, event->id.len) : NULL;
    if (id == NULL)
        return NULL;
    incoming->is_own = is_own;
    incoming->within = exchange->call;
    incoming->reply = *reply;
    incoming->event = *event;
    incoming->event.data = incoming->event.type = SPAN_NONE;
    incoming->event.id = span_of(id, event->id.len);
    incoming->came = answered__came(exchange, reply, is_own);
    incoming->weighed.effect = is_weighed ? ANSWER_WITHHOLD : ANSWER_NONE; /* withheld until it is judged */
    json_edits_init(&incoming->edits);
    return incoming;
}

static void end(struct pair *pair)
{
    pair_stop_waiting(pair);
    if (pair->exchange.incoming->question != NULL)
        question__end(pair);
    json_edits_fini(&pair->exchange.incoming->edits);
    pair->exchange.incoming = NULL;
}

void incoming_forget(struct pair *pair)
{
    if (pair->exchange.incoming == NULL)
        return;
    if (pair->exchange.incoming->question != NULL)
        question__close(pair);
    end(pair);
}

/* ---- what becomes of it ---- */

void incoming__deliver(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    const struct incoming *incoming = exchange->incoming;

    if (incoming->is_own) {
        (void)reply__answer(pair, &incoming->event, &incoming->reply);
    } else {
        exchange->server_requests += incoming->reply.kind == MCP_REQUEST;
        exchange->server_notifications += incoming->reply.kind == MCP_NOTIFICATION;
        (void)stream__emit(pair, &incoming->event, incoming->reply.body);
    }
    end(pair);
}

/* Sends an error in place of an answer that is withheld or asks for what is denied. The agent's request ends with it. */
static void refuse_answer(struct pair *pair, const struct incoming *incoming, enum reason reason, uint64_t seq)
{
    struct exchange *exchange = &pair->exchange;
    bool is_withheld = reason == REASON_ANSWER_WITHHELD;
    struct mcp_reply reply = {.kind = MCP_RESPONSE, .id = incoming->reply.id, .error_code = reason_rpc_code(reason),
                              .is_error = !is_withheld || span_is_empty(incoming->within->asked.tool)};

    exchange_settle(exchange, OUTCOME_REFUSED, reason);
    buf_clear(&exchange->body);
    if ((is_withheld ? deny__withheld(pair, incoming->weighed.say, &exchange->body)
                     : exchange->dialect->reply_error(reply.id, reason, seq, &exchange->body)) != CODE_OK) {
        pair_close(pair, REASON_MEMORY);
        return;
    }
    reply.body = buf_peek(&exchange->body);
    (void)reply__answer(pair, &incoming->event, &reply);
}

/* Refuses a message. A request is answered upstream in the agent's name; an answer is replaced by an error; a
 * notification is only dropped, since nobody waits for it. */
static void refuse(struct pair *pair, const struct incoming *incoming, enum reason reason, uint64_t seq)
{
    struct exchange *exchange = &pair->exchange;
    struct span id = incoming->reply.id;

    exchange->server_denied++;
    reason_count(reason);
    if (incoming->reply.kind == MCP_NOTIFICATION)
        return;
    buf_clear(&exchange->body);
    /* A server learns only that it was denied, not by which rule or for lack of one. */
    if ((incoming->reply.kind == MCP_REQUEST || incoming->is_own) && reason_blame(reason) == BLAME_POLICY)
        reason = REASON_QUESTION_DENIED;
    if (incoming->is_own) {
        refuse_answer(pair, incoming, reason, seq);
        return;
    }
    if (incoming->reply.kind == MCP_REQUEST) {
        if (exchange->dialect->refusal_write(id, reason, &exchange->body) == CODE_OK)
            errand__send(pair, buf_peek(&exchange->body));
        return;
    }
    if (exchange->dialect->reply_error(id, reason, seq, &exchange->body) == CODE_OK)
        (void)stream__emit(pair, &incoming->event, buf_peek(&exchange->body));
    else
        pair_close(pair, REASON_MEMORY);
}

void incoming__refuse(struct pair *pair, enum reason reason, uint64_t seq)
{
    refuse(pair, pair->exchange.incoming, reason, seq);
    end(pair);
}

/* ---- what it holds ---- */

static void weigh(struct pair *pair, struct gate *gate)
{
    struct incoming *incoming = pair->exchange.incoming;

    gate_weigh(gate, incoming->within, incoming->is_own, &incoming->came, &pair->exchange.event_arena, &incoming->edits,
               &incoming->weighed);
}

/* Changes the message, since from now on what goes on is judged, recorded and kept. */
static bool change(struct exchange *exchange, struct incoming *incoming)
{
    struct mcp_reply *reply = &incoming->reply;
    bool is_done = json_edits_apply(&incoming->edits, &exchange->event, &exchange->event_arena, incoming->came.root) == CODE_OK;

    reply->body = buf_peek(&exchange->event);
    if (reply->kind == MCP_RESPONSE)
        reply->result = incoming->came.root->raw;
    return is_done;
}

/* Withholds an answer or a notification. A request, and an answer on a stream that the agent resumed, are refused later,
 * with a record of their own. Returns: whether the message is over. */
static bool withhold(struct pair *pair, const struct incoming *incoming)
{
    if (!incoming->is_own && incoming->reply.kind != MCP_NOTIFICATION)
        return false;
    reason_count(REASON_ANSWER_WITHHELD);
    if (incoming->is_own)
        refuse_answer(pair, incoming, REASON_ANSWER_WITHHELD, 0);
    else
        pair->exchange.server_withheld++;
    end(pair);
    return true;
}

static bool is_answer_alone(const struct incoming *incoming)
{
    return incoming->is_own && incoming->reply.asks == NULL;
}

/* Returns: whether anything was done. */
static bool judge_content(struct pair *pair)
{
    struct incoming *incoming = pair->exchange.incoming;
    enum reason reason;

    if (!judge_has_done(pair, incoming->reply.body.len, weigh))
        return false;
    judge_leave(pair);
    reason = answered__note(pair, &incoming->weighed, incoming->came.body, incoming->is_own);
    if (reason == REASON_UNSET && incoming->weighed.effect == ANSWER_REDACT && !change(&pair->exchange, incoming)) {
        incoming->weighed = (struct gate_weighed){.effect = ANSWER_WITHHOLD}; /* the message would grow too large */
        reason = answered__note(pair, &incoming->weighed, SPAN_NONE, incoming->is_own);
    }
    if (reason != REASON_UNSET) {
        end(pair);
        if (pair->exchange.batch != NULL)
            batch__fail(pair, reason);
        else
            reply__fail(pair, OUTCOME_REFUSED, reason);
        return true;
    }
    if (incoming->weighed.effect == ANSWER_WITHHOLD && withhold(pair, incoming))
        return true;
    if (!is_answer_alone(incoming))
        return question__begin(pair);
    incoming__deliver(pair);
    return true;
}

bool incoming__step(struct pair *pair)
{
    struct incoming *incoming = pair->exchange.incoming;
    bool has_moved;

    pair->exchange.call = incoming->within;
    has_moved = incoming->question != NULL ? question__step(pair) : judge_content(pair);
    pair->exchange.call = pair->exchange.own;
    return has_moved;
}

/* Whether rules for answers concern a message that is no answer. Whether they concern an answer, reply__read has found out. */
static bool is_weighed(struct pair *pair, const struct mcp_reply *reply)
{
    const struct exchange *exchange = &pair->exchange;
    const struct gate_came came = answered__came(exchange, reply, false);

    return gate_weighs(pair->lane->gate, exchange->call, false, &came);
}

bool incoming__take(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply, bool is_own)
{
    struct exchange *exchange = &pair->exchange;
    bool weighs;

    BUG_ON(exchange->incoming != NULL);
    if (reply->passes) {
        exchange->server_notifications++;
        return stream__emit(pair, event, reply->body);
    }
    weighs = reply->kind == MCP_RESPONSE ? exchange->is_weighed : is_weighed(pair, reply);
    if (!weighs && is_own && reply->asks == NULL)
        return reply__answer(pair, event, reply);
    exchange->incoming = incoming_new(pair, event, reply, is_own, weighs);
    if (exchange->incoming == NULL)
        pair_close(pair, REASON_MEMORY);
    else
        (void)(weighs ? incoming__step(pair) : question__begin(pair));
    return exchange->incoming == NULL;
}
