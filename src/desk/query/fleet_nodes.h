/* SPDX-License-Identifier: Apache-2.0 */
/* How each node of a fleet is, by what it last told the centre and by what the centre has of it: the one document of
 * `callgate fleet status`, of its page at the console, and of the copy that a courier takes for who may not connect.
 *
 * Who gives a command over the gate's socket has no network and no membership. He leaves a mark beside the store; the courier,
 * which is connected, sees it within a moment and puts the document there.
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef QUERY_FLEET_NODES_H
#define QUERY_FLEET_NODES_H

#include "base/why.h"
#include "fleet/roster.h"
#include "json/doc.h"
#include "pg/pg.h"

#define FLEET_NODES_HEARD_US INT64_C(10000000) /* who was heard within it counts as connected */
#define FLEET_NODES_COPY ".nodes"              /* behind the store's path */
#define FLEET_NODES_MARK ".nodes-asked"
#define FLEET_NODES_BYTES ((size_t)8 << 20)    /* of the document as text; 4,096 nodes with long problems have less */

/* Whether a standby has each commit of the centre before it is answered: else the last seconds go with its machine. */
enum code fleet_is_synchronous(struct pg *pg, bool *is, struct why *why) MUST_USE;

/* Asks the centre. *out is the caller's. */
enum code fleet_nodes_ask(struct pg *pg, const struct roster *roster, struct doc **out, struct why *why) MUST_USE;

#endif
