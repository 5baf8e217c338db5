/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions of joined endpoints: with what the agent began, and for each server its own session, or since when it is away.
 *
 * The agent's session is bound to its principal as any other (mcp/session.h), and to one of these by the id in it. Which
 * server has an open call of the agent is kept here, too, since a cancellation names the call alone.
 *
 * Threads: any.
 * Owns: its sessions; what it tells is a copy.
 * Lifetime: outlives the workers; a session until its agent ends it, or nobody has used it for hours.
 * Errors: CODE_NOT_FOUND: no such session; CODE_LIMIT: more than the caller's share; CODE_NOMEM. */
#ifndef JOIN_SESSIONS_H
#define JOIN_SESSIONS_H

#include "base/buf.h"
#include "base/shares.h"

#include <stdbool.h>
#include <stdint.h>

#define JOIN_SESSION_BYTES 32
#define JOIN_REVISION_BYTES 16
#define JOIN_INNER_BYTES 1024 /* of a server's session id, as the gate has sealed it, with its NUL */

struct join_sessions;

enum code join_sessions_new(struct join_sessions **out) MUST_USE;
void join_sessions_free(struct join_sessions **sessions);

/* Begins a session. Takes: params: of `initialize`; revision: that all servers speak. */
enum code join_session_begin(struct join_sessions *sessions, struct share whose, struct span params, struct span revision,
                             int64_t now_us, char id[JOIN_SESSION_BYTES]) MUST_USE;
void join_session_end(struct join_sessions *sessions, struct span id);

/* Tells with which params and revision the session began, and how often a server has come or gone since. Takes: params: an
 * empty buffer, or NULL where nobody needs them. */
enum code join_session_of(struct join_sessions *sessions, struct span id, int64_t now_us, struct buf *params,
                          char revision[JOIN_REVISION_BYTES], uint64_t *changes) MUST_USE;

/* NEW: the server was never reached in this session. */
enum join_member_state { JOIN_NEW = 0, JOIN_UP, JOIN_AWAY };
struct join_member {
    enum join_member_state state;
    unsigned offers;              /* JOIN_TOOLS ... */
    int64_t retry_us;             /* AWAY: until then the server is not asked */
    char session[JOIN_INNER_BYTES];
};
/* Takes: server: its name. */
enum code join_member_of(struct join_sessions *sessions, struct span id, struct span server, struct join_member *out) MUST_USE;
/* The server has answered `initialize`. Takes: inner: its session; empty: it has none. */
enum code join_member_came(struct join_sessions *sessions, struct span id, struct span server, struct span inner,
                           unsigned offers) MUST_USE;
/* The server does not answer: it is left alone for join_rest_us. */
void join_member_went(struct join_sessions *sessions, struct span id, struct span server, int64_t now_us);
/* The server says that it has no such session: the next request begins another. */
void join_member_lost(struct join_sessions *sessions, struct span id, struct span server);

/* How long a server is left alone that has failed so often, one after another: a second, which doubles up to about a minute. */
int64_t join_rest_us(unsigned failures);

/* The same where there is no session, kept for each caller, since a server may be away for one caller alone: by what he
 * asks, or by a token of his own. Takes: is_there: whether the server has answered, be it with an error. */
void join_server_said(struct join_sessions *sessions, struct share whose, struct span server, bool is_there, int64_t now_us);
bool join_server_rests(struct join_sessions *sessions, struct share whose, struct span server, int64_t now_us);

/* Remembers which server has the agent's call with this id, and the token of its progress. Takes: call, token: canonical
 * JSON; token may be empty; server: its name. Where there are too many calls, the oldest are forgotten. */
void join_call_open(struct join_sessions *sessions, struct span id, struct span call, struct span token,
                    struct span server);
void join_call_over(struct join_sessions *sessions, struct span id, struct span call);
bool join_call_is_of(struct join_sessions *sessions, struct span id, struct span call, struct span server);
/* Whether the last call with this token went to another server. Calls that are over count, since a task's progress goes on. */
bool join_token_is_anothers(struct join_sessions *sessions, struct span id, struct span token, struct span server);

#endif
