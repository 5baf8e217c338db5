/* SPDX-License-Identifier: Apache-2.0 */
/* A node's rows at the centre as the verifier takes them.
 *
 * Threads: the connection's. It is within a transaction, which two cursors stand in.
 * Owns: the pieces of the file at hand, and its cursors.
 * Lifetime: centre_rows_init to centre_rows_fini.
 * Errors: enum code with a sentence. */
#ifndef CENTRE_CENTRE_ROWS_H
#define CENTRE_CENTRE_ROWS_H

#include "base/why.h"
#include "evidence/pieces.h"
#include "pg/pg.h"

#define CENTRE_NAMES_BYTES 3072
#define CENTRE_VALUES_MAX (ROW_COLUMNS_MAX + 1 + ROW_OUTSIDE_MAX)

/* What the centre has of a table of the trail: the chained columns, the hash, what stands outside, in this order. */
struct centre_columns {
    char names[CENTRE_NAMES_BYTES];         /* as they are called there: "seq, ..., hash, salt, ..." */
    enum row_kind kinds[CENTRE_VALUES_MAX]; /* what each is in a file */
    size_t count;
};
/* By the trail's own schema. */
enum code centre_columns_learn(struct centre_columns columns[ROW_TABLES], struct why *why) MUST_USE;

/* One file of the trail. */
struct centre_file {
    bool is_first;        /* so that rows of numbers that there cannot be belong to it */
    int64_t before, last; /* its rows are behind `before`, up to `last` */
};

/* Decisions, outcomes or events, in the order of their numbers. */
struct centre_stream {
    enum row_table table;
    struct pg_rows *page; /* of decisions and outcomes, which come from a cursor; NULL: none was fetched yet */
    size_t at;            /* its next row */
    struct walk_row row;  /* the next to be given out, where there is one; borrows from the page */
    bool has_row, is_over;
};

struct centre_rows {
    struct pg *pg;
    struct span node;
    struct centre_columns columns[ROW_TABLES];
    struct centre_file file;
    struct pieces pieces;
    struct centre_stream streams[ROW_TABLES]; /* ROW_FILE: none */
    struct walk events;   /* of the pieces */
    struct why *why;      /* takes what went wrong */
    uint64_t hollow;      /* rows of which there is no more than number and hash; of all files */
    int64_t moved_seq;    /* a row that lies in another day than its own; 0: none was seen; of all files */
};

enum code centre_rows_init(struct centre_rows *rows, struct pg *pg, struct span node, struct why *why) MUST_USE;
void centre_rows_fini(struct centre_rows *rows);

/* Begins with a file: all of it but decisions and outcomes, which come as the verifier asks for them. Takes: sequence: what the
 * file before it left. The source is good until the next file. */
enum code centre_rows_begin(struct centre_rows *rows, const struct centre_file *file, const struct verify_sequence *sequence,
                            struct verify_source *source) MUST_USE;

/* A database with those events of the whole trail that verify_sequence_of and centre_gone_read read. */
enum code centre_rows_events(struct centre_rows *rows, struct pieces *pieces) MUST_USE;

#endif
