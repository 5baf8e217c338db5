/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's judge: a thread on which large calls and answers, and calls that take long, are judged, by the same functions as
 * others, so that these have their turn on the worker meanwhile. It has one seat, which a pair holds until its call or its
 * answer is back. Pairs wait for the seat without a deadline, since each judgement has a budget of time, and what they hold
 * is charged to their accounts.
 *
 * Threads: its worker; judge_start and judge_stop main. While work is out, the thread alone touches the gate and the pair's
 *   exchange: the pair is not driven, and so cannot end, before it is back.
 * Owns: its gate and its thread.
 * Lifetime: as its lane's; judge_stop when the worker has ended.
 * Errors: enum code at the start. */
#ifndef LANE_JUDGE_H
#define LANE_JUDGE_H

#include "base/list.h"
#include "enforce/gate.h"
#include "os/inbox.h"
#include "os/thread.h"

struct pair;

typedef void (*judge_fn)(struct pair *pair, struct gate *gate);

struct judge {
    struct gate *gate;   /* NULL: all is judged on the worker, as in most simulations */
    struct pair *pair;   /* the pair that has the seat; NULL: none; only the worker uses this */
    judge_fn work;       /* what is to be done with it */
    struct list waiting; /* pairs that want the seat, in the order in which they came */
    struct inbox *inbox; /* the worker's */
    atomic_bool is_out;  /* whether the work of `pair` is with the thread */
    struct thread thread;
};

void judge_init(struct judge *judge);
enum code judge_open(struct judge *judge, const struct gate *gate, struct inbox *inbox) MUST_USE;
enum code judge_start(struct judge *judge, unsigned index, struct why *why) MUST_USE;
void judge_stop(struct judge *judge);
void judge_fini(struct judge *judge);

/* Whether the work is done, at once where it is about few bytes (SIZE_MAX: it takes long, whatever it is about); else the
 * pair is stirred when it may be, and asks again. */
bool judge_has_done(struct pair *pair, size_t bytes, judge_fn work);
bool judge_is_out(const struct pair *pair);
void judge_leave(struct pair *pair);            /* gives up the seat, or the wait for it */
void judge_woken(struct judge *judge);          /* stirs the pair whose work may be done */
void judge_round(struct judge *judge);          /* does the work that is out; for the thread, and for simulations in its
                                                 * place */

#endif
