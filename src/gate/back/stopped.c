/* SPDX-License-Identifier: Apache-2.0 */
/* A call that people stop while it is under way. Its agent gets an error, and its server is told as its protocol has it: since
 * 2026-07-28 by the end of the connection, before that by a message. */
#include "back/reply_priv.h"
#include "back/upstream_priv.h"

#include "mcp/dialect.h"
#include "os/clock.h"

/* Where nobody can read what is stopped no call begins, but those that were judged before go on. */
static bool is_stopped(const struct pair *pair)
{
    const struct stop *stop = NULL;

    for (const struct call *call = pair->exchange.calls; call != NULL && stop == NULL; call = call->next)
        if (!call->is_join && call->is_permitted)
            (void)gate_stopped(pair->lane->gate, call, clock_wall_us(), &stop);
    return stop != NULL;
}

/* A command's server and a plain one see the end of the connection. */
static void send_cancelled(struct pair *pair)
{
    struct exchange *exchange = &pair->exchange;

    if (exchange->dialect->is_plain || pair->is_pipe || exchange->upstream_done)
        return;
    for (const struct call *call = exchange->calls; call != NULL; call = call->next) {
        const struct mcp_message *message = &call->message;

        if (message->kind != MCP_REQUEST || message->is_modern || span_is(message->method, "initialize"))
            continue;
        buf_clear(&exchange->body);
        (void)buf_addf(&exchange->body, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"
                       "%.*s,\"reason\":\"a person has stopped the call\"}}", SPAN_ARG(message->id));
        if (buf_code(&exchange->body) == CODE_OK)
            errand__send(pair, buf_peek(&exchange->body));
    }
}

bool back_stop(struct pair *pair)
{
    if (pair->step < STEP_CONNECT)
        return false; /* what is judged already is asked once it is recorded */
    pair->may_be_stopped = false;
    if (pair->step > STEP_RELAY || !is_stopped(pair))
        return false;
    if (pair->step == STEP_CONNECT) {
        upstream__give_up(pair, OUTCOME_NOT_SENT, REASON_STOPPED);
        return true;
    }
    send_cancelled(pair);
    if (pair->step == STEP_SEND)
        upstream__give_up(pair, OUTCOME_CANCELLED, REASON_STOPPED_AMID);
    else
        reply__fail_for(pair, OUTCOME_CANCELLED, REASON_STOPPED_AMID, reason_text(REASON_STOPPED_AMID));
    return true;
}
