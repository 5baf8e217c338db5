/* SPDX-License-Identifier: Apache-2.0 */
/* What several sub-commands of `callgate audit` do.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: exit statuses; see args/command.h. */
#ifndef TRAIL_CMD_AUDIT_PRIV_H
#define TRAIL_CMD_AUDIT_PRIV_H

#include "cli/commands.h"
#include "cli/trail_place.h"
#include "query/centre.h"
#include "trail/audit_out.h"

/* The rows of a time of all files of the trail, as one database at --output, which has its name once it is whole and takes
 * nobody's place. Returns: an exit status. */
int cmd_audit__merge(const char *path, const struct asked *asked);

/* Shows the newest matching calls, --limit of them, and further ones as they end, until it is interrupted. Returns: an exit
 * status. */
int cmd_audit__follow(const char *path, const struct asked *asked, struct audit_out *out, const struct query *query);
/* Likewise of all gates of a fleet. */
int cmd_audit__follow_fleet(struct centre *centre, const struct asked *asked, struct audit_out *out, const struct query *query);

#endif
