/* SPDX-License-Identifier: Apache-2.0 */
/* Open questions of servers: requests that were delivered to an agent and wait for its answer, known to all workers; and, where
 * answers come on another connection than calls (HTTP+SSE), the open calls of agents; and calls that clients make themselves,
 * until they say that these are over.
 *
 * Threads: any; one short lock for each of many shards.
 * Owns: copies of the keys.
 * Lifetime: that of gate_shared. Bounded: 64 questions a session (CODE_LIMIT), 256 calls (the oldest gives way, since a call
 *   that was cancelled gets no answer), 65,536 in all by shares (base/shares.h: who is over his own share loses his oldest);
 *   older than an hour: forgotten.
 * Errors: CODE_LIMIT, CODE_NOMEM, CODE_NOT_FOUND; CODE_EXISTS where the id is open for another method, or for a call. */
#ifndef ENFORCE_QUESTION_TABLE_H
#define ENFORCE_QUESTION_TABLE_H

#include "base/code.h"
#include "base/span.h"
#include "enforce/gate.h"

struct question_key {
    /* path: below the route; session: as the agent names it; both may be empty */
    struct span route, path, tenant, principal, session;
    struct span id;                                /* canonical JSON */
    struct span home;                              /* no part of the key: the credential's own tenant, which is charged; at
                                                    * == NULL: `tenant` is */
    bool is_call;                                  /* the key of an agent's call, not of a server's question */
    bool is_own;                                   /* of a call that the agent's client makes itself */
    uint64_t decision;                             /* of such a call: its record, which waits for its outcome */
};

/* Asking the same again, as a resumed stream does, renews it. A decision that cannot be noted, since its call is open already,
 * say, has the outcome `unknown` at once. Takes: now_us: monotonic. */
enum code question_open(struct gate *gate, const struct question_key *key, struct span method, int64_t now_us) MUST_USE;

/* Finds and takes the question; its method goes into `method` (at most 128 bytes). CODE_NOT_FOUND: nobody asked. */
enum code question_answer(struct gate *gate, const struct question_key *key, char method[128], size_t *len) MUST_USE;

/* The client says that its own call is over: its outcome is put. One that is forgotten has the outcome `unknown`. Returns:
 * CODE_NOT_FOUND; CODE_BUSY and CODE_DOWN: it has none yet, and the gate's end gives it one. */
enum code question_report(struct gate *gate, const struct question_key *key, int64_t now_us) MUST_USE;

#endif
