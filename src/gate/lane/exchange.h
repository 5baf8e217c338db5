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
struct mailbox;
struct pair;

#define PASS_BODY_MAX 65536 /* that is posted to a declared path */
#define AUDIT_WAIT_US INT64_C(60000000) /* then the call is refused; the writer goes DOWN long before */

/* How far a call has come. */
enum progress { CALL_NONE = 0, CALL_BEGUN, CALL_JUDGED, CALL_DURABLE };

/* What the upstream's reply is read as: its body. */
enum body_kind {
    BODY_MESSAGE = 0, /* JSON, or of a declared path whatever it is */
    BODY_STREAM,      /* events */
    BODY_TEXT,        /* of an error */
    BODY_METADATA,    /* it names its resource by the gate's URL */
    BODY_EMPTY,       /* without a type: there may be none */
    BODY_DROPPED      /* it is read and counted only */
};

/* The head that the agent is sent. HELD: the head of a stream waits, at most a second, for what its first event says of the
 * server. WRITTEN: it is in front.out or gone. */
enum reply_head { REPLY_HEAD_DUE = 0, REPLY_HEAD_HELD, REPLY_HEAD_WRITTEN };

/* What rules for answers did to what came back: the strongest effect, its rule, all that was found, and the digest of the
 * messages that were changed or withheld, as they came, one behind another. */
#define ANSWERED_MAX 16 /* of each list; what more was found is not named, and of more rules none is */
struct answered {
    enum answer_effect effect;
    struct span rule, undecided; /* texts are in the exchange's arena */
    uint32_t found_count, rule_count;
    struct answer_found found[ANSWERED_MAX];
    struct answer_rule rules[ANSWERED_MAX];
    bool is_changed, has_more_rules;
    struct digest before;
};

/* One request, from its head to its outcome. Invariants: so long it has a call; route != NULL from the head on, but for
 * refusals before it; nothing went up unless the call is DURABLE. */
struct exchange {
    enum progress progress;
    enum body_kind body_kind;
    enum reply_head head;
    struct call *own;        /* of its head, in the arena: the call, or what holds for all in its body; NULL: between two */
    struct call *call;       /* that is looked at: its own, or one of several */
    struct call *calls;      /* that came in its body: its own, or those of a batch; NULL: they have ended */
    struct call *unrecorded; /* the first whose record is not in the ring, and the first whose fate was not seen */
    struct call *unsettled;
    bool wants_sse;          /* a denial as event */
    bool slot_taken;
    bool origin_allowed;
    bool is_unlisted;        /* the slug is none of the route's: the message is read for its id, and refused */
    bool correlation_made;   /* here: the agent has named none yet */
    bool saw_event_id;
    bool saw_data;           /* an event with data came */
    bool call_is_open;       /* HTTP+SSE: it waits in the table for its answer, which comes on the session's stream */
    bool upstream_done;      /* the reply was read to its end */
    bool is_long;            /* to judge it takes longer than others on the worker should wait */
    bool was_stripped;       /* of characters that deceive, in some message */
    bool is_weighed;         /* rules for answers concern the answer that was read last */
    uint32_t slot;
    uint64_t who;            /* whose identity was shown: budget_principal */
    int64_t wait_us;         /* until its rate has room; REQUEST_RATE */
    size_t sse_left;         /* bytes at the head of back.in that belong to the event stream and were not parsed yet */
    enum http_method method;
    enum reason opened;      /* what verb and path say of the message: UNSET, or why it is none */
    size_t body_left;        /* bytes at the head of front.in that are the whole body; 0: it is in `body` */
    int reply_status;        /* the upstream's */
    int status;              /* the agent's */
    const struct proxy_route *route;
    const struct dialect *dialect; /* in which it is answered: the route's; before there is one, by the path */
    const struct proxy_pass *pass;
    struct span slug;
    struct json_fault fault; /* why the last message of the upstream was refused; text NULL: it was not */
    struct span upstream_path; /* where it goes, the slug filled in; of a subtree its root */
    struct span label;       /* asked.upstream, or of slugs that nobody listed by name the route: what metrics tell apart */
    int64_t recorded_us, durable_us, sent_us, first_reply_us; /* monotonic; 0: not yet */
    int64_t list_us, list_at_us, list_seen_us; /* CPU that went into its lists; when that was; CPU's clock within one, or 0 */
    bool is_list_costly;
    uint32_t server_requests, server_notifications, server_denied, server_withheld;
    struct identity identity;
    struct span authorization; /* of the gate's own, that goes up; at == NULL: none, or not yet */
    struct outgoing_token *outgoing; /* whose it is; NULL: the configuration's */
    bool awaits_outgoing;    /* CONNECT waits for it */
    struct mcp_session session;
    struct span session_id;  /* as the agent sent it */
    struct span version;     /* MCP-Protocol-Version as sent */
    struct span lacking;     /* the scope for want of which the call is denied, where the route tells; at == NULL: none */
    struct batch *batch;     /* several calls in one body; NULL: there is one, its own */
    struct skim *skim;       /* of a message on it that is over the limit */
    struct mailbox *mailbox; /* HTTP+SSE, the stream: what others have to say on it; NULL: it is none, or has no endpoint yet */
    struct span endpoint;    /* HTTP+SSE, a POST: where it goes up, path and query; at == NULL: it is none */
    struct gate_passing passing; /* the notification that was asked about last */
    struct incoming *incoming; /* a message of the upstream that is judged, and for which it is read no further; NULL: none */
    /* memory, from here on: given back with the outcome, so that the next call on this worker has it while it is warm */
    struct arena arena;
    struct arena event_arena;
    struct buf subject;      /* the agent's token, to be exchanged; wiped */
    struct buf body;         /* as it came, where it came in pieces */
    struct buf reply;        /* an upstream's whole body */
    struct buf event;        /* canonical bytes of one reply or event */
    struct buf text;         /* one event as it goes down; before the head is written: all of them */
};

static inline bool exchange_has_session(const struct exchange *exchange)
{
    return exchange->session.upstream_id.at != NULL;
}

void exchange_init(struct exchange *exchange);
void exchange_fini(struct exchange *exchange);
void exchange_rest(struct exchange *exchange);
size_t exchange_held_bytes(const struct exchange *exchange); /* all of its memory */
void exchange_settle(struct exchange *exchange, enum audit_outcome outcome, enum reason reason); /* the first one stays */
void exchange_unsettle(struct exchange *exchange);      /* whatever it was, the agent has not got it */
void exchange_delivered(struct exchange *exchange, struct span bytes); /* body bytes that go down */
struct span exchange_correlation_name(const struct exchange *exchange); /* of the header */
/* What a session id of this call is bound to. */
struct mcp_session_scope exchange_session_scope(const struct exchange *exchange);
struct mcp_binding exchange_binding(const struct exchange *exchange, const struct gate *gate);

#endif
