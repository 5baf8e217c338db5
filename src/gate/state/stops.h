/* SPDX-License-Identifier: Apache-2.0 */
/* What people have stopped: of which tenants, principals, agents, upstreams, tools or sessions no call goes on, whatever the
 * policy says. Made from the store by main, published to workers as a policy is.
 *
 * Threads: a finished set is immutable.
 * Owns: all of it lives in its arena.
 * Lifetime: stops_ref, stops_unref; what is found lives as long.
 * Errors: CODE_NOMEM. */
#ifndef STATE_STOPS_H
#define STATE_STOPS_H

#include "base/code.h"
#include "base/span.h"

#include <stdint.h>

enum stop_by { STOP_TENANT = 0, STOP_PRINCIPAL, STOP_AGENT, STOP_UPSTREAM, STOP_TOOL, STOP_SESSION, STOP_BY_COUNT };

extern const char *const stop_by_text[STOP_BY_COUNT]; /* "tenant" ..., as the store's columns and the commands' options */

/* Of all names that are given a call must have each; a stop that gives none is of every call. */
struct stop {
    int64_t id;
    int64_t until_us; /* wall clock: from then on it is over; 0: it stands until a person ends it */
    struct span by[STOP_BY_COUNT]; /* at == NULL: of any. A session is as the audit has it: SHA-256 in hexadecimal */
};

struct stops;

/* Takes: stops: sorted here; their texts are copied. */
enum code stops_new(const struct stop *stops, size_t count, struct stops **set) MUST_USE;
struct stops *stops_ref(struct stops *set); /* NULL is fine, also below */
void stops_unref(struct stops **set);

bool stops_are_none(const struct stops *set); /* which is so nearly always */
/* Those that stand at that time; `stops_all`: whether one of them is of every call. */
size_t stops_count(const struct stops *set, int64_t now_us);
bool stops_all(const struct stops *set, int64_t now_us);
/* Whether some stop names a session, so that it must be known in that form. */
bool stops_name_sessions(const struct stops *set);
/* Takes: by: what a call has; at == NULL: it has none, and no stop that gives one is of it. Returns: a stop that stands at
 * that time and is of such a call; NULL: there is none. */
const struct stop *stops_find(const struct stops *set, const struct span by[STOP_BY_COUNT], int64_t now_us);

#endif
