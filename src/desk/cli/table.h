/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a command's answer on stdout: each a document, which is a line of JSON or CSV, or a line of a table that fits the
 * terminal.
 *
 * Whatever stands in a row, no byte of it steers a terminal: see unicode/terminal.h. Cells are counted, not bytes.
 *
 * Threads: main.
 * Owns: the rows that wait to be measured.
 * Lifetime: table_begin to table_end.
 * Errors: enum code; CODE_IO where stdout cannot be written. */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "base/buf.h"
#include "json/doc.h"
#include "json/json.h"

#define TABLE_COLUMNS_MAX 64
#define TABLE_BATCH 256 /* rows that are measured together */
#define TABLE_WHOLE SIZE_MAX

struct table_column {
    const char *title;
    const char *key;   /* the document's member; NULL: the title */
    const char *words; /* told.h: in the member's place; NULL: the member */
    const char *none;  /* what stands for nothing; NULL: "-" */
    size_t least;      /* cells that it keeps where the terminal is narrow; 0: a few; TABLE_WHOLE: all */
    unsigned leaves;   /* where that is not enough: which is left out first, from 1; 0: it stays */
    bool is_right;     /* numbers */
    bool is_bar;       /* a number, drawn beside the largest of its column; only where a terminal has the room. One at most */
};

struct table {
    bool as_json, as_csv; /* as_csv: may be set before the first row; the columns' members are its names */
    const char *nothing; /* what table_end says to people, where no row came; or NULL */
    const struct table_column *columns;
    size_t count, rows;
    bool hidden[TABLE_COLUMNS_MAX]; /* may be set before the first row */
    size_t width[TABLE_COLUMNS_MAX];
    struct buf cells, line; /* of the rows that wait, each cell ended by a newline; the one that is written */
    size_t waiting;
    uint64_t largest; /* of the column that is drawn */
    bool titled;
};

/* Takes: columns: live as long as the table. */
void table_begin(struct table *table, const struct table_column *columns, size_t count, bool as_json);
#define TABLE_BEGIN(table, columns, as_json) table_begin(table, columns, sizeof(columns) / sizeof(columns)[0], as_json)

/* A row. Takes the document. */
enum code table_add(struct table *table, struct doc **row) MUST_USE;
/* A row of a document that is told. It is none for JSON. */
enum code table_add_told(struct table *table, const struct json_node *row) MUST_USE;
/* A row of texts, in the order of the columns; at == NULL: nothing. It is none for JSON. */
enum code table_add_texts(struct table *table, const struct span *texts) MUST_USE;

/* Prints what waits, and flushes. */
enum code table_flush(struct table *table);
/* What table_flush does, and frees the table. */
enum code table_end(struct table *table);

#endif
