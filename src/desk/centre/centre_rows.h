/* SPDX-License-Identifier: Apache-2.0 */
/* A node's rows at the centre as the verifier takes them.
 *
 * Threads: the connection's.
 * Owns: the pieces of the file at hand.
 * Lifetime: centre_rows_init to centre_rows_fini.
 * Errors: enum code with a sentence. */
#ifndef CENTRE_CENTRE_ROWS_H
#define CENTRE_CENTRE_ROWS_H

#include "base/why.h"
#include "evidence/pieces.h"
#include "pg/pg.h"

#define CENTRE_SELECT_BYTES 4096
#define CENTRE_VALUES_MAX (ROW_COLUMNS_MAX + 1 + ROW_OUTSIDE_MAX)

struct centre_table {
    char select[CENTRE_SELECT_BYTES];        /* "SELECT seq, ..., hash, salt, ... FROM callgate.decision " */
    enum row_kind kinds[CENTRE_VALUES_MAX];  /* what each column is in a file */
};

/* One file of the trail. */
struct centre_file {
    bool is_first;        /* so that rows of numbers that there cannot be belong to it */
    int64_t before, last; /* its rows are behind `before`, up to `last` */
};

struct centre_rows {
    struct pg *pg;
    struct span node;
    struct centre_table tables[ROW_TABLES];
    struct centre_file file;
    struct pieces pieces;
    struct why *why;      /* takes what went wrong */
    uint64_t hollow;      /* rows of which there is no more than number and hash; of all files */
    int64_t moved_seq;    /* a row that lies in another day than its own; 0: none was seen; of all files */
};

enum code centre_rows_init(struct centre_rows *rows, struct pg *pg, struct span node, struct why *why) MUST_USE;
void centre_rows_fini(struct centre_rows *rows);

/* Begins with a file: all of it but decisions and outcomes, which `source.bring` brings. Takes: sequence: what the file before
 * it left. The source is good until the next file. */
enum code centre_rows_begin(struct centre_rows *rows, const struct centre_file *file, const struct verify_sequence *sequence,
                            struct verify_source *source) MUST_USE;

/* A database with those events of the whole trail that verify_sequence_of reads. */
enum code centre_rows_events(struct centre_rows *rows, struct pieces *pieces) MUST_USE;

#endif
