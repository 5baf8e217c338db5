/* SPDX-License-Identifier: Apache-2.0 */
/* A lane: one worker's share of the proxy.
 *
 * Threads: everything on a lane belongs to its worker; gauges are read by anybody.
 * Owns: its worker, listeners, spare upstream connections and references.
 * Lifetime: as long as its thread; pairs are freed by worker_reap alone.
 * Errors: lane_init: enum code; what fails later ends its one connection. */
#ifndef LANE_LANE_H
#define LANE_LANE_H

#include "enforce/answer.h"
#include "identity/lookup.h"
#include "link/listener.h"
#include "link/rate.h"
#include "os/inbox.h"
#include "os/resolve.h"
#include "os/thread.h"
#include "lane/conf.h"
#include "lane/ended.h"
#include "lane/judge.h"

#define ERRANDS_MAX 64 /* per worker, so that a server that asks without end cannot open connections without end */

struct lane;
struct join_sessions;
struct lent;
struct mailboxes;
struct pair;
struct proxy;

/* Makes a stream to an upstream; tests put memory streams here. */
typedef enum code (*dial_fn)(void *context, const struct proxy_upstream *upstream, const struct sock_address *address,
                             struct stream **stream);

/* A lane's counters, which its worker writes and anybody reads. */
struct lane_gauges {
    atomic_uint_fast64_t accepted, requests, upstream_connections, events_dropped;
    atomic_uint_fast64_t answers[ANSWER_EFFECTS]; /* answers, and messages of servers, on which rules for answers had this
                                                   * effect */
    atomic_uint_fast64_t pairs, in_flight, streams;
};

/* Only one thread adds, so neither a lock nor an atomic addition is needed. */
static inline void gauge_add(atomic_uint_fast64_t *gauge, int by)
{
    atomic_store_explicit(gauge, atomic_load_explicit(gauge, memory_order_relaxed) + (uint64_t)by, memory_order_relaxed);
}

/* What the lane's connections do. These functions are handed down, since the files above the lane know what bytes mean. */
typedef bool (*step_fn)(struct pair *pair);
struct lane_above {
    const step_fn *steps;                     /* by enum step */
    void (*finish)(struct pair *pair);        /* ends its call, whatever became of it; may be called twice */
    bool (*stop)(struct pair *pair);          /* ends its call where people have stopped it: whether it did */
    /* appends a sentence: what main's last look at the configuration found wrong */
    void (*write_difference)(const struct lane *lane, struct buf *out);
};

struct lane_listener {
    struct listener listener;
    struct lane *lane;
    size_t index; /* into conf->listens */
};

/* DRAINS: accepts no more and ends what is idle or lasts. PAUSES: likewise, but keeps its listening sockets, and may serve
 * again. */
enum lane_way { LANE_SERVES = 0, LANE_PAUSES, LANE_DRAINS };

struct lane {
    struct worker worker;
    struct rates *rates;  /* of all workers */
    struct mailboxes *mailboxes; /* likewise */
    struct join_sessions *joined; /* likewise, of joined endpoints */
    atomic_bool has_mail; /* whether a mailbox of this lane's streams has mail */
    const struct lane_above *above;
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
    struct list looking;  /* pairs that wait for a lookup */
    struct list wishing;  /* pairs that wait for what the fleet says */
    struct lookups *lookups; /* of all workers; NULL: the configuration has no provider to ask */
    uint64_t lookups_seen; /* lookup_settled at the last look */
    struct identity_proofs *proofs; /* likewise of all workers */
    struct judge judge;   /* judges large calls and answers */
    struct list spares;   /* connections that spare.c keeps */
    unsigned spare_count;
    struct loop_timer beat; /* twice a second it looks for revoked keys and certificates */
    struct identity_keys *seen_keys;
    struct stops *seen_stops;
    bool asks_certificates; /* whether a listener asked for certificates at the last beat */
    bool had_providers;     /* whether the configuration had providers at the last beat */
    int64_t told_lists_us;  /* when the revocation list ended that was logged last */
    dial_fn dial;
    void *dial_context;   /* the lane itself, but in tests */
    enum code (*dial_command)(void *context, struct span command, int *fd);
    void *command_context;
    proxy_call_fn ended;
    void *ended_context;
    enum lane_way way;
    unsigned hurries;     /* as lane_go was told */
    int heir;
    bool is_stopping;
    uint64_t published;   /* which generation of proxy->next_* the lane has taken */
    unsigned errands;     /* under way */
    uint64_t held_bytes;  /* what its pairs hold */
    uint64_t told_bytes;  /* the part of these that the budget knows */
    int64_t log_second;
    unsigned log_lines;   /* in that second */
    int64_t crowd_told_us; /* when it last logged that an address has too many connections; 0: never */
    unsigned char random[512];
    size_t random_left;
    struct lane_gauges gauges;
    struct thread thread;
};

enum code lane_init(struct lane *lane, unsigned index, struct budget *budget, const struct lane_above *above) MUST_USE;
void lane_fini(struct lane *lane);
void lane_woken(struct lane *lane);                     /* stirs pairs for which the audit settled something, or a verdict is
                                                         * there */
void lane_adopt(struct lane *lane, struct pair *pair);  /* gives the pair the current configuration, between two messages */
/* whether a token is still valid by the current configuration */
bool lane_token_holds(const struct lane *lane, const struct identity *identity);
/* whether the agent's certificate is still valid */
bool lane_certificate_holds(const struct lane *lane, const struct pair *pair);
void lane_accept(struct lane *lane, size_t listen, struct stream *stream_take, const struct sock_address *peer);
/* Accepts a connection of a joined endpoint for the route of this name, as if it had come from the agent. Takes: route: lives
 * as long as `lent`. Returns: false: there is no memory, or as many connections as may be; the stream is closed then. */
bool lane_serve(struct lane *lane, struct lent *lent, struct span route, struct stream *stream_take) MUST_USE;
void lane_random_hex(struct lane *lane, char out[32]);
void lane_hold(struct lane *lane, uint64_t *held_bytes, uint64_t now_bytes); /* as budget_hold, for one pair of the lane */
bool lane_may_log(struct lane *lane);                   /* whether a line that peers can provoke may be logged: only so many
                                                         * may a second */
/* Takes: hurries: not 0: idle connections end at once, and may not ask once more; heir: a socket to the gate that gets them
 * where they are plain TCP; -1: none. */
void lane_go(struct lane *lane, enum lane_way way, unsigned hurries, int heir);
/* Called where the lane's configuration is another one, which may trust other servers: connections to servers that rest end,
 * also those behind agents that rest. */
void lane_renew(struct lane *lane);
/* The fate of the pair's record (ticket). While there is none, the pair waits in the lane's list. */
enum audit_fate lane_fate(struct pair *pair, uint64_t ticket, uint64_t *seq);
void lane_wait_for_room(struct pair *pair);
/* Puts the pair in the lane's list until the ticket of `lookups` is settled. It is stirred then, or after LOOKUP_WAIT_US, when
 * it has timed out. */
void lane_wait_for_lookup(struct pair *pair, uint64_t ticket);
/* Puts the wish, where it is not put yet, and the pair in the lane's list until the fleet has said something of it, or
 * WISH_WAIT_US are over, which is seen within half a second. */
enum wish_fate lane_wish_fate(struct pair *pair, struct wish *wish);
#define LOOKUP_WAIT_US INT64_C(15000000)

#endif
