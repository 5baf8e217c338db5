/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/lookup.h"

#include "base/bug.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/shares.h"
#include "os/pause.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define SHARDS 64
#define SHARD_ENTRIES 256
#define SHARD_BYTES ((size_t)1 << 20)
#define ALWAYS UINT64_MAX /* keep the result whatever was forgotten since */
#define PLACES 8 /* an entry is in one of so many places from its hash on */
#define ASKED_BUCKETS 4096 /* so that hardly two share one */
#define SHARED_MAX (LOOKUP_PENDING_MAX / 4 * 3) /* agents' part of these; the rest is for key sets and the gate's own tokens */

/* Invariants: is_used where a result is known, one is awaited or a failure is remembered. */
struct entry {
    struct lookup_key key;
    void *result;                 /* NULL: nothing is known */
    size_t bytes;
    int64_t until_us, renew_us;
    int64_t asked_us;             /* for the last time; 0: never */
    int64_t failed_until_us;
    enum reason reason;           /* of the failure */
    uint64_t ticket;              /* it is under way; 0: it is not */
    bool is_used;
};

struct shard {
    pthread_mutex_t lock;
    struct entry *entries; /* NULL until the first */
    size_t bytes;
};

/* One that is under way. A ticket's low bits are its slot's number. */
struct slot {
    atomic_uint_fast64_t ticket; /* 0: free */
    struct lookup_work work;
    bool is_taken;
    uint32_t next;
};

struct lookups {
    struct lookup_conf conf;
    struct shard shards[SHARDS];
    pthread_mutex_t lock; /* what follows */
    struct slot slots[LOOKUP_PENDING_MAX];
    uint64_t serial;
    uint32_t first_free, first, last; /* numbers plus one; 0: none. `first`: asked for, and taken by nobody yet */
    uint32_t asked[ASKED_BUCKETS], asked_for[ASKED_BUCKETS]; /* how many are taken and not over, by `of` and by `who` */
    struct shares shares; /* of those that agents cause and that are not over, by `who` */
    atomic_uint_fast64_t pending, refused, settled, forgotten;
};

enum code lookup_new(const struct lookup_conf *conf, struct lookups **out)
{
    struct lookups *lookups = mem_zalloc(sizeof *lookups);

    *out = lookups;
    if (lookups == NULL)
        return CODE_NOMEM;
    lookups->conf = *conf;
    lock_init(&lookups->lock);
    for (size_t i = 0; i < SHARDS; i++)
        lock_init(&lookups->shards[i].lock);
    for (uint32_t i = 0; i < LOOKUP_PENDING_MAX; i++)
        lookups->slots[i].next = i + 1 < LOOKUP_PENDING_MAX ? i + 2 : 0;
    lookups->first_free = 1;
    shares_init(&lookups->shares, SHARED_MAX);
    return CODE_OK;
}

void lookup_work_fini(struct lookup_work *work)
{
    void *payload = (void *)(uintptr_t)work->payload.at;

    if (payload != NULL)
        mem_wipe(payload, work->payload.len);
    mem_free(payload);
    work->payload = SPAN_NONE;
}

/* ---- entries, under their shard's lock ---- */

/* What is hashed is a digest already. */
static struct shard *shard_of(struct lookups *lookups, const struct lookup_key *key)
{
    return &lookups->shards[key->digest[0] % SHARDS];
}

static struct entry *place_of(const struct shard *shard, const struct lookup_key *key, size_t i)
{
    return &shard->entries[(key->digest[1] + i) % SHARD_ENTRIES];
}

static struct entry *find_entry(const struct shard *shard, const struct lookup_key *key)
{
    for (size_t i = 0; shard->entries != NULL && i < PLACES; i++) {
        struct entry *entry = place_of(shard, key, i);

        if (entry->is_used && entry->key.kind == key->kind && memcmp(entry->key.digest, key->digest, DIGEST_BYTES) == 0)
            return entry;
    }
    return NULL;
}

/* One that may give way: neither under way nor pinned. */
static bool may_go(const struct entry *entry)
{
    return entry->ticket == 0 && (entry->key.kind != LOOKUP_KEYS || entry->result == NULL);
}

static int64_t over_us(const struct entry *entry)
{
    return entry->result != NULL ? entry->until_us : entry->failed_until_us;
}

static void *ref(const struct lookups *lookups, const struct entry *entry)
{
    return lookups->conf.types[entry->key.kind].ref(entry->result);
}

static void unref(const struct lookups *lookups, enum lookup_kind kind, void *result)
{
    if (result != NULL)
        lookups->conf.types[kind].unref(result);
}

static void drop_result(const struct lookups *lookups, struct shard *shard, struct entry *entry)
{
    shard->bytes -= entry->bytes;
    entry->bytes = 0;
    unref(lookups, entry->key.kind, entry->result);
    entry->result = NULL;
}

static void drop(const struct lookups *lookups, struct shard *shard, struct entry *entry)
{
    drop_result(lookups, shard, entry);
    *entry = (struct entry){.is_used = false};
}

/* An entry for the key, new where there is none. NULL: no room. */
static struct entry *make(const struct lookups *lookups, struct shard *shard, const struct lookup_key *key)
{
    struct entry *entry = find_entry(shard, key), *into = NULL;

    if (entry != NULL)
        return entry;
    if (shard->entries == NULL)
        shard->entries = mem_array(SHARD_ENTRIES, sizeof *shard->entries);
    for (size_t i = 0; shard->entries != NULL && i < PLACES; i++) {
        entry = place_of(shard, key, i);
        if (entry->is_used && !may_go(entry))
            continue;
        if (into == NULL || !entry->is_used || (into->is_used && over_us(entry) < over_us(into)))
            into = entry;
    }
    if (into == NULL)
        return NULL;
    drop(lookups, shard, into);
    into->key = *key;
    into->is_used = true;
    return into;
}

static void make_room(const struct lookups *lookups, struct shard *shard, size_t bytes, const struct entry *keep)
{
    while (shard->bytes > 0 && shard->bytes + bytes > SHARD_BYTES) {
        struct entry *soonest = NULL;

        for (size_t i = 0; i < SHARD_ENTRIES; i++) {
            struct entry *entry = &shard->entries[i];

            if (entry->result != NULL && entry != keep && may_go(entry) &&
                (soonest == NULL || entry->until_us < soonest->until_us))
                soonest = entry;
        }
        if (soonest == NULL)
            return;
        drop(lookups, shard, soonest);
    }
}

void lookup_free(struct lookups **out)
{
    struct lookups *lookups = *out;

    for (size_t i = 0; lookups != NULL && i < LOOKUP_PENDING_MAX; i++)
        lookup_work_fini(&lookups->slots[i].work);
    for (size_t i = 0; lookups != NULL && i < SHARDS; i++) {
        for (size_t at = 0; lookups->shards[i].entries != NULL && at < SHARD_ENTRIES; at++)
            drop(lookups, &lookups->shards[i], &lookups->shards[i].entries[at]);
        mem_free(lookups->shards[i].entries);
        pthread_mutex_destroy(&lookups->shards[i].lock);
    }
    if (lookups != NULL) {
        pthread_mutex_destroy(&lookups->lock);
        shares_fini(&lookups->shares);
    }
    mem_free(lookups);
    *out = NULL;
}

/* ---- what is under way ---- */

/* Under the queue's lock, as all that changes slots. */
static void free_slot(struct lookups *lookups, struct slot *slot)
{
    slot->next = lookups->first_free;
    lookups->first_free = (uint32_t)(slot - lookups->slots) + 1;
}

/* The share of an asker, so that one's flood does not refuse another. */
static struct share share_for(uint64_t who)
{
    return (struct share){.tenant = who};
}

/* Returns: NULL: there is no place; sets *why where whoever asks has his share under way. */
static struct slot *new_slot(struct lookups *lookups, struct lookup_work work, enum reason *why)
{
    uint32_t number = lookups->first_free;
    struct slot *slot = number != 0 ? &lookups->slots[number - 1] : NULL;
    enum code code = slot == NULL       ? CODE_BUSY
                     : work.key.who != 0 ? shares_take(&lookups->shares, share_for(work.key.who), 1)
                                         : CODE_OK;

    if (code == CODE_LIMIT && shares_held(&lookups->shares, work.key.who) > 0)
        *why = REASON_IDENTITY_SHARE;
    if (code != CODE_OK)
        return NULL;
    lookups->first_free = slot->next;
    slot->next = 0;
    slot->work = work;
    slot->is_taken = false;
    atomic_store(&slot->ticket, ++lookups->serial * LOOKUP_PENDING_MAX + number - 1);
    if (lookups->last != 0)
        lookups->slots[lookups->last - 1].next = number;
    else
        lookups->first = number;
    lookups->last = number;
    return slot;
}

static void count_asked(struct lookups *lookups, const struct lookup_key *key, int by)
{
    lookups->asked[key->of % ASKED_BUCKETS] += (uint32_t)by;
    lookups->asked_for[key->who % ASKED_BUCKETS] += (uint32_t)by;
}

static bool may_ask(const struct lookups *lookups, const struct lookup_key *key)
{
    return key->of == 0 || (lookups->asked[key->of % ASKED_BUCKETS] < LOOKUP_AT_ONCE &&
                            (key->who == 0 || lookups->asked_for[key->who % ASKED_BUCKETS] < LOOKUP_EACH_AT_ONCE));
}

/* Takes: why: set where it is his own share that is full. */
static bool enqueue(struct lookups *lookups, struct entry *entry, struct span payload, int64_t now_us, enum reason *why)
{
    char *copy = payload.len <= LOOKUP_PAYLOAD_MAX ? mem_dup(payload.len > 0 ? payload.at : "", payload.len) : NULL;
    struct slot *slot;

    lock_take(&lookups->lock);
    slot = copy != NULL ? new_slot(lookups, (struct lookup_work){entry->key, span_of(copy, payload.len)}, why) : NULL;
    lock_give(&lookups->lock);
    if (slot == NULL) {
        mem_free(copy);
        atomic_fetch_add(&lookups->refused, 1);
        return false;
    }
    entry->ticket = atomic_load(&slot->ticket);
    entry->asked_us = now_us;
    atomic_fetch_add(&lookups->pending, 1);
    return true;
}

static void end_ticket(struct lookups *lookups, struct entry *entry)
{
    struct slot *slot = &lookups->slots[entry->ticket % LOOKUP_PENDING_MAX];

    if (entry->ticket == 0)
        return;
    lock_take(&lookups->lock);
    BUG_ON(atomic_load(&slot->ticket) != entry->ticket);
    atomic_store(&slot->ticket, 0);
    if (slot->work.key.who != 0)
        shares_give(&lookups->shares, share_for(slot->work.key.who), 1);
    if (slot->is_taken) {
        count_asked(lookups, &slot->work.key, -1);
        free_slot(lookups, slot);
    } /* else lookup_take frees it, which finds it over */
    lock_give(&lookups->lock);
    atomic_fetch_sub(&lookups->pending, 1);
    atomic_fetch_add(&lookups->settled, 1);
    entry->ticket = 0;
}

bool lookup_is_settled(const struct lookups *lookups, uint64_t ticket)
{
    return atomic_load(&lookups->slots[ticket % LOOKUP_PENDING_MAX].ticket) != ticket;
}

uint64_t lookup_settled(const struct lookups *lookups)
{
    return atomic_load(&lookups->settled);
}

bool lookup_take(struct lookups *lookups, struct lookup_work *work)
{
    uint32_t before = 0, number;
    bool is_taken = false;

    lock_take(&lookups->lock);
    number = lookups->first;
    while (number != 0 && !is_taken) {
        struct slot *slot = &lookups->slots[number - 1];
        bool is_over = atomic_load(&slot->ticket) == 0;

        number = slot->next;
        if (!is_over && !may_ask(lookups, &slot->work.key)) {
            before = (uint32_t)(slot - lookups->slots) + 1;
            continue;
        }
        *(before != 0 ? &lookups->slots[before - 1].next : &lookups->first) = number;
        lookups->last = number != 0 ? lookups->last : before;
        is_taken = slot->is_taken = !is_over;
        *work = slot->work;
        slot->work.payload = SPAN_NONE;
        if (is_taken) {
            count_asked(lookups, &work->key, 1);
            continue;
        }
        lookup_work_fini(work);
        free_slot(lookups, slot);
    }
    lock_give(&lookups->lock);
    return is_taken;
}

/* ---- asking ---- */

static bool is_known(const struct entry *entry, int64_t now_us)
{
    return entry != NULL && entry->result != NULL && now_us < entry->until_us;
}

void *lookup_find(struct lookups *lookups, const struct lookup_key *key, int64_t now_us)
{
    struct shard *shard = shard_of(lookups, key);
    void *result = NULL;
    struct entry *entry;

    lock_take(&shard->lock);
    entry = find_entry(shard, key);
    if (is_known(entry, now_us))
        result = ref(lookups, entry);
    lock_give(&shard->lock);
    return result;
}

/* Under the shard's lock. Sets *is_new: the fetching thread has something to do. */
static enum lookup_state want(struct lookups *lookups, struct shard *shard, const struct lookup_key *key, struct span payload,
                              int64_t now_us, struct lookup_answer *answer, bool *is_new)
{
    struct entry *entry = make(lookups, shard, key);
    enum reason why = REASON_IDENTITY_UNAVAILABLE;

    if (entry != NULL && entry->ticket == 0)
        *is_new = enqueue(lookups, entry, payload, now_us, &why);
    if (entry == NULL || entry->ticket == 0) {
        answer->reason = why;
        if (entry != NULL && entry->result == NULL && entry->failed_until_us == 0)
            drop(lookups, shard, entry);
        return LOOKUP_FAILED;
    }
    answer->ticket = entry->ticket;
    return LOOKUP_PENDING;
}

enum lookup_state lookup_ask(struct lookups *lookups, const struct lookup_key *key, struct span payload, int64_t now_us,
                             struct lookup_answer *answer)
{
    struct shard *shard = shard_of(lookups, key);
    enum lookup_state state = LOOKUP_READY;
    bool is_new = false, is_due;
    enum reason why; /* what is known serves on */
    struct entry *entry;

    *answer = (struct lookup_answer){.reason = REASON_UNSET};
    lock_take(&shard->lock);
    entry = find_entry(shard, key);
    is_due = entry == NULL || now_us >= entry->failed_until_us;
    if (is_known(entry, now_us)) {
        answer->result = ref(lookups, entry);
        answer->until_us = entry->until_us;
        if (entry->renew_us != 0 && now_us >= entry->renew_us && is_due && entry->ticket == 0)
            is_new = enqueue(lookups, entry, payload, now_us, &why);
    } else if (!is_due && entry->ticket == 0) {
        answer->reason = entry->reason;
        state = LOOKUP_FAILED;
    } else {
        state = want(lookups, shard, key, payload, now_us, answer, &is_new);
    }
    lock_give(&shard->lock);
    if (is_new)
        lookups->conf.work(lookups->conf.context);
    return state;
}

enum lookup_state lookup_ask_newer(struct lookups *lookups, const struct lookup_key *key, struct span payload, int64_t now_us,
                                   int64_t gap_us, struct lookup_answer *answer)
{
    struct shard *shard = shard_of(lookups, key);
    enum lookup_state state;
    bool is_new = false;
    struct entry *entry;

    *answer = (struct lookup_answer){.reason = REASON_CREDENTIAL_WRONG};
    lock_take(&shard->lock);
    entry = find_entry(shard, key);
    if (entry != NULL && entry->ticket == 0 && now_us >= entry->asked_us && now_us - entry->asked_us < pause_us(gap_us))
        state = LOOKUP_FAILED;
    else
        state = want(lookups, shard, key, payload, now_us, answer, &is_new);
    lock_give(&shard->lock);
    if (is_new)
        lookups->conf.work(lookups->conf.context);
    return state;
}

/* ---- answering ---- */

/* Releases the shard's lock. `settled` is called only where somebody may have waited. */
static void settle(struct lookups *lookups, struct shard *shard, struct entry *entry)
{
    bool was_awaited = entry->ticket != 0;

    end_ticket(lookups, entry);
    lock_give(&shard->lock);
    if (was_awaited)
        lookups->conf.settled(lookups->conf.context);
}

uint64_t lookup_forgotten(const struct lookups *lookups)
{
    return atomic_load(&lookups->forgotten);
}

/* lookup_forget counts first and goes through the shards then. So a result that is put later sees the new count, and one that
 * was put earlier is found there. */
static void put(struct lookups *lookups, const struct lookup_key *key, const struct entry *with, uint64_t since)
{
    struct shard *shard = shard_of(lookups, key);
    struct entry *entry;
    void *old;

    lock_take(&shard->lock);
    entry = since == ALWAYS || since == atomic_load(&lookups->forgotten) ? make(lookups, shard, key) : NULL;
    if (entry == NULL) {
        lock_give(&shard->lock);
        unref(lookups, key->kind, with->result);
        return;
    }
    make_room(lookups, shard, with->bytes, entry);
    shard->bytes += with->bytes - entry->bytes;
    old = entry->result;
    entry->result = with->result;
    entry->bytes = with->bytes;
    entry->renew_us = with->renew_us;
    entry->until_us = with->until_us;
    entry->failed_until_us = 0;
    settle(lookups, shard, entry);
    unref(lookups, key->kind, old); /* outside the lock: large ones take their time */
}

void lookup_put(struct lookups *lookups, const struct lookup_key *key, void *result, size_t bytes, int64_t renew_us,
                int64_t until_us)
{
    put(lookups, key, &(struct entry){.result = result, .bytes = bytes, .renew_us = renew_us, .until_us = until_us},
        ALWAYS);
}

void lookup_keep(struct lookups *lookups, const struct lookup_key *key, void *result, size_t bytes, int64_t until_us,
                 uint64_t since)
{
    put(lookups, key, &(struct entry){.result = result, .bytes = bytes, .until_us = until_us}, since);
}

void lookup_fail(struct lookups *lookups, const struct lookup_key *key, enum reason reason, int64_t until_us)
{
    struct shard *shard = shard_of(lookups, key);
    struct entry *entry;

    lock_take(&shard->lock);
    entry = make(lookups, shard, key);
    if (entry == NULL) {
        lock_give(&shard->lock);
        return;
    }
    entry->reason = reason;
    entry->failed_until_us = until_us;
    settle(lookups, shard, entry);
}

void lookup_forget(struct lookups *lookups, enum lookup_kind kind, const struct lookup_key *key)
{
    atomic_fetch_add(&lookups->forgotten, 1);
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = &lookups->shards[i];

        lock_take(&shard->lock);
        for (size_t at = 0; shard->entries != NULL && at < SHARD_ENTRIES; at++) {
            struct entry *entry = &shard->entries[at];

            if (!entry->is_used || entry->key.kind != kind ||
                (key != NULL && memcmp(entry->key.digest, key->digest, DIGEST_BYTES) != 0))
                continue;
            if (entry->ticket != 0) { /* what is under way will still be answered */
                drop_result(lookups, shard, entry);
                entry->failed_until_us = 0;
            } else {
                drop(lookups, shard, entry);
            }
        }
        lock_give(&shard->lock);
    }
}

void lookup_stats(struct lookups *lookups, struct lookup_stats *stats)
{
    *stats = (struct lookup_stats){.pending = atomic_load(&lookups->pending), .refused = atomic_load(&lookups->refused)};
    for (size_t i = 0; i < SHARDS; i++) {
        struct shard *shard = &lookups->shards[i];

        lock_take(&shard->lock);
        stats->bytes += shard->bytes;
        for (size_t at = 0; shard->entries != NULL && at < SHARD_ENTRIES; at++)
            if (shard->entries[at].result != NULL)
                stats->known[shard->entries[at].key.kind]++;
        lock_give(&shard->lock);
    }
}
