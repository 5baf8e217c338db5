/* SPDX-License-Identifier: Apache-2.0 */
/* A statement that puts one whole row after another into a table of the chain. Rows resemble the row before them, and binding
 * costs more than comparing. The values bound last are kept here, and only those that differ are bound.
 *
 * Threads: the connection's.
 * Owns: its statement, copies of the values that are bound.
 * Lifetime: insert_new to insert_free, which comes before db_close.
 * Errors: enum code. */
#ifndef ROWS_INSERT_H
#define ROWS_INSERT_H

#include "rows/row.h"

struct insert;

enum code insert_new(struct db *db, enum row_table table, struct insert **insert) MUST_USE;
void insert_free(struct insert **insert);

/* Takes: the values in the table's order, the row's hash, and the values outside the chain, where the table has such columns.
 * None of them has to live longer than the call. */
enum code insert_row(struct insert *insert, const struct row_value *values, const unsigned char hash[DIGEST_BYTES],
                     const struct row_value *outside) MUST_USE;

#endif
