/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of providers.h share: a provider's set and what was learned of it.
 *
 * Threads: main, but for what the lock protects.
 * Owns: a source its texts.
 * Lifetime: struct providers's.
 * Errors: a sentence in source->why. */
#ifndef PROVIDERS_PROVIDERS_PRIV_H
#define PROVIDERS_PROVIDERS_PRIV_H

#include "providers/outgoing_desk.h"
#include "providers/providers.h"
#include "os/inbox.h"

#include <pthread.h>


/* A step of fetching a set. */
enum providers_step { PROVIDERS_OPENID = 0, PROVIDERS_OAUTH, PROVIDERS_SET };

/* What came, on its way from web's thread to main. */
struct providers_came {
    struct providers_came *next;
    struct providers *providers;
    unsigned char digest[DIGEST_BYTES]; /* of the provider */
    enum providers_step step;
    struct buf body;                    /* empty where why says why */
    struct why why;
};

struct providers_source {
    const struct identity_provider *provider; /* of providers->proxy */
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

struct providers {
    struct providers_conf conf;
    char *store;
    struct lookups *lookups;
    struct outgoing_desk *desk;
    struct inbox inbox;
    bool has_inbox;
    pthread_mutex_t lock; /* what follows */
    bool is_deaf;                   /* workers are gone */
    struct proxy_conf *proxy;
    struct providers_source *sources; /* as many as there are providers, in their order */
    size_t source_count;
    struct providers_came *came;      /* the newest first */
};

void providers__work(void *context); /* asks for what waits; any thread, without a lock held */

/* ---- providers_keys.c: sets ---- */

void providers__look_at(struct providers *providers, struct providers_source *source, int64_t now_us);
void providers__take(struct providers *providers, struct providers_source *source, struct providers_came *came);
/* the set that was kept beside the store */
void providers__recall(struct providers *providers, struct providers_source *source);
void providers__source_fini(struct providers_source *source);

/* ---- providers_ask.c: opaque tokens ---- */

void providers__introspect(struct providers *providers, struct proxy_conf *conf, struct lookup_work *work);

#endif
