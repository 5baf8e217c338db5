/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the rows of all three tables in the order of their numbers: whole, or just what trees are made from.
 *
 * Threads: one.
 * Owns: its statements.
 * Lifetime: walk_fini before the database is closed; a row's values and a leaf's spans until the next one.
 * Errors: enum code; CODE_NOT_FOUND at the end. */
#ifndef ROWS_WALK_H
#define ROWS_WALK_H

#include "rows/row.h"

struct walk {
    struct db_stmt *stmt[ROW_TABLES];
    bool has[ROW_TABLES];     /* stands on a row that was not given out yet */
    int64_t seq[ROW_TABLES];  /* of that row */
    enum row_table given;     /* table of the row that was given out last; ROW_FILE: none */
};

struct walk_row {
    enum row_table table;
    int64_t seq;
    struct row_value values[ROW_COLUMNS_MAX];
    struct row_value hash;
    struct row_value outside[ROW_OUTSIDE_MAX];
};

struct leaf {
    int64_t seq;
    struct span hash;
    struct span tenant; /* at == NULL: none */
};

/* Rows with first <= seq <= last. */
enum code walk_init(struct walk *walk, struct db *db, int64_t first, int64_t last) MUST_USE;
enum code walk_next(struct walk *walk, struct walk_row *row) MUST_USE;
/* The same, of leaves. */
enum code walk_leaves(struct walk *walk, struct db *db, int64_t first, int64_t last) MUST_USE;
enum code walk_next_leaf(struct walk *walk, struct leaf *leaf) MUST_USE;
void walk_fini(struct walk *walk);

/* The one row of `file`. */
enum code walk_file(struct db *db, struct db_stmt **stmt, struct walk_row *row) MUST_USE;

#endif
