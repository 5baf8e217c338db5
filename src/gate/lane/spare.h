/* SPDX-License-Identifier: Apache-2.0 */
/* Upstream connections that outlive their agents' connections: a lane keeps those whose last reply ended cleanly, for the
 * next agent of the same route who shows the same credentials.
 *
 * What one agent is told must never reach another. So a connection is lent only
 * - while nothing is under way on it: the reply was framed by its length or by chunks, was read to its end by a reader that
 *   refuses what is ambiguous (http/reader.h), and not a byte came after it, then or later;
 * - to the same upstream of the same configuration, with the same tenant, principal, and headers, query and path that may
 *   hold credentials: a late message of a hostile server then reaches only whom it could have reached before;
 * - where each request speaks for itself: schemes that authenticate a connection (Negotiate, NTLM) bind it to its agent, as
 *   does any challenge that it carried.
 * A request is never sent twice. So a connection that its server may have closed is checked before it is used, and is given
 * up before its server's time runs out.
 *
 * Threads: its lane's worker.
 * Owns: the streams, while nobody uses them.
 * Lifetime: seconds; a change of the configuration ends all.
 * Errors: none; a call that finds no spare connection dials. */
#ifndef LANE_SPARE_H
#define LANE_SPARE_H

#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct lane;
struct pair;
struct proxy_route;

#define SPARES_MAX 64 /* of a lane */

/* The connection behind a pair, or one that is spare. */
struct upstream_line {
    const struct proxy_route *route; /* NULL: there is no connection */
    uint64_t whose;    /* a hash over who asks and with which credentials; 0: nobody has asked yet */
    uint64_t who;      /* exchange->who of the last call */
    uint64_t shown;    /* a hash of the Authorization of the last call; 0: its scheme may take several requests, so it cannot
                        * be compared */
    int64_t born_us;
    int64_t until_us;  /* when its server closes it, as the server said; 0: it did not say */
    bool is_kept;      /* it has served a call, and nothing has gone up since */
    bool is_bound;     /* only the agent that used it may go on to use it */
    bool spoke_early;  /* its server answered before it had read the whole request, so nobody uses it again */
};

/* Called at the beginning and the end of each call, to note what the connection is good for. */
void spare_begin_call(struct pair *pair);
void spare_end_call(struct pair *pair);
bool spare_is_of_another(const struct pair *pair); /* whether somebody else used it last: behind a proxy, agents share a
                                                    * connection */

void spare_give(struct pair *pair); /* takes the connection from a pair that is done with it, unless it may not be lent */
bool spare_take(struct pair *pair); /* finds one for a call without a connection. Returns: whether there was one */
void spare_sweep(struct lane *lane);
void spare_drop_all(struct lane *lane);

#endif
