/* SPDX-License-Identifier: Apache-2.0 */
/* What the steps of a call ask of its way back: to go up, to come down, to be answered by the gate itself.
 *
 * Threads: its pair's worker.
 * Owns: nothing.
 * Lifetime: none of its own.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef BACK_BACK_H
#define BACK_BACK_H

#include "enforce/question_table.h"
#include "mcp/denial.h"
#include "lane/pair.h"

/* ---- CONNECT, SEND ---- */
bool upstream_begin(struct pair *pair);                 /* starts connecting where there is no connection */
bool upstream_connect(struct pair *pair);
bool upstream_send(struct pair *pair);
/* Finds what goes up in Authorization. Takes: may_wait: a token may be asked for outside, and one that is missing is logged.
 * *waits: the pair is in the lane's list, and is to ask again when it is stirred. Returns: UNSET, or why nothing can go up. */
enum reason outgoing_settle(struct pair *pair, bool may_wait, bool *waits);
/* Keeps the agent's own token where it is to be exchanged. */
enum code outgoing_keep(struct exchange *exchange, struct span authorization) MUST_USE;
void outgoing_forget(struct exchange *exchange);

/* ---- RELAY, and what of it lasts until the outcome ---- */
bool reply_step(struct pair *pair);
void incoming_forget(struct pair *pair);
void answered_write(struct answered *answered, struct audit_result *result, struct buf texts[2]); /* texts: empty */
void batch_fini(struct exchange *exchange);             /* its calls have ended */
struct question_key question_key_of(const struct exchange *exchange, struct span id);
void question_put_back(struct pair *pair); /* opens the question again whose answer did not go up, so that the agent may
                                            * answer again */

/* ---- what people stopped ---- */
/* Ends a call that people have stopped while it was under way: at its server where that can be told, and by an error to its
 * agent. Returns: whether it did. */
bool back_stop(struct pair *pair);

/* ---- DENY: the gate's own answers ---- */
bool deny_step(struct pair *pair);
void deny_answer(struct pair *pair, enum reason reason); /* writes the gate's answer and enters DENY */
int deny_status(struct pair *pair, enum reason reason);
/* Answers what the gate itself says to OAuth's clients (discovery/discovery.h), or has it refused. Takes: body: of a POST. */
void deny_by_telling(struct pair *pair, struct span body);
void deny_preflight(struct pair *pair);

#endif
