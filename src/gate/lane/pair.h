/* SPDX-License-Identifier: Apache-2.0 */
/* A pair: an agent's connection, the one behind it, and the call that is under way; its steps are in lane/step_tbl.h.
 *
 * Threads: its worker.
 * Owns: its legs and readers, a reference to the configuration that it began with.
 * Lifetime: freed by worker_reap alone.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef LANE_PAIR_H
#define LANE_PAIR_H

#include "http/reader.h"
#include "link/leg.h"
#include "lane/exchange.h"
#include "lane/lane.h"
#include "lane/spare.h"
#include "lane/step_tbl.h"
#include "sse/parser.h"

#define COPIED_BYTES 65536 /* a smaller body goes into one write with its head; a larger one is never copied */

enum step {
#define STEP_NUMBER(name, text, function, moves, about) STEP_##name,
#define STEP_NO_MOVE(name) 0
    STEP_TABLE(STEP_NUMBER, STEP_NO_MOVE)
#undef STEP_NUMBER
#undef STEP_NO_MOVE
    STEP_COUNT
};

const char *step_text(enum step step);
bool step_may_follow(enum step from, enum step to);

#define LEG_IN_BYTES 65536

/* What connections of a joined endpoint are lent by the agent's own: who asks, and from where. They come from the gate
 * itself, by a pair of sockets of one worker. Each holds it, since the agent's connection may end before they do. */
struct lent {
    struct ref ref;
    struct arena arena;
    struct proxy_conf *conf; /* that the agent's call began with */
    struct identity who;     /* nothing of it is in a head, so nothing is consumed */
    size_t listen;
    struct sock_address peer, client_address;
    char client[SOCK_TEXT_BYTES];
    bool is_tls;             /* the agent's connection; those that are lent it are none */
};

struct lent *lent_new(const struct pair *pair) MUST_USE; /* of a call whose identity is settled; NULL: no memory */
void lent_unref(struct lent **lent);                     /* NULL is fine */

/* What nearly every turn looks at comes first, in as few lines of the cache as may be: with hundreds of calls in flight each
 * turn finds its pair in none of the nearer caches (link/worker.h, WORKER_AHEAD_BYTES). Invariants: check_invariants. */
struct pair {
    struct connection connection; /* first */
    struct list waits;        /* in a list of its lane (waiting, stuck, wanting) or of the judge */
    uint64_t awaited;         /* the ticket for which it waits there */
    struct wish *waiting_wish; /* in `wishing`: the wish */
    uint64_t look;            /* number of the look at the configuration that a pipe waits for; 0: none */
    struct lane *lane;
    enum step step;
    enum reason ending;       /* UNSET: alive; the first one stays */
    bool is_tls;
    uint32_t peer_uid;        /* of a pipe: whose process it is */
    bool is_pipe;             /* a pipe of this machine; the server's end that it handed over is its only way to a server */
    bool is_introduced;       /* a pipe: its first bytes are here */
    bool is_settled;          /* a pipe: is_agreed is known */
    bool is_agreed;           /* a pipe: it has read the configuration that runs */
    bool timed_out;
    bool has_asked;           /* a head's first byte came */
    bool close_after;         /* this answer is the connection's last */
    bool lingers;
    bool is_rested;
    bool may_be_stopped;      /* people have stopped something since its call was judged */
    struct proxy_conf *conf;
    struct resolve_table *names; /* the table that came with `conf`: a later one may not have its upstreams any more */
    int64_t deadline_us;      /* deadline of the step; 0: none */
    uint64_t front_written, back_read; /* the legs' counts at the last look, to notice movement */
    int64_t front_moved_us, back_moved_us, quiet_since_us;
    int64_t untaken_since_us; /* bytes wait in front.out since; 0: none do */
    int64_t untaken_us;       /* how long bytes have waited in this call before that */
    uint64_t taken_from;      /* front.written_bytes when the call began */
    uint64_t held_bytes;
    uint64_t charged_bytes;   /* the part of these that its account knows */
    uint64_t account_who;     /* hash of who is charged for it; 0: nobody yet */
    struct budget_account account;
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
    struct sock_address client_address; /* the peer's, or what a trusted proxy says */
    uint64_t client_who;      /* budget_address of it */
    char client[SOCK_TEXT_BYTES];
    struct lent *lent;        /* a connection of a joined endpoint, to the route that `served` names; NULL: an agent's own */
    struct span served;
};

/* Takes: client: whose address it is, the peer's own where nobody speaks for him; account: of that address, which is charged
 * already, and taken over in any case. So no pair holds a connection and is in nobody's share. */
struct pair *pair_new(struct lane *lane, size_t listen, const struct sock_address *peer, const struct sock_address *client,
                      struct budget_account account) MUST_USE;
/* From now on `who` is charged for the connection and all that it holds. Returns: false: `who` has as many
 * connections as it may have. */
bool pair_charge_to(struct pair *pair, uint64_t who, uint64_t tenant, uint32_t connections_max);
/* How many connections an address may have without an identity. Takes: is_within: it comes from a pipe or a joined endpoint. */
uint32_t pair_connections_max(const struct budget *budget, const struct proxy_conf *conf, const struct sock_address *address,
                              bool is_within);
/* Whether the account has room for a message of so many bytes, or for more of one that has so many. Returns: UNSET: yes;
 * else why not. */
enum reason pair_refuses(const struct pair *pair, size_t bytes);
/* adds a piece; the buffer grows to no more than the length that the head names */
enum code pair_collect(struct buf *body, struct span piece, const struct http_head *head) MUST_USE;
/* whether the agent reads too slowly; *until_us: otherwise when that will be so */
bool pair_is_untaken(const struct pair *pair, int64_t *until_us);
void pair_take_conf(struct pair *pair);                 /* takes the lane's configuration with its names; the old one was
                                                         * given back before */
COLD void pair_close(struct pair *pair, enum reason reason); /* only marks the pair; may be called twice, from anywhere */
void pair_go(struct pair *pair, enum step step);       /* aborts where no such move is */
bool pair_linger(struct pair *pair);                    /* the step CLOSING */
void pair_stir(struct pair *pair);
void pair_deadline(struct pair *pair, int64_t after_us);
void pair_drop_back(struct pair *pair);
void pair_stop_waiting(struct pair *pair);
int64_t pair_now_us(const struct pair *pair);
struct pair *pair_of(struct connection *connection);    /* NULL: it is something else */

#endif
