/* SPDX-License-Identifier: Apache-2.0 */
/* How a struct query becomes SQL over one file: which rows may match is asked of the finding tables, part by part from one
 * end, and SQLite filters these few.
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: enum code. */
#ifndef AUDIT_QUERY_PRIV_H
#define AUDIT_QUERY_PRIV_H

#include "audit/query.h"
#include "base/buf.h"
#include "base/num.h"
#include "db/db.h"

/* Where in the file a statement looks. */
enum query_part {
    QUERY_WHOLE = 0, /* every decision: nothing that is indexed is asked for */
    QUERY_INDEXED,   /* finished parts */
    QUERY_TAIL,      /* behind the last finished part */
    QUERY_ENDED      /* as the calls ended, by their last row; only those behind query_shape.after_seq */
};

#define QUERY_PARAMETERS_MAX 40

/* A statement's text and what is bound to it, in order. */
struct query_sql {
    struct buf text;
    struct {
        enum { PARAMETER_INT = 0, PARAMETER_TEXT, PARAMETER_BLOB } kind;
        int64_t number;
        struct span bytes;
    } parameter[QUERY_PARAMETERS_MAX];
    int count;
    char bucket[NUM_TEXT_BYTES], print[NUM_TEXT_BYTES + 1]; /* of a correlation */
    struct buf patterns; /* what '*' and --text were turned into */
};

/* What a statement gives. */
struct query_shape {
    const char *columns; /* of `decision AS d`; with `outcome`, of `outcome AS o` too; NULL: part and number, in order */
    bool outcome;
    bool newest_first;
    bool next;           /* reader__attach_next was called: `outcome AS k` is what the next file has of a call */
    int64_t after_seq;   /* QUERY_ENDED */
};

/* Returns: CODE_OK; CODE_LIMIT where the filters' texts are too long; CODE_NOMEM. */
enum code query__write(struct query_sql *sql, const struct query *query, const struct query_shape *shape,
                       enum query_part part) MUST_USE;
void query__fini(struct query_sql *sql);

/* The numbers of the decisions of one file, in order. `each` sets *enough to end it. */
typedef enum code (*query__seq_fn)(void *context, int64_t seq, bool *enough);
enum code query__seqs(struct db *db, const struct query *query, bool newest_first, bool next, query__seq_fn each, void *context)
    MUST_USE;

/* The numbers of the decisions whose last row is behind after_seq: their own where no outcome is due, else the outcome's. In
 * the order of these rows. */
enum code query__ended(struct db *db, const struct query *query, int64_t after_seq, query__seq_fn each, void *context) MUST_USE;

/* Rows of one file with the columns that `shape` names, in any order. */
typedef enum code (*query__row_fn)(void *context, struct db_stmt *stmt);
enum code query__rows(struct db *db, const struct query *query, const struct query_shape *shape, query__row_fn each,
                      void *context) MUST_USE;

/* A statement that is ready to be stepped: "SELECT " head, whose last words are a comparison with after_seq, and the query's
 * filters (those on decisions), ordered by a column. `sql` must live as long as it (query__fini), whatever is returned. */
enum code query__select(struct db *db, const struct query *query, const char *head, int64_t after_seq, const char *order,
                        struct query_sql *sql, struct db_stmt **stmt) MUST_USE;

#define QUERY_CALL "SELECT * FROM call WHERE seq = ?"

/* Hands out a row. Takes: overlay: NULL, or a row whose columns take the place of those with the same names. */
enum code query__give(struct db_stmt *stmt, struct db_stmt *overlay, query_row_fn row, void *context) MUST_USE;

#endif
