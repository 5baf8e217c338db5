/* SPDX-License-Identifier: Apache-2.0 */
/* The steps READ_HEAD to UNDERSTAND: what an agent asks of whom, and whether it may; and connections of this machine's pipes.
 *
 * Threads: its pair's worker.
 * Owns: nothing.
 * Lifetime: none of its own.
 * Errors: verbs that may fail end the pair or answer the agent by themselves, with a reason. */
#ifndef PROXY_FRONT_PRIV_H
#define PROXY_FRONT_PRIV_H

#include "lane/pair.h"

bool front__read_head(struct pair *pair);
bool front__find_route(struct pair *pair);
bool front__identify(struct pair *pair);
bool front__admit(struct pair *pair);
bool front__read_body(struct pair *pair);
bool front__understand(struct pair *pair);
bool front__finish(struct pair *pair); /* our bytes are all gone */
extern const struct lane_above front__above; /* the steps of every connection */
/* Finds who asks; while exchange.identity.ticket is set, it is not known yet. Returns: UNSET to go on; anything else
 * is a refusal. */
enum reason who__identify(struct pair *pair);
/* Uses up the proof that came with a token. Returns: UNSET to go on; anything else is a refusal. */
enum reason who__prove(struct pair *pair);
bool route__origin_is_allowed(const struct pair *pair, const struct proxy_route *route, struct span origin);
bool route__takes_verb(const struct proxy_pass *pass, enum http_method verb);
enum reason route__find(struct pair *pair);
enum reason route__serve(struct pair *pair); /* of a connection of a joined endpoint: the one that it serves */
const struct dialect *route__dialect(const struct pair *pair); /* of the first route that may take the path, on any host */
/* What a request's path comes to: a route, or one of its declared paths. */
struct place {
    const struct proxy_route *route;
    const struct proxy_pass *pass;
    struct span slug;
    bool is_unlisted; /* the route has no such slug: the message is read, and refused */
    struct span rest; /* the part of the path below a subtree or wildcard, from its '/' on */
};
enum reason route__lead(struct pair *pair, const struct place *place); /* sets the call's route, names and paths by the place */
void route__client(struct pair *pair, const struct http_head *head);    /* head NULL: it could not be read */
void route__correlate(struct pair *pair, const struct http_head *head); /* head NULL: it could not be read */
void route__correlate_body(struct exchange *exchange); /* takes the message's _meta.traceparent where no header named one */

/* ---- exchange_steps.c ---- */
bool exchange__begin(struct pair *pair) MUST_USE;        /* false: no memory; then the pair ends */
/* goes to JUDGE, so that the refusal is recorded and answered */
COLD void exchange__refuse(struct pair *pair, enum reason reason);
void exchange__read_message(struct pair *pair, struct span body);
enum reason exchange__read(struct pair *pair, struct span body); /* UNSET: the message may be judged */
void exchange__pass_body(struct pair *pair, struct span body); /* as exchange__read_message, for a declared path */
bool exchange__judge(struct pair *pair);
bool exchange__use(struct pair *pair);
bool exchange__record(struct pair *pair);
bool exchange__await(struct pair *pair);
void exchange__take_calls(struct exchange *exchange, struct call *calls); /* takes the calls that are to be judged */
void exchange__finish(struct pair *pair);                /* records the outcome, if it is owed; may be called twice */

/* ---- batch_read.c: several calls in one body (JSON-RPC 2.0, section 6) ---- */
bool batch__may_come(const struct exchange *exchange);   /* whether the session negotiated the revision that has batches */
/* reads the calls of a message that is an array. UNSET: all may be judged */
enum reason batch__read(struct pair *pair);
void batch__agree(struct exchange *exchange);            /* after all are judged: none goes up unless all do */

/* ---- proxy.c, for pipes ---- */
/* Has main look at the configuration file, for a pipe that has read another configuration. Returns: the
 * number of the look, for proxy__has_looked; 0: nobody looks. */
uint64_t proxy__ask_look(struct lane *lane);
bool proxy__has_looked(struct lane *lane, uint64_t look);
void proxy__write_difference(const struct lane *lane, struct buf *out); /* as lane_above */

/* Connections of this machine's pipes. */
/* its first bytes are here: takes its process's name, and the server's end that it handed over */
void pipe__introduced(struct pair *pair);
/* whether it waits for main to look at the configuration; it is stirred when main has */
bool pipe__waits(struct pair *pair);
enum reason pipe__find(struct pair *pair);               /* finds the route that the pipe named */

/* inner.c: asks about the call that stands in this one, where the route says so; after call_ask. */
void inner_see(const struct proxy_route *route, struct call *call);

#endif
