/* SPDX-License-Identifier: Apache-2.0 */
/* An exchange: one call, from its head to its outcome.
 *
 * Threads: its pair's worker.
 * Owns: the call's memory, its place among its principal's requests, and the outcome that is due.
 * Lifetime: embedded in its pair; begun with each head, finished before the next.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef LANE_EXCHANGE_H
#define LANE_EXCHANGE_H

#include "crypto/digest.h"
#include "enforce/answer.h"
#include "http/head.h"
#include "json/json.h"
#include "mcp/session.h"
#include "lane/conf.h"

struct batch;
struct incoming;
struct wish;
struct mailbox;
struct pair;

#define PASS_BODY_MAX 65536 /* the largest body that may be posted to a declared path */
#define AUDIT_WAIT_US INT64_C(60000000) /* after so long without a record the call is refused; the writer goes DOWN long
                                         * before */

/* How far a call has come. */
enum progress { CALL_NONE = 0, CALL_BEGUN, CALL_JUDGED, CALL_DURABLE };

/* As what the body of the upstream's reply is read. */
enum body_kind {
    BODY_MESSAGE = 0, /* JSON, or any body on a declared path */
    BODY_STREAM,      /* events */
    BODY_TEXT,        /* the text of an error */
    BODY_METADATA,    /* metadata, in which the gate's URL takes the place of the resource's */
    BODY_EMPTY,       /* a body without a type, which may be empty */
    BODY_DROPPED      /* a body that is only read and counted */
};

/* The head that the agent is sent. HELD: the head of a stream waits, at most a second, for what its first event says of the
 * server. WRITTEN: it is in front.out or gone. */
enum reply_head { REPLY_HEAD_DUE = 0, REPLY_HEAD_HELD, REPLY_HEAD_WRITTEN };

/* What rules for answers did to the answers: the strongest effect, its rule, all that was found, and one digest over all
 * messages that were changed or withheld, as they came. */
#define ANSWERED_MAX 16 /* of each list; findings beyond that are not named, and with more rules none is named */
struct answered {
    enum answer_effect effect;
    struct span rule, undecided; /* texts are in the exchange's arena */
    uint32_t found_count, rule_count;
    struct answer_found found[ANSWERED_MAX];
    struct answer_rule rules[ANSWERED_MAX];
    bool is_changed, has_more_rules;
    struct digest before;
};

/* One request, from its head to its outcome. Invariants: it has a call all that time; route != NULL from the head on,
 * but for what was refused before; nothing goes up before the call is DURABLE. */
struct exchange {
    enum progress progress;
    enum body_kind body_kind;
    enum reply_head head;
    struct call *own;        /* the call of its head, in the arena; for a batch, what all its calls share; NULL: between two
                              * requests */
    struct call *call;       /* the call at hand: its own, or one of a batch */
    struct call *calls;      /* all calls of its body: its own, or those of a batch; NULL: they have ended */
    struct call *unrecorded; /* the first of them whose record is not in the ring */
    struct call *unsettled;  /* the first of them whose fate was not seen */
    bool wants_sse;          /* a denial goes down as an event */
    bool slot_taken;
    bool origin_allowed;
    bool is_unlisted;        /* the slug is not the route's: the message is read only for its id, and refused */
    bool correlation_made;   /* the gate made the correlation, since the agent has named none yet */
    bool saw_event_id;
    bool saw_data;           /* an event with data came */
    bool call_is_open;       /* HTTP+SSE: the call is in the table, since its answer comes on the session's stream */
    bool upstream_done;      /* the reply was read to its end */
    int64_t judged_until_us; /* monotonic: so long it may wait to be judged again; 0: it has not waited */
    bool is_long;            /* to judge it takes longer than others on the worker should wait */
    bool was_stripped;       /* some message was stripped of characters that deceive */
    bool is_weighed;         /* rules for answers concern the answer that was read last */
    uint32_t slot;
    uint64_t who;            /* hash of the principal: budget_principal */
    int64_t wait_us;         /* for REQUEST_RATE: how long until its rate has room */
    size_t sse_left;         /* bytes at the head of back.in that belong to the event stream and were not parsed yet */
    enum http_method method;
    enum reason opened;      /* what verb and path say of the message: UNSET, or why there is none */
    size_t body_left;        /* bytes at the head of front.in that are the whole body; 0: it is in `body` */
    int reply_status;        /* the upstream's */
    int status;              /* the agent's */
    const struct proxy_route *route;
    const struct dialect *dialect; /* in which the agent is answered: the route's; before there is a route, by the path */
    const struct proxy_pass *pass;
    struct span slug;
    struct json_fault fault; /* why the last message of the upstream was refused; text == NULL: it was not */
    struct span upstream_path; /* where the call goes, with the slug filled in; in a subtree the root of that */
    struct span label;       /* what metrics tell apart: asked.upstream, or the route for slugs that are not listed by name */
    int64_t recorded_us, durable_us, sent_us, first_reply_us; /* monotonic; 0: not yet */
    int64_t list_us, list_at_us, list_seen_us; /* CPU time that its lists took; when that was last; the CPU clock within a
                                                * list, or 0 */
    bool is_list_costly;
    uint32_t server_requests, server_notifications, server_denied, server_withheld;
    struct identity identity;
    struct span authorization; /* the gate's own Authorization that goes up; at == NULL: none, or not yet */
    struct outgoing_token *outgoing; /* the token that `authorization` points into; NULL: it is the configuration's */
    bool awaits_outgoing;    /* CONNECT waits for the authorization, or for what a program says */
    int64_t said_until_us;   /* wall clock: `said` goes up until then */
    struct mcp_session session;
    struct span session_id;  /* as the agent sent it */
    struct span version;     /* MCP-Protocol-Version as sent */
    struct span lacking;     /* the scope without which the call is denied, where the route names it; at == NULL: none */
    struct wish *wish;       /* what its calls want to use that counts over a fleet; NULL: nothing */
    unsigned wish_rounds;    /* how often the fleet was asked for this body */
    struct batch *batch;     /* several calls in one body; NULL: there is one call */
    struct skim *skim;       /* reads ids out of a message on the stream that is over the limit */
    struct mailbox *mailbox; /* HTTP+SSE, a stream: what others put on it; NULL: it is no such stream, or has no endpoint yet */
    struct span endpoint;    /* HTTP+SSE, a POST: path and query where it goes up; at == NULL: it is no such POST */
    struct gate_passing passing; /* the notification that gate_passes was asked about last */
    struct incoming *incoming; /* a message of the upstream that is judged, and for which it is read no further; NULL: none */
    /* memory, from here on: given back with the outcome, so that the next call on this worker uses it while it is in the
     * caches */
    struct arena arena;
    struct arena event_arena;
    struct buf subject;      /* the agent's token, to be exchanged; wiped */
    struct buf said;         /* the headers that programs say, as they go up; wiped */
    struct buf body;         /* the request's body as it came, where it came in pieces */
    struct buf reply;        /* an upstream's whole body */
    struct buf event;        /* canonical bytes of one reply or event */
    struct buf text;         /* events on their way down; before the head is written, all of them */
};

static inline bool exchange_has_session(const struct exchange *exchange)
{
    return exchange->session.upstream_id.at != NULL;
}

#define ERROR_BODY_MAX 65536 /* bytes: the largest body of an upstream's 4xx or 5xx */

/* HTTP+SSE: whether what is said of the call goes on its session's stream. */
static inline bool exchange_answers_by_stream(const struct exchange *exchange)
{
    const struct call *call = exchange->call;

    return exchange->endpoint.at != NULL && !span_is_empty(call->message.id) &&
           call->message.kind != MCP_RESPONSE && call->message.kind != MCP_NOTIFICATION;
}

void exchange_init(struct exchange *exchange);
void exchange_fini(struct exchange *exchange);
void exchange_rest(struct exchange *exchange);
size_t exchange_held_bytes(const struct exchange *exchange); /* all of its memory */
/* sets the outcome; the first one stays */
void exchange_settle(struct exchange *exchange, enum audit_outcome outcome, enum reason reason);
void exchange_unsettle(struct exchange *exchange);      /* whatever the outcome was, the agent has not got the answer */
void exchange_delivered(struct exchange *exchange, struct span bytes); /* counts body bytes that go down */
struct span exchange_correlation_name(const struct exchange *exchange); /* of the header */
/* What a session id of this call is bound to. */
struct mcp_session_scope exchange_session_scope(const struct exchange *exchange);
struct mcp_binding exchange_binding(const struct exchange *exchange, const struct gate *gate);

#endif
