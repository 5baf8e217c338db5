/* SPDX-License-Identifier: Apache-2.0 */
/* A worker: a loop, the connections that live on it, and the one place where they end.
 *
 * A turn of the loop only fills, drains and marks connections dirty; then worker_settle drives each dirty one, and
 * worker_reap frees those that asked for it and closes every descriptor that was given up.
 *
 * Threads: one worker, one thread.
 * Owns: the loop where it made it; given up streams until the end of the turn. Not the connections' memory: they free
 *   themselves when they are told.
 * Lifetime: worker_fini after the last connection was reaped.
 * Errors: enum code. */
#ifndef LINK_WORKER_H
#define LINK_WORKER_H

#include "base/list.h"
#include "link/budget.h"
#include "os/loop.h"
#include "os/stream.h"

struct worker;

/* Embedded first by whatever lives on a worker: a pair, an errand, an admin connection. */
struct connection {
    struct list all;
    struct list dirty;
    struct list dead;
    void (*drive)(struct connection *connection); /* something happened: go as far as possible without waiting */
    void (*free)(struct connection *connection);  /* by worker_reap alone: close legs, give memory back */
    unsigned stage; /* below WORKER_STAGES: what it is driven through next */
};

/* Those at one stage are driven one after another, since the code of a whole call is larger than the processor's nearest
 * cache: where each goes through another part of it, each finds its part gone. */
#define WORKER_STAGES 16

#define WORKER_RETIRED_MAX 64

/* So much of a connection's beginning is asked of the memory while the one before it is driven: with hundreds of them each
 * lies far away when its turn comes, and its lines can come side by side. Measured: tests/bench/run at 256 connections. */
#define WORKER_AHEAD_BYTES 1792

struct worker {
    struct loop *loop;
    struct budget *budget;
    bool owns_loop;
    unsigned index;
    unsigned connections;
    struct list all;
    struct list dirty;
    struct list rounds[WORKER_STAGES]; /* empty but within worker_settle */
    struct list dead;
    struct stream *retired[WORKER_RETIRED_MAX];
    unsigned retired_count;
};

/* Takes: loop NULL: it makes its own; another's (the main thread's, for admin) is borrowed. */
enum code worker_init(struct worker *worker, unsigned index, struct loop *loop, struct budget *budget) MUST_USE;
void worker_fini(struct worker *worker);

void worker_add(struct worker *worker, struct connection *connection);
void worker_stir(struct worker *worker, struct connection *connection); /* marks dirty; callable twice, from anywhere */
void worker_bury(struct worker *worker, struct connection *connection); /* marks dead; likewise */

/* Takes a stream off its connection; it is closed at the end of the turn. */
void worker_retire(struct worker *worker, struct stream *stream_take);

/* Drives what is dirty, then reaps. Whatever is stirred meanwhile waits for the next turn, which then does not sleep. */
void worker_settle(struct worker *worker);
void worker_reap(struct worker *worker);

/* loop_turn and worker_settle. */
enum code worker_turn(struct worker *worker, int64_t max_wait_us) MUST_USE;

#endif
