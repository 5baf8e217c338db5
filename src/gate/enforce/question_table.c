/* SPDX-License-Identifier: Apache-2.0 */
#include "enforce/question_table.h"

#include "base/lock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/log.h"
#include "enforce/gate_priv.h"
#include "os/clock.h"

#define PER_SESSION 64
#define CALLS_PER_SESSION 256
#define PER_SHARD 1024
#define METHOD_BYTES 128
#define KEY_PARTS 7 /* the last part is the id; the others together name the session */
#define FORGET_US (INT64_C(3600) * 1000000)

/* A session's questions share a shard and a bucket, so that counting them is a walk of one short chain. */
struct open_question {
    struct list by_age;
    struct open_question *next; /* in the bucket */
    uint64_t scope_hash;
    int64_t asked_us;
    uint64_t decision; /* not 0: that waits for its outcome */
    struct share whose;
    size_t method_len;
    char method[METHOD_BYTES];
    char key[]; /* route, path, tenant, principal, session, side, id; each behind its length */
};

void gate__questions_init(struct gate_shared *shared)
{
    hash_seed();
    for (size_t i = 0; i < QUESTION_SHARDS; i++) {
        lock_init(&shared->shards[i].lock);
        list_init(&shared->shards[i].by_age);
        shares_init(&shared->shards[i].shares, PER_SHARD);
    }
}

static struct open_question **bucket_of(struct question_shard *shard, uint64_t scope_hash)
{
    return &shard->buckets[(scope_hash >> 8) % QUESTION_BUCKETS];
}

static void forget(struct question_shard *shard, struct open_question *question)
{
    struct open_question **at = bucket_of(shard, question->scope_hash);

    while (*at != question)
        at = &(*at)->next;
    *at = question->next;
    list_remove(&question->by_age);
    shares_give(&shard->shares, question->whose, 1);
    mem_free(question);
}

static enum code put_told(struct gate *gate, uint64_t decision, enum audit_outcome outcome, enum reason reason,
                          int64_t latency_us)
{
    const struct audit_result result = {
        .decision = decision, .time_us = clock_wall_us(), .outcome = outcome, .reason = reason, .latency_us = latency_us,
        .upstream_us = -1,
    };

    return audit_put_told(gate->ring, &result);
}

/* Nobody will say what became of the decision. Takes: 0: none waits for that. */
static void put_unknown(struct gate *gate, uint64_t decision, int64_t latency_us)
{
    if (decision != 0 && put_told(gate, decision, OUTCOME_UNKNOWN, REASON_UNREPORTED, latency_us) != CODE_OK)
        log_debug("gate", "the outcome of decision %llu is put when the gate ends", (unsigned long long)decision);
}

/* Forgets a question to which nobody has said anything. */
static void give_up(struct gate *gate, struct question_shard *shard, struct open_question *question, int64_t now_us)
{
    put_unknown(gate, question->decision, now_us - question->asked_us);
    forget(shard, question);
}

static struct open_question *oldest(struct question_shard *shard)
{
    return list_is_empty(&shard->by_age) ? NULL : LIST_ENTRY(shard->by_age.next, struct open_question, by_age);
}

void gate__questions_fini(struct gate_shared *shared)
{
    for (size_t i = 0; i < QUESTION_SHARDS; i++) {
        struct open_question *question;

        while ((question = oldest(&shared->shards[i])) != NULL)
            forget(&shared->shards[i], question);
        shares_fini(&shared->shards[i].shares);
        pthread_mutex_destroy(&shared->shards[i].lock);
    }
}

static uint64_t hash_scope(const struct question_key *key)
{
    uint64_t hash = hash_mix(hash_span(key->route), hash_span(key->path));

    hash = hash_mix(hash, hash_span(key->tenant));
    hash = hash_mix(hash, hash_span(key->principal));
    return hash_mix(hash_mix(hash, hash_span(key->session)), key->is_own ? 2 : key->is_call);
}

static struct question_shard *lock_shard(struct gate *gate, uint64_t scope_hash)
{
    struct question_shard *shard = &gate->shared->shards[scope_hash % QUESTION_SHARDS];

    lock_take(&shard->lock);
    return shard;
}

static size_t parts_of(const struct question_key *key, struct span parts[KEY_PARTS])
{
    size_t len = 0;

    parts[0] = key->route;
    parts[1] = key->path;
    parts[2] = key->tenant;
    parts[3] = key->principal;
    parts[4] = key->session;
    parts[5] = key->is_own ? SPAN_LIT("own") : key->is_call ? SPAN_LIT("call") : SPAN_NONE;
    parts[6] = key->id;
    for (int i = 0; i < KEY_PARTS; i++)
        len += sizeof(size_t) + parts[i].len;
    return len;
}

static bool has_parts(const struct open_question *question, const struct span *parts, int count)
{
    const char *at = question->key;

    for (int i = 0; i < count; i++) {
        size_t len;

        memcpy(&len, at, sizeof len);
        at += sizeof len;
        if (!span_equals(span_of(at, len), parts[i]))
            return false;
        at += len;
    }
    return true;
}

static struct open_question *question_new(const struct span parts[KEY_PARTS], size_t key_len, struct span method)
{
    struct open_question *question = mem_zalloc(sizeof *question + key_len);
    char *at;

    if (question == NULL)
        return NULL;
    at = question->key;
    for (int i = 0; i < KEY_PARTS; i++) {
        memcpy(at, &parts[i].len, sizeof parts[i].len);
        at += sizeof parts[i].len;
        if (parts[i].len > 0)
            memcpy(at, parts[i].at, parts[i].len);
        at += parts[i].len;
    }
    question->method_len = method.len;
    memcpy(question->method, method.at, method.len);
    return question;
}

/* Counts the session's open questions into *of_session. Returns: the one with all parts, or NULL. */
static struct open_question *find_open(struct question_shard *shard, uint64_t scope_hash, const struct span parts[KEY_PARTS],
                                  size_t *of_session)
{
    struct open_question *found = NULL;

    *of_session = 0;
    for (struct open_question *question = *bucket_of(shard, scope_hash); question != NULL; question = question->next) {
        if (question->scope_hash != scope_hash || !has_parts(question, parts, KEY_PARTS - 1))
            continue;
        ++*of_session;
        if (has_parts(question, parts, KEY_PARTS))
            found = question;
    }
    return found;
}

/* A bucket has new questions first, so the last one that matches is the oldest. */
static struct open_question *oldest_of(struct question_shard *shard, uint64_t scope_hash, const struct span parts[KEY_PARTS])
{
    struct open_question *last = NULL;

    for (struct open_question *question = *bucket_of(shard, scope_hash); question != NULL; question = question->next)
        if (question->scope_hash == scope_hash && has_parts(question, parts, KEY_PARTS - 1))
            last = question;
    return last;
}

/* The oldest of the same principal, else of the same tenant, else of anybody. So who leaves much unanswered pushes out his own
 * questions and not those of others. */
static struct open_question *oldest_like(struct question_shard *shard, struct share whose)
{
    bool has_own = shares_held(&shard->shares, whose.principal) > 0;
    bool has_tenants = shares_held(&shard->shares, whose.tenant) > 0;

    for (struct list *link = shard->by_age.next; link != &shard->by_age; link = link->next) {
        struct open_question *question = LIST_ENTRY(link, struct open_question, by_age);

        if (has_own ? question->whose.principal == whose.principal : !has_tenants || question->whose.tenant == whose.tenant)
            return question;
    }
    return oldest(shard);
}

static enum code make_room(struct gate *gate, struct question_shard *shard, struct share whose, int64_t now_us)
{
    while (!shares_allow(&shard->shares, whose, 1) && oldest(shard) != NULL)
        give_up(gate, shard, oldest_like(shard, whose), now_us);
    return shares_take(&shard->shares, whose, 1);
}

static enum code open_in(struct gate *gate, struct question_shard *shard, uint64_t scope_hash,
                         const struct question_key *key, struct span method, int64_t now_us)
{
    struct share whose = share_of(key->home.at != NULL ? key->home : key->tenant, key->principal);
    struct span parts[KEY_PARTS];
    size_t key_len = parts_of(key, parts), of_session;
    struct open_question *question, **bucket;
    bool is_call = key->is_call || key->is_own;

    while ((question = oldest(shard)) != NULL && now_us - question->asked_us > FORGET_US)
        give_up(gate, shard, question, now_us);
    question = find_open(shard, scope_hash, parts, &of_session);
    if (question != NULL) {
        if (is_call || !span_equals(span_of(question->method, question->method_len), method))
            return CODE_EXISTS;
        list_remove(&question->by_age);
    } else {
        if (of_session >= PER_SESSION && !is_call)
            return CODE_LIMIT;
        if (of_session >= CALLS_PER_SESSION)
            give_up(gate, shard, oldest_of(shard, scope_hash, parts), now_us);
        question = question_new(parts, key_len, method);
        if (question == NULL || make_room(gate, shard, whose, now_us) != CODE_OK) {
            mem_free(question);
            return CODE_NOMEM;
        }
        question->scope_hash = scope_hash;
        question->decision = key->decision;
        question->whose = whose;
        bucket = bucket_of(shard, scope_hash);
        question->next = *bucket;
        *bucket = question;
    }
    question->asked_us = now_us;
    list_append(&shard->by_age, &question->by_age);
    return CODE_OK;
}

enum code question_open(struct gate *gate, const struct question_key *key, struct span method, int64_t now_us)
{
    uint64_t scope_hash = hash_scope(key);
    struct question_shard *shard;
    enum code code;

    if (method.len == 0 || method.len > METHOD_BYTES)
        return CODE_LIMIT;
    shard = lock_shard(gate, scope_hash);
    code = open_in(gate, shard, scope_hash, key, method, now_us);
    lock_give(&shard->lock);
    if (code != CODE_OK) /* else it would wait, in memory, until the gate ends */
        put_unknown(gate, key->decision, 0);
    return code;
}

enum code question_answer(struct gate *gate, const struct question_key *key, char method[128], size_t *len)
{
    uint64_t scope_hash = hash_scope(key);
    struct question_shard *shard = lock_shard(gate, scope_hash);
    struct span parts[KEY_PARTS];
    size_t of_session;
    struct open_question *question;

    parts_of(key, parts);
    question = find_open(shard, scope_hash, parts, &of_session);
    if (question != NULL) {
        *len = question->method_len;
        memcpy(method, question->method, question->method_len);
        forget(shard, question);
    }
    lock_give(&shard->lock);
    return question != NULL ? CODE_OK : CODE_NOT_FOUND;
}

enum code question_report(struct gate *gate, const struct question_key *key, int64_t now_us)
{
    uint64_t scope_hash = hash_scope(key);
    struct question_shard *shard = lock_shard(gate, scope_hash);
    enum code code = CODE_NOT_FOUND;
    struct span parts[KEY_PARTS];
    size_t of_session;
    struct open_question *question;

    parts_of(key, parts);
    question = find_open(shard, scope_hash, parts, &of_session);
    if (question != NULL) {
        code = put_told(gate, question->decision, OUTCOME_REPORTED, REASON_REPORTED, now_us - question->asked_us);
        forget(shard, question);
    }
    lock_give(&shard->lock);
    return code;
}
