/* SPDX-License-Identifier: Apache-2.0 */
/* A statement that puts one whole row after another into a table of the chain. Rows resemble the one before them, and binding
 * costs more than comparing: what was bound last is kept here, and only what differs is bound.
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

/* Takes the values in the table's order, the hash, and what is outside the chain, where the table has such columns. Nothing of
 * them need live longer than the call. */
enum code insert_row(struct insert *insert, const struct row_value *values, const unsigned char hash[DIGEST_BYTES],
                     const struct row_value *outside) MUST_USE;

#endif
