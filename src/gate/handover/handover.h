/* SPDX-License-Identifier: Apache-2.0 */
/* A gate hands over its listening sockets to the one that comes after it, and the audit by ending.
 *
 * Who takes over sends one datagram to the Unix socket AUDIT.handover (FILES_HANDOVER): the magic word, and two descriptors.
 * The audit's lock, opened to be written, shows that he may: a command that is an upstream runs as the gate's user and may
 * send, but is kept from that file (os/cage.h). The other is an end of a stream socket. Before the lock is seen nobody has a
 * place that he could keep from others, and what he sent is closed again. At the stream's other end he gets messages that are
 * all the same, with the gate's listening sockets, until he has as many as they say. That alone changes nothing. With the
 * number of its process a new gate asks the old one to end: that accepts no more, and when its calls have ended it hands over
 * its idle connections, each with the struct sock_address on which it was accepted (proxy/front.c), and ends. The end of the
 * stream is the end of the other process: where the new one ends first, the old one goes on, which still has its sockets.
 *
 * Threads: main.
 * Owns: its sockets and connections.
 * Lifetime: handover_init to handover_fini; what it was told of outlives it.
 * Errors: enum code with a sentence; a gate that nobody can take over from is as good otherwise. */
#ifndef HANDOVER_HANDOVER_H
#define HANDOVER_HANDOVER_H

#include "base/why.h"
#include "os/loop.h"
#include "proxy/proxy.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- what is said ---- */

#define HANDOVER_MAGIC "callgate-hands1" /* with its NUL 16 bytes; another number: other messages */
#define HANDOVER_LOOKS "callgate-looks1" /* in its place: who asks only looks, and keeps nobody out who takes over */
#define HANDOVER_SOCKETS 250 /* at most in one message: the kernel takes 253 */

struct handover_offer {
    char magic[16];
    char version[48];
    uint32_t pid, sockets;
    uint64_t linger_ms, drain_ms, connections, in_flight, streams;
};

struct handover_request {
    uint32_t pid; /* the process that takes over */
};

/* ---- a gate's side ---- */

struct handover_conf {
    const char *audit;         /* its path */
    uint64_t drain_ms, linger_ms;
    struct loop *loop;
    struct proxy *proxy;
    int admin;                 /* a listening socket more, or -1 */
    void (*begin)(void *context); /* somebody takes over: the gate is to end */
    void (*again)(void *context); /* he has ended: it is to serve on */
    void *context;
};

struct handover {
    struct handover_conf conf;
    char *audit;               /* its path; NULL: nobody may take over */
    int before;                /* a socket to the gate that hands over its own; 0: none does */
    int *idle;                 /* connections that it has handed over, and where they were accepted */
    struct sock_address *idle_at;
    size_t idle_count, idle_max;
    struct loop_watch listening, asked;
    int listener, asker;       /* where whoever takes over sends to; his stream. -1: nobody's */
    int64_t told_us;           /* when it last said that somebody got nothing; 0: never */
    uint32_t heir;             /* the process that takes over, for as long as it lives; 0: none */
};

void handover_init(struct handover *handover, int before_take);
void handover_fini(struct handover *handover);

/* Takes the audit's lock. Where another gate has it, that is asked for its end, if it is the one before, and waited for: as
 * long as that lives, or as this gate's own calls have at an end. Signals that ask for an end are heard meanwhile.
 * Returns: *is_called_off: one did. */
enum code handover_take_lock(struct handover *handover, const char *audit, uint64_t drain_ms, int *lock_fd, bool *is_called_off,
                             struct why *why) MUST_USE;
/* Gives the proxy the connections that have come until then. Before proxy_run. */
void handover_adopt(struct handover *handover, struct proxy *proxy);

/* From here on whoever of this user asks gets the listening sockets. Logs where he cannot. Call it while the audit's lock is
 * held, since what listens there then is not another gate. */
void handover_offer(struct handover *handover, const struct handover_conf *conf);
void handover_pause(struct handover *handover, bool pauses);

/* Before the lock is given. Tells the service manager which process is the gate now, where one has taken over. */
void handover_end(struct handover *handover);

/* A socket to the gate that takes over; -1: none does. */
int handover_heir(const struct handover *handover);

#endif
