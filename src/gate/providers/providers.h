/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate asks of providers beside the workers, so that none waits: key sets, which are also kept in files beside
 * the store, so that a restart knows them while a provider is away; what providers say of opaque tokens; and whatever
 * else has a kind in identity/lookup.h.
 *
 * Threads: main; a question for `lookups` is begun on the thread that asks, and web/ does the rest.
 * Owns: the lookups, a reference to the configuration.
 * Lifetime: providers_new before the proxy, providers_free after it and after web_free.
 * Errors: logged, once until they change; where a set cannot be had, the one before stays in force until it is stale. */
#ifndef PROVIDERS_PROVIDERS_H
#define PROVIDERS_PROVIDERS_H

#include "db/db.h"
#include "identity/lookup.h"
#include "os/loop.h"
#include "lane/conf.h"
#include "web/web.h"

struct providers;

struct providers_conf {
    struct loop *loop;
    struct web *web;
    const char *store;        /* beside which sets are kept */
    struct db *db;            /* that store, which main asks */
    const char *gate;         /* this gate's name among those on the store; lives as long as it */
    struct proxy_conf *proxy; /* a reference is taken */
    void (*settled)(void *context); /* something was answered: workers look; any thread */
    enum code (*dial)(void *context, struct span command, int *fd); /* to what a program says; any thread */
    void (*stored)(void *context); /* people's accounts were written into the store; main */
    void *context;
};

enum code providers_new(const struct providers_conf *conf, struct providers **providers, struct why *why) MUST_USE;
void providers_unhear(struct providers *providers); /* `settled` is called no more; NULL is fine */
void providers_free(struct providers **providers); /* NULL is fine */
struct lookups *providers_lookups(struct providers *providers);

/* SIGHUP: takes the new providers. Everything verified so far is forgotten, and every set is fetched anew. */
void providers_reload(struct providers *providers, struct proxy_conf *proxy);
void providers_look(struct providers *providers); /* a few times a second: what is due */
void providers_store_changed(struct providers *providers); /* somebody else has written the store */

/* Has the provider's set fetched, as a call with an unknown key id does; both share one limit of rate. Any thread. */
void providers_newer_keys(struct providers *providers, const struct identity_provider *provider);

/* The state of a provider. */
struct providers_gauges {
    const char *name;
    size_t keys;           /* 0: none are known */
    int64_t fetched_us;    /* when; 0: never */
    uint64_t fetches, failures;
};
size_t providers_gauges(const struct providers *providers, struct providers_gauges gauges[IDENTITY_PROVIDERS_MAX]);

#endif
