/* SPDX-License-Identifier: Apache-2.0 */
/* What the gate asks of providers beside the workers, so that none waits: key sets, which are also kept in files beside
 * the store, so that a restart knows them while a provider is away; what providers say of opaque tokens; and whatever
 * else has a kind in identity/wanted.h.
 *
 * Threads: main; a question for `wanted` is begun on the thread that asks, and web/ does the rest.
 * Owns: the table of what is wanted, a reference to the configuration.
 * Lifetime: outside_new before the proxy, outside_free after it and after web_free.
 * Errors: logged, once until they change; where a set cannot be had, the one before stays in force until it is stale. */
#ifndef PROVIDERS_OUTSIDE_H
#define PROVIDERS_OUTSIDE_H

#include "identity/wanted.h"
#include "os/loop.h"
#include "lane/conf.h"
#include "web/web.h"

struct outside;

struct outside_conf {
    struct loop *loop;
    struct web *web;
    const char *store;        /* beside which sets are kept */
    struct proxy_conf *proxy; /* a reference is taken */
    void (*settled)(void *context); /* something was answered: workers look; any thread */
    void *context;
};

enum code outside_new(const struct outside_conf *conf, struct outside **outside, struct why *why) MUST_USE;
void outside_unhear(struct outside *outside); /* `settled` is called no more; NULL is fine */
void outside_free(struct outside **outside); /* NULL is fine */
struct wanted *outside_wanted(struct outside *outside);

/* SIGHUP: takes the new providers. Everything verified so far is forgotten, and every set is fetched anew. */
void outside_reload(struct outside *outside, struct proxy_conf *proxy);
void outside_look(struct outside *outside); /* a few times a second: what is due */

/* Has the provider's set fetched, as a call with an unknown key id does; both share one limit of rate. Any thread. */
void outside_newer_keys(struct outside *outside, const struct identity_provider *provider);

/* Writes an endpoint's URL by the issuer's metadata, as `token_endpoint`; empty: it is not known, or not yet: then the
 * metadata are fetched. Any thread. Returns: its length. */
size_t outside_endpoint(struct outside *outside, const struct identity_provider *provider, const char *name, char *out,
                        size_t size);

/* The state of a provider. */
struct outside_gauges {
    const char *name;
    size_t keys;           /* 0: none are known */
    int64_t fetched_us;    /* when; 0: never */
    uint64_t fetches, failures;
    const char *why;       /* the last failure, where it was the last fetch; else empty */
};
size_t outside_gauges(const struct outside *outside, struct outside_gauges gauges[IDENTITY_PROVIDERS_MAX]);

#endif
