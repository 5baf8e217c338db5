/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of proxy/ share: the lane (one worker's share of the proxy), the pair, its exchange, and their verbs.
 *
 * Threads: a lane and everything on it belong to one worker; struct proxy's `next_*` fields are behind its lock.
 * Owns: a lane its worker, listeners and references; a pair its legs, readers and buffers.
 * Lifetime: pairs are freed by worker_reap alone.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason; nothing is reported upwards. */
#ifndef PROXY_PROXY_PRIV_H
#define PROXY_PROXY_PRIV_H

#include "crypto/digest.h"
#include "http/media.h"
#include "http/reader.h"
#include "http/writer.h"
#include "gate/question_table.h"
#include "link/leg.h"
#include "link/listener.h"
#include "mcp/batch.h"
#include "mcp/session.h"
#include "os/inbox.h"
#include "os/thread.h"
#include "proxy/proxy.h"
#include "proxy/question_tbl.h"
#include "proxy/spare_priv.h"
#include "proxy/state_tbl.h"
#include "sse/parser.h"
#include "sse/writer.h"

#include <pthread.h>

enum state {
#define STATE_NUMBER(name, text, moves, about) STATE_##name,
#define STATE_NO_MOVE(name) 0
    STATE_TABLE(STATE_NUMBER, STATE_NO_MOVE)
#undef STATE_NUMBER
#undef STATE_NO_MOVE
    STATE_COUNT
};

const char *state__text(enum state state);
bool state__may_follow(enum state from, enum state to);

enum question_state {
#define QUESTION_NUMBER(name, text, moves, about) QUESTION_##name,
#define QUESTION_NO_MOVE(name) 0
    QUESTION_TABLE(QUESTION_NUMBER, QUESTION_NO_MOVE)
#undef QUESTION_NUMBER
#undef QUESTION_NO_MOVE
    QUESTION_COUNT
};

const char *question__text(enum question_state state);
bool question__may_follow(enum question_state from, enum question_state to);

#define STREAM_HIGH_WATER 65536     /* bytes for a slow reader before its upstream is read no further */
#define LEG_IN_BYTES 65536
#define LEG_OUT_SLACK 65536         /* over a whole reply or body: heads, chunk lines */
#define PASS_BODY_MAX 65536         /* that is posted to a declared path */
#define ERROR_BODY_MAX 65536        /* of an upstream's 4xx and 5xx */
#define CALL_ARENA_BYTES (64u << 20)
#define REST_US INT64_C(1000000)    /* idle so long: buffers go back */
#define QUIET_US INT64_C(15000000)  /* a quiet event stream gets a comment */
#define LINGER_US INT64_C(2000000)
#define ERRANDS_MAX 64 /* of a worker: a server that asks without end cannot open connections without end */
#define AUDIT_WAIT_US INT64_C(60000000) /* then the call is refused; the writer goes DOWN long before */

/* What few calls come by: its code, and what leads to it, stands apart from that of all the others. */
#define COLD __attribute__((cold))

struct lane;
struct pair;
struct batch; /* batch.c */
struct mailbox; /* mailbox.c */
struct mailboxes;

/* How a stream to an upstream is made; tests put memory streams here. */
typedef enum code (*dial_fn)(void *context, const struct proxy_upstream *upstream, const struct sock_address *address,
                             struct stream **stream);

/* What counters a lane shows; written by its worker, read by anybody. */
struct lane_gauges {
    atomic_uint_fast64_t accepted, requests, upstream_connections, events_dropped;
    atomic_uint_fast64_t pairs, in_flight, streams;
};

/* One thread alone adds, so no lock is needed for it. */
static inline void gauge_add(atomic_uint_fast64_t *gauge, int by)
{
    atomic_store_explicit(gauge, atomic_load_explicit(gauge, memory_order_relaxed) + (uint64_t)by, memory_order_relaxed);
}

struct lane_listener {
    struct listener listener;
    struct lane *lane;
    size_t index; /* into conf->listens */
};

struct lane {
    struct worker worker;
    struct rates *rates;  /* of all workers */
    struct mailboxes *mailboxes; /* likewise */
    atomic_bool has_mail; /* in some mailbox of this lane's streams */
    struct proxy *proxy;  /* NULL in simulations */
    struct gate *gate;
    struct proxy_conf *conf;
    struct resolve_table *names;
    struct inbox inbox;
    bool has_inbox;
    struct lane_listener *listeners;
    size_t listener_count;
    struct list waiting;  /* pairs whose record is not settled, in the order of their tickets */
    struct list stuck;    /* pairs that found the ring full */
    struct list spares;   /* spare.c */
    unsigned spare_count;
    struct loop_timer beat; /* twice a second: revoked keys and certificates */
    struct identity_keys *seen_keys;
    bool asks_certificates; /* some listener did at the last beat */
    int64_t told_lists_us;  /* the end of a revocation list that was told last */
    dial_fn dial;
    void *dial_context;   /* the lane, where it dials by itself */
    enum code (*dial_command)(void *context, struct span command, int *fd);
    void *command_context;
    proxy_call_fn ended;
    void *ended_context;
    bool is_draining;
    bool is_stopping;
    uint64_t published;   /* generation of proxy->next_* that was taken */
    unsigned errands;     /* under way */
    uint64_t held_bytes;  /* by its pairs */
    uint64_t told_bytes;  /* of these, in the budget */
    int64_t log_second;
    unsigned log_lines;   /* in that second */
    int64_t crowd_told_us; /* when it last said that one address has too many connections; 0: never */
    unsigned char random[512];
    size_t random_left;
    struct lane_gauges gauges;
    struct thread thread;
};

/* A message of the server while it is judged: a request, a notification, the answer to a request of a stream that the agent
 * resumed, or an answer that holds requests, each of which is judged in its place. Invariants: it stands in the table of open
 * questions where it is a request, permitted, and not OVER. */
struct server_question {
    enum question_state state;
    const struct json_node *ask; /* which of reply.asks is judged; NULL: the message itself */
    struct gate_message message;
    struct gate_decision decision;
    struct sse_event event; /* id and retry; its id is a copy in event_arena */
    struct mcp_reply reply;
};

/* One call: from its head to its outcome. Invariants: owes_outcome: a permit that expects an outcome was recorded and has
 * none yet; route != NULL from the head on, but for refusals before it; nothing went up unless is_durable. */
struct exchange {
    bool is_begun;
    bool is_judged;
    bool is_durable;
    bool is_permitted;
    bool owes_outcome;
    bool wants_sse;          /* a denial as event */
    bool answers_sse;        /* an event stream goes down */
    bool head_written;       /* the agent's reply head is in front.out or gone */
    bool slot_taken;
    bool origin_allowed;
    bool has_session;
    bool is_resuming;        /* GET with Last-Event-ID */
    bool correlation_made;   /* here: the agent has named none yet */
    bool is_answered;        /* the response to the request went down */
    bool saw_event_id;
    bool saw_data;           /* an event with data came */
    bool holds_head;         /* the head of a stream waits, at most a second, for what its first event says of the server */
    bool call_is_open;       /* HTTP+SSE: it waits in the table for its answer, which comes on the session's stream */
    bool upstream_done;      /* the reply was read to its end */
    bool drops_body;         /* the reply's body is read and counted only */
    bool wants_empty;        /* a reply without a type: it may have no body */
    bool is_metadata;        /* the reply names its resource by the gate's URL */
    bool is_text;            /* the reply's body is text, not JSON */
    bool was_stripped;       /* of characters that deceive, in some message */
    bool was_mended;         /* some message, as the route's `lenient` allows */
    bool has_error_code;
    uint32_t slot;
    uint64_t who;            /* whose identity was shown: budget_principal */
    int64_t wait_us;         /* until its rate has room; REQUEST_RATE */
    size_t sse_left;         /* bytes at the head of back.in that belong to the event stream and were not parsed yet */
    enum http_method method;
    enum reason refusal;     /* why it is answered by us; UNSET: it is not */
    int reply_status;        /* the upstream's */
    int status;              /* the agent's */
    enum audit_outcome outcome;
    enum reason ended;
    const struct proxy_route *route;
    const struct dialect *dialect; /* in which it is answered: the route's; before there is one, by the path */
    const struct proxy_pass *pass;
    struct span slug;
    struct json_fault fault; /* why the last message of the upstream was refused; text NULL: it was not */
    struct span upstream_path; /* where it goes, the slug filled in; of a subtree its root */
    struct span label;       /* asked.upstream, or of slugs that nobody listed by name the route: what metrics tell apart */
    uint64_t seq;
    int64_t recorded_us, durable_us, sent_us, first_reply_us; /* monotonic; 0: not yet */
    int64_t list_us, list_at_us, list_seen_us; /* CPU that went into its lists; when that was; CPU's clock within one, or 0 */
    bool is_list_costly;
    uint64_t response_bytes;
    uint64_t answer_bytes;   /* of the result, as it would be recorded whole */
    bool keeps_answer;       /* its beginning is in `answer` */
    int64_t error_code;
    uint32_t server_requests, server_notifications, server_denied;
    struct identity identity;
    struct mcp_session session;
    struct span session_id;  /* as the agent sent it */
    struct span version;     /* MCP-Protocol-Version as sent */
    struct batch *batch;     /* several calls in one body, which stand in its members; NULL: there is one, and it stands here */
    struct mailbox *mailbox; /* HTTP+SSE, the stream: what others have to say on it; NULL: it is none, or has no endpoint yet */
    struct span endpoint;    /* HTTP+SSE, a POST: where it goes up, path and query; at == NULL: it is none */
    struct gate_passing passing; /* the notification that was asked about last */
    struct server_question *question; /* what the stream upstream waits for; NULL: nothing */
    struct mcp_message message;
    struct gate_message asked;
    /* memory, from here on: given back with the outcome, so that the next call on this worker has it while it is warm */
    struct arena arena;
    struct arena event_arena;
    struct buf body;         /* as it came, where it came in pieces */
    struct buf canonical;    /* what is judged, recorded and sent */
    struct buf reply;        /* an upstream's whole body */
    struct buf answer;       /* the result's beginning, for the audit */
    struct buf event;        /* canonical bytes of one reply or event */
    struct buf text;         /* one event as it goes down; before the head is written: all of them */
    struct buf tail;         /* a large body that goes down when front.out is empty: it is never copied */
    /* what has a beginning of its own; at its end long lists that few calls use */
    struct digest digest;    /* of response_bytes */
    struct gate_decision decision;
};

/* What nearly every turn looks at comes first, in as few lines of the cache as may be: with hundreds of calls in flight each
 * turn finds its pair in none of the nearer caches (link/worker.h, WORKER_AHEAD_BYTES). Invariants: pair__check. */
struct pair {
    struct connection connection; /* first */
    struct list waits;        /* in lane->waiting or lane->stuck */
    uint64_t awaited;         /* the ticket that it waits for there */
    struct lane *lane;
    enum state state;
    enum reason ending;       /* UNSET: alive; the first one stays */
    bool is_tls;
    bool is_pipe;             /* of this machine; what it handed over is the way back, and there is no other */
    bool is_introduced;       /* a pipe: its first bytes are here */
    bool timed_out;
    bool has_asked;           /* a head's first byte came */
    bool close_after;         /* this answer is the connection's last */
    bool lingers;
    bool is_rested;
    struct proxy_conf *conf;
    struct resolve_table *names; /* that came with it: a later table may know its upstreams no more */
    int64_t deadline_us;      /* of the state; 0: none */
    uint64_t front_written, back_read; /* seen last, to notice movement */
    int64_t front_moved_us, back_moved_us, quiet_since_us;
    int64_t untaken_since_us; /* bytes wait in front.out since; 0: none do */
    int64_t untaken_us;       /* of this call, before that */
    uint64_t taken_from;      /* front.written_bytes when the call began */
    uint64_t held_bytes;
    uint64_t charged_bytes;   /* of these, in its account */
    uint64_t account_who;     /* whose it is; 0: nobody's yet */
    uint32_t account;
    struct loop_timer timer;
    struct upstream_line line; /* where `back` leads */
    size_t back_address;      /* which of the upstream's addresses is tried */
    size_t listen;
    struct leg front;
    struct leg back;
    struct exchange exchange;
    struct http_reader answers;
    struct http_reader asks;
    struct sse_parser events;
    struct sock_address peer;
    struct sock_address client_address; /* the peer's, or what a trusted proxy says of it */
    char client[SOCK_TEXT_BYTES];
};

/* ---- pair.c ---- */
struct pair *pair__new(struct lane *lane, size_t listen, const struct sock_address *peer) MUST_USE;
/* From now on the connection is this one's, with all that it holds. Returns: false: it has as many as it may have. */
bool pair__belong(struct pair *pair, uint64_t who, uint32_t connections_max);
/* Whether it may have a message of so many bytes, or more of one that has so many. Returns: UNSET: yes; else why not. */
enum reason pair__refuses(const struct pair *pair, size_t bytes);
bool pair__is_untaken(const struct pair *pair, int64_t *until_us); /* the agent reads too slowly; else when it will be */
void pair__take_conf(struct pair *pair);                 /* the lane's, with its names; what it had was given back */
COLD void pair__close(struct pair *pair, enum reason reason); /* marks only; callable twice, from anywhere */
void pair__set_state(struct pair *pair, enum state state);
void pair__check(const struct pair *pair);
void pair__stir(struct pair *pair);
void pair__deadline(struct pair *pair, int64_t after_us);
void pair__drop_back(struct pair *pair);
void pair__stop_waiting(struct pair *pair);
void pair__answered(struct pair *pair);                  /* our bytes are all in front.out: what comes after them */
int64_t pair__now_us(const struct pair *pair);
struct pair *pair__of(struct connection *connection);    /* NULL: it is something else */

/* ---- lane.c ---- */
enum code lane__init(struct lane *lane, unsigned index, struct budget *budget) MUST_USE;
void lane__fini(struct lane *lane);
void lane__woken(struct lane *lane);                     /* the audit settled something */
void lane__adopt(struct lane *lane, struct pair *pair);  /* the current configuration, between two messages */
bool lane__certificate_holds(const struct lane *lane, const struct pair *pair); /* the agent's, as of now */
void lane__accept(struct lane *lane, size_t listen, struct stream *stream_take, const struct sock_address *peer);
void lane__random_hex(struct lane *lane, char out[32]);
void lane__hold(struct lane *lane, uint64_t *held_bytes, uint64_t now_bytes); /* as budget_hold, for one of the lane's */
bool lane__may_log(struct lane *lane);                   /* what peers can provoke is told so often a second, and no more */
void lane__drain(struct lane *lane);
enum code lane__dial(void *context, const struct proxy_upstream *upstream, const struct sock_address *address,
                     struct stream **stream) MUST_USE;

/* Whether the pair's record (ticket) has a fate; waits in the lane's list while it has none. */
enum audit_fate lane__fate(struct pair *pair, uint64_t ticket, uint64_t *seq);
void lane__wait_for_room(struct pair *pair);

/* ---- pipe.c: connections of this machine's pipes ---- */
void pipe__introduced(struct pair *pair);                /* its first bytes are here: who it is, and its way back */
enum reason pipe__find(struct pair *pair);               /* the route that it named */

/* ---- front.c, route.c: HEAD ---- */
bool front__head(struct pair *pair);
bool front__body(struct pair *pair);
struct span head__value(const struct http_head *head, struct span name); /* at == NULL: absent */
bool route__origin_is_allowed(const struct pair *pair, const struct proxy_route *route, struct span origin);
enum reason route__find(struct pair *pair);
const struct dialect *route__dialect(const struct pair *pair); /* of whoever takes that path, on whatever host */
/* What a request's path comes to: a route, or one of its declared paths. */
struct place {
    const struct proxy_route *route;
    const struct proxy_pass *pass;
    struct span slug;
    struct span rest; /* below a subtree or wildcard, from its '/' on */
};
enum reason route__lead(struct pair *pair, const struct place *place); /* the call goes there: its names and paths */
bool route__is_trusted(const struct proxy_conf *conf, const struct sock_address *address);
void route__client(struct pair *pair, const struct http_head *head);    /* head NULL: it could not be read */
struct span route__correlation_name(const struct exchange *exchange);
uint32_t route__connections_max(const struct pair *pair, const struct sock_address *address); /* of who shows no identity */
void route__correlate(struct pair *pair, const struct http_head *head); /* head NULL: it could not be read */
void route__correlate_body(struct exchange *exchange); /* by the message's _meta.traceparent, where no header said it */

/* ---- exchange.c: one call ---- */
void exchange__init(struct exchange *exchange);
void exchange__fini(struct exchange *exchange);
void exchange__rest(struct exchange *exchange);
bool exchange__begin(struct pair *pair);
COLD void exchange__refuse(struct pair *pair, enum reason reason); /* to JUDGE, to be recorded and answered */
void exchange__ask(struct exchange *exchange);           /* the message becomes what is judged */
void exchange__read_message(struct pair *pair, struct span body);
enum reason exchange__read(struct pair *pair, struct span body); /* UNSET: it may be judged */
void exchange__pass_body(struct pair *pair, struct span body); /* as read_message, to a declared path */
bool exchange__judge(struct pair *pair);
bool exchange__audit(struct pair *pair);
void exchange__settle(struct pair *pair, enum audit_outcome outcome, enum reason reason); /* the first one stays */
void exchange__delivered(struct pair *pair, struct span bytes); /* body bytes that go down */
void exchange__finish(struct pair *pair);                /* the outcome, if it is owed; callable twice */
void exchange__end_call(struct pair *pair);              /* of one call: its outcome, and what it took and did not use */
/* What a session id of this call is bound to. */
struct mcp_session_scope exchange__session_scope(const struct exchange *exchange);
struct mcp_binding exchange__binding(const struct pair *pair);

struct identity_request exchange__identity_request(const struct pair *pair, const struct exchange *exchange);

/* ---- upstream.c: CONNECT, SEND ---- */
COLD void upstream__tell(struct pair *pair, enum reason reason, const char *detail); /* a line in the log */
size_t upstream__addresses(const struct pair *pair, const struct sock_address **addresses);
bool upstream__begin(struct pair *pair);                 /* starts connecting where there is no connection */
bool upstream__connect(struct pair *pair);
bool upstream__send(struct pair *pair);
/* Takes: body_len SIZE_MAX: without a body; is_ours: for a message of the gate's own in the same session. */
enum code upstream__write_head(const struct pair *pair, enum http_method method, size_t body_len, bool is_ours,
                               struct buf *out) MUST_USE;

/* ---- reply.c, reply_whole.c, reply_stream.c: REPLY ---- */
bool reply__step(struct pair *pair);
COLD void reply__fail(struct pair *pair, enum audit_outcome outcome, enum reason reason); /* before or within what went down */
COLD void reply__fail_for(struct pair *pair, enum audit_outcome outcome, enum reason reason, const char *detail);
enum code reply__write_head(struct pair *pair, int status, bool passes, struct span session_id, struct buf *out) MUST_USE;
enum code reply__session_id(struct pair *pair, const struct mcp_reply *reply, struct buf *out) MUST_USE;
bool reply__session_is_fit(struct pair *pair, const struct mcp_reply *reply); /* false: it names one that has no form */
bool reply__whole(struct pair *pair);
/* Writes the whole reply. Takes: whole: the buffer that holds `body` and nothing else; NULL: it lies elsewhere. */
void reply__deliver(struct pair *pair, int status, bool passes, struct span media, struct span body, struct buf *whole,
                    const struct mcp_reply *reply);
bool pass__begin(struct pair *pair);                     /* a declared path's head goes down; reply__whole does the rest */
void reply__end_upstream(struct pair *pair);             /* keeps the connection where it may be kept */
/* A JSON-RPC message of the upstream; its canonical bytes are in exchange->event. VERSION_NEGOTIATED: it is an answer that may
 * be delivered as it was changed. */
enum reason reply__read(struct pair *pair, struct span raw, uint64_t max_bytes, struct mcp_reply *reply);
void reply__settle(struct pair *pair, const struct mcp_reply *reply, bool is_refused); /* the outcome, by the answer */
bool stream__begin(struct pair *pair);
bool stream__step(struct pair *pair);
void stream__tick(struct pair *pair);
void stream__fail(struct pair *pair, enum audit_outcome outcome, enum reason reason);
/* The answer to the request goes down, once what it asks for was judged. Takes: its body in exchange->event or ->body. */
void reply__answer(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply);
void whole__answer(struct pair *pair, const struct mcp_reply *reply);
bool stream__answer(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply, bool is_refused);
/* Added to exchange->text, which goes down when all that was read is looked at. Returns: whether more may be added. */
bool stream__emit(struct pair *pair, const struct sse_event *event, struct span json);
bool stream__flush(struct pair *pair);                   /* at once */
void stream__end(struct pair *pair);                     /* in good order, whatever the upstream does */
bool stream__release_head(struct pair *pair);            /* where it waits */
bool stream__emit_refusal(struct pair *pair, struct span json); /* to a pipe, for its server */

/* ---- question.c: messages from the server ---- */
/* Takes: event NULL: there is none, since the reply is no stream. */
bool question__take(struct pair *pair, const struct sse_event *event, const struct mcp_reply *reply);
bool question__step(struct pair *pair);
void question__set_state(struct server_question *question, enum question_state state);
void question__forget(struct pair *pair);
void question__put_back(struct pair *pair); /* an answer that did not go up may be given again */
struct question_key question__key(const struct exchange *exchange, struct span id);

/* ---- mailbox.c: what is to be said on a stream of HTTP+SSE by whoever answers one of its POSTs, on any worker ---- */
enum code mailboxes__new(struct mailboxes **mailboxes) MUST_USE;
void mailboxes__free(struct mailboxes **mailboxes);      /* after every stream has ended */
enum code mailbox__open(struct pair *pair, struct span session) MUST_USE; /* from a stream that has that name it is taken */
void mailbox__close(struct pair *pair, struct buf *rest); /* callable twice. Takes: rest: for events; NULL: they are dropped */
/* Returns: CODE_NOT_FOUND: the session has no stream; CODE_LIMIT: nobody reads it. */
enum code mailbox__put(struct lane *lane, struct span session, struct span json) MUST_USE;
enum code mailbox__take(struct pair *pair, struct buf *out) MUST_USE; /* events, appended; CODE_EXISTS: it was the last
                                                                          * time, since a newer stream has that name */
void mailbox__woken(struct lane *lane);                  /* stirs the lane's streams that have mail */

/* ---- legacy.c: HTTP+SSE of MCP 2024-11-05 ---- */
struct span legacy__session_of(const struct proxy_route *route, const struct http_head *head); /* of a POST; empty: none */
enum reason legacy__check_session(struct pair *pair, struct span session);
bool legacy__opens(const struct exchange *exchange);     /* a stream outside of a session, as the old clients open */
bool legacy__take_endpoint(struct pair *pair, const struct sse_event *event);
bool legacy__take_answer(struct pair *pair, const struct sse_event *event); /* or any other message on such a stream */
bool legacy__open_call(struct pair *pair);               /* false: its id is open already, or there is no memory */
void legacy__forget_call(struct pair *pair);             /* no answer is due */
bool legacy__tells(const struct exchange *exchange);     /* what is said of the call comes on its session's stream */
bool legacy__speak(struct pair *pair);                   /* Returns: whether anything was said on the stream */

/* ---- batch.c: several calls in one body (JSON-RPC 2.0, section 6) ---- */
bool batch__may_come(const struct exchange *exchange);   /* the session negotiated the revision that has them */
enum reason batch__read(struct pair *pair);              /* the message was read, and is an array. UNSET: all may be judged */
bool batch__judge(struct pair *pair);
uint64_t batch__last_ticket(const struct exchange *exchange);
bool batch__settled(struct pair *pair);                  /* their fates are known. Returns: whether all are durable */
int batch__status(struct pair *pair, enum reason reason);
enum code batch__deny(struct pair *pair, enum reason reason, struct buf *out, enum mcp_form *form) MUST_USE;
void batch__deliver(struct pair *pair, struct span raw); /* a whole JSON reply */
bool batch__take(struct pair *pair, const struct sse_event *event);
bool batch__has_parts(const struct exchange *exchange);  /* messages of an event that were not looked at yet */
bool batch__next(struct pair *pair);
bool batch__owes_answer(const struct exchange *exchange);
bool batch__answer_rest(struct pair *pair, enum reason reason);
void batch__unsettle(struct exchange *exchange);         /* what was settled has not reached the agent */
void batch__finish(struct pair *pair);                   /* likewise callable before the exchange is finished */
size_t batch__held_bytes(const struct exchange *exchange);

/* ---- deny.c ---- */
bool deny__step(struct pair *pair);
int deny__status(struct pair *pair, enum reason reason);
enum code deny__write(struct pair *pair, enum reason reason, struct buf *out, enum mcp_form *form) MUST_USE; /* one call's */
void deny__answer(struct pair *pair, enum reason reason); /* writes our answer and enters DENY */
void deny__preflight(struct pair *pair);
enum code deny__common_headers(const struct pair *pair, struct buf *out) MUST_USE;

/* ---- discovery.c ---- */
enum code discovery__challenge(const struct proxy_route *route, struct buf *out) MUST_USE;
struct span discovery__say(struct exchange *exchange);
bool discovery__is_asked(const struct pair *pair); /* by a client of OAuth, and of no route that judges calls */
bool discovery__may_redirect(const struct pair *pair);
enum code discovery__refuse(enum reason reason, int status, struct buf *out) MUST_USE;
/* Where the route says by which URL agents know it: an upstream's WWW-Authenticate, and its metadata (PERMITTED: in out). */
enum code discovery__rewrite_challenge(const struct exchange *exchange, struct span value, struct buf *out) MUST_USE;
bool discovery__is_own(const struct proxy_route *route, const struct proxy_pass *pass, struct span path, struct span *slug);
bool discovery__is_metadata(const struct pair *pair);
enum reason discovery__rewrite_metadata(struct exchange *exchange, struct span raw, struct buf *out);

/* ---- errand.c ---- */
/* POSTs `body` to the pair's upstream, with the pair's head and session, and forgets the answer. */
void errand__send(struct pair *pair, struct span body);
struct leg *errand__leg(struct connection *errand); /* for simulations, which play the loop */

#endif
