/* SPDX-License-Identifier: Apache-2.0 */
/* A stdio server behind HTTP: one child process that speaks newline-delimited JSON-RPC, and the HTTP/1.1 server (streamable
 * HTTP of MCP) in front of it, on whatever connected descriptors it is handed.
 *
 * A POST's message goes to the child as one line, under an id of ours, so that those of several askers cannot collide; the
 * line that answers it is the response. What the child says of a request before its answer comes before it in the same
 * response, which is an event stream then. What belongs to no request goes to the one that has waited longest, else to the
 * stream of a GET, and waits for one, bounded. A POST whose connection closes is cancelled (2026-07-28) or its answer dropped
 * (before). What is no JSON-RPC is dropped; a line that is too long ends the child. With PIPE_ONCE each POST is a process of
 * its own, which reads the body and writes the answer.
 *
 * Threads: its loop's. SIGPIPE must be ignored.
 * Owns: the process and its group, the connections.
 * Lifetime: pipe_child_start to pipe_child_free, which is not called from `ended`; the loop outlives it.
 * Errors: a sentence at the start; later requests are answered with 502, and the log says why. */
#ifndef PIPE_CHILD_H
#define PIPE_CHILD_H

#include "base/span.h"
#include "base/why.h"
#include "os/cage.h"
#include "os/loop.h"
#include "runner/runner.h"

#include <stdbool.h>
#include <stdint.h>

struct pipe_child;

#define PIPE_LINE_BYTES ((uint64_t)8 << 20) /* of a line, where nothing else is said */

struct pipe_child_conf {
    struct loop *loop;
    enum pipe_kind kind;
    const char *name;                  /* for the log: the route */
    const char *const *argv;           /* NULL-terminated; borrowed until pipe_child_free */
    const char *const *environment;    /* NULL: this process's own; borrowed likewise */
    const struct runner_value *values; /* what programs say of it at each start; borrowed likewise */
    size_t value_count;
    struct runner_commands *words;     /* whose the borrowed texts are; NULL: the caller sees to it that they live as long */
    uint32_t wait_ms;                  /* PIPE_VALUE: until it is to have ended */
    const char *folder;                /* NULL: ours */
    const struct cage *cage;           /* NULL: it may do with our own files whatever our user may; borrowed likewise */
    uint64_t memory_bytes;             /* that each of its processes may write to; 0: any */
    uint64_t line_bytes;               /* 0: PIPE_LINE_BYTES */
    bool inherits_stderr;              /* else its lines go to the log */
    bool is_told;                      /* PIPE_ONCE: its exit status is its answer; what it writes goes to the log */
    bool is_shared;                    /* by several sessions: initialize is asked once, and answered to all */
    bool refuses_questions;            /* it has no one whom it could ask: its requests are answered with an error */
    void (*ended)(void *context, int wait_status); /* once, when all that it wrote is answered. NULL: nobody listens */
    void (*taken)(void *context, uint64_t number); /* a message is on its way into a stdin: that with this number in its
                                                    * header Callgate-Line. NULL: nobody asks */
    void *context;
};

enum code pipe_child_start(const struct pipe_child_conf *conf, struct pipe_child **out, struct why *why) MUST_USE;

/* A connection on which requests come: GET, POST and DELETE on any path. The answer to initialize names a session, of which
 * nothing depends. Takes: fd, a stream socket, in any case. */
enum code pipe_child_serve(struct pipe_child *child, int fd_take) MUST_USE;

/* A message for the child that comes another way; it is canonical JSON. */
void pipe_child_say(struct pipe_child *child, struct span message);

/* Closes its stdin when all is written; SIGTERM after 5 s, SIGKILL after 5 s more. Callable twice. */
void pipe_child_end(struct pipe_child *child);
void pipe_child_signal(struct pipe_child *child, int signo); /* to its process group */
bool pipe_child_is_over(const struct pipe_child *child);     /* it has ended, and ended() was called */

/* Kills what is left of its group. NULL is fine. */
void pipe_child_free(struct pipe_child **child);

#endif
