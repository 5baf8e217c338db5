/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a pair and every legal move: X(NAME, "name", moves, "what it waits for, and what is settled when it ends").
 *
 * TO(NAME) is one move. tools/draw puts the drawing into src/README.md from this file. To add a state: a line here, a
 * step in proxy/pair.c, its invariants in pair__check, a test in tests/unit/proxy/test_state.c. */
#ifndef STATE_TABLE
#include <stdbool.h>

/* A line of such a table: its moves are bits. */
struct state_row {
    const char *text;
    unsigned moves;
};

static inline bool state_row_leads(const struct state_row *row, unsigned to)
{
    return (row->moves & (1u << to)) != 0;
}

#define STATE_TABLE(X, TO)                                                                                                \
    X(HEAD, "head", TO(WHO) | TO(BODY) | TO(JUDGE) | TO(DENY) | TO(CLOSING),                                               \
      "a request's head; ends with route, Host, Origin and identity settled")                                              \
    X(WHO, "who", TO(BODY) | TO(JUDGE) | TO(CLOSING), "what a provider says of who asks; ends as HEAD would have")         \
    X(BODY, "body", TO(JUDGE) | TO(CLOSING), "the whole body; ends with the message read")                                 \
    X(JUDGE, "judge", TO(AUDIT) | TO(DENY) | TO(CLOSING), "room in the audit ring; ends with the verdict recorded")        \
    X(AUDIT, "audit", TO(CONNECT) | TO(DENY) | TO(CLOSING), "the record on disk; a connection upstream may begin meanwhile") \
    X(CONNECT, "connect", TO(SEND) | TO(DENY) | TO(CLOSING), "the upstream's connection and handshake")                    \
    X(SEND, "send", TO(REPLY) | TO(DENY) | TO(CLOSING), "the request going up: nothing of it went before")                 \
    X(REPLY, "reply", TO(HEAD) | TO(DENY) | TO(CLOSING), "the reply, checked and going down")                              \
    X(DENY, "deny", TO(HEAD) | TO(CLOSING), "our own answer going down")                                                   \
    X(CLOSING, "closing", 0, "the last bytes taken, or the linger's end; only worker_reap follows")
#endif
