/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP proxy: workers with their listeners, from opening the sockets to the last drained connection.
 *
 * The order at start: proxy_open (sockets, loops), the sandbox, audit_start, proxy_run (threads).
 *
 * Threads: all of it from main, but proxy_wake, which the audit writer calls.
 * Owns: workers, their threads and listeners, a reference to the current configuration and name table. Gates are borrowed.
 * Lifetime: proxy_stop ends the threads; gates, gate_shared and the audit outlive it, so that every permit gets its outcome.
 * Errors: enum code with a sentence at opening; afterwards connections end with a reason, never the proxy. */
#ifndef PROXY_PROXY_H
#define PROXY_PROXY_H

#include "base/why.h"
#include "enforce/answer.h"
#include "os/resolve.h"
#include "os/service.h"
#include "lane/conf.h"
#include "lane/lane.h"
#include "lane/ended.h"

struct proxy;

struct proxy_start {
    unsigned workers;                /* threads; at least 1 */
    struct gate *const *gates;       /* one a worker */
    struct proxy_conf *conf_take;    /* sealed */
    struct resolve_table *names_take; /* NULL: none yet */
    const struct service_sockets *inherited; /* used where their address is one of the configuration's, and stay the caller's */
    /* Makes a stream socket to a command's children, without waiting; called from any worker. NULL: no route has a command. */
    enum code (*dial_command)(void *context, struct span command, int *fd);
    void *dial_context;
    struct lookups *lookups;         /* what providers have said; NULL: none is asked */
    struct identity_proofs *proofs;  /* proofs of tokens that are bound to a key; or NULL */
    /* Called from any worker: a pipe has read another configuration than the one that runs, so main is to look at
     * its file and then call proxy_looked. NULL: nobody looks, and such pipes are denied at once. */
    void (*look)(void *context);
    void *look_context;
    uint32_t connections_max;        /* over all workers; 0: what the descriptor limit allows, two a pair, with a reserve */
};

/* Opens everything that needs rights. On failure the caller still owns what it handed in. */
enum code proxy_open(const struct proxy_start *start, struct proxy **proxy, struct why *why) MUST_USE;

/* Starts the threads. */
enum code proxy_run(struct proxy *proxy, struct why *why) MUST_USE;

/* For audit_on_settled(audit, worker, proxy_wake, proxy_wake_context(proxy, worker)). Valid from proxy_open on. */
void proxy_wake(void *context);
void *proxy_wake_context(struct proxy *proxy, unsigned worker);

/* Whether a configuration can be taken while the proxy runs. The listeners stay as they are: `listens` must name the same
 * addresses in the same order (new certificates and timeouts are taken), CODE_INVALID otherwise. */
enum code proxy_check_conf(const struct proxy *proxy, const struct proxy_conf *conf, struct why *why) MUST_USE;

/* Workers follow with their next call; calls in flight keep theirs, and the addresses that they began with.
 * Takes: a configuration that passed the check, and a table with the names of its upstreams. */
void proxy_publish_conf(struct proxy *proxy, struct proxy_conf *conf_take, struct resolve_table *names_take);
void proxy_publish_names(struct proxy *proxy, struct resolve_table *names_take);

/* Main looks at the file: it asks proxy_looks first, publishes what it finds, and then calls proxy_looked with that number.
 * Takes: why: a line for a pipe that has still read another configuration. */
uint64_t proxy_looks(const struct proxy *proxy);
void proxy_looked(struct proxy *proxy, uint64_t looks, const struct why *why);

/* The address that listener `index` is bound to. */
void proxy_address(const struct proxy *proxy, size_t index, struct sock_address *address);
/* Appends all listening sockets, which stay the proxy's, as far as there is room. While it serves. */
void proxy_sockets(const struct proxy *proxy, struct service_sockets *sockets);

/* Accepts no more, lets calls in flight end; event streams without a call end at once. An idle connection may ask once more,
 * since its agent may be writing just now, until the proxy hurries. As lane_go has it. */
void proxy_go(struct proxy *proxy, enum lane_way way, bool hurries, int heir);
/* Takes idle connections that another gate has accepted on these addresses, before proxy_run. */
void proxy_adopt(struct proxy *proxy, int *fds_take, const struct sock_address *addresses, size_t count);
bool proxy_is_drained(const struct proxy *proxy); /* whether no connection is left; main asks by a timer */

/* Closes what is left and records its outcomes, and joins the threads. */
void proxy_stop(struct proxy *proxy);
void proxy_free(struct proxy **proxy); /* once the audit is closed: its writer wakes workers until then */

/* For status and metrics; any thread. */
struct proxy_gauges {
    uint64_t connections;    /* of agents, now */
    uint64_t accepted;       /* since the start */
    uint64_t requests;       /* messages that were judged */
    uint64_t in_flight;      /* connections with a request, now */
    uint64_t streams;        /* event streams open now */
    uint64_t memory_bytes;   /* of bodies and replies */
    uint64_t upstream_connections; /* made since the start */
    uint64_t events_dropped; /* of types that the dialect does not know, since the start */
    uint64_t answers[ANSWER_EFFECTS]; /* likewise, answers and servers' messages on which rules for answers had an effect */
};
void proxy_gauges(const struct proxy *proxy, struct proxy_gauges *gauges);

/* For metrics: called on a worker for each call that has ended, to count it. NULL: nobody counts. Set before proxy_run. */
void proxy_on_call(struct proxy *proxy, proxy_call_fn ended, void *context);

#endif
