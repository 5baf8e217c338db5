/* SPDX-License-Identifier: Apache-2.0 */
/* The table behind state/approvals.h, shared by the workers' side and main's.
 *
 * Threads: a shard under its lock; the queue of asks under its own, never both at once.
 * Owns: as approvals.h says.
 * Lifetime: as approvals.h says.
 * Errors: as approvals.h says. */
#ifndef STATE_APPROVALS_PRIV_H
#define STATE_APPROVALS_PRIV_H

#include "base/shares.h"
#include "state/approvals.h"

#include <pthread.h>
#include <stdatomic.h>

#define APPROVAL_SHARDS 16
#define APPROVAL_BUCKETS 64 /* of a shard */
#define APPROVAL_PER_PRINCIPAL 64
#define APPROVAL_WAITING_MAX 4096
#define APPROVAL_ASKS_BYTES ((size_t)16 << 20)
#define APPROVAL_TELL_US INT64_C(1000000)

enum approval_state {
    APPROVAL_NEW = 0,
    APPROVAL_ASKED,
    APPROVAL_GIVEN,
    APPROVAL_REFUSED,
    APPROVAL_TAKEN,  /* by a call whose record is not on disk yet */
    APPROVAL_USED,   /* the store does not know yet */
    APPROVAL_HANDED  /* main has seen it, and stores it */
};

/* Those of a principal stand in one shard and one bucket, so that counting them is a walk of one short chain. */
struct approval {
    struct approval *next; /* in the bucket: NEW to REFUSED */
    struct list taken;     /* in the shard's list: TAKEN to HANDED */
    uint64_t scope;
    struct share whose;
    unsigned char digest[DIGEST_BYTES];
    enum approval_state state;
    bool is_charged;       /* ASKED: it is charged to its share; not where it came from the store and the share was full */
    int64_t number;        /* of the store, once a person has answered */
    int64_t until_us;      /* ASKED: when last; GIVEN, REFUSED: until when it holds; USED: when */
    bool is_offered;       /* ASKED: who asks was told of the page where he decides */
    int64_t told_us;       /* ASKED: when main was told last */
    bool is_stored;        /* ASKED: it is in the store, and ends when main does not hand it in any more */
    bool is_granted;       /* ASKED: people have approved it, and nobody knows yet whose it is */
    bool is_wanted;        /* ASKED: a call waits to hear whether it was granted, and to this gate */
    uint64_t wanted_round; /* `round` when that began */
    uint64_t round;        /* the round in which it was last handed in */
    uint64_t decision;     /* ASKED: the first that held it; USED: the one that used it */
};

struct approval_shard {
    pthread_mutex_t lock;
    struct list taken;
    struct approval *buckets[APPROVAL_BUCKETS];
};

struct approvals {
    unsigned char *key; /* DIGEST_BYTES, among the secrets */
    struct approval_shard shards[APPROVAL_SHARDS];
    atomic_uint_fast32_t waiting;
    pthread_mutex_t shares_lock; /* taken while a shard's lock is held */
    struct shares shares;        /* shares of asks that wait */
    atomic_bool was_given_back;
    bool is_of_fleet;            /* set before there are workers */
    atomic_bool has_wants;       /* since main looked last */
    pthread_mutex_t asks_lock;
    struct list asks; /* oldest first */
    size_t asks_bytes;
};

struct approval_shard *approvals__lock(struct approvals *approvals, uint64_t scope);
void approvals__unlock(struct approval_shard *shard);
uint64_t approvals__scope(struct span tenant, struct span principal);
struct approval *approvals__find(struct approval_shard *shard, uint64_t scope, const unsigned char digest[DIGEST_BYTES]);
struct approval *approvals__add(struct approval_shard *shard, uint64_t scope, struct share whose,
                                const unsigned char digest[DIGEST_BYTES]);
void approvals__unlink(struct approval_shard *shard, struct approval *approval);
/* Charges one more ask that waits. Returns: false: that is more than the share. */
bool approvals__charge(struct approvals *approvals, struct approval *approval);
void approvals__set_state(struct approvals *approvals, struct approval *approval, enum approval_state state);
struct approval *approvals__taken(struct approval_shard *shard, int64_t number); /* NULL: no call has taken it */

#endif
