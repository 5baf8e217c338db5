/* SPDX-License-Identifier: Apache-2.0 */
/* What a server asks or says in a message to the agent: a call of its own within the agent's, that goes through the steps
 * JUDGE, RECORD and AWAIT. And the table of questions that wait for the agent's answer.
 *
 * Threads: its pair's worker.
 * Owns: what its verdict took; its place in the table of open questions, while it is permitted.
 * Lifetime: that of its message (back/incoming_priv.h), or less.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef BACK_QUESTION_PRIV_H
#define BACK_QUESTION_PRIV_H

#include "enforce/question_table.h"
#include "back/back.h"

/* A request of the server, a notification, the answer to a request of a stream that the agent resumed, or each request that a
 * message holds, in its place. Invariants: it stands in the table of open questions where it is a request, and permitted. */
struct server_question {
    enum step step;
    const struct json_node *ask; /* which of reply.asks is judged; NULL: the message itself */
    struct call call;
};

bool question__begin(struct pair *pair); /* of exchange->incoming */
bool question__step(struct pair *pair);  /* returns: whether anything was done */
void question__go(struct server_question *question, enum step step); /* aborts where no such move is */
void question__close(struct pair *pair); /* what was opened for an agent that never sees it; there may be nothing */
void question__end(struct pair *pair);

#endif
