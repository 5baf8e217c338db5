/* SPDX-License-Identifier: Apache-2.0 */
/* Stops: whose calls do not go on, whatever the policy says. A stop ends by its time or by a row of its own, and by no restart.
 *
 * Threads: a connection belongs to one thread at a time.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef STORE_STORE_STOPS_H
#define STORE_STORE_STOPS_H

#include "db/db.h"
#include "enforce/rule_stops.h"

/* Changes with every stop and every end of one. */
enum code store_stops_mark(struct db *db, int64_t *mark, struct why *why) MUST_USE;
/* The stops that stand. */
enum code store_stops_load(struct db *db, int64_t now_us, struct stops **set, struct why *why) MUST_USE;

struct store_stop {
    struct stop what;     /* its id is made where it is added */
    int64_t made_us;
    struct span made_by, why;
    struct span rule;     /* of the policy's that made it; at == NULL: a person did */
};
enum code store_stop_add(struct db *db, const struct store_stop *stop, int64_t *id, struct why *why) MUST_USE;

/* Stores what rules of the policy stop, as far as no such stop of that length stands already; of a tenant and kind
 * STOPS_OF_RULES_MAX of them stand at most, so that nobody fills the store with his own denials, nor keeps off that of a
 * principal by sessions that he makes up. *any: some were added. */
#define STOPS_OF_RULES_MAX 1000
enum code store_stops_take(struct db *db, struct rule_stops *asked, bool *any, struct why *why) MUST_USE;

/* Whether a held call may be granted: none that is stopped is. CODE_DENIED, with a sentence that names the stop. */
enum code store_stops_allow(struct db *db, int64_t ask, int64_t now_us, struct why *why) MUST_USE;

#endif
