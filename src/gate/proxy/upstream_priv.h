/* SPDX-License-Identifier: Apache-2.0 */
/* CONNECT and SEND: the connection behind a pair and the head that goes up; errands, which go there without a pair.
 *
 * Threads: its pair's worker.
 * Owns: an errand its connection.
 * Lifetime: an errand ends by itself, within seconds.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef PROXY_UPSTREAM_PRIV_H
#define PROXY_UPSTREAM_PRIV_H

#include "proxy/pair_priv.h"

COLD void upstream__tell(struct pair *pair, enum reason reason, const char *detail); /* a line in the log */
size_t upstream__addresses(const struct pair *pair, const struct sock_address **addresses);
bool upstream__begin(struct pair *pair);                 /* starts connecting where there is no connection */
/* Whether what the gate shows upstreams goes up on a declared path, too (NULL: a call). */
bool upstream__takes_credentials(const struct proxy_pass *pass);
/* Finds what goes up in Authorization. Takes: may_wait: it may be asked for outside, and what is missing told in the log; a
 * pair that *waits then stands in the lane's list, and asks again when it is stirred. Returns: UNSET, or why nothing goes. */
enum reason outgoing__settle(struct pair *pair, bool may_wait, bool *waits);
/* Keeps the agent's own, where it is to be exchanged. */
enum code outgoing__keep(struct exchange *exchange, struct span authorization) MUST_USE;
void outgoing__refused(struct pair *pair); /* the upstream does not take it: a newer one may be had */
void outgoing__forget(struct exchange *exchange);
bool upstream__connect(struct pair *pair);
bool upstream__send(struct pair *pair);
/* Takes: body_len SIZE_MAX: without a body; is_ours: for a message of the gate's own in the same session. */
enum code upstream__write_head(const struct pair *pair, enum http_method method, size_t body_len, bool is_ours,
                               struct buf *out) MUST_USE;

/* POSTs `body` to the pair's upstream, with the pair's head and session, and forgets the answer. */
void errand__send(struct pair *pair, struct span body);
struct leg *errand__leg(struct connection *errand); /* for simulations, which play the loop */

#endif
