/* SPDX-License-Identifier: Apache-2.0 */
/* A message of the upstream that is not on its way down yet: rules for answers look at what it holds, and what a server asks or
 * says in it is judged as a call (back/question_priv.h).
 *
 * Threads: its pair's worker.
 * Owns: what its arena holds, and its question.
 * Lifetime: until it is delivered, answered in the agent's place, or its agent leaves.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef BACK_INCOMING_PRIV_H
#define BACK_INCOMING_PRIV_H

#include "enforce/answer.h"
#include "mcp/reply.h"
#include "back/back.h"
#include "sse/parser.h"

struct server_question;

struct incoming {
    bool is_own;            /* the message answers `within`, which ends with it */
    struct call *within;    /* the call in whose stream it came, or which it answers */
    struct mcp_reply reply;
    struct sse_event event; /* id and retry; its id is a copy in event_arena */
    struct gate_came came;
    struct gate_weighed weighed; /* NONE: no rule for answers concerns it */
    struct json_edits edits; /* what rules cut out of it */
    struct server_question *question; /* NULL: rules for answers are still at it */
};

/* Takes a message. Takes: event: NULL: the reply is no stream; is_own: it answers exchange->call, and goes down by
 * reply__answer. Returns: whether the next event may be read. */
bool incoming__take(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply, bool is_own);
bool incoming__step(struct pair *pair);

/* ---- once what it asks is judged ---- */
void incoming__deliver(struct pair *pair);
void incoming__refuse(struct pair *pair, enum reason reason, uint64_t seq);

#endif
