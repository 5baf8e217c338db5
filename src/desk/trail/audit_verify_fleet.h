/* SPDX-License-Identifier: Apache-2.0 */
/* `audit verify --fleet`: every node's trail, proven from the centre alone by the keys of the roster.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: exit statuses, told on stderr. */
#ifndef TRAIL_AUDIT_VERIFY_FLEET_H
#define TRAIL_AUDIT_VERIFY_FLEET_H

#include "cli/asked.h"

/* Returns: the exit status: the worst of all nodes. */
int audit_verify_fleet(const struct asked *asked);

#endif
