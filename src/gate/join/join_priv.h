/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a joined endpoint share: the join, which is one request of an agent, and its branches to servers.
 *
 *   join.c     the agent's side: a request in, an answer or a stream out
 *   branch.c   a server's side: a session where one is needed, then the request; again where the session had run out
 *   ask.c      what a request asks of which servers
 *   gather.c   one answer of several
 *   lasting.c  what stays open: the stream of a session (GET), subscriptions/listen
 *
 * Threads: its worker's.
 * Owns: a join its branches and their connections; sessions are shared by all workers (join/sessions.h).
 * Lifetime: freed by worker_reap alone.
 * Errors: answered to the agent. */
#ifndef JOIN_JOIN_PRIV_H
#define JOIN_JOIN_PRIV_H

#include "http/reader.h"
#include "join/join.h"
#include "join/merge.h"
#include "join/sessions.h"
#include "sse/parser.h"

#define LIST_US INT64_C(2000000)     /* for an answer to what all servers are asked */
#define GREETING_US INT64_C(5000000) /* for initialize, since a command may have to start first */
#define SESSION_US INT64_C(30000000) /* for initialize that a stream needs, since nobody waits for that */
#define TREES_BYTES ((size_t)128 << 20)
#define UNAVAILABLE 5030 /* as base/reason_tbl.h has it */

struct join;

/* What a branch's server is asked now. INIT: to begin a session, which CALL needs; INITED: it is told that the session has
 * begun. */
enum branch_step { BRANCH_IDLE = 0, BRANCH_INIT, BRANCH_INITED, BRANCH_CALL, BRANCH_OVER };

/* Invariants: step is not IDLE or OVER: a request is under way on `leg`. */
struct branch {
    struct join *join;
    size_t server;
    enum branch_step step;
    struct leg leg;
    struct http_reader reader;
    struct sse_parser events;
    struct buf body;      /* of a reply that is no stream */
    struct buf request;   /* what CALL says; empty where it has no body */
    struct buf answer;    /* canonical, with the agent's names; of initialize as the server said it */
    char inner[JOIN_INNER_BYTES]; /* the server's session; "": none */
    char version[JOIN_REVISION_BYTES]; /* the revision that the server has answered to initialize */
    unsigned offers;
    size_t sse_left;      /* bytes at the head of leg.in that belong to the event stream and were not parsed yet */
    int status;           /* of the last reply; 0: none came */
    int64_t due_us;       /* from then on the server is late; 0: never */
    int64_t asked_us;     /* when this branch was started last */
    unsigned failures;    /* how often in a row a request that stays open has ended soon */
    int64_t again_us;     /* OVER, for a request that stays open: when it is sent anew; 0: never */
    bool is_stream;       /* the reply is one */
    bool was_asked;       /* the server, since the branch was started; false: it is away and was left alone */
    bool was_renewed;     /* the server's session had run out, and the call was sent again */
    bool is_acknowledged; /* subscriptions/listen */
    bool is_quiet;        /* the server has no stream of its own, and is not asked for one again */
};

enum join_task {
    JOIN_NOTHING = 0,
    JOIN_ONE,      /* a request to one server */
    JOIN_TELL,     /* a notification or an answer: to one or all */
    JOIN_GREET,    /* initialize, server/discover */
    JOIN_LIST,     /* a list of all servers, or what each only has to accept (ping, logging/setLevel) */
    JOIN_END,      /* DELETE */
    JOIN_STREAM,   /* GET */
    JOIN_LISTEN    /* subscriptions/listen */
};

struct join {
    struct connection connection; /* first */
    struct lane *lane;
    struct lent *lent;
    const struct proxy_route *route;
    struct join_names names;
    struct leg front;
    struct http_reader asks;
    struct buf body;              /* as it came */
    struct arena arena;           /* of the request */
    struct arena trees;           /* of one message of a server, or of all answers at the end */
    struct buf canonical, text, out;
    const struct json_node *root;
    struct span method, id;
    struct span session;          /* as the agent has it, without the gate's seal; at == NULL: none */
    char revision[JOIN_REVISION_BYTES]; /* of the session; "": none */
    struct buf params;            /* of `initialize`, for sessions that are begun anew */
    uint64_t changes;             /* of the session, as far as the agent was told */
    const struct http_head *hints; /* of the reply that is handed on: what a token lacks, when to come again; or NULL */
    enum join_task task;
    struct branch branches[JOIN_SERVERS_MAX];
    struct loop_timer timer;
    int64_t held_until_us;        /* LISTEN: until when the acknowledgement waits */
    uint64_t held_bytes, charged_bytes;
    struct budget_account account; /* the caller's, the same as that of his connection */
    bool is_modern;
    bool takes_events;            /* Accept has event streams */
    bool is_asked;                /* the whole request was read */
    bool is_stream;               /* the head of a stream was written */
    bool is_answered;
    bool is_second;               /* GREET: the servers are asked again, for the revision that all speak */
    bool is_told;                 /* LISTEN: the acknowledgement went down */
};

static inline int64_t join__now_us(const struct join *join)
{
    return loop_now_us(join->lane->worker.loop);
}

static inline struct span join__server(const struct branch *branch)
{
    return branch->join->names.servers[branch->server];
}

/* ---- join.c ---- */
void join__reply(struct join *join, int status, struct span json, struct span session); /* ends it; json empty: no body */
void join__result(struct join *join, struct span result, struct span session); /* likewise, of the request */
void join__fail(struct join *join, int status, int code, const char *text);    /* likewise, with an error */
void join__event(struct join *join, struct span json);
void join__open_stream(struct join *join);
void join__stay(struct join *join); /* sends a comment where a stream is open, so that the agent sees that somebody is there */
void join__end_stream(struct join *join);
enum code join__streams(struct stream **own, struct stream **theirs) MUST_USE; /* of which each is the other's end */
/* Reads a message into a tree, which lies in `text` and `trees` until the next one is read. NULL: it cannot be read, or
 * there is no memory. */
const struct json_node *join__read(struct join *join, struct span json);
bool join__is_clogged(const struct join *join); /* the agent has not taken much that waits for it, so that servers wait, too */

/* ---- branch.c ---- */
void branch__init(struct branch *branch, struct join *join, size_t server);
void branch__fini(struct branch *branch);
void branch__start(struct branch *branch);      /* CALL, behind a session where it needs one that is not there */
void branch__greet(struct branch *branch);      /* INIT alone */
void branch__step(struct branch *branch);
/* Whether the reply says, as many servers do in place of 404, that there is no such session: 400, without a word or with that
 * one. */
bool branch__has_lost(const struct branch *branch);
void branch__keep(struct branch *branch, struct span answer);

/* ---- ask.c ---- */
void ask__begin(struct join *join);
enum join_task ask__task(struct span method); /* of a request; NOTHING: it is for one server, or the method is unknown */
/* Whether a list is asked for a page that no server of the endpoint has. Takes: method, root: of a request. */
bool ask__is_page_of_nobody(const struct join_names *names, struct span method, const struct json_node *root);
void ask__message(struct branch *branch, const struct json_node *root); /* a message of a server */
/* A branch's request is over. Takes: branch->status, and branch->body where the status is an error's. */
void ask__over(struct branch *branch);
/* Answers with the error of the server, or of the gate on the server's route. Takes: branch: whose request is over. */
void ask__hand_on(struct branch *branch);
void ask__look(struct join *join); /* at the end of a turn: answers the agent once each server has answered or is late */

/* ---- gather.c ---- */
void gather__greeting(struct join *join);
void gather__list(struct join *join);
/* Answers as the first server that refuses the era, tells an error, or refuses by its status; else says that none is there. */
void gather__first_failure(struct join *join);

/* ---- lasting.c ---- */
void lasting__over(struct branch *branch);
void lasting__look(struct join *join);
bool lasting__takes_ack(struct branch *branch, const struct json_node *root); /* whether the message was an acknowledgement */

#endif
