/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, hashes and tenants of all rows in their order, and nothing else of them: what trees are made from.
 *
 * Threads: one.
 * Owns: its statements.
 * Lifetime: leaves__fini before the database is closed; spans until the next leaves__next.
 * Errors: enum code; CODE_NOT_FOUND at the end. */
#ifndef AUDIT_LEAVES_H
#define AUDIT_LEAVES_H

#include "audit/row.h"

struct leaf {
    int64_t seq;
    struct span hash;
    struct span tenant; /* at == NULL: none */
};

struct leaves {
    struct db_stmt *stmt[ROW_TABLES];
    bool has[ROW_TABLES]; /* stands on a row that was not given out yet */
    enum row_table given; /* of the row that was given out last; ROW_FILE: none */
};

/* Rows with first <= seq <= last. */
enum code leaves__init(struct leaves *leaves, struct db *db, int64_t first, int64_t last) MUST_USE;
enum code leaves__next(struct leaves *leaves, struct leaf *leaf) MUST_USE;
void leaves__fini(struct leaves *leaves);

#endif
