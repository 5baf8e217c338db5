/* SPDX-License-Identifier: Apache-2.0 */
/* People's own accounts at upstreams: what a person's browser brought is shown to the provider, and newer tokens are asked for.
 *
 * What a provider gives in the place of a token is in the store, sealed and durable, before the access token that came with it
 * goes up; what cannot be kept yet is tried again, and nothing goes up meanwhile. An account is asked for by one at a time, of
 * all gates on the store.
 *
 * Threads: main, but for what web/ answers.
 * Owns: the requests under way, with a reference to the configuration that each began with.
 * Lifetime: that of its outgoing desk; account_desk_free is called after web_free.
 * Errors: logged, and told to who waits: a call by its reason, a person by a sentence. Neither holds a secret. */
#ifndef PROVIDERS_ACCOUNT_DESK_H
#define PROVIDERS_ACCOUNT_DESK_H

#include "providers/outgoing_ways.h"

struct account_desk;

enum code account_desk_new(const struct outgoing_ways *ways, struct account_desk **desk) MUST_USE;
void account_desk_free(struct account_desk **desk); /* NULL is fine; what has come by then is kept first */

/* Asks for an access token of that account, and answers the look-up. CODE_BUSY: it cannot be asked for now, and is to be again
 * soon; CODE_OK: it answers. */
enum code account_desk_fetch(struct account_desk *desk, struct proxy_conf *conf, const struct proxy_fetched *of,
                             const struct lookup_key *key, const struct outgoing_wish *wish) MUST_USE;

void account_desk_changed(struct account_desk *desk); /* somebody else has written the store */
void account_desk_look(struct account_desk *desk, struct proxy_conf *conf); /* a few times a second */

#endif
