/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of outside.h share: a provider's set and what was learned of it.
 *
 * Threads: main, but for what the lock protects.
 * Owns: a source its texts.
 * Lifetime: struct outside's.
 * Errors: a sentence in source->why. */
#ifndef PROVIDERS_OUTSIDE_PRIV_H
#define PROVIDERS_OUTSIDE_PRIV_H

#include "providers/outgoing_desk.h"
#include "providers/outside.h"
#include "os/inbox.h"

#include <pthread.h>


/* A step of fetching a set. */
enum outside_step { OUTSIDE_OPENID = 0, OUTSIDE_OAUTH, OUTSIDE_SET };

/* What came, on its way from web's thread to main. */
struct outside_came {
    struct outside_came *next;
    struct outside *outside;
    unsigned char digest[DIGEST_BYTES]; /* of the provider */
    enum outside_step step;
    struct buf body;                    /* empty where why says why */
    struct why why;
};

struct outside_source {
    const struct identity_provider *provider; /* of outside->proxy */
    bool is_due;                              /* the lock's */
    bool is_under_way;
    int64_t next_us;                          /* then it is fetched anew */
    int64_t fetched_us;                       /* the set in force; 0: none */
    struct buf set;                           /* its text */
    size_t keys;
    uint64_t fetches, failures;
    struct why why;                           /* of the last fetch; empty: it came */
    int64_t file_mark[3];                     /* of keys_file as it was read last */
    struct buf metadata;                      /* the lock's: JSON; empty: none known */
};

struct outside {
    struct outside_conf conf;
    char *store;
    struct wanted *wanted;
    struct outgoing_desk *desk;
    struct inbox inbox;
    bool has_inbox;
    pthread_mutex_t lock; /* what follows */
    bool is_deaf;                   /* workers are gone */
    struct proxy_conf *proxy;
    struct outside_source *sources; /* as many as there are providers, in their order */
    size_t source_count;
    struct outside_came *came;      /* the newest first */
};

void outside__work(void *context); /* asks for what is wanted; any thread, without a lock held */

/* ---- outside_keys.c: sets ---- */

void outside__look_at(struct outside *outside, struct outside_source *source, int64_t now_us);
void outside__take(struct outside *outside, struct outside_source *source, struct outside_came *came);
void outside__recall(struct outside *outside, struct outside_source *source); /* the set that was kept beside the store */
void outside__source_fini(struct outside_source *source);
struct outside_source *outside__find(struct outside *outside, const unsigned char digest[DIGEST_BYTES]);

/* ---- outside_ask.c: opaque tokens ---- */

void outside__introspect(struct outside *outside, struct proxy_conf *conf, struct wanted_work *work);

#endif
