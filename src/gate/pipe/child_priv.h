/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the converter share: the desk (whose requests are answered on one loop), its connections, its children, and
 * what was asked of them.
 *
 *   child.c   a process: its start, its lines, its end
 *   talk.c    a connection: HTTP requests in, replies and event streams out
 *   carry.c   which line goes where
 *   desk.c    one turn of all of it
 *
 * Threads: the desk's loop's.
 * Owns: a desk its talks; a child its asks. A child is its maker's.
 * Lifetime: talks and asks are freed in desk__settle alone, which no handler calls.
 * Errors: answered to whoever asked; logged. */
#ifndef PIPE_CHILD_PRIV_H
#define PIPE_CHILD_PRIV_H

#include "base/list.h"
#include "http/reader.h"
#include "mcp/skim.h"
#include "pipe/child.h"
#include "pipe/line.h"
#include "pipe/tube.h"

#include <sys/types.h>

#define SESSION_BYTES 33 /* of an id, with its NUL */
#define STDIN_WAITING_BYTES ((size_t)1 << 20)  /* that a child has not read: further messages are refused */
#define CLOGGED_BYTES ((size_t)256 << 10)      /* that a connection has not taken: its child is not read meanwhile */
#define KEPT_BYTES ((size_t)1 << 20)           /* of messages that wait for a GET */

struct talk;

/* What a request is, as far as it decides who answers it. */
struct request {
    void *tag;                   /* of its connection */
    const struct http_head *head;
    bool is_modern;
    bool is_initialize;
};

/* Who answers it. */
struct choice {
    struct pipe_child *child;    /* NULL: nobody, and `status` and `text` are the reply */
    int status;
    const char *text;
    char session[SESSION_BYTES]; /* "": none; which it belongs to, and what the reply to an initialize names */
};

typedef void (*choose_fn)(void *context, const struct request *request, struct choice *choice);

struct desk {
    struct loop *loop;
    struct loop_timer stirs;
    struct list talks, children;
    choose_fn choose;
    void *context;
    bool run_has_ended; /* of PIPE_ONCE, since it was looked */
};

/* Of a child, by an asker. Invariants: talk == NULL: whoever asked has gone. */
struct ask {
    struct list of_child; /* in the order in which they were asked */
    struct talk *talk;
    uint64_t id;          /* as the child knows it */
    struct buf original;  /* as the asker does */
    struct buf token;     /* its progress token; empty: none */
    char session[SESSION_BYTES];
    bool is_modern, is_initialize;
    bool is_first;        /* others wait for the answer, too: it is not forgotten, and nobody takes it back */
    bool is_listen;       /* subscriptions/listen: what it is told names it */
};

enum talk_state { TALK_HEAD = 0, TALK_BODY, TALK_ASKS, TALK_LISTENS };

/* A connection. Invariants: ASKS: `waiting` asks are open; LISTENS: a GET's stream; child != NULL in both. */
struct talk {
    struct list of_desk;
    struct desk *desk;
    void *tag;
    struct tube tube;
    struct http_reader reader;
    enum talk_state state;
    struct buf body;
    struct pipe_child *child;
    unsigned waiting;
    char session[SESSION_BYTES];
    bool is_stream;       /* the head of an event stream was written */
    bool is_batch;
    bool names_session;   /* the reply does */
    bool is_last;         /* of the connection */
    bool is_over;         /* nothing more is read; closed when all is written */
};

enum child_state { CHILD_RUNS = 0, CHILD_ENDS, CHILD_DEAD };

struct pipe_child {
    struct list of_desk;
    struct pipe_child_conf conf;
    struct desk *desk;
    struct desk *own_desk;      /* NULL: another's */
    pid_t pid;                  /* -1: none */
    enum child_state state;
    struct tube in, out, err;   /* its stdin, stdout and stderr */
    struct loop_watch exits;    /* a descriptor of the process */
    struct loop_timer patience; /* until the next step of its end */
    unsigned step;
    bool has_exited;
    bool is_late;               /* what it left behind held its stdout for long enough */
    bool was_told;              /* that it is initialized */
    bool stopped_reading;       /* its stdin is closed, or will be */
    int status;
    size_t scanned;             /* of out.in: bytes without a line end */
    bool skims;                 /* a line that is too long */
    struct skim skim;           /* of that */
    uint64_t next_id;
    int64_t used_us;            /* when something was asked or answered last */
    struct list asks;
    struct buf kept;            /* lines that wait for a GET */
    struct buf first;           /* the answer to initialize, where it is shared */
    bool first_is_asked;
    struct buf line;            /* canonical bytes of one message */
    struct buf edited;
    int64_t told_second;
    unsigned told_lines;
    /* PIPE_ONCE: the one that was started runs nothing; each of its runs is one of these */
    struct pipe_child *runs_for; /* NULL: no run */
    unsigned runs;
    struct talk *caller;        /* of a run: whose body it reads; NULL: it has gone */
};

/* ---- desk.c ---- */
void desk__init(struct desk *desk, struct loop *loop, choose_fn choose, void *context);
void desk__fini(struct desk *desk); /* closes all connections; children are their makers' */
void desk__stir(struct desk *desk);
void desk__name_session(char out[SESSION_BYTES]); /* a new one, at random */
enum code desk__serve(struct desk *desk, int fd_take, void *tag) MUST_USE;

/* ---- child.c ---- */
/* On a desk of somebody else's. */
enum code child__start(struct desk *desk, const struct pipe_child_conf *conf, struct pipe_child **out,
                       struct why *why) MUST_USE;
void child__run(struct talk *talk);       /* PIPE_ONCE: a process for this request */
void child__step(struct pipe_child *child);
void child__settle(struct pipe_child *child);
bool child__say(struct pipe_child *child, struct span line); /* with a line end behind it. false: it cannot be told any more */
bool child__may_log(struct pipe_child *child);
#define CHILD_LOG(child, level, ...) \
    do { \
        if (child__may_log(child)) \
            log_line(level, &(struct log_about){.room = "pipe", .upstream = (child)->conf.name}, __VA_ARGS__); \
    } while (0)

/* ---- talk.c ---- */
void talk__step(struct talk *talk);
void talk__settle(struct talk *talk);
void talk__free(struct talk *talk);
void talk__event(struct talk *talk, struct span json);           /* opens the stream where it is not yet */
void talk__answer(struct talk *talk, int status, struct span json); /* one of those that wait; the last one ends the reply */
void talk__fail(struct talk *talk, int status, const char *text); /* all of them */
void talk__accept(struct talk *talk);                             /* nothing is open any more: 202, or the stream's end */
void talk__listen(struct talk *talk);

/* ---- carry.c ---- */
void carry__post(struct talk *talk);                  /* its body is whole */
void carry__get(struct talk *talk);
void carry__line(struct pipe_child *child, struct span text);
void carry__too_long(struct pipe_child *child, const struct skim *skim); /* a message of such a line */
void carry__gone(struct talk *talk);                  /* nobody is there for the answers any more */
void carry__died(struct pipe_child *child, const char *text); /* nobody answers any more */

#endif
