/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's side of a pipe: lines on stdin become requests to the gate, and the gate's answers become lines on stdout.
 *
 * Each line is a POST on a connection of a small pool, so that calls wait for one another as little as they would at a server
 * over HTTP; a line waits only for earlier lines that must be there first: the answer to `initialize`, which names the
 * session, and every notification and answer of the client. What the server says by itself comes by a GET. Nothing is judged
 * here. A request that reaches neither gate nor server is answered here with an error, so that nobody waits for ever.
 *
 * In a dialect that is run once there is one object in and one object out.
 *
 * Threads: its loop's. SIGPIPE must be ignored.
 * Owns: its connections, both descriptors.
 * Lifetime: pipe_agent_start to pipe_agent_free, which is not called from `done`; the child outlives it.
 * Errors: error lines to the agent, and lines on stderr. */
#ifndef PIPE_AGENT_H
#define PIPE_AGENT_H

#include "mcp/dialect.h"
#include "os/local.h"
#include "pipe/child.h"

struct pipe_agent;

struct pipe_agent_conf {
    struct loop *loop;
    const struct dialect *dialect;
    struct span route;
    struct pipe_child *child;
    int in_take, out_take;     /* of the agent; in: a regular file will do */
    uint64_t line_bytes;       /* longer lines are answered with an error */
    struct span key_header;    /* empty: none is asked for */
    struct span key;
    /* A connection to the gate, non-blocking, and the digest of the configuration as it is now. Where no gate runs one is
     * started, if one may be, which takes a while. CODE_NOT_FOUND: there is none. */
    enum code (*dial)(void *context, bool may_start, int *fd, unsigned char digest[LOCAL_DIGEST_BYTES], struct why *why);
    /* The agent sends no more, or takes no more: the child may end. */
    void (*done)(void *context);
    void *context;
};

enum code pipe_agent_start(const struct pipe_agent_conf *conf, struct pipe_agent **out, struct why *why) MUST_USE;

/* The child's side has taken the message with this number (its header Callgate-Line). */
void pipe_agent_taken(struct pipe_agent *agent, uint64_t number);

/* The child has ended: what it answered last goes down, and what waits for it gets errors. */
void pipe_agent_finish(struct pipe_agent *agent);
bool pipe_agent_is_over(const struct pipe_agent *agent); /* after finish: all is written */

void pipe_agent_free(struct pipe_agent **agent); /* NULL is fine */

#endif
