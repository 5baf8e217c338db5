/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's judge: a thread on which large calls are judged, by the same function as small ones, so that others on the
 * worker have their turn meanwhile. It has one seat, which a pair holds until its call is recorded, since what is to be
 * redacted lies in the judge's gate. Who waits for it waits without a deadline: each judgement has a budget, and what waits
 * holds memory of its account.
 *
 * Threads: its worker; judge__start and judge__stop main. While a call is out, the thread alone touches the gate and the pair's
 *   exchange: the pair is not driven, and so cannot end, before it is back.
 * Owns: its gate and its thread.
 * Lifetime: as its lane's; judge__stop when the worker has ended.
 * Errors: enum code at the start. */
#ifndef PROXY_JUDGE_PRIV_H
#define PROXY_JUDGE_PRIV_H

#include "base/list.h"
#include "gate/gate.h"
#include "os/inbox.h"
#include "os/thread.h"

struct pair;

struct judge {
    struct gate *gate;   /* NULL: all is judged on the worker, as in most simulations */
    struct pair *pair;   /* that has the seat; NULL: nobody; the worker's alone */
    struct list waiting; /* pairs that want it, in the order in which they came */
    struct inbox *inbox; /* the worker's */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool has_work;       /* under the lock, as is_stopping */
    bool is_stopping;
    atomic_bool is_out;  /* the call of `pair` */
    struct thread thread;
};

void judge__init(struct judge *judge);
enum code judge__open(struct judge *judge, const struct gate *gate, struct inbox *inbox) MUST_USE;
enum code judge__start(struct judge *judge, unsigned index, struct why *why) MUST_USE;
void judge__stop(struct judge *judge);
void judge__fini(struct judge *judge);

bool judge__has_verdict(struct pair *pair);      /* whether the call is judged; else the pair is stirred when it may be */
bool judge__is_out(const struct pair *pair);
struct gate *judge__gate(const struct pair *pair); /* by which the call was judged, and is recorded */
void judge__leave(struct pair *pair);            /* its call is recorded, or has ended */
void judge__woken(struct judge *judge);          /* a verdict may be there */
void judge__round(struct judge *judge);          /* judges what is out; for the thread, and for simulations in its place */

#endif
