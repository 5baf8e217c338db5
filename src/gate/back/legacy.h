/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP+SSE of MCP 2024-11-05, and the mailboxes by which any worker speaks on a session's stream.
 *
 * Threads: mailboxes are everybody's, behind one lock; the rest is its pair's worker's.
 * Owns: a mailbox what waits in it.
 * Lifetime: a mailbox from its stream's endpoint to the stream's end.
 * Errors: enum code; other verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef BACK_LEGACY_H
#define BACK_LEGACY_H

#include "lane/pair.h"

struct mailboxes;

struct span legacy_session_of(const struct proxy_route *route, const struct http_head *head); /* of a POST; empty: none */
enum reason legacy_check_session(struct pair *pair, struct span session);
bool legacy_opens(const struct exchange *exchange);     /* a stream outside of a session, as the old clients open */
bool legacy_take_endpoint(struct pair *pair, const struct sse_event *event);
bool legacy_take_answer(struct pair *pair, const struct sse_event *event); /* or any other message on such a stream */
bool legacy_pass_by(struct pair *pair, const struct sse_event *event); /* a piece of a message over the limit, or its end */
bool legacy_open_call(struct pair *pair);               /* false: its id is open already, or there is no memory */
void legacy_forget_call(struct pair *pair);             /* no answer is due */
bool legacy_tells(const struct exchange *exchange);     /* what is said of the call comes on its session's stream */
bool legacy_speak(struct pair *pair);                   /* Returns: whether anything was said on the stream */

/* What is to be said on a stream by whoever answers one of its POSTs. */
enum code mailboxes_new(struct mailboxes **mailboxes) MUST_USE;
void mailboxes_free(struct mailboxes **mailboxes);      /* after every stream has ended */
enum code mailbox_open(struct pair *pair, struct span session) MUST_USE; /* from a stream that has that name it is taken */
void mailbox_close(struct pair *pair, struct buf *rest); /* callable twice. Takes: rest: for events; NULL: they are dropped */
/* Returns: CODE_NOT_FOUND: the session has no stream; CODE_LIMIT: nobody reads it. */
enum code mailbox_put(struct lane *lane, struct span session, struct span json) MUST_USE;
enum code mailbox_take(struct pair *pair, struct buf *out) MUST_USE; /* events, appended; CODE_EXISTS: it was the last
                                                                          * time, since a newer stream has that name */
void mailbox_woken(struct lane *lane);                  /* stirs the lane's streams that have mail */

#endif
