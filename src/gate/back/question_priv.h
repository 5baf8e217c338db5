/* SPDX-License-Identifier: Apache-2.0 */
/* What a server asks or says in a message to the agent: a call of its own within the agent's, which goes through the
 * steps JUDGE, USE, RECORD and AWAIT; and the table of questions that wait for the agent's answer.
 *
 * Threads: its pair's worker.
 * Owns: what its verdict took; its place in the table of open questions, while it is permitted.
 * Lifetime: that of its message (back/incoming_priv.h), or less.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef BACK_QUESTION_PRIV_H
#define BACK_QUESTION_PRIV_H

#include "enforce/question_table.h"
#include "back/back.h"

/* A request or notification of the server, an answer on a stream that the agent resumed, or each request that a message
 * holds, one after the other. Invariants: a request that is permitted is in the table of open questions. */
struct server_question {
    enum step step;
    const struct json_node *ask; /* the member of reply.asks that is judged; NULL: the message itself */
    struct wish *wish; /* what it wants to use that counts over a fleet; NULL: nothing */
    struct call call;
};

bool question__begin(struct pair *pair); /* begins the question of exchange->incoming */
bool question__step(struct pair *pair);  /* returns: whether anything was done */
void question__go(struct server_question *question, enum step step); /* aborts where no such move is */
void question__close(struct pair *pair); /* closes what was opened for an agent that never sees it, if there is something */
void question__end(struct pair *pair);

#endif
