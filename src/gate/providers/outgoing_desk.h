/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens for upstreams, fetched from providers or said by programs: what providers.c does about LOOKUP_OUTGOING.
 *
 * A fetch runs on web/'s thread. While it waits for a provider's metadata or keys, it lies on the desk, where main looks at it.
 * What a program says is heard by main.
 *
 * Threads: outgoing_desk_fetch any; the rest main.
 * Owns: the fetches under way, with a reference to the configuration that each began with.
 * Lifetime: that of struct providers; outgoing_desk_free is called after web_free, when web/ has no fetch any more.
 * Errors: logged, at most ten times a second a route; who waits gets the reason. Neither holds a secret. */
#ifndef PROVIDERS_OUTGOING_DESK_H
#define PROVIDERS_OUTGOING_DESK_H

#include "identity/lookup.h"
#include "providers/outgoing_ways.h"

/* A question that nobody answers any more, because a reload removed the provider that it was for, is refused at least so
 * long: who waits for it still has the old configuration, and would ask again at once. */
#define PROVIDERS_GONE_US INT64_C(1000000)

struct outgoing_desk;

enum code outgoing_desk_new(const struct outgoing_ways *ways, struct outgoing_desk **desk) MUST_USE;
void outgoing_desk_free(struct outgoing_desk **desk); /* NULL is fine */
void outgoing_desk_fetch(struct outgoing_desk *desk, struct proxy_conf *conf, struct lookup_work *work_take);
void outgoing_desk_look(struct outgoing_desk *desk, struct proxy_conf *conf); /* a few times a second */

void outgoing_desk_changed(struct outgoing_desk *desk); /* somebody else has written the store */
void outgoing_desk_anew(struct outgoing_desk *desk, const struct proxy_conf *conf); /* asks programs anew */

/* The token of a route that has one for all. NULL: none, or nothing that may go up. The caller's reference. */
struct outgoing_token *outgoing_known(struct lookups *lookups, const struct outgoing *outgoing);

#endif
