/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP+SSE of MCP 2024-11-05, and the mailboxes through which any worker can put something on a session's
 * stream.
 *
 * Threads: mailboxes are everybody's, behind one lock; the rest is its pair's worker's.
 * Owns: a mailbox owns what waits in it.
 * Lifetime: a mailbox from its stream's endpoint to the stream's end.
 * Errors: enum code; other verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef BACK_LEGACY_H
#define BACK_LEGACY_H

#include "lane/pair.h"

struct mailboxes;

/* the session that a POST names; empty: none */
struct span legacy_session_of(const struct proxy_route *route, const struct http_head *head);
enum reason legacy_check_session(struct pair *pair, struct span session);
bool legacy_opens(const struct exchange *exchange);     /* whether the call opens a stream outside of a session, as old
                                                         * clients do */
bool legacy_take_endpoint(struct pair *pair, const struct sse_event *event);
/* an answer, or any other message on such a stream */
bool legacy_take_answer(struct pair *pair, const struct sse_event *event);
/* takes a piece of a message over the limit, or its end */
bool legacy_pass_by(struct pair *pair, const struct sse_event *event);
bool legacy_open_call(struct pair *pair);               /* false: its id is open already, or there is no memory */
void legacy_forget_call(struct pair *pair);             /* forgets the open call where no answer is due */
bool legacy_speak(struct pair *pair);                   /* Returns: whether anything was said on the stream */

/* Mailboxes hold what is to go on a stream, from whoever answers one of its POSTs. */
enum code mailboxes_new(struct mailboxes **mailboxes) MUST_USE;
void mailboxes_free(struct mailboxes **mailboxes);      /* after every stream has ended */
enum code mailbox_open(struct pair *pair, struct span session) MUST_USE; /* a stream that already has this name loses it */
/* may be called twice. Takes: rest: gets the events that wait; NULL: they are dropped */
void mailbox_close(struct pair *pair, struct buf *rest);
/* Returns: CODE_NOT_FOUND: the session has no stream; CODE_LIMIT: nobody reads it. */
enum code mailbox_put(struct lane *lane, struct span session, struct span json) MUST_USE;
/* appends the events; CODE_EXISTS: these were the last, since a newer stream has the name */
enum code mailbox_take(struct pair *pair, struct buf *out) MUST_USE;
void mailbox_woken(struct lane *lane);                  /* stirs the lane's streams that have mail */

#endif
