/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups: what calls need of providers (a key set, what one says of a token, a token for an upstream), and what is known of
 * that. Workers ask here and never wait for a network; one thread of providers/ takes what is asked for, fetches it, answers.
 * Verified tokens are kept here, too, by a digest of them.
 *
 * Threads: any; sharded, one short lock a shard, and one for the queue behind it. No I/O. Both callbacks are called without a
 *   lock held, on whatever thread wants or answers.
 * Owns: its entries, a reference to each result, copies of what is asked (wiped when it is answered).
 * Lifetime: lookup_new to lookup_free, after all threads that ask or answer. A result lives as long as it is referred to.
 * Errors: LOOKUP_FAILED with the reason that the call ends with. Bounded: of what is kept that gives way which is over first,
 *   and what is pinned never. IDENTITY_SHARE: whoever asks has his share under way; IDENTITY_UNAVAILABLE: he has nothing under
 *   way, and others have all places. */
#ifndef IDENTITY_LOOKUP_H
#define IDENTITY_LOOKUP_H

#include "base/reason.h"
#include "base/span.h"
#include "crypto/digest.h"

#define LOOKUP_PENDING_MAX 1024
#define LOOKUP_AT_ONCE 8      /* as many as web/ has connections to one server */
#define LOOKUP_EACH_AT_ONCE 6
#define LOOKUP_PAYLOAD_MAX 65536
#define LOOKUP_KEYS_GAP_US INT64_C(30000000) /* for a key id that nobody knows a set is fetched no oftener */

/* What is looked up; each has a function in providers/providers.c that fetches it. */
enum lookup_kind {
    LOOKUP_KEYS = 0,      /* a provider's key set: struct identity_key_set; pinned */
    LOOKUP_INTROSPECTION, /* what a provider says of a token: struct identity_introspection */
    LOOKUP_TOKEN,         /* who shows this token: struct identity_token; never fetched */
    LOOKUP_OUTGOING,      /* a token for an upstream: struct outgoing_token */
    LOOKUP_KIND_COUNT
};

struct lookup_key {
    enum lookup_kind kind;
    unsigned char digest[DIGEST_BYTES]; /* of all that the answer depends on */
    /* No part of the key; 0: not bounded by it. */
    uint64_t who; /* for whom it is asked. His share of what is under way is bounded (base/shares.h), LOOKUP_EACH_AT_ONCE of
                   * it at a provider; and all that agents cause leaves room for the rest */
    uint64_t of;  /* who is asked: LOOKUP_AT_ONCE at a time, and the rest when these are answered */
};

/* How references to the results of one kind are counted. */
struct lookup_type {
    void *(*ref)(void *result);
    void (*unref)(void *result);
};

struct lookups;

/* `work` is called when there is something to take, `settled` when something was answered. */
struct lookup_conf {
    void (*work)(void *context);
    void (*settled)(void *context);
    void *context;
    struct lookup_type types[LOOKUP_KIND_COUNT];
};

enum code lookup_new(const struct lookup_conf *conf, struct lookups **lookups) MUST_USE;
void lookup_free(struct lookups **lookups);

enum lookup_state { LOOKUP_READY, LOOKUP_PENDING, LOOKUP_FAILED };

struct lookup_answer {
    void *result;       /* READY: the caller's reference */
    int64_t until_us;   /* READY: when it is over */
    uint64_t ticket;    /* PENDING: lookup_is_settled says when to ask again */
    enum reason reason; /* FAILED */
};

/* Takes: payload: what the fetching thread needs besides the key; copied where it is asked for. now_us: wall clock.
 * READY too where it is being fetched anew meanwhile: what is known goes on until it is over. */
enum lookup_state lookup_ask(struct lookups *lookups, const struct lookup_key *key, struct span payload, int64_t now_us,
                             struct lookup_answer *answer);
/* The same of something newer than what is known. FAILED (CREDENTIAL_WRONG): it was fetched less than gap_us ago. */
enum lookup_state lookup_ask_newer(struct lookups *lookups, const struct lookup_key *key, struct span payload, int64_t now_us,
                                   int64_t gap_us, struct lookup_answer *answer);
/* What is known now; fetches nothing. NULL: nothing. Else the caller's reference. */
void *lookup_find(struct lookups *lookups, const struct lookup_key *key, int64_t now_us);
bool lookup_is_settled(const struct lookups *lookups, uint64_t ticket);
uint64_t lookup_settled(const struct lookups *lookups); /* how many were, so that who waits looks no oftener */

/* ---- the thread that fetches ---- */

struct lookup_work {
    struct lookup_key key;
    struct span payload; /* the taker's: lookup_work_fini */
};
/* Returns: false: nothing waits that may be asked now; to be called again after each answer to a key with an `of`, which
 * may let the next one through. */
bool lookup_take(struct lookups *lookups, struct lookup_work *work);
void lookup_work_fini(struct lookup_work *work);

/* Answers with a result, which is known until until_us. From renew_us on whoever asks also causes a new fetch (0:
 * never). Takes: bytes: that the result holds. Without memory the result is not kept, and whoever waits asks again. */
void lookup_put(struct lookups *lookups, const struct lookup_key *key, void *result_take, size_t bytes, int64_t renew_us,
                int64_t until_us);
/* Keeps what was worked out from other results, unless one was forgotten since, on which it may rest. Takes: since:
 * lookup_forgotten, from before the others were asked for. */
void lookup_keep(struct lookups *lookups, const struct lookup_key *key, void *result_take, size_t bytes, int64_t until_us,
                 uint64_t since);
uint64_t lookup_forgotten(const struct lookups *lookups);
/* It could not be learned, and is not asked for before until_us. What was known stays until it is over. */
void lookup_fail(struct lookups *lookups, const struct lookup_key *key, enum reason reason, int64_t until_us);
/* Takes: key: NULL: all of the kind. */
void lookup_forget(struct lookups *lookups, enum lookup_kind kind, const struct lookup_key *key);

struct lookup_stats {
    uint64_t known[LOOKUP_KIND_COUNT];
    uint64_t bytes;
    uint64_t pending;
    uint64_t refused; /* for want of room, since the start */
};
void lookup_stats(struct lookups *lookups, struct lookup_stats *stats);

#endif
