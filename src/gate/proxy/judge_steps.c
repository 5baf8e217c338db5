/* SPDX-License-Identifier: Apache-2.0 */
/* JUDGE and USE: all calls of a body get their verdicts. */
#include "proxy/front_priv.h"
#include "discovery/discovery.h"

#include "os/clock.h"

static void judge_item(struct gate *gate, const struct call *call, const struct mcp_item *asked, struct call *item)
{
    call_begin(item, call, call->arena);
    item->message.id = call->message.id;
    item->body = call->body;
    item->read_us = call->read_us;
    item->expects_outcome = call->expects_outcome;
    item->asked.method = asked->method;
    call_aim(&item->asked, asked->target);
    item->asked.tool = call->asked.tool;
    item->asked.root = asked->params;
    item->target = asked->target;
    gate_judge(gate, item);
}

/* Judges each item that a message names besides its own target as the message that would ask for that item alone. The first
 * item that is not permitted takes the call's place in the record, because nothing goes up for its sake; the others give
 * back what they took. What permitted items take belongs to the call, and goes the way of that: it is asked of a fleet, spent
 * once the one record is durable, or given back. */
static void judge_items(struct call *call, struct gate *gate)
{
    const struct mcp_message *message = &call->message;

    for (uint32_t i = 0; i < message->item_count && call_is_permit(call); i++) {
        struct call item;
        enum code code = CODE_OK;

        judge_item(gate, call, &message->items[i], &item);
        if (call_is_permit(&item)) {
            code = gate_join(call, &item);
            if (code == CODE_OK)
                continue;
        }
        /* Judged anew as refused, where the record has no room for all that is permitted, or where the agent would read that
         * the message's own method is unknown. */
        if (code != CODE_OK || item.verdict.reason == REASON_METHOD_UNKNOWN) {
            item.refused = code == CODE_OK ? REASON_NO_RULE : code == CODE_LIMIT ? REASON_TOO_COSTLY : REASON_MEMORY;
            gate_let_go(&item);
            gate_judge(gate, &item);
        }
        gate_stand_for(call, &item);
    }
}

/* Turns all permits into denials: none of the body's calls goes up. */
static void revoke_all(struct exchange *exchange, enum reason reason)
{
    for (struct call *call = exchange->calls; call != NULL; call = call->next) {
        if (call_is_permit(call))
            gate_revoke(call, reason);
        call->refusal = call->verdict.reason;
    }
    exchange->own->refusal = reason;
}

/* What counts over a fleet is asked for all calls of the body at once, and for none where one of them is denied. */
static void wish_for_all(struct exchange *exchange, struct gate *gate)
{
    bool goes_up = exchange->own->refusal == REASON_UNSET;
    enum code code = CODE_OK;

    for (const struct call *call = exchange->calls; call != NULL && code == CODE_OK; call = call->next)
        if (goes_up || exchange->wish_rounds == 0)
            code = gate_wish(gate, call, &exchange->wish);
    if (code == CODE_OK)
        return;
    wishes_drop(gate_wishes(gate), &exchange->wish);
    if (goes_up)
        revoke_all(exchange, code == CODE_LIMIT ? REASON_TOO_COSTLY : REASON_MEMORY);
}

/* Whether there is more than one judgement. Several take their time one after another, and what the first took (an approval, of
 * which people are to be told; what a monitored limit counts) would not come back whole where the next is cut. */
static bool asks_several(const struct exchange *exchange)
{
    return exchange->calls->next != NULL || exchange->own->message.item_count > 0;
}

#define APPROVAL_WAIT_US INT64_C(1000000) /* so long it waits to hear whose an approval is, and is held then */
#define APPROVAL_LOOK_US INT64_C(25000)

static bool may_wait(const struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;

    return !asks_several(exchange) && (exchange->judged_until_us == 0 || pair_now_us(pair) < exchange->judged_until_us);
}

/* Judges all calls of the body. Their time is now, not that of the head, so that who holds back bodies gains no room under
 * limits of an earlier time. A body that is refused as a whole is refused with each of its calls. */
static void decide(struct pair *pair, struct gate *gate)
{
    struct exchange *exchange = &pair->exchange;
    struct call *own = exchange->own;

    own->asked.time_us = clock_wall_us();
    for (struct call *call = exchange->calls; call != NULL; call = call->next) {
        call->asked.time_us = own->asked.time_us;
        call->read_us = clock_monotonic_us();
        call->is_own = exchange->dialect->is_asked;
        call->expects_outcome = !call->is_own || call->message.id.len > 0; /* without a name nobody could speak of it again */
        if (own->refused != REASON_UNSET)
            call->refused = own->refused;
        if (exchange->pass == NULL) {
            call_ask(call);
            inner_see(exchange->route, call);
        }
        call->may_wait = may_wait(pair);
        call->asked.is_brief = gate == pair->lane->gate && pair->lane->judge.gate != NULL;
        gate_judge(gate, call);
        call->asked.is_brief = false;
        if (call->verdict.is_cut) { /* judging takes longer than a worker may, so the judge's thread does it */
            exchange->is_long = true;
            gate_let_go(call);
            return;
        }
        judge_items(call, gate);
        call->refusal = call_is_permit(call) ? REASON_UNSET : call->verdict.reason;
    }
    if (exchange->batch != NULL)
        batch__agree(exchange);
    else
        discovery_look_for_scope(exchange, gate);
    if (gate_wishes(gate) != NULL && own->refused == REASON_UNSET && !own->is_join && !own->waits)
        wish_for_all(exchange, gate);
}

/* It is judged again soon: what it waits for came by then, or it is held. */
static bool wait_for_approval(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    gate_let_go(exchange->own);
    judge_leave(pair);
    pair_stop_waiting(pair);
    if (exchange->judged_until_us == 0)
        exchange->judged_until_us = pair_now_us(pair) + APPROVAL_WAIT_US;
    pair->timed_out = false;
    pair_deadline(pair, APPROVAL_LOOK_US);
    return false;
}

bool exchange__judge(struct pair *pair)
{
    const struct call *own = pair->exchange.own;
    bool was_long = pair->exchange.is_long;
    size_t bytes = was_long || asks_several(&pair->exchange) ? SIZE_MAX : buf_len(&own->canonical);

    if (own->refused != REASON_UNSET)
        bytes = 0; /* it costs nothing to judge */
    if (!judge_has_done(pair, bytes, decide))
        return false;
    if (pair->exchange.is_long != was_long)
        return exchange__judge(pair); /* by the judge this time */
    if (own->waits)
        return wait_for_approval(pair);
    pair->exchange.progress = CALL_JUDGED;
    judge_leave(pair);
    pair_stop_waiting(pair);
    pair_go(pair, pair->exchange.wish != NULL ? STEP_USE : STEP_RECORD);
    return true;
}

#define WISH_ROUNDS_MAX 8

/* What was taken here goes back before it is heard what others have used, which is counted up to that. */
static enum code hear(const struct exchange *exchange, const struct gate *gate)
{
    for (struct call *call = exchange->calls; call != NULL; call = call->next)
        gate_token_give_back(&call->token);
    return gate_hear(gate, exchange->call, exchange->wish);
}

/* Judges all anew by what the fleet has said, since another rule may permit the call, or a person be asked. Whoever loses that
 * race again and again is denied. */
static void judge_anew(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    exchange->own->refusal = REASON_UNSET;
    for (struct call *call = exchange->calls; call != NULL; call = call->next)
        gate_let_go(call);
    pair_go(pair, STEP_JUDGE);
}

/* Nothing was given. */
static void go_without(struct pair *pair, enum reason reason)
{
    struct exchange *exchange = &pair->exchange;

    if (reason == REASON_UNSET && ++exchange->wish_rounds == WISH_ROUNDS_MAX)
        reason = REASON_RATE_LIMITED;
    if (reason == REASON_UNSET && hear(exchange, pair->lane->gate) != CODE_OK)
        reason = REASON_STATE_SHARE;
    if (reason == REASON_UNSET) {
        judge_anew(pair);
        return;
    }
    if (exchange->own->refusal == REASON_UNSET)
        revoke_all(exchange, reason);
    pair_go(pair, STEP_RECORD);
}

bool exchange__use(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;
    enum wish_fate fate = lane_wish_fate(pair, exchange->wish);

    if (fate == WISH_WAITING && pair->deadline_us == 0 && !pair->timed_out)
        pair_deadline(pair, WISH_WAIT_US);
    if (fate == WISH_WAITING && !pair->timed_out)
        return false;
    pair_stop_waiting(pair);
    for (struct call *call = exchange->calls; call != NULL && fate == WISH_GIVEN; call = call->next)
        gate_given(pair->lane->gate, call);
    if (fate == WISH_GIVEN && gate_hear(pair->lane->gate, exchange->call, exchange->wish) == CODE_OK)
        pair_go(pair, STEP_RECORD);
    else
        go_without(pair, fate == WISH_FULL ? REASON_UNSET : fate == WISH_GIVEN ? REASON_STATE_SHARE : REASON_FLEET_AWAY);
    wishes_drop(gate_wishes(pair->lane->gate), &exchange->wish);
    return true;
}
