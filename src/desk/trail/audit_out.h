/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the audit on stdout: a table that fits the terminal, JSON lines or CSV.
 *
 * Whatever the form, no byte that an agent chose steers a terminal: see unicode/terminal.h.
 *
 * Threads: main.
 * Owns: its table.
 * Lifetime: audit_out_begin to audit_out_end.
 * Errors: enum code; CODE_IO where stdout cannot be written. */
#ifndef TRAIL_AUDIT_OUT_H
#define TRAIL_AUDIT_OUT_H

#include "base/buf.h"
#include "cli/asked.h"
#include "cli/table.h"
#include "query/query.h"

struct audit_out {
    bool as_json, as_csv, titled; /* titled: CSV has its names */
    bool of_fleet;                /* rows have `node` in front */
    struct table_column field[TABLE_COLUMNS_MAX];
    size_t field_count; /* 0: every column */
    struct table table;
    struct buf line, safe;
    uint64_t rows;
};

/* Returns: OPTIONS_GO or an exit status. */
int audit_out_begin(struct audit_out *out, const struct asked *asked);

/* A query_row_fn; context is the struct audit_out. */
enum code audit_out_row(void *context, const struct query_row *row) MUST_USE;

/* Prints what waits, and flushes. */
enum code audit_out_flush(struct audit_out *out) MUST_USE;
void audit_out_end(struct audit_out *out);

/* One object for a row: every column, or the fields; for those who print in other surroundings. */
enum code audit_out_json(struct buf *to, const struct audit_out *out, const struct query_row *row);

#endif
