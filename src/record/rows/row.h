/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the chain as values, their canonical bytes and their hash: schema/audit-format.md in C.
 *
 * Threads: any.
 * Owns: nothing; values borrow their bytes.
 * Lifetime: that of what they borrow from.
 * Errors: none; a row is at most a few hundred KiB and is hashed piece by piece. */
#ifndef ROWS_ROW_H
#define ROWS_ROW_H

#include "rows/decision_tbl.h"
#include "rows/event_tbl.h"
#include "rows/outcome_tbl.h"
#include "base/buf.h"
#include "base/span.h"
#include "crypto/digest.h"
#include "db/db.h"

#include <stdbool.h>
#include <stdint.h>

enum row_table { ROW_FILE = 0, ROW_DECISION, ROW_OUTCOME, ROW_EVENT, ROW_TABLES };

/* The last number that a file holds. */
#define ROW_MAX_SEQ "SELECT max(coalesce((SELECT max(seq) FROM decision), 0), " \
                    "coalesce((SELECT max(seq) FROM outcome), 0), " \
                    "coalesce((SELECT max(seq) FROM event), 0))"

#define ROW_FILE_COLUMNS(X) X(SEQ, seq) X(FORMAT, format) X(CREATED, created_us) X(ID, id) X(PREVIOUS, previous)

/* Places in a row: first the chained columns, in the order in which they are hashed, then those outside the chain. */
#define ROW_F(NAME, name) F_##NAME,
#define ROW_D(NAME, ...) D_##NAME,
#define ROW_O(NAME, name) O_##NAME,
#define ROW_E(NAME, name) E_##NAME,
#define ROW_OUTSIDE(NAME, name) OUTSIDE_##NAME,
#define ROW_ANSWER(NAME, name) ANSWER_##NAME,
enum { ROW_FILE_COLUMNS(ROW_F) F_COUNT };
enum { DECISION_TABLE(ROW_D, ROW_D, ROW_D, ROW_D, ROW_D, ROW_D, ROW_D) D_COUNT };
enum { OUTCOME_TABLE(ROW_O, ROW_O, ROW_O, ROW_O) O_COUNT };
enum { EVENT_TABLE(ROW_E, ROW_E, ROW_E, ROW_E) E_COUNT };
enum { DECISION_OUTSIDE_TABLE(ROW_OUTSIDE, ROW_OUTSIDE) OUTSIDE_COUNT };
enum { OUTCOME_OUTSIDE_TABLE(ROW_ANSWER, ROW_ANSWER) ANSWER_COUNT };

#define ROW_SKIP(...) /* drops the lines of a table that are not asked for */

#define ROW_COLUMNS_MAX D_COUNT
#define ROW_OUTSIDE_MAX OUTSIDE_COUNT
#define ROW_SALT_BYTES 16

enum row_kind { ROW_NULL = 0, ROW_INT, ROW_TEXT, ROW_BLOB, ROW_FOREIGN /* a kind that no row of ours holds */ };

struct row_value {
    enum row_kind kind;
    int64_t number;
    struct span bytes;
};

static inline struct row_value row_null(void)
{
    return (struct row_value){.kind = ROW_NULL};
}

static inline struct row_value row_int(int64_t number)
{
    return (struct row_value){.kind = ROW_INT, .number = number};
}

static inline struct row_value row_text(struct span text) /* NULL where text.at is NULL */
{
    return (struct row_value){.kind = text.at ? ROW_TEXT : ROW_NULL, .bytes = text};
}

static inline struct row_value row_blob(const void *at, size_t len) /* NULL where at is NULL */
{
    return (struct row_value){.kind = at ? ROW_BLOB : ROW_NULL, .bytes = span_of(at, len)};
}

struct row_shape {
    const char *name;            /* of the table */
    char tag;                    /* first canonical byte */
    int count;                   /* chained columns */
    const char *const *columns;
    int outside;                 /* columns outside the chain */
    const char *const *outside_columns;
};

const struct row_shape *row_shape(enum row_table table);

/* SHA-256(previous || canonical bytes of the values). */
void row_hash(enum row_table table, const struct row_value *values, const unsigned char previous[DIGEST_BYTES],
              unsigned char hash[DIGEST_BYTES]);

/* Appends the canonical bytes themselves. */
enum code row_bytes(enum row_table table, const struct row_value *values, struct buf *out) MUST_USE;

/* "INSERT INTO decision (seq, ...) VALUES (?, ...)": the chained columns, the hash, what is outside. */
enum code row_prepare_insert(struct db *db, enum row_table table, struct db_stmt **stmt) MUST_USE;
void row_bind(struct db_stmt *stmt, int at, const struct row_value *value);

/* "SELECT seq, ... FROM decision ", with columns in the order of an insert. */
enum code row_add_select(struct buf *sql, enum row_table table);

/* The value in a column of the current row. */
struct row_value row_read(struct db_stmt *stmt, int column);

#endif
