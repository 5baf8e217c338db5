/* SPDX-License-Identifier: Apache-2.0 */
#include "state/approvals_priv.h"

#include "base/bug.h"
#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"
#include "crypto/parts.h"
#include "crypto/secret.h"

#include <string.h>

enum code approvals_new(const unsigned char key[DIGEST_BYTES], struct approvals **out)
{
    struct approvals *approvals = mem_zalloc(sizeof *approvals);

    *out = approvals;
    if (approvals == NULL)
        return CODE_NOMEM;
    hash_seed();
    approvals->key = secret_copy(key, DIGEST_BYTES);
    for (size_t i = 0; i < APPROVAL_SHARDS; i++) {
        lock_init(&approvals->shards[i].lock);
        list_init(&approvals->shards[i].taken);
    }
    lock_init(&approvals->asks_lock);
    lock_init(&approvals->shares_lock);
    shares_init(&approvals->shares, APPROVAL_WAITING_MAX);
    list_init(&approvals->asks);
    if (approvals->key == NULL) {
        approvals_free(out);
        return CODE_NOMEM;
    }
    return CODE_OK;
}

static void free_shard(struct approval_shard *shard)
{
    for (size_t i = 0; i < APPROVAL_BUCKETS; i++)
        while (shard->buckets[i] != NULL) {
            struct approval *approval = shard->buckets[i];

            shard->buckets[i] = approval->next;
            mem_free(approval);
        }
    while (!list_is_empty(&shard->taken)) {
        struct approval *approval = LIST_ENTRY(shard->taken.next, struct approval, taken);

        list_remove(&approval->taken);
        mem_free(approval);
    }
    pthread_mutex_destroy(&shard->lock);
}

void approvals_free(struct approvals **approvals)
{
    struct approvals *gone = *approvals;
    struct approval_ask *ask;

    *approvals = NULL;
    if (gone == NULL)
        return;
    while ((ask = approvals_next_ask(gone)) != NULL)
        approval_ask_free(&ask);
    for (size_t i = 0; i < APPROVAL_SHARDS; i++)
        free_shard(&gone->shards[i]);
    pthread_mutex_destroy(&gone->asks_lock);
    pthread_mutex_destroy(&gone->shares_lock);
    shares_fini(&gone->shares);
    secret_free(gone->key, DIGEST_BYTES);
    mem_free(gone);
}

struct approval_shard *approvals__lock(struct approvals *approvals, uint64_t scope)
{
    struct approval_shard *shard = &approvals->shards[scope % APPROVAL_SHARDS];

    lock_take(&shard->lock);
    return shard;
}

void approvals__unlock(struct approval_shard *shard)
{
    lock_give(&shard->lock);
}

uint64_t approvals__scope(struct span tenant, struct span principal)
{
    return hash_mix(hash_span(tenant), hash_span(principal));
}

static struct approval **bucket_of(struct approval_shard *shard, uint64_t scope)
{
    return &shard->buckets[(scope >> 8) % APPROVAL_BUCKETS];
}

struct approval *approvals__find(struct approval_shard *shard, uint64_t scope, const unsigned char digest[DIGEST_BYTES])
{
    struct approval *approval = *bucket_of(shard, scope);

    while (approval != NULL && (approval->scope != scope || memcmp(approval->digest, digest, DIGEST_BYTES) != 0))
        approval = approval->next;
    return approval;
}

static uint32_t count_asked(struct approval_shard *shard, uint64_t scope)
{
    uint32_t count = 0;

    for (struct approval *approval = *bucket_of(shard, scope); approval != NULL; approval = approval->next)
        count += approval->scope == scope && approval->state == APPROVAL_ASKED;
    return count;
}

bool approvals__charge(struct approvals *approvals, struct approval *approval)
{
    lock_take(&approvals->shares_lock);
    approval->is_charged = shares_take(&approvals->shares, approval->whose, 1) == CODE_OK;
    lock_give(&approvals->shares_lock);
    return approval->is_charged;
}

static void discharge(struct approvals *approvals, struct approval *approval)
{
    lock_take(&approvals->shares_lock);
    if (approval->is_charged)
        shares_give(&approvals->shares, approval->whose, 1);
    approval->is_charged = false;
    lock_give(&approvals->shares_lock);
}

/* Sets the state, and counts those that wait by it. */
void approvals__set_state(struct approvals *approvals, struct approval *approval, enum approval_state state)
{
    if (approval->state != APPROVAL_ASKED && state == APPROVAL_ASKED)
        atomic_fetch_add_explicit(&approvals->waiting, 1, memory_order_relaxed);
    if (approval->state == APPROVAL_ASKED && state != APPROVAL_ASKED) {
        atomic_fetch_sub_explicit(&approvals->waiting, 1, memory_order_relaxed);
        discharge(approvals, approval);
        approval->is_granted = approval->is_wanted = false;
    }
    approval->state = state;
}

struct approval *approvals__add(struct approval_shard *shard, uint64_t scope, struct share whose,
                                const unsigned char digest[DIGEST_BYTES])
{
    struct approval *approval = mem_zalloc(sizeof *approval), **bucket = bucket_of(shard, scope);

    if (approval == NULL)
        return NULL;
    approval->scope = scope;
    approval->whose = whose;
    memcpy(approval->digest, digest, DIGEST_BYTES);
    approval->next = *bucket;
    *bucket = approval;
    return approval;
}

void approvals__unlink(struct approval_shard *shard, struct approval *approval)
{
    struct approval **at = bucket_of(shard, approval->scope);

    while (*at != approval)
        at = &(*at)->next;
    *at = approval->next;
}

/* ---- what a call is recognised by ---- */

/* Digests a value, so that values that are equal to every operator are the same call's: 13 and 13.0. Takes: text: JSON. */
static struct span digest_value(struct span text, unsigned char plain[DIGEST_BYTES])
{
    struct digest digest;
    struct span number;
    struct buf spelled;
    size_t at = 0;

    if (text.at == NULL)
        return SPAN_NONE;
    digest_init(&digest);
    buf_init(&spelled, SIZE_MAX / 2);
    while ((number = json_number_next(text, at)).len > 0) {
        size_t begin = (size_t)(number.at - text.at);

        digest_add(&digest, text.at + at, begin - at);
        buf_clear(&spelled);
        if (json_number_plain(number, &spelled) == CODE_OK)
            digest_add(&digest, buf_peek(&spelled).at, buf_len(&spelled));
        else
            digest_add(&digest, number.at, number.len);
        at = begin + number.len;
    }
    digest_add(&digest, text.at + at, text.len - at);
    buf_fini(&spelled);
    digest_final(&digest, plain);
    return span_of(plain, DIGEST_BYTES);
}

static void recognise(const struct approvals *approvals, const struct question *question, struct span rule,
                      struct span rule_hash, struct approval_mark *mark)
{
    struct span root = question->root != NULL && !question->bound_has_root ? question->root->raw : SPAN_NONE;
    unsigned char root_digest[DIGEST_BYTES], bound_digest[DIGEST_BYTES];
    const struct span parts[] = {
        question->tenant, question->principal, question->upstream, question->method, question->answers, question->tool,
        question->resource, question->prompt, digest_value(root, root_digest), rule, rule_hash,
        question->path, question->query, digest_value(question->bound, bound_digest), question->agent,
    };
    unsigned char plain[DIGEST_BYTES];
    struct digest digest;

    *mark = (struct approval_mark){.scope = approvals__scope(question->tenant, question->principal)};
    digest_init(&digest);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        parts_add_maybe(&digest, parts[i]);
    digest_final(&digest, plain);
    hmac_of(span_of(approvals->key, DIGEST_BYTES), span_of(plain, sizeof plain), mark->digest);
}

/* ---- workers ---- */

enum policy_known approvals_known(struct approvals *approvals, const struct question *question, struct span rule,
                                  struct span rule_hash)
{
    enum policy_known known = POLICY_UNKNOWN;
    const struct approval *approval;
    struct approval_shard *shard;
    struct approval_mark mark;

    recognise(approvals, question, rule, rule_hash, &mark);
    shard = approvals__lock(approvals, mark.scope);
    approval = approvals__find(shard, mark.scope, mark.digest);
    if (approval != NULL && approval->until_us > question->time_us)
        known = approval->state == APPROVAL_GIVEN     ? POLICY_YES
                : approval->state == APPROVAL_REFUSED ? POLICY_NO
                                                      : POLICY_UNKNOWN;
    approvals__unlock(shard);
    return known;
}

/* Takes an approval out of the bucket, so that nobody finds it, and onto the list, so that main does not hand it in again. */
static bool take(struct approvals *approvals, struct approval_mark *mark, int64_t time_us)
{
    struct approval_shard *shard = approvals__lock(approvals, mark->scope);
    struct approval *approval = approvals__find(shard, mark->scope, mark->digest);
    bool is_mine = approval != NULL && approval->state == APPROVAL_GIVEN && approval->until_us > time_us;

    if (is_mine) {
        mark->number = approval->number;
        approvals__unlink(shard, approval);
        approval->state = APPROVAL_TAKEN;
        list_append(&shard->taken, &approval->taken);
    }
    approvals__unlock(shard);
    return is_mine;
}

bool approvals_take(struct approvals *approvals, const struct question *question, const struct verdict *verdict,
                    struct approval_marks *marks)
{
    marks->of = approvals;
    marks->count = 0;
    for (uint32_t i = 0; i < verdict->approval_count; i++) {
        const struct verdict_approval *wanted = &verdict->approvals[i];
        struct approval_mark *mark = &marks->mark[marks->count];

        recognise(approvals, question, wanted->rule, wanted->people->rule_hash, mark);
        if (!take(approvals, mark, question->time_us)) {
            approvals_give_back(marks);
            return false;
        }
        marks->count++;
    }
    return true;
}

struct approval *approvals__taken(struct approval_shard *shard, int64_t number)
{
    for (struct list *at = shard->taken.next; at != &shard->taken; at = at->next) {
        struct approval *approval = LIST_ENTRY(at, struct approval, taken);

        if (approval->number == number)
            return approval;
    }
    return NULL;
}

void approvals_use(struct approval_marks *marks, uint64_t decision, int64_t time_us)
{
    for (uint32_t i = 0; i < marks->count; i++) {
        struct approval_shard *shard = approvals__lock(marks->of, marks->mark[i].scope);
        struct approval *approval = approvals__taken(shard, marks->mark[i].number);

        BUG_ON(approval == NULL || approval->state != APPROVAL_TAKEN);
        approval->state = APPROVAL_USED;
        approval->decision = decision;
        approval->until_us = time_us;
        approvals__unlock(shard);
    }
    marks->of = NULL;
}

/* Gives approvals back: main learns it by approvals_tick, and hands them in again if they are still in force. */
void approvals_give_back(struct approval_marks *marks)
{
    for (uint32_t i = 0; i < marks->count; i++) {
        struct approval_shard *shard = approvals__lock(marks->of, marks->mark[i].scope);
        struct approval *approval = approvals__taken(shard, marks->mark[i].number);

        BUG_ON(approval == NULL || approval->state != APPROVAL_TAKEN);
        list_remove(&approval->taken);
        approvals__unlock(shard);
        mem_free(approval);
        atomic_store(&marks->of->was_given_back, true);
    }
    marks->of = NULL;
}

/* Whether it is granted, or main has not looked at the store since a call wanted it. */
static bool may_come(struct approvals *approvals, const struct question *question, const struct verdict_approval *wanted)
{
    struct approval_shard *shard;
    struct approval_mark mark;
    struct approval *approval;
    bool may = false;

    recognise(approvals, question, wanted->rule, wanted->people->rule_hash, &mark);
    shard = approvals__lock(approvals, mark.scope);
    approval = approvals__find(shard, mark.scope, mark.digest);
    if (approval != NULL && approval->state == APPROVAL_ASKED && approval->is_stored) {
        if (!approval->is_wanted)
            approval->wanted_round = approval->round;
        may = approval->is_granted || approval->wanted_round == approval->round;
        approval->is_wanted = may;
    }
    approvals__unlock(shard);
    return may;
}

bool approvals_want(struct approvals *approvals, const struct question *question, const struct verdict *verdict)
{
    bool waits = false;

    for (uint32_t i = 0; approvals->is_of_fleet && i < verdict->approval_count; i++) {
        if (verdict->approvals[i].is_granted)
            continue;
        waits = may_come(approvals, question, &verdict->approvals[i]);
        if (!waits)
            break;
    }
    if (waits)
        atomic_store(&approvals->has_wants, true);
    return waits;
}

/* Tells main of a held call at most once a second, so that the store knows when it was last asked for; texts go again if
 * they were lost. */
static void see(struct approval *approval, struct approval_mark *mark, int64_t now_us)
{
    mark->is_noted = true;
    approval->until_us = now_us;
    mark->tells = approval->told_us == 0 || now_us < approval->told_us || now_us - approval->told_us >= APPROVAL_TELL_US;
    mark->is_stored = approval->is_stored;
    if (mark->tells)
        approval->told_us = now_us;
}

static enum reason note(struct approvals *approvals, struct approval_shard *shard, struct share whose,
                        struct approval_mark *mark, int64_t now_us)
{
    struct approval *approval = approvals__find(shard, mark->scope, mark->digest);
    bool is_new = approval == NULL;

    if (approval != NULL && approval->state != APPROVAL_ASKED && approval->until_us > now_us) {
        mark->decision = approval->decision;
        return REASON_UNSET; /* a person has just answered, which the next try finds */
    }
    if (approval == NULL || approval->state != APPROVAL_ASKED) {
        if (count_asked(shard, mark->scope) >= APPROVAL_PER_PRINCIPAL)
            return REASON_APPROVAL_LIMIT;
        if (approval == NULL)
            approval = approvals__add(shard, mark->scope, whose, mark->digest);
        if (approval == NULL)
            return REASON_MEMORY;
        if (!approvals__charge(approvals, approval)) {
            if (is_new) {
                approvals__unlink(shard, approval);
                mem_free(approval);
            }
            return REASON_APPROVAL_LIMIT;
        }
        approval->told_us = 0;
        approval->is_offered = false;
        approval->decision = 0;
        approval->is_stored = false;
        approvals__set_state(approvals, approval, APPROVAL_ASKED);
    }
    see(approval, mark, now_us);
    return REASON_UNSET;
}

enum reason approvals_note(struct approvals *approvals, const struct question *question, struct span home,
                           const struct verdict *verdict, struct approval_marks *marks)
{
    struct share whose = share_of(home, question->principal);

    marks->of = approvals;
    for (uint32_t i = 0; i < verdict->approval_count; i++) {
        const struct verdict_approval *wanted = &verdict->approvals[i];
        struct approval_mark *mark = &marks->mark[i];
        struct approval_shard *shard;
        enum reason reason;

        marks->count = i + 1;
        recognise(approvals, question, wanted->rule, wanted->people->rule_hash, mark);
        if (wanted->is_granted)
            continue;
        shard = approvals__lock(approvals, mark->scope);
        reason = note(approvals, shard, whose, mark, question->time_us);
        approvals__unlock(shard);
        if (reason != REASON_UNSET)
            return reason;
    }
    return REASON_UNSET;
}

uint64_t approvals_held(struct approval_marks *marks, uint64_t decision)
{
    uint64_t found = 0;

    for (uint32_t i = 0; i < marks->count; i++) {
        struct approval_mark *mark = &marks->mark[i];
        struct approval_shard *shard;
        struct approval *approval;

        if (mark->is_noted) {
            shard = approvals__lock(marks->of, mark->scope);
            approval = approvals__find(shard, mark->scope, mark->digest);
            if (approval != NULL && approval->decision == 0)
                approval->decision = decision;
            mark->decision = approval != NULL ? approval->decision : decision;
            approvals__unlock(shard);
        }
        if (found == 0)
            found = mark->decision;
    }
    return found != 0 ? found : decision;
}

bool approvals_offer(struct approval_marks *marks, const struct verdict *verdict)
{
    bool is_due = false;

    for (uint32_t i = 0; i < marks->count; i++) {
        const struct approval_mark *mark = &marks->mark[i];
        struct approval_shard *shard;
        struct approval *approval;

        if (!mark->is_noted || !span_is(verdict->approvals[i].people->approvers, "self"))
            continue;
        shard = approvals__lock(marks->of, mark->scope);
        approval = approvals__find(shard, mark->scope, mark->digest);
        if (approval != NULL && approval->state == APPROVAL_ASKED) {
            is_due = is_due || !approval->is_offered;
            approval->is_offered = true;
        }
        approvals__unlock(shard);
    }
    return is_due;
}
