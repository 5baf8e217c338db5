/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the converter share: the desk (whose requests are answered on one loop), its connections, its children, and
 * what was asked of them.
 *
 *   child.c   a process: its start, its lines, its end
 *   talk.c    a connection: HTTP requests in, replies and event streams out
 *   carry.c   which line goes where
 *   value.c   a process that says a secret
 *   desk.c    one turn of all of it
 *
 * Threads: the desk's loop's.
 * Owns: a desk owns its talks, a child its asks; whoever made a child owns it.
 * Lifetime: talks and asks are freed in desk__settle alone, which no handler calls.
 * Errors: answered to the asker; logged. */
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
#define STDIN_WAITING_BYTES ((size_t)1 << 20)  /* so many bytes a child may have left unread; then further messages are
                                                * refused */
#define CLOGGED_BYTES ((size_t)256 << 10)      /* so many bytes a connection may not have taken; meanwhile its child is not
                                                * read */
#define KEPT_BYTES ((size_t)1 << 20)           /* so many bytes of messages may wait for a GET */

struct talk;

/* What decides which child answers a request. */
struct request {
    void *tag;                   /* of its connection */
    const struct http_head *head;
    bool is_modern;
    bool is_initialize;
};

/* Which child answers a request. */
struct choice {
    struct pipe_child *child;    /* NULL: nobody, and `status` and `text` are the reply */
    int status;
    const char *text;
    char session[SESSION_BYTES]; /* its session, which the reply to an `initialize` names; "": none */
};

typedef void (*choose_fn)(void *context, const struct request *request, struct choice *choice);

struct desk {
    struct loop *loop;
    struct loop_timer stirs;
    struct list talks, children;
    choose_fn choose;
    void *context;
    bool run_has_ended; /* PIPE_ONCE: a run has ended since the last look */
};

/* A request to a child. Invariants: talk == NULL: its asker has gone. */
struct ask {
    struct list of_child; /* in the order in which they were asked */
    struct talk *talk;
    uint64_t id;          /* as the child knows it */
    struct buf original;  /* as the asker does */
    struct buf token;     /* its progress token; empty: none */
    char session[SESSION_BYTES];
    bool is_modern, is_initialize;
    bool is_first;        /* others wait for the answer too, so it is not forgotten, and nobody can cancel it */
    bool is_listen;       /* subscriptions/listen: messages for it name it */
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
    bool names_session;   /* the reply names the session */
    bool is_last;         /* of the connection */
    bool is_over;         /* nothing more is read; closed when all is written */
};

/* RUNS: also one whose process waits for what programs say of its environment. */
enum child_state { CHILD_RUNS = 0, CHILD_ENDS, CHILD_DEAD };

#define CHILD_NOT_STARTED (-1) /* a status that no process has */

/* What a program says. Takes: fault: NULL: it is a value. */
typedef void (*value_fn)(void *context, struct span value, const char *fault);

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
    bool is_late;               /* a process that it left has held its stdout long enough */
    bool was_told;              /* the child was told that it is initialized */
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
    struct pipe_child *runs_for; /* PIPE_ONCE: the child whose run this is, which itself runs nothing; NULL: no run */
    unsigned runs;
    struct talk *caller;        /* a run: the talk whose body it reads; NULL: the talk has gone */
    value_fn valued;            /* PIPE_VALUE: who asks; NULL: nobody any more */
    void *valued_context;
    bool is_out_of_time;
    char **variables;           /* secrets, each "NAME=value", until its process has them; NULL: none */
    size_t known;               /* how many there are */
    struct pipe_child *asks_value; /* the program that is asked for the next one */
};

/* ---- desk.c ---- */
void desk__init(struct desk *desk, struct loop *loop, choose_fn choose, void *context);
void desk__fini(struct desk *desk); /* closes all connections; who made the children ends them */
void desk__stir(struct desk *desk);
void desk__name_session(char out[SESSION_BYTES]); /* a new one, at random */
enum code desk__serve(struct desk *desk, int fd_take, void *tag) MUST_USE;

/* ---- child.c ---- */
struct pipe_child *child__make(struct desk *desk, const struct pipe_child_conf *conf); /* without a process; NULL: no memory */
void child__begin(struct pipe_child *child);  /* starts its process, once all is known that it is to have */
void child__cannot(struct pipe_child *child); /* it ends without one */
/* On a desk of somebody else's. */
enum code child__start(struct desk *desk, const struct pipe_child_conf *conf, struct pipe_child **out,
                       struct why *why) MUST_USE;
void child__run(struct talk *talk);       /* PIPE_ONCE: a process for this request */
void child__step(struct pipe_child *child);
void child__settle(struct pipe_child *child);
/* writes a line with a line end; false: the child cannot be told any more */
bool child__say(struct pipe_child *child, struct span line);
bool child__may_log(struct pipe_child *child);
#define CHILD_LOG(child, level, ...) \
    do { \
        if (child__may_log(child)) \
            log_line(level, &(struct log_about){.room = "pipe", .upstream = (child)->conf.name}, __VA_ARGS__); \
    } while (0)

/* ---- value.c ---- */
/* Starts a program of PIPE_VALUE, and answers the gate with what it says. */
void value__serve(struct desk *desk, const struct runner_command *program, struct runner_commands *words, int fd_take);
void value__answer(struct pipe_child *run);     /* it has ended */
void value__next(struct pipe_child *child);   /* asks for the next variable of its environment */
const char **value__environment(const struct pipe_child *child); /* the caller's array; NULL: no memory */
void value__forget(struct pipe_child *child); /* its variables, and the program that is asked for one */

/* ---- talk.c ---- */
void talk__step(struct talk *talk);
void talk__settle(struct talk *talk);
void talk__free(struct talk *talk);
void talk__event(struct talk *talk, struct span json);           /* opens the stream where it is not yet */
/* answers one of the asks that wait; the last one ends the reply */
void talk__answer(struct talk *talk, int status, struct span json);
void talk__fail(struct talk *talk, int status, const char *text); /* answers all of them */
/* nothing is open any more: answers 202, or ends the stream */
void talk__accept(struct talk *talk);
void talk__listen(struct talk *talk);

/* ---- carry.c ---- */
void carry__post(struct talk *talk);                  /* its body is whole */
void carry__get(struct talk *talk);
void carry__line(struct pipe_child *child, struct span text);
void carry__too_long(struct pipe_child *child, const struct skim *skim); /* takes a message that is too long */
void carry__gone(struct talk *talk);                  /* nobody waits for the answers any more */
void carry__died(struct pipe_child *child); /* the child answers no more */

#endif
