/* SPDX-License-Identifier: Apache-2.0 */
/* What desks of tokens for upstreams have of the gate: whom they ask, whom they answer, where they keep what they must not
 * lose.
 *
 * Threads: as each says.
 * Owns: nothing.
 * Lifetime: outlives the desks.
 * Errors: none. */
#ifndef PROVIDERS_OUTGOING_WAYS_H
#define PROVIDERS_OUTGOING_WAYS_H

#include "db/db.h"
#include "identity/lookup.h"
#include "lane/conf.h"
#include "os/loop.h"
#include "web/web.h"

struct providers;

/* How a desk gets at what it needs; all of it outlives the desk. */
struct outgoing_ways {
    struct lookups *lookups;
    struct web *web;
    struct providers *providers;
    /* Writes an endpoint's URL by the issuer's metadata, as `token_endpoint`. Any thread. Returns: its length; 0: it is not
     * known, or not yet: then the metadata are fetched. */
    size_t (*endpoint)(struct providers *providers, const struct identity_provider *provider, const char *name, char *out,
                       size_t size);
    void (*poke)(struct providers *providers); /* main looks at the desk; any thread */
    struct loop *loop;                         /* main's */
    enum code (*dial)(void *context, struct span command, int *fd); /* to what a program says */
    void *context;
    /* Of people's accounts (account_desk.h): the store, which main alone asks, its path, this gate's name among those on it. */
    struct db *db;
    const char *store, *asker;
    void (*stored)(void *context); /* accounts were written; main */
};

/* Asks a provider for a token. Takes: secret: the client's. From CODE_OK on it is web's until `done` was called. */
enum code outgoing_post(const struct outgoing_ways *ways, struct span url, const struct outgoing *outgoing,
                        const struct outgoing_wish *wish, struct span secret, web_done_fn done, void *context,
                        struct why *why) MUST_USE;

#endif
