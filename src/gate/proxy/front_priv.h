/* SPDX-License-Identifier: Apache-2.0 */
/* READ_HEAD to UNDERSTAND: what an agent asks, of whom, and whether it may ask there; connections of this machine's pipes.
 *
 * Threads: its pair's worker.
 * Owns: nothing.
 * Lifetime: none of its own.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef PROXY_FRONT_PRIV_H
#define PROXY_FRONT_PRIV_H

#include "proxy/pair_priv.h"

bool front__read_head(struct pair *pair);
bool front__find_route(struct pair *pair);
bool front__identify(struct pair *pair);
bool front__admit(struct pair *pair);
bool front__read_body(struct pair *pair);
bool front__understand(struct pair *pair);
/* Where exchange.identity.ticket is set it is not known yet. Returns: UNSET to go on, anything else is a refusal. */
enum reason who__identify(struct pair *pair);
/* Uses the proof up with which a token came. Returns: UNSET to go on. */
enum reason who__prove(struct pair *pair);
struct span head__value(const struct http_head *head, struct span name); /* at == NULL: absent */
bool route__origin_is_allowed(const struct pair *pair, const struct proxy_route *route, struct span origin);
enum reason route__find(struct pair *pair);
const struct dialect *route__dialect(const struct pair *pair); /* of whoever takes that path, on whatever host */
/* What a request's path comes to: a route, or one of its declared paths. */
struct place {
    const struct proxy_route *route;
    const struct proxy_pass *pass;
    struct span slug;
    bool is_unlisted; /* the route has no such slug: what is asked there is read, and refused */
    struct span rest; /* below a subtree or wildcard, from its '/' on */
};
enum reason route__lead(struct pair *pair, const struct place *place); /* the call goes there: its names and paths */
void route__client(struct pair *pair, const struct http_head *head);    /* head NULL: it could not be read */
struct span route__correlation_name(const struct exchange *exchange);
bool route__is_trusted(const struct proxy_conf *conf, const struct sock_address *address); /* a trusted proxy */
uint32_t route__connections_max(const struct pair *pair, const struct sock_address *address); /* of who shows no identity */
void route__correlate(struct pair *pair, const struct http_head *head); /* head NULL: it could not be read */
void route__correlate_body(struct exchange *exchange); /* by the message's _meta.traceparent, where no header said it */

/* Connections of this machine's pipes. */
void pipe__introduced(struct pair *pair);                /* its first bytes are here: who it is, and its way back */
bool pipe__waits(struct pair *pair);                     /* for main to look at the configuration; stirred when it has */
enum reason pipe__find(struct pair *pair);               /* the route that it named */

/* ---- discovery.c: what clients of OAuth ask and are told ---- */
/* Stands for the metadata that the gate makes of a protected resource (RFC 9728): a declared path that leads nowhere. */
extern const struct proxy_pass discovery__pass;
bool discovery__is_made(const struct proxy_route *route, struct span path, struct span *slug);
enum code discovery__write_metadata(const struct exchange *exchange, struct buf *out);
bool discovery__is_scope(struct span scope);
/* An access token stands where none belongs. RFC 6750, 2. */
bool discovery__is_spread(const struct proxy_route *route, const struct http_head *head);
void discovery__look_for_scope(struct exchange *exchange, struct gate *gate); /* behind a denial */
bool discovery__steps_up(const struct exchange *exchange, enum reason reason); /* the denial says which scope is missing */
enum code discovery__challenge(const struct exchange *exchange, enum reason reason, struct buf *out);
struct span discovery__say(struct exchange *exchange);
enum code discovery__public_url(const struct exchange *exchange, struct buf *out); /* where the route has one */
bool discovery__is_asked(const struct pair *pair); /* by a client of OAuth, and of no route that judges calls */
bool discovery__may_redirect(const struct pair *pair);
enum code discovery__refuse(enum reason reason, int status, struct buf *out);
/* Where the route says by which URL agents know it: an upstream's WWW-Authenticate, and its metadata (PERMITTED: in out). */
enum code discovery__rewrite_challenge(const struct exchange *exchange, struct span value, struct buf *out);
bool discovery__is_own(const struct proxy_route *route, const struct proxy_pass *pass, struct span path, struct span *slug);
bool discovery__is_metadata(const struct pair *pair);
enum reason discovery__rewrite_metadata(struct pair *pair, struct span raw, struct buf *out);

#endif
