/* SPDX-License-Identifier: Apache-2.0 */
/* Whether what a stop names is there: names are exact, and one that nobody has stops nothing, which who gives it would believe.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: exit statuses, told on stderr. */
#ifndef PEOPLE_STOP_NAMES_H
#define PEOPLE_STOP_NAMES_H

#include "cli/asked.h"
#include "state/stops.h"

/* Refuses what cannot be meant: a name with a `*` that nothing here has had, an endpoint of many servers, and an upstream that
 * no route is called and no call has had; in a fleet another node may know that one. Returns: OPTIONS_GO, or the exit
 * status after a sentence. */
int stop_names_check(const struct asked *asked, const struct stop *stop);

/* Adds a sentence on names that neither the store nor the trail has had; nothing where each was seen. */
void stop_names_note(const struct asked *asked, const struct stop *stop, struct buf *note);

#endif
