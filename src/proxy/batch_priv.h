/* SPDX-License-Identifier: Apache-2.0 */
/* Several calls in one body (JSON-RPC 2.0, section 6).
 *
 * Threads: its pair's worker.
 * Owns: the calls' members, in the exchange's arena.
 * Lifetime: as its exchange.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef PROXY_BATCH_PRIV_H
#define PROXY_BATCH_PRIV_H

#include "proxy/pair_priv.h"

bool batch__may_come(const struct exchange *exchange);   /* the session negotiated the revision that has them */
enum reason batch__read(struct pair *pair);              /* the message was read, and is an array. UNSET: all may be judged */
bool batch__judge(struct pair *pair);
uint64_t batch__last_ticket(const struct exchange *exchange);
bool batch__settled(struct pair *pair);                  /* their fates are known. Returns: whether all are durable */
int batch__status(struct pair *pair, enum reason reason);
enum code batch__deny(struct pair *pair, enum reason reason, struct buf *out, enum mcp_form *form) MUST_USE;
void batch__deliver(struct pair *pair, struct span raw); /* a whole JSON reply */
bool batch__take(struct pair *pair, const struct sse_event *event);
bool batch__has_parts(const struct exchange *exchange);  /* messages of an event that were not looked at yet */
bool batch__next(struct pair *pair);
bool batch__owes_answer(const struct exchange *exchange);
bool batch__answer_rest(struct pair *pair, enum reason reason);
void batch__unsettle(struct exchange *exchange);         /* what was settled has not reached the agent */
void batch__finish(struct pair *pair);                   /* likewise callable before the exchange is finished */
size_t batch__held_bytes(const struct exchange *exchange);

#endif
