/* SPDX-License-Identifier: Apache-2.0 */
/* `--fleet`: the centre of the fleet that is meant, for commands that read.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: exit statuses, told on stderr. */
#ifndef TRAIL_AUDIT_CENTRE_H
#define TRAIL_AUDIT_CENTRE_H

#include "cli/asked.h"
#include "query/centre.h"

/* Connects as whom the membership says, where --fleet was given; else *centre is NULL. What was given beside it and is of a
 * gate's own files is refused. Takes: database: the place of that operand. Returns: OPTIONS_GO with *centre, which is the
 * caller's (centre_close), or the exit status. */
int audit_centre_open(const struct asked *asked, int database, struct centre **centre);

#endif
