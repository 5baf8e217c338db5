/* SPDX-License-Identifier: Apache-2.0 */
/* A statement at the centre, read piece by piece, so that a million rows take no more memory than some thousand.
 *
 * Threads: one.
 * Owns: a struct centre_rows its piece.
 * Lifetime: centre__ask to centre__end, within one centre__begin.
 * Errors: enum code with a sentence. */
#ifndef QUERY_CENTRE_PRIV_H
#define QUERY_CENTRE_PRIV_H

#include "query/centre.h"
#include "query/query_priv.h"

struct centre {
    struct pg *pg;
};

/* Several may be open at a time, each by a name of its own. */
struct centre_rows {
    struct centre *centre;
    const char *name;
    struct pg_rows *piece;
    size_t at;
};

/* One view of all tables, for several statements. */
enum code centre__begin(struct centre *centre, struct why *why) MUST_USE;
void centre__leave(struct centre *centre);

/* Takes: name: a plain word; query, shape: as query__write has them. */
enum code centre__ask(struct centre *centre, const char *name, const struct query *query, const struct query_shape *shape,
                      struct centre_rows *rows, struct why *why) MUST_USE;
/* CODE_OK: a row is there; CODE_NOT_FOUND: done. */
enum code centre__next(struct centre_rows *rows, struct why *why) MUST_USE;
void centre__end(struct centre_rows *rows);

/* Hands out the row at hand. Takes: behind: so many of the last columns are left out. */
enum code centre__give(const struct pg_rows *piece, size_t at, size_t behind, query_row_fn row, void *context) MUST_USE;

/* Appends the columns of centre_query, of `call AS d`. */
void centre__write_columns(struct buf *out);

/* The number of a node's last row at the centre; 0: it has none. */
enum code centre__tip(struct centre *centre, struct span node, int64_t *tip, struct why *why) MUST_USE;

#endif
