/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP+SSE of MCP 2024-11-05, and the mailboxes by which any worker speaks on a session's stream.
 *
 * Threads: mailboxes are everybody's, behind one lock; the rest is its pair's worker's.
 * Owns: a mailbox what waits in it.
 * Lifetime: a mailbox from its stream's endpoint to the stream's end.
 * Errors: enum code; other verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef PROXY_LEGACY_PRIV_H
#define PROXY_LEGACY_PRIV_H

#include "proxy/pair_priv.h"

struct mailboxes;

struct span legacy__session_of(const struct proxy_route *route, const struct http_head *head); /* of a POST; empty: none */
enum reason legacy__check_session(struct pair *pair, struct span session);
bool legacy__opens(const struct exchange *exchange);     /* a stream outside of a session, as the old clients open */
bool legacy__take_endpoint(struct pair *pair, const struct sse_event *event);
bool legacy__take_answer(struct pair *pair, const struct sse_event *event); /* or any other message on such a stream */
bool legacy__pass_by(struct pair *pair, const struct sse_event *event); /* a piece of a message over the limit, or its end */
bool legacy__open_call(struct pair *pair);               /* false: its id is open already, or there is no memory */
void legacy__forget_call(struct pair *pair);             /* no answer is due */
bool legacy__tells(const struct exchange *exchange);     /* what is said of the call comes on its session's stream */
bool legacy__speak(struct pair *pair);                   /* Returns: whether anything was said on the stream */

/* What is to be said on a stream by whoever answers one of its POSTs. */
enum code mailboxes__new(struct mailboxes **mailboxes) MUST_USE;
void mailboxes__free(struct mailboxes **mailboxes);      /* after every stream has ended */
enum code mailbox__open(struct pair *pair, struct span session) MUST_USE; /* from a stream that has that name it is taken */
void mailbox__close(struct pair *pair, struct buf *rest); /* callable twice. Takes: rest: for events; NULL: they are dropped */
/* Returns: CODE_NOT_FOUND: the session has no stream; CODE_LIMIT: nobody reads it. */
enum code mailbox__put(struct lane *lane, struct span session, struct span json) MUST_USE;
enum code mailbox__take(struct pair *pair, struct buf *out) MUST_USE; /* events, appended; CODE_EXISTS: it was the last
                                                                          * time, since a newer stream has that name */
void mailbox__woken(struct lane *lane);                  /* stirs the lane's streams that have mail */

#endif
