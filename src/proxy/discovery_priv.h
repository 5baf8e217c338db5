/* SPDX-License-Identifier: Apache-2.0 */
/* What clients of OAuth ask and are told: challenges, metadata, the paths that they try.
 *
 * Threads: its pair's worker.
 * Owns: nothing.
 * Lifetime: none of its own.
 * Errors: enum code or a reason. */
#ifndef PROXY_DISCOVERY_PRIV_H
#define PROXY_DISCOVERY_PRIV_H

#include "proxy/pair_priv.h"

enum code discovery__challenge(const struct proxy_route *route, struct buf *out);
struct span discovery__say(struct exchange *exchange);
bool discovery__is_asked(const struct pair *pair); /* by a client of OAuth, and of no route that judges calls */
bool discovery__may_redirect(const struct pair *pair);
enum code discovery__refuse(enum reason reason, int status, struct buf *out);
/* Where the route says by which URL agents know it: an upstream's WWW-Authenticate, and its metadata (PERMITTED: in out). */
enum code discovery__rewrite_challenge(const struct exchange *exchange, struct span value, struct buf *out);
bool discovery__is_own(const struct proxy_route *route, const struct proxy_pass *pass, struct span path, struct span *slug);
bool discovery__is_metadata(const struct pair *pair);
enum reason discovery__rewrite_metadata(struct exchange *exchange, struct span raw, struct buf *out);

#endif
