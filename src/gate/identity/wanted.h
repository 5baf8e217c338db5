/* SPDX-License-Identifier: Apache-2.0 */
/* What calls need from outside (a provider's keys, what a provider says of a token, a token for an upstream), and what is
 * known of it. Workers ask here and never wait for a network; one thread of providers/ takes what is wanted, fetches it and
 * answers. Verified tokens are kept here, too, by a digest of them.
 *
 * Threads: any; sharded, one short lock a shard, and one for the queue behind it. No I/O. Both callbacks are called without a
 *   lock held, on whatever thread wants or answers.
 * Owns: its entries, a reference to each result, copies of what is wanted (wiped when they are answered).
 * Lifetime: wanted_new to wanted_free, after all threads that ask or answer. A result lives as long as it is referred to.
 * Errors: WANTED_FAILED with the reason that the call ends with. Bounded: of what is kept that gives way which is over first,
 *   and what is pinned never. IDENTITY_SHARE: whoever asks has his share under way; IDENTITY_UNAVAILABLE: he has nothing under
 *   way, and others have all places. */
#ifndef IDENTITY_WANTED_H
#define IDENTITY_WANTED_H

#include "base/reason.h"
#include "base/span.h"
#include "crypto/digest.h"

#define WANTED_PENDING_MAX 1024
#define WANTED_AT_ONCE 8      /* as many as web/ has connections to one server */
#define WANTED_EACH_AT_ONCE 6
#define WANTED_PAYLOAD_MAX 65536
#define WANTED_KEYS_GAP_US INT64_C(30000000) /* for a key id that nobody knows a set is fetched no oftener */

/* What is wanted; each has a function in providers/outside.c that fetches it. */
enum wanted_kind {
    WANTED_KEYS = 0,      /* a provider's key set: struct identity_key_set; pinned */
    WANTED_INTROSPECTION, /* what a provider says of a token: struct identity_introspection */
    WANTED_TOKEN,         /* who shows this token: struct identity_token; never fetched */
    WANTED_OUTGOING,      /* a token for an upstream: struct outgoing_token */
    WANTED_KIND_COUNT
};

struct wanted_key {
    enum wanted_kind kind;
    unsigned char digest[DIGEST_BYTES]; /* of all that the answer depends on */
    /* No part of the key; 0: not bounded by it. */
    uint64_t who; /* for whom it is asked. His share of what is under way is bounded (base/shares.h), WANTED_EACH_AT_ONCE of
                   * it at a provider; and all that agents cause leaves room for the rest */
    uint64_t of;  /* who is asked: WANTED_AT_ONCE at a time, and the rest when these are answered */
};

/* How references to the results of one kind are counted. */
struct wanted_type {
    void *(*ref)(void *result);
    void (*unref)(void *result);
};

struct wanted;

/* `work` is called when there is something to take, `settled` when something was answered. */
struct wanted_conf {
    void (*work)(void *context);
    void (*settled)(void *context);
    void *context;
    struct wanted_type types[WANTED_KIND_COUNT];
};

enum code wanted_new(const struct wanted_conf *conf, struct wanted **wanted) MUST_USE;
void wanted_free(struct wanted **wanted);

enum wanted_state { WANTED_READY, WANTED_PENDING, WANTED_FAILED };

struct wanted_answer {
    void *result;       /* READY: the caller's reference */
    int64_t until_us;   /* READY: when it is over */
    uint64_t ticket;    /* PENDING: wanted_is_settled says when to ask again */
    enum reason reason; /* FAILED */
};

/* Takes: payload: what the fetching thread needs besides the key; copied where it is asked for. now_us: wall clock.
 * READY too where it is being fetched anew meanwhile: what is known goes on until it is over. */
enum wanted_state wanted_ask(struct wanted *wanted, const struct wanted_key *key, struct span payload, int64_t now_us,
                             struct wanted_answer *answer);
/* The same of something newer than what is known. FAILED (CREDENTIAL_WRONG): it was fetched less than gap_us ago. */
enum wanted_state wanted_ask_newer(struct wanted *wanted, const struct wanted_key *key, struct span payload, int64_t now_us,
                                   int64_t gap_us, struct wanted_answer *answer);
/* What is known now; fetches nothing. NULL: nothing. Else the caller's reference. */
void *wanted_find(struct wanted *wanted, const struct wanted_key *key, int64_t now_us);
bool wanted_is_settled(const struct wanted *wanted, uint64_t ticket);
uint64_t wanted_settled(const struct wanted *wanted); /* how many were, so that who waits looks no oftener */

/* ---- the thread that fetches ---- */

struct wanted_work {
    struct wanted_key key;
    struct span payload; /* the taker's: wanted_work_fini */
};
/* Returns: false: nothing is wanted that may be asked now; to be called again after each answer to a key with an `of`, which
 * may let the next one through. */
bool wanted_take(struct wanted *wanted, struct wanted_work *work);
void wanted_work_fini(struct wanted_work *work);

/* Answers with a result, which is known until until_us. From renew_us on whoever asks also causes a new fetch (0:
 * never). Takes: bytes: that the result holds. Without memory the result is not kept, and whoever waits asks again. */
void wanted_put(struct wanted *wanted, const struct wanted_key *key, void *result_take, size_t bytes, int64_t renew_us,
                int64_t until_us);
/* Keeps what was worked out from other results, unless one was forgotten since, on which it may rest. Takes: since:
 * wanted_forgotten, from before the others were asked for. */
void wanted_keep(struct wanted *wanted, const struct wanted_key *key, void *result_take, size_t bytes, int64_t until_us,
                 uint64_t since);
uint64_t wanted_forgotten(const struct wanted *wanted);
/* It could not be learned, and is not asked for before until_us. What was known stays until it is over. */
void wanted_fail(struct wanted *wanted, const struct wanted_key *key, enum reason reason, int64_t until_us);
void wanted_forget(struct wanted *wanted, enum wanted_kind kind, const struct wanted_key *key); /* key NULL: all of the kind */

struct wanted_stats {
    uint64_t known[WANTED_KIND_COUNT];
    uint64_t bytes;
    uint64_t pending;
    uint64_t refused; /* for want of room, since the start */
};
void wanted_stats(struct wanted *wanted, struct wanted_stats *stats);

#endif
