/* SPDX-License-Identifier: Apache-2.0 */
/* Asks an audit.db for calls: rows of the view `call`, by indexed and other filters. Reads only.
 *
 * Threads: one.
 * Owns: nothing; a row's texts live during the callback.
 * Lifetime: one call.
 * Errors: enum code with a sentence; what the callback returns ends the query and is returned. */
#ifndef AUDIT_QUERY_H
#define AUDIT_QUERY_H

#include "base/span.h"
#include "base/why.h"

#include <stdbool.h>
#include <stdint.h>

/* Texts with at == NULL and times of 0 do not filter. All are exact. */
struct query {
    struct span tenant, correlation, principal, tool, verdict, rule, reason;
    int64_t since_us, until_us; /* UTC; until is exclusive */
    uint64_t limit;             /* the newest so many, oldest first; 0: all */
};

struct query_value {
    struct span text;  /* as text; at == NULL: NULL */
    bool is_number;
};

struct query_row {
    int count;
    const char *const *names; /* columns of the view `call` */
    const struct query_value *values;
};

typedef enum code (*query_row_fn)(void *context, const struct query_row *row);

/* Takes: *more, set where `limit` left rows out. */
enum code audit_query(const char *path, const struct query *query, query_row_fn row, void *context, bool *more,
                      struct why *why) MUST_USE;

#endif
