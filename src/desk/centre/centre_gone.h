/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a node that never came to the centre, because they were given away before, as the node's own trail says: in events
 * `retired`, which are proven with the rows around them. So none counts for rows behind itself: where they are missing nobody
 * looks at it.
 *
 * Threads: one.
 * Owns: the ranges.
 * Lifetime: centre_gone_read to centre_gone_fini; zeroed, it has none.
 * Errors: enum code. */
#ifndef CENTRE_CENTRE_GONE_H
#define CENTRE_CENTRE_GONE_H

#include "db/db.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct centre_gone {
    struct centre_range {
        int64_t first, last;
        int64_t told; /* the event's number */
    } *ranges; /* by their numbers */
    size_t count, room;
};

/* Takes: events: a database that has them. Each goes on where those before it ended, which may have been given away since. Of a
 * node that was in a fleet then, only what the centre lacked. */
enum code centre_gone_read(struct centre_gone *gone, struct db *events) MUST_USE;
void centre_gone_fini(struct centre_gone *gone);

/* Whether all rows from first to last were. */
bool centre_gone_has(const struct centre_gone *gone, int64_t first, int64_t last);

#endif
