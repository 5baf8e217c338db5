/* SPDX-License-Identifier: Apache-2.0 */
/* What a command says of a trail that has gaps or cannot be read.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: exit statuses; see args/command.h. */
#ifndef CLI_TRAIL_PLACE_H
#define CLI_TRAIL_PLACE_H

#include "args/command.h"
#include "files/trail.h"

/* Says on stderr which rows of the trail are missing. Those before number `from` were given away on purpose, and those of which
 * the trail itself says that they were (`audit retire`): of these it is said, too.
 * Returns: STATUS_DONE, or STATUS_NEGATIVE where something is missing. */
int trail_place_tell_missing(const struct trail *trail, uint64_t from);

/* Up to which row its beginning was given away, as events `retired` in its files say; 0: nothing was. Reads them all. Each
 * goes on where those before it ended, which may have been given away since. */
enum code trail_place_retired_to(const struct trail *trail, int64_t *last, struct why *why) MUST_USE;

/* The worse of two: broken or unreadable files before what is only not vouched for. */
int trail_place_worse(int one, int other);

/* What ended a command. Returns: an exit status. */
int trail_place_complain(enum code code, const struct why *why);

#endif
