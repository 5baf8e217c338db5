/* SPDX-License-Identifier: Apache-2.0 */
/* Main's side of the table: asks and uses go to the store, answers come from it. */
#include "state/approvals_priv.h"

#include "base/lock.h"
#include "base/mem.h"

#include <string.h>

void approvals_be_of_fleet(struct approvals *approvals)
{
    approvals->is_of_fleet = true;
}

/* ---- asks ---- */

#define ASK_TEXTS 20

static void list_texts(struct approval_ask *ask, struct span *texts[ASK_TEXTS])
{
    struct span *const all[ASK_TEXTS] = {
        &ask->tenant, &ask->principal, &ask->upstream, &ask->method, &ask->tool, &ask->client, &ask->correlation,
        &ask->arguments, &ask->rule, &ask->rule_reason, &ask->rule_hash,
        &ask->target, &ask->query, &ask->params, &ask->redacted, &ask->authentication, &ask->approvers,
        &ask->agent, &ask->via, &ask->session,
    };

    memcpy(texts, all, sizeof all);
}

/* A copy that owns its texts; NULL without memory. */
static struct approval_ask *copy_ask(const struct approval_ask *from)
{
    struct approval_ask like = *from, *ask;
    struct span *texts[ASK_TEXTS];
    size_t bytes = 0;
    char *at;

    list_texts(&like, texts);
    for (size_t i = 0; i < ASK_TEXTS; i++)
        bytes += texts[i]->len;
    ask = mem_alloc(sizeof *ask + bytes);
    if (ask == NULL)
        return NULL;
    *ask = like;
    ask->bytes = sizeof *ask + bytes;
    at = ask->texts;
    list_texts(ask, texts);
    for (size_t i = 0; i < ASK_TEXTS; i++) {
        if (texts[i]->len > 0)
            memcpy(at, texts[i]->at, texts[i]->len);
        if (texts[i]->at != NULL)
            texts[i]->at = at;
        at += texts[i]->len;
    }
    return ask;
}

static void queue_ask(struct approvals *approvals, struct approval_ask *ask)
{
    bool fits;

    lock_take(&approvals->asks_lock);
    fits = approvals->asks_bytes + ask->bytes <= APPROVAL_ASKS_BYTES;
    if (fits) {
        approvals->asks_bytes += ask->bytes;
        list_append(&approvals->asks, &ask->by_age);
    }
    lock_give(&approvals->asks_lock);
    if (!fits)
        approval_ask_free(&ask);
}

void approvals_put_asks(struct approval_marks *marks, const struct verdict *verdict, const struct approval_ask *from)
{
    for (uint32_t i = 0; i < marks->count && i < verdict->approval_count; i++) {
        struct approval_ask like = *from, *ask;

        if (!marks->mark[i].tells)
            continue;
        memcpy(like.digest, marks->mark[i].digest, DIGEST_BYTES);
        like.decision = marks->mark[i].decision;
        like.is_again = marks->mark[i].is_stored;
        if (like.is_again)
            like.arguments = like.query = like.params = like.redacted = SPAN_NONE;
        like.rule = verdict->approvals[i].rule;
        like.rule_reason = verdict->approvals[i].people->reason;
        like.rule_hash = verdict->approvals[i].people->rule_hash;
        like.needed = verdict->approvals[i].people->needed;
        like.approvers = verdict->approvals[i].people->approvers;
        ask = copy_ask(&like);
        if (ask != NULL)
            queue_ask(marks->of, ask);
    }
}

struct approval_ask *approvals_next_ask(struct approvals *approvals)
{
    struct approval_ask *ask = NULL;

    lock_take(&approvals->asks_lock);
    if (!list_is_empty(&approvals->asks)) {
        ask = LIST_ENTRY(approvals->asks.next, struct approval_ask, by_age);
        list_remove(&ask->by_age);
        approvals->asks_bytes -= ask->bytes;
    }
    lock_give(&approvals->asks_lock);
    return ask;
}

void approval_ask_free(struct approval_ask **ask)
{
    if (*ask != NULL)
        mem_wipe((*ask)->texts, (*ask)->bytes - sizeof **ask);
    mem_free(*ask);
    *ask = NULL;
}

void approvals_ask_stored(struct approvals *approvals, const struct approval_ask *ask, uint64_t round)
{
    uint64_t scope = approvals__scope(ask->tenant, ask->principal);
    struct approval_shard *shard = approvals__lock(approvals, scope);
    struct approval *approval = approvals__find(shard, scope, ask->digest);

    if (approval != NULL && approval->state == APPROVAL_ASKED) {
        approval->is_stored = true;
        approval->round = round;
    }
    approvals__unlock(shard);
}

/* ---- uses ---- */

static bool next_use(struct approval_shard *shard, struct approval_use *use)
{
    for (struct list *at = shard->taken.next; at != &shard->taken; at = at->next) {
        struct approval *approval = LIST_ENTRY(at, struct approval, taken);

        if (approval->state != APPROVAL_USED)
            continue;
        approval->state = APPROVAL_HANDED;
        *use = (struct approval_use){approval->number, approval->decision, approval->until_us};
        return true;
    }
    return false;
}

bool approvals_next_use(struct approvals *approvals, struct approval_use *use)
{
    bool found = false;

    for (uint64_t i = 0; i < APPROVAL_SHARDS && !found; i++) {
        struct approval_shard *shard = approvals__lock(approvals, i);

        found = next_use(shard, use);
        approvals__unlock(shard);
    }
    return found;
}

bool approvals_has_taken(struct approvals *approvals)
{
    bool has = false;

    for (uint64_t i = 0; i < APPROVAL_SHARDS && !has; i++) {
        struct approval_shard *shard = approvals__lock(approvals, i);

        has = !list_is_empty(&shard->taken);
        approvals__unlock(shard);
    }
    return has;
}

static void forget_use(struct approval_shard *shard, int64_t number)
{
    struct list *at, *following;

    LIST_EACH(at, following, &shard->taken) {
        struct approval *approval = LIST_ENTRY(at, struct approval, taken);

        if (approval->number != number || approval->state != APPROVAL_HANDED)
            continue;
        list_remove(&approval->taken);
        mem_free(approval);
    }
}

void approvals_use_stored(struct approvals *approvals, int64_t number)
{
    for (uint64_t i = 0; i < APPROVAL_SHARDS; i++) {
        struct approval_shard *shard = approvals__lock(approvals, i);

        forget_use(shard, number);
        approvals__unlock(shard);
    }
}

/* ---- answers ---- */

static enum code put_answer(struct approvals *approvals, struct approval_shard *shard, uint64_t scope,
                            const struct approval_answer *answer)
{
    struct approval *approval = approvals__find(shard, scope, answer->digest);

    if (approval == NULL)
        approval = approvals__add(shard, scope, share_of(answer->tenant, answer->principal), answer->digest);
    if (approval == NULL)
        return CODE_NOMEM;
    if (answer->is_open && approval->state != APPROVAL_NEW && approval->state != APPROVAL_ASKED)
        return CODE_OK;
    if (answer->is_open && approval->state == APPROVAL_ASKED) {
        approval->is_stored = true;
        approval->is_granted = answer->is_granted;
        approval->round = answer->round;
        return CODE_OK;
    }
    approval->is_stored = answer->is_open;
    if (answer->is_open)
        (void)approvals__charge(approvals, approval);
    approvals__set_state(approvals, approval, answer->is_open      ? APPROVAL_ASKED
                                              : answer->is_granted ? APPROVAL_GIVEN
                                                                   : APPROVAL_REFUSED);
    approval->is_granted = answer->is_open && answer->is_granted;
    approval->number = answer->number;
    if (approval->decision == 0)
        approval->decision = answer->decision;
    approval->until_us = answer->time_us;
    approval->round = answer->round;
    return CODE_OK;
}

enum code approvals_answer(struct approvals *approvals, const struct approval_answer *answer)
{
    uint64_t scope = approvals__scope(answer->tenant, answer->principal);
    struct approval_shard *shard = approvals__lock(approvals, scope);
    enum code code = CODE_OK;

    if (approvals__taken(shard, answer->number) == NULL)
        code = put_answer(approvals, shard, scope, answer);
    approvals__unlock(shard);
    return code;
}

bool approvals_is_awaited(struct approvals *approvals, const struct approval_answer *answer)
{
    uint64_t scope = approvals__scope(answer->tenant, answer->principal);
    struct approval_shard *shard = approvals__lock(approvals, scope);
    const struct approval *approval = approvals__find(shard, scope, answer->digest);
    bool is = approval != NULL && approval->is_wanted;

    approvals__unlock(shard);
    return is;
}

bool approvals_has_wants(struct approvals *approvals)
{
    return atomic_exchange(&approvals->has_wants, false);
}

/* Frees those in the buckets for which `drops` is true. */
typedef bool (*drop_fn)(const struct approval *approval, const void *context);

static uint32_t drop_each(struct approvals *approvals, drop_fn drops, const void *context)
{
    uint32_t dropped = 0;

    for (uint64_t i = 0; i < APPROVAL_SHARDS; i++) {
        struct approval_shard *shard = approvals__lock(approvals, i);

        for (size_t bucket = 0; bucket < APPROVAL_BUCKETS; bucket++) {
            struct approval *following;

            for (struct approval *approval = shard->buckets[bucket]; approval != NULL; approval = following) {
                following = approval->next;
                if (!drops(approval, context))
                    continue;
                approvals__set_state(approvals, approval, APPROVAL_NEW);
                approvals__unlink(shard, approval);
                mem_free(approval);
                dropped++;
            }
        }
        approvals__unlock(shard);
    }
    return dropped;
}

static bool is_of_old_round(const struct approval *approval, const void *context)
{
    bool is_from_store = approval->state == APPROVAL_GIVEN || approval->state == APPROVAL_REFUSED ||
                         (approval->state == APPROVAL_ASKED && approval->is_stored);

    return is_from_store && approval->round != *(const uint64_t *)context;
}

void approvals_sweep(struct approvals *approvals, uint64_t round)
{
    (void)drop_each(approvals, is_of_old_round, &round);
}

static bool is_given_by_number(const struct approval *approval, const void *context)
{
    return approval->state == APPROVAL_GIVEN && approval->number == *(const int64_t *)context;
}

bool approvals_withdraw(struct approvals *approvals, int64_t number)
{
    return drop_each(approvals, is_given_by_number, &number) > 0;
}

static bool is_over(const struct approval *approval, const void *context)
{
    int64_t time_us = *(const int64_t *)context;

    return approval->state == APPROVAL_ASKED ? approval->until_us + APPROVAL_FORGET_US <= time_us
                                             : approval->until_us <= time_us;
}

bool approvals_tick(struct approvals *approvals, int64_t time_us)
{
    (void)drop_each(approvals, is_over, &time_us);
    return atomic_exchange(&approvals->was_given_back, false);
}

uint32_t approvals_waiting(const struct approvals *approvals)
{
    return (uint32_t)atomic_load_explicit(&approvals->waiting, memory_order_relaxed);
}
