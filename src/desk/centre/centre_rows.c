/* SPDX-License-Identifier: Apache-2.0 */
#include "centre/centre_rows.h"

#include "rows/schema.h"

#include <stdio.h>

#define PIECE_ROWS 8192
#define DAY_US INT64_C(86400000000)

/* ---- columns ------------------------------------------------------------------------------------------------------ */

static enum code learn_column(struct db *model, struct centre_table *table, enum row_table which, const char *name, size_t at)
{
    const char *shape = row_shape(which)->name;
    size_t len = strlen(table->select);
    struct db_stmt *stmt;
    enum code code = db_find(model, "SELECT type FROM pragma_table_info(?1) WHERE name = ?2",
                             DB_VALUES(db_of_text(span_text(shape)), db_of_text(span_text(name))), &stmt);

    if (code == CODE_OK) /* the machine's name there, since `node` is the member's */
        (void)snprintf(table->select + len, sizeof table->select - len, "%s%s", at == 0 ? "SELECT " : ", ",
                       which == ROW_DECISION && strcmp(name, "node") == 0 ? "host" : name);
    if (code == CODE_OK)
        table->kinds[at] = span_is(db_text(stmt, 0), "INTEGER") ? ROW_INT : span_is(db_text(stmt, 0),
                                                                                    "TEXT") ? ROW_TEXT : ROW_BLOB;
    db_finalize(&stmt);
    return code;
}

/* A day behind the row's values: the number of days since 1970. */
static enum code learn_table(struct db *model, struct centre_table *table, enum row_table which)
{
    const struct row_shape *shape = row_shape(which);
    size_t at = 0, len;
    enum code code = CODE_OK;

    for (int i = 0; i < shape->count && code == CODE_OK; i++)
        code = learn_column(model, table, which, shape->columns[i], at++);
    if (code == CODE_OK)
        code = learn_column(model, table, which, "hash", at++);
    for (int i = 0; i < shape->outside && code == CODE_OK; i++)
        code = learn_column(model, table, which, shape->outside_columns[i], at++);
    len = strlen(table->select);
    (void)snprintf(table->select + len, sizeof table->select - len, "%s FROM callgate.%s ",
                   which == ROW_FILE ? "" : ", (day - date '1970-01-01')::bigint", shape->name);
    return code;
}

enum code centre_rows_init(struct centre_rows *rows, struct pg *pg, struct span node, struct why *why)
{
    struct db *model = NULL;
    enum code code = audit_schema_model(&model);

    *rows = (struct centre_rows){.pg = pg, .node = node, .why = why};
    for (enum row_table table = ROW_FILE; table < ROW_TABLES && code == CODE_OK; table++)
        code = learn_table(model, &rows->tables[table], table);
    db_close(&model);
    return code == CODE_OK ? code : why_set(why, code, "the tables of the trail cannot be learnt: %s", code_text(code));
}

void centre_rows_fini(struct centre_rows *rows)
{
    pieces_fini(&rows->pieces);
}

/* ---- rows --------------------------------------------------------------------------------------------------------- */

/* What the centre has as bytes is text in a file where the file's column is. */
static struct row_value value_of(const struct pg_rows *rows, size_t row, size_t column, enum row_kind kind)
{
    if (pg_rows_null(rows, row, column))
        return row_null();
    switch (pg_rows_type(rows, column)) {
    case PG_INT:
        return row_int(pg_rows_int(rows, row, column));
    case PG_TEXT:
        return row_text(pg_rows_bytes(rows, row, column));
    case PG_BYTES:
        return (struct row_value){.kind = kind == ROW_TEXT ? ROW_TEXT : ROW_BLOB, .bytes = pg_rows_bytes(rows, row, column)};
    case PG_NULL:
    case PG_REAL:
    case PG_OTHER:
        break;
    }
    return (struct row_value){.kind = ROW_FOREIGN};
}

static void read_row(const struct centre_rows *rows, enum row_table table, const struct pg_rows *from, size_t at,
                     struct walk_row *row)
{
    const struct row_shape *shape = row_shape(table);
    const enum row_kind *kinds = rows->tables[table].kinds;

    *row = (struct walk_row){.table = table, .seq = pg_rows_int(from, at, 0)};
    for (int i = 0; i < shape->count; i++)
        row->values[i] = value_of(from, at, (size_t)i, kinds[i]);
    row->hash = value_of(from, at, (size_t)shape->count, kinds[shape->count]);
    for (int i = 0; i < shape->outside; i++)
        row->outside[i] = value_of(from, at, (size_t)(shape->count + 1 + i), kinds[shape->count + 1 + i]);
}

/* The centre took no more of it: the node's file has the rest. */
static bool is_hollow(const struct walk_row *row)
{
    const struct row_shape *shape = row_shape(row->table);

    for (int i = 1; i < shape->count; i++)
        if (row->values[i].kind != ROW_NULL)
            return false;
    return row->table != ROW_FILE && row->hash.kind == ROW_BLOB;
}

/* An outcome lies in its decision's day, which is asked by itself. */
static bool is_in_its_day(const struct walk_row *row, int64_t day)
{
    int64_t time_us = row->values[D_TIME].number, its = time_us / DAY_US - (time_us % DAY_US < 0);

    _Static_assert((int)D_TIME == (int)E_TIME, "the same place in both");
    if (row->table == ROW_OUTCOME || row->values[D_TIME].kind != ROW_INT || its < -700000 ||
        its > 2900000) /* no day that there is */
        return true;
    return day == its;
}

static enum code put_row(struct centre_rows *rows, struct pieces *pieces, enum row_table table, const struct pg_rows *from,
                         size_t at)
{
    const struct row_shape *shape = row_shape(table);
    struct walk_row row;

    read_row(rows, table, from, at, &row);
    if (table != ROW_FILE && rows->moved_seq == 0 &&
        !is_in_its_day(&row, pg_rows_int(from, at, (size_t)(shape->count + 1 + shape->outside))))
        rows->moved_seq = row.seq;
    if (!is_hollow(&row))
        return pieces_put(pieces, &row);
    rows->hollow++;
    return pieces_put_kept(pieces, row.seq, row.hash.bytes, SPAN_NONE);
}

static enum code ask(struct centre_rows *rows, enum row_table table, const char *more, int64_t first, int64_t last,
                     struct pg_rows **out)
{
    char sql[CENTRE_SELECT_BYTES + 256];

    (void)snprintf(sql, sizeof sql, "%sWHERE node = $1 AND seq >= $2 AND seq <= $3 %s ORDER BY seq LIMIT %d",
                   rows->tables[table].select, more, PIECE_ROWS);
    return pg_ask(rows->pg, sql, PG_VALUES(pg_of_text(rows->node), pg_of_int(first), pg_of_int(last)), out, rows->why);
}

/* Up to which number an answer is whole: one that is as long as may be ends in the middle of the last one's rows. */
static int64_t whole_to(const struct pg_rows *rows, int64_t last)
{
    size_t count = pg_rows_count(rows);

    return count < PIECE_ROWS ? last : pg_rows_int(rows, count - 1, 0) - 1;
}

static enum code put_rows(struct centre_rows *rows, enum row_table table, const struct pg_rows *from, int64_t last)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < pg_rows_count(from) && pg_rows_int(from, i, 0) <= last && code == CODE_OK; i++)
        code = put_row(rows, &rows->pieces, table, from, i);
    return code;
}

static int64_t first_of(const struct centre_file *file, int64_t first)
{
    return file->is_first || first > file->before ? first : file->before + 1;
}

static enum code bring(void *context, int64_t first, int64_t *last)
{
    struct centre_rows *rows = context;
    struct pg_rows *decisions = NULL, *outcomes = NULL;
    int64_t from = first_of(&rows->file, first), to = rows->file.last, whole;
    enum code code = pieces_clear(&rows->pieces);

    if (code == CODE_OK)
        code = ask(rows, ROW_DECISION, "", from, to, &decisions);
    if (code == CODE_OK)
        code = ask(rows, ROW_OUTCOME, "", from, to, &outcomes);
    if (code == CODE_OK) {
        whole = whole_to(decisions, to);
        to = whole_to(outcomes, to);
        to = whole < to ? whole : to;
        if (to < from && from <= rows->file.last)
            code = why_set(rows->why, CODE_INVALID, "%.*s: more than %d rows have the number %lld", SPAN_ARG(rows->node),
                           PIECE_ROWS,
                           (long long)from);
    }
    if (code == CODE_OK)
        code = put_rows(rows, ROW_DECISION, decisions, to);
    if (code == CODE_OK)
        code = put_rows(rows, ROW_OUTCOME, outcomes, to);
    pg_rows_free(&decisions);
    pg_rows_free(&outcomes);
    *last = to >= rows->file.last ? INT64_MAX : to;
    return code;
}

static enum code put_events(struct centre_rows *rows, struct pieces *pieces, const char *more, int64_t first, int64_t last)
{
    struct pg_rows *answer = NULL;
    enum code code;
    size_t count;

    do {
        code = ask(rows, ROW_EVENT, more, first, last, &answer);
        count = code == CODE_OK ? pg_rows_count(answer) : 0;
        for (size_t i = 0; i < count && code == CODE_OK; i++) {
            first = pg_rows_int(answer, i, 0) < INT64_MAX ? pg_rows_int(answer, i, 0) + 1 : INT64_MAX;
            code = put_row(rows, pieces, ROW_EVENT, answer, i);
        }
        pg_rows_free(&answer);
    } while (code == CODE_OK && count == PIECE_ROWS);
    return code;
}

enum code centre_rows_events(struct centre_rows *rows, struct pieces *pieces)
{
    return put_events(rows, pieces, "AND kind IN ('erased', 'loss_accepted', 'checkpoint_key')", INT64_MIN, INT64_MAX);
}

/* ---- a file -------------------------------------------------------------------------------------------------------- */

static enum code put_file(struct centre_rows *rows)
{
    struct pg_rows *answer = NULL;
    enum code code = ask(rows, ROW_FILE, "", rows->file.before, rows->file.before, &answer);

    for (size_t i = 0; i < pg_rows_count(answer) && code == CODE_OK; i++)
        code = put_row(rows, &rows->pieces, ROW_FILE, answer, i);
    pg_rows_free(&answer);
    return code;
}

static enum code put_marks(struct centre_rows *rows, int64_t last)
{
    int64_t from = rows->file.before;
    struct pg_rows *answer = NULL;
    enum code code;
    size_t count;

    do {
        code = pg_ask(rows->pg, "SELECT size, time_us, peaks, note FROM callgate.checkpoint WHERE node = $1 AND size >= $2 AND "
                      "size <= $3 ORDER BY size LIMIT 8192",
                      PG_VALUES(pg_of_text(rows->node), pg_of_int(from), pg_of_int(last)), &answer, rows->why);
        count = code == CODE_OK ? pg_rows_count(answer) : 0;
        for (size_t i = 0; i < count && code == CODE_OK; i++) {
            from = pg_rows_int(answer, i, 0) + 1;
            code = pieces_put_mark(&rows->pieces, pg_rows_int(answer, i, 0), pg_rows_int(answer, i, 1), pg_rows_bytes(answer,
                                                                                                                      i, 2),
                                   pg_rows_bytes(answer, i, 3));
        }
        pg_rows_free(&answer);
    } while (code == CODE_OK && count == PIECE_ROWS);
    return code;
}

/* Rows that went with their days, and stood between those that are left. */
static enum code put_kept(struct centre_rows *rows)
{
    struct pg_rows *answer = NULL;
    enum code code = pg_ask(rows->pg, "SELECT seq, hash, tenant FROM callgate.day_link WHERE node = $1 AND seq > $2 AND seq <= "
                                      "$3",
                            PG_VALUES(pg_of_text(rows->node), pg_of_int(rows->file.before),
                                      pg_of_int(rows->file.last)), &answer,
                            rows->why);

    for (size_t i = 0; i < pg_rows_count(answer) && code == CODE_OK; i++)
        code = pieces_put_kept(&rows->pieces, pg_rows_int(answer, i, 0), pg_rows_bytes(answer, i, 1), pg_rows_bytes(answer, i,
                                                                                                                    2));
    pg_rows_free(&answer);
    return code;
}

enum code centre_rows_begin(struct centre_rows *rows, const struct centre_file *file, const struct verify_sequence *sequence,
                            struct verify_source *source)
{
    bool is_cut = source->is_cut;
    enum code code;

    pieces_fini(&rows->pieces);
    rows->file = *file;
    code = pieces_init(&rows->pieces);
    if (code == CODE_OK && !is_cut)
        code = put_file(rows);
    if (code == CODE_OK)
        code = put_events(rows, &rows->pieces, "", first_of(file, INT64_MIN), file->last);
    if (code == CODE_OK) /* behind the last row, too: it tells that the end was cut off */
        code = put_marks(rows, file->last);
    if (code == CODE_OK)
        code = put_kept(rows);
    if (code == CODE_OK)
        code = pieces_continue(&rows->pieces, sequence);
    source->db = rows->pieces.db;
    source->bring = bring;
    source->context = rows;
    return code;
}
