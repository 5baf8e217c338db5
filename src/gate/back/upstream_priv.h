/* SPDX-License-Identifier: Apache-2.0 */
/* The steps CONNECT and SEND: the connection behind a pair and the head that goes up; and errands, which go up
 * without a pair.
 *
 * Threads: its pair's worker.
 * Owns: an errand owns its connection.
 * Lifetime: an errand ends by itself, within seconds.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef BACK_UPSTREAM_PRIV_H
#define BACK_UPSTREAM_PRIV_H

#include "back/back.h"

COLD void upstream__log(struct pair *pair, enum reason reason, const char *detail); /* writes a line to the log */
size_t upstream__addresses(const struct pair *pair, const struct sock_address **addresses);
/* Ends a call whose reply has not begun. */
void upstream__give_up(struct pair *pair, enum audit_outcome outcome, enum reason reason);
/* Whether the gate's own credentials go up on this declared path (NULL: a call, which gets them). */
bool upstream__takes_credentials(const struct proxy_pass *pass);
void outgoing__refused(struct pair *pair); /* the upstream refused the token: asks for a newer one */
/* Takes: body_len: SIZE_MAX: there is no body; is_ours: it is for a message of the gate's own in the same session. */
enum code upstream__write_head(const struct pair *pair, enum http_method method, size_t body_len, bool is_ours,
                               struct buf *out) MUST_USE;

/* POSTs `body` to the pair's upstream, with the pair's head and session, and forgets the answer. */
void errand__send(struct pair *pair, struct span body);
struct leg *errand__leg(struct connection *errand); /* for simulations, which play the loop */

#endif
