/* SPDX-License-Identifier: Apache-2.0 */
/* What OAuth clients ask and get: metadata of protected resources (RFC 9728) and challenges, the gate's own and those of
 * upstreams.
 *
 * Threads: its pair's worker.
 * Owns: nothing.
 * Lifetime: none of its own.
 * Errors: enum code of the buffer. */
#ifndef DISCOVERY_DISCOVERY_H
#define DISCOVERY_DISCOVERY_H

#include "lane/pair.h"

/* What the path is to OAuth's clients, on this route, without being declared. *slug: set where it is.
 * Returns: NULL: nothing. */
const struct proxy_pass *discovery_find(const struct proxy_route *route, struct span path, struct span *slug);
enum code discovery_write_metadata(const struct exchange *exchange, struct buf *out); /* of the route as a resource */
bool discovery_is_told_to_all(const struct exchange *exchange); /* whether it is metadata, which pages of any origin may read */
bool discovery_is_answered(const struct exchange *exchange);    /* whether the gate answers, and no upstream */
/* Writes that answer; in the place of a redirect's body where it leads. Takes: body: of a POST. Returns: the reason that says
 * what it is; one with the status of an error is a refusal. */
enum reason discovery_write(struct pair *pair, struct span body, struct buf *out);
/* Whether the head holds the access token in a second place, from where it would go up. RFC 6750, 2. */
bool discovery_is_spread(const struct proxy_route *route, const struct http_head *head);
void discovery_look_for_scope(struct exchange *exchange, struct gate *gate); /* after a denial */
/* whether the denial names the scope that is missing */
bool discovery_steps_up(const struct exchange *exchange, enum reason reason);
enum code discovery_challenge(const struct exchange *exchange, enum reason reason, struct buf *out);
struct span discovery_say(struct exchange *exchange);
enum code discovery_public_url(const struct exchange *exchange, struct buf *out); /* where the route has one */
bool discovery_is_asked(const struct pair *pair); /* whether an OAuth client asks, and no route that judges calls is meant */
bool discovery_may_redirect(const struct pair *pair);
enum code discovery_refuse(enum reason reason, int status, struct buf *out);
/* For a route with a public_url: an upstream's WWW-Authenticate and its metadata, with the gate's URL in them. PERMITTED: it
 * is in `out`. */
enum code discovery_rewrite_challenge(const struct exchange *exchange, struct span value, struct buf *out);
bool discovery_is_own(const struct proxy_route *route, const struct proxy_pass *pass, struct span path, struct span *slug);
bool discovery_is_metadata(const struct pair *pair);
enum reason discovery_rewrite_metadata(struct pair *pair, struct span raw, struct buf *out);

#endif
