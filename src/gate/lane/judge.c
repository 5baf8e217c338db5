/* SPDX-License-Identifier: Apache-2.0 */
#include "lane/judge.h"

#include "base/bug.h"
#include "os/sandbox.h"
#include "lane/pair.h"

#include <stdio.h>

void judge_init(struct judge *judge)
{
    *judge = (struct judge){.gate = NULL};
    list_init(&judge->waiting);
}

enum code judge_open(struct judge *judge, const struct gate *gate, struct inbox *inbox)
{
    judge->inbox = inbox;
    return gate_beside(gate, &judge->gate);
}

void judge_fini(struct judge *judge)
{
    BUG_ON(judge->thread.started || judge->pair != NULL);
    gate_free(&judge->gate);
}

/* ---- the thread ---- */

void judge_round(struct judge *judge)
{
    judge->work(judge->pair, judge->gate);
    atomic_store_explicit(&judge->is_out, false, memory_order_release);
}

static void run_judge(void *argument)
{
    struct judge *judge = argument;

    sandbox_narrow(SANDBOX_JUDGE);
    while (thread_rest(&judge->thread, -1))
        if (atomic_load_explicit(&judge->is_out, memory_order_acquire)) {
            judge_round(judge);
            inbox_poke(judge->inbox);
        }
}

enum code judge_start(struct judge *judge, unsigned index, struct why *why)
{
    char name[16];

    (void)snprintf(name, sizeof name, "judge-%u", index % 1000);
    return thread_start(&judge->thread, name, run_judge, judge, why);
}

void judge_stop(struct judge *judge)
{
    thread_stop(&judge->thread);
}

/* ---- the worker's side ---- */

bool judge_is_out(const struct pair *pair)
{
    const struct judge *judge = &pair->lane->judge;

    return judge->pair == pair && atomic_load_explicit(&judge->is_out, memory_order_acquire);
}

bool judge_has_done(struct pair *pair, size_t bytes, judge_fn work)
{
    struct judge *judge = &pair->lane->judge;

    if (judge->gate == NULL || bytes <= COPIED_BYTES) {
        work(pair, pair->lane->gate);
        return true;
    }
    if (judge->pair == pair)
        return !judge_is_out(pair);
    if (!list_is_linked(&pair->waits))
        list_append(&judge->waiting, &pair->waits);
    if (judge->pair != NULL || judge->waiting.next != &pair->waits)
        return false;
    pair_stop_waiting(pair);
    judge->pair = pair;
    judge->work = work;
    atomic_store_explicit(&judge->is_out, true, memory_order_release);
    thread_poke(&judge->thread);
    return false;
}

void judge_leave(struct pair *pair)
{
    struct judge *judge = &pair->lane->judge;

    if (judge->pair == pair)
        judge->pair = NULL;
    if (judge->pair == NULL && !list_is_empty(&judge->waiting))
        pair_stir(LIST_ENTRY(judge->waiting.next, struct pair, waits));
}

void judge_woken(struct judge *judge)
{
    if (judge->pair != NULL && !judge_is_out(judge->pair))
        pair_stir(judge->pair);
    if (judge->pair == NULL && judge->gate != NULL)
        (void)gate_keys(judge->gate); /* follows the current snapshots, so that the gate holds no old policy */
}
