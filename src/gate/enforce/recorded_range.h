/* SPDX-License-Identifier: Apache-2.0 */
/* Which recorded calls are meant: a stretch of time, a tenant, an upstream, a tool.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: the texts' that it borrows.
 * Errors: enum code; the database has the sentence. */
#ifndef ENFORCE_RECORDED_RANGE_H
#define ENFORCE_RECORDED_RANGE_H

#include "base/span.h"
#include "db/db.h"

#include <stdbool.h>
#include <stdint.h>

struct recorded_range {
    int64_t since_us, until_us;          /* UTC; 0: no bound; until is exclusive */
    struct span tenant, upstream, tool;  /* at == NULL: all */
    bool permitted;                      /* only what was permitted */
    int64_t last_seq;                    /* none that came later, of a record that is growing; 0: no bound */
};

/* The numbers between which all rows of that time lie, whosever they are; *last < *first: there are none. */
enum code recorded_range_bounds(struct db *db, const struct recorded_range *range, int64_t *first, int64_t *last) MUST_USE;

#endif
