/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the agent's side share: the agent with its queue, a post, a wire.
 *
 *   agent.c   lines in, lines out, what waits for what, the end
 *   post.c    one line: what it asks, and its head as HTTP has it
 *   agent_error.c   what stands in place of an answer
 *   wire.c    a connection to the gate: requests out, replies in
 *
 * Threads: the agent's loop's.
 * Owns: an agent its posts and wires; a wire the post that it carries.
 * Lifetime: posts and wires are freed in agent_step alone.
 * Errors: answered to the agent. */
#ifndef PIPE_AGENT_PRIV_H
#define PIPE_AGENT_PRIV_H

#include "base/list.h"
#include "http/reader.h"
#include "mcp/skim.h"
#include "pipe/agent.h"
#include "pipe/line.h"
#include "pipe/tube.h"
#include "sse/parser.h"

#define WIRES_MOST 256  /* requests at a time: more are refused */
#define WIRES_KEPT 4    /* that wait for the next request */

/* A line of the agent's, or a stream or an end of the session that the pipe asks for, which has no text. */
struct post {
    struct list queued;
    enum http_method method;
    enum line_kind kind;      /* NONE: it cannot be read; the gate says so */
    struct buf text;          /* canonical where it can be read */
    struct span id;           /* of a request; into text, likewise */
    struct span cancels;
    struct buf version, name; /* of a modern one: as the headers have them */
    struct span rpc_method;   /* without its quotes */
    bool is_initialize, is_initialized, is_modern, is_cancel;
    uint64_t withheld;        /* its length, where that is more than the gate takes: then none of it goes, and text is only
                               * the id */
    uint64_t number;          /* its number, by which the child's side says that it took the message */
    bool is_taken;            /* on its way into the child's stdin */
    bool is_answered;         /* a response went to the agent */
    bool is_cancelled;        /* the agent has cancelled it, and wants none */
};

/* Invariants: post == NULL: it is idle. */
struct wire {
    struct list of_agent;
    struct pipe_agent *agent;
    struct tube tube;
    struct http_reader reader;
    struct sse_parser events;
    struct buf body;
    struct post *post;
    bool has_head, is_stream;
    bool is_over;             /* closed at the end of the step */
};

struct pipe_agent {
    struct pipe_agent_conf conf;
    struct loop_timer stirs;
    struct loop_timer again;  /* the GET anew; after the agent's end: how long the DELETE may take */
    struct loop_timer looks;  /* looks for a gate */
    int64_t missing_us;       /* since when no gate is there; 0: one is there, as far as is known */
    struct tube in, out;
    struct list queue, wires;
    unsigned wire_count;
    size_t scanned;           /* of in.in: bytes without a line end */
    struct buf session, version;
    uint64_t sent;            /* posts */
    bool skims;               /* a line that is too long */
    struct skim skim;         /* of that */
    uint64_t skimmed;         /* bytes of it, so far */
    bool reads_file;
    bool is_begun;            /* `initialize` was answered */
    bool listens;             /* a GET is under way, or refused for good */
    bool says_end;            /* the session's end was asked for by a DELETE */
    bool is_late;             /* nobody has answered that in time */
    bool is_done;             /* conf.done was called */
    bool is_finished;
    bool dial_failed;         /* the gate could not be reached, which was told */
    bool is_told_why;         /* why the gate refuses what comes from here was told */
};

/* ---- agent.c ---- */
void agent__say(struct pipe_agent *agent, struct span json); /* one line */
void agent__answered(struct pipe_agent *agent, struct post *post, const struct http_head *head, struct span body);
/* Whether an error only says that the server has ended, to an agent that has ended its own side before. Takes: code: JSON. */
bool agent__is_no_news(const struct pipe_agent *agent, struct span code);
void agent__complain(const char *format, ...) PRINTF_LIKE(1, 2);

/* ---- agent_error.c ---- */
void agent__error(struct pipe_agent *agent, struct post *post, int code, const char *text); /* text: no quotes */
bool agent__is_awaited(const struct post *post); /* whether the agent waits for an answer */
/* Hands an HTTP error on: its JSON-RPC error under the agent's own id, or else its status. */
void agent__refused(struct pipe_agent *agent, struct post *post, int status, struct span body);

/* ---- post.c ---- */
struct post *post__new(enum http_method method) MUST_USE;
struct post *post__of_line(struct span text) MUST_USE; /* NULL: no memory */
struct post *post__too_long(const struct skim *skim, uint64_t bytes) MUST_USE; /* NULL: no memory */
void post__free(struct post **post);
enum code post__write(const struct post *post, const struct pipe_agent *agent, struct buf *out) MUST_USE;

/* ---- wire.c ---- */
struct wire *wire__new(struct pipe_agent *agent, bool may_start) MUST_USE; /* NULL: the gate is not there, which was told */
void wire__free(struct wire *wire);
void wire__send(struct wire *wire, struct post *post_take);
void wire__step(struct wire *wire);

#endif
