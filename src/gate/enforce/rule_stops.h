/* SPDX-License-Identifier: Apache-2.0 */
/* Stops that rules of the policy ask for, on their way from the workers that judged to main, which puts them into the store.
 * What a rule denies is denied already; the stop holds from when main has published it, within a second.
 *
 * Threads: rule_stops_put from any; the rest from main.
 * Owns: copies of texts.
 * Lifetime: rule_stops_new to rule_stops_free.
 * Errors: CODE_NOMEM; a stop that finds no place is lost, and the next denial asks for it again. */
#ifndef ENFORCE_RULE_STOPS_H
#define ENFORCE_RULE_STOPS_H

#include "state/stops.h"

#define RULE_STOPS_MAX 256 /* that wait; of a tenant and kind an eighth */

struct rule_stop {
    enum stop_by by;
    struct span rule, tenant, name; /* name: of what it stops, within the tenant */
    int64_t lasts_us, denied_us; /* since when: wall clock */
};

struct rule_stops;
enum code rule_stops_new(struct rule_stops **stops) MUST_USE;
void rule_stops_free(struct rule_stops **stops);

/* One that waits already, for as long or longer, is not put again. */
void rule_stops_put(struct rule_stops *stops, const struct rule_stop *stop);
/* The one that waits longest; its texts live until it is dropped. Returns: false: none waits. */
bool rule_stops_first(struct rule_stops *stops, struct rule_stop *stop);
void rule_stops_drop(struct rule_stops *stops);

#endif
