/* SPDX-License-Identifier: Apache-2.0 */
/* A message of the server that is judged on its way to the agent: what it holds, by rules for answers, and what it asks. It is
 * a call of its own, that goes through the steps UNDERSTAND, JUDGE, RECORD and AWAIT.
 *
 * Threads: its pair's worker.
 * Owns: what its arena holds; its place in the table of open questions, while it is permitted.
 * Lifetime: until it is delivered, answered in the agent's place, or its agent leaves.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef PROXY_QUESTION_PRIV_H
#define PROXY_QUESTION_PRIV_H

#include "enforce/answer.h"
#include "enforce/question_table.h"
#include "mcp/reply.h"
#include "proxy/pair_priv.h"
#include "sse/parser.h"

/* A message of the server while it is judged: a request, a notification, the answer to a request of a stream that the agent
 * resumed, the answer to a call that rules for answers concern, or one that holds requests, each of which is judged in its
 * place. Invariants: it stands in the table of open questions where it is a request, and permitted. */
struct server_question {
    enum step step;         /* UNDERSTAND: what rules for answers say of it */
    bool is_own;            /* the answer to the call that it came within, which ends with it */
    struct gate_came came;
    struct gate_weighed weighed;
    struct buf changed;     /* the message as it may go on, where parts are left out */
    const struct json_node *ask; /* which of reply.asks is judged; NULL: the message itself */
    struct call call;       /* what it asks; `within` is the one that is looked at meanwhile */
    struct sse_event event; /* id and retry; its id is a copy in event_arena */
    struct mcp_reply reply;
};

/* Takes: event NULL: there is none, since the reply is no stream; is_own: it answers exchange->call, and goes on by
 * reply__answer. Returns: whether the next event may be read. */
bool question__take(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply, bool is_own);
bool question__step(struct pair *pair);
void question__go(struct server_question *question, enum step step); /* aborts where no such move is */
void question__forget(struct pair *pair);
void question__put_back(struct pair *pair); /* an answer that did not go up may be given again */
struct question_key question__key(const struct exchange *exchange, struct span id);

#endif
