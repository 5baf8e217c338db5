/* SPDX-License-Identifier: Apache-2.0 */
/* A listening socket of one worker: accepts a bounded number a turn, keeps descriptors in reserve, sleeps on exhaustion.
 *
 * Threads: its worker's.
 * Owns: the socket.
 * Lifetime: listener_fini before its worker's.
 * Errors: enum code at opening; later ones are logged and waited out. */
#ifndef LINK_LISTENER_H
#define LINK_LISTENER_H

#include "link/worker.h"
#include "os/sock.h"

/* The callee owns the descriptor; it closes what it cannot take. A connection was counted in the budget: its end gives it
 * back. */
typedef void (*listener_accepted_fn)(void *context, int fd_take, const struct sock_address *peer);

struct listener {
    struct worker *worker;
    struct loop_watch watch;
    struct loop_timer sleep;
    listener_accepted_fn accepted;
    void *context;
    int fd;
    bool is_stopped, is_paused;
    int64_t told_us; /* when it last said that there are too many connections; 0: never */
};

enum code listener_open(struct listener *listener, struct worker *worker, int fd_take, listener_accepted_fn accepted,
                        void *context) MUST_USE;
/* Leaves whoever comes in the socket's queue, for a while, or for another process that has it, too. */
void listener_pause(struct listener *listener, bool pauses);
/* Closes the socket; callable twice. Takes: accepts_rest: whoever is in the queue already is accepted first: closing the
 * socket would reset them. */
void listener_stop(struct listener *listener, bool accepts_rest);
void listener_fini(struct listener *listener);

#endif
