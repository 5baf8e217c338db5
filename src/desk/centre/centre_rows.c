/* SPDX-License-Identifier: Apache-2.0 */
#include "centre/centre_rows.h"

#include "rows/schema.h"

#include <stdio.h>

#define PIECE_ROWS 8192
#define DAY_US INT64_C(86400000000)
#define SELECT "SELECT %s%s FROM callgate.%s WHERE node = $1 "
/* A day behind the row's values: the number of days since 1970, or of none of them (infinity) one that is no row's. */
#define DAY_OF(table) \
    ((table) == ROW_FILE ? "" : ", (CASE WHEN isfinite(day) THEN day - date '1970-01-01' ELSE -1 END)::bigint")

/* ---- columns ------------------------------------------------------------------------------------------------------ */

static enum code learn_column(struct db *model, struct centre_columns *columns, enum row_table which, const char *name)
{
    const char *shape = row_shape(which)->name;
    size_t len = strlen(columns->names);
    struct db_stmt *stmt;
    enum code code = db_find(model, "SELECT type FROM pragma_table_info(?1) WHERE name = ?2",
                             DB_VALUES(db_of_text(span_text(shape)), db_of_text(span_text(name))), &stmt);

    if (code == CODE_OK) {
        struct span type = db_text(stmt, 0);

        columns->kinds[columns->count++] = span_is(type, "INTEGER") ? ROW_INT : span_is(type, "TEXT") ? ROW_TEXT : ROW_BLOB;
        /* the machine's name there, since `node` is the member's */
        if (snprintf(columns->names + len, CENTRE_NAMES_BYTES - len, "%s%s", len > 0 ? ", " : "",
                     which == ROW_DECISION && strcmp(name, "node") == 0 ? "host" : name) >= (int)(CENTRE_NAMES_BYTES - len))
            code = CODE_LIMIT;
    }
    db_finalize(&stmt);
    return code;
}

static enum code learn_table(struct db *model, struct centre_columns *columns, enum row_table which)
{
    const struct row_shape *shape = row_shape(which);
    enum code code = CODE_OK;

    *columns = (struct centre_columns){.count = 0};
    for (int i = 0; i < shape->count && code == CODE_OK; i++)
        code = learn_column(model, columns, which, shape->columns[i]);
    if (code == CODE_OK)
        code = learn_column(model, columns, which, "hash");
    for (int i = 0; i < shape->outside && code == CODE_OK; i++)
        code = learn_column(model, columns, which, shape->outside_columns[i]);
    return code;
}

enum code centre_columns_learn(struct centre_columns columns[ROW_TABLES], struct why *why)
{
    struct db *model = NULL;
    enum code code = audit_schema_model(&model);

    for (enum row_table table = ROW_FILE; table < ROW_TABLES && code == CODE_OK; table++)
        code = learn_table(model, &columns[table], table);
    db_close(&model);
    return code == CODE_OK ? code : why_set(why, code, "the tables of the trail cannot be learnt: %s", code_text(code));
}

enum code centre_rows_init(struct centre_rows *rows, struct pg *pg, struct span node, struct why *why)
{
    *rows = (struct centre_rows){.pg = pg, .node = node, .why = why};
    return centre_columns_learn(rows->columns, why);
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
    const enum row_kind *kinds = rows->columns[table].kinds;

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

/* Returns: CODE_NOT_FOUND: the centre has no more of it than number and hash, and those are put among what was kept. */
static enum code take_row(struct centre_rows *rows, struct pieces *pieces, enum row_table table, const struct pg_rows *from,
                          size_t at, struct walk_row *row)
{
    const struct row_shape *shape = row_shape(table);
    enum code code;

    read_row(rows, table, from, at, row);
    if (table != ROW_FILE && rows->moved_seq == 0 &&
        !is_in_its_day(row, pg_rows_int(from, at, (size_t)(shape->count + 1 + shape->outside))))
        rows->moved_seq = row->seq;
    if (!is_hollow(row))
        return CODE_OK;
    rows->hollow++;
    code = pieces_put_kept(pieces, row->seq, row->hash.bytes, SPAN_NONE);
    return code == CODE_OK ? CODE_NOT_FOUND : code;
}

static enum code put_row(struct centre_rows *rows, struct pieces *pieces, enum row_table table, const struct pg_rows *from,
                         size_t at)
{
    struct walk_row row;
    enum code code = take_row(rows, pieces, table, from, at, &row);

    if (code == CODE_OK)
        return pieces_put(pieces, &row);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static int64_t first_of(const struct centre_file *file, int64_t first)
{
    return file->is_first || first > file->before ? first : file->before + 1;
}

static enum code ask(struct centre_rows *rows, enum row_table table, const char *more, int64_t first, int64_t last,
                     struct pg_rows **out)
{
    char sql[CENTRE_NAMES_BYTES + 512];

    (void)snprintf(sql, sizeof sql, SELECT "AND seq >= $2 AND seq <= $3 %s ORDER BY seq LIMIT %d",
                   rows->columns[table].names, DAY_OF(table), row_shape(table)->name, more, PIECE_ROWS);
    return pg_ask(rows->pg, sql, PG_VALUES(pg_of_text(rows->node), pg_of_int(first), pg_of_int(last)), out, rows->why);
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
    return put_events(rows, pieces, "AND kind IN ('erased', 'loss_accepted', 'checkpoint_key', 'retired')", INT64_MIN,
                      INT64_MAX);
}

/* ---- one after the other ------------------------------------------------------------------------------------------- */

/* A cursor plans its question once, over however many days it is, and no number of rows that share one is too many. */
static enum code begin_stream(struct centre_rows *rows, enum row_table table)
{
    char sql[CENTRE_NAMES_BYTES + 512];

    rows->streams[table] = (struct centre_stream){.table = table};
    (void)snprintf(sql, sizeof sql, "DECLARE callgate_%s NO SCROLL CURSOR FOR " SELECT "AND seq >= $2 AND seq <= $3 "
                   "ORDER BY seq", row_shape(table)->name, rows->columns[table].names, DAY_OF(table), row_shape(table)->name);
    return pg_ask(rows->pg, sql, PG_VALUES(pg_of_text(rows->node), pg_of_int(first_of(&rows->file, INT64_MIN)),
                                           pg_of_int(rows->file.last)), NULL, rows->why);
}

/* The file before may have left one. */
static enum code end_stream(struct centre_rows *rows, enum row_table table)
{
    struct centre_stream *stream = &rows->streams[table];
    bool is_open = stream->table == table;
    char sql[64];

    pg_rows_free(&stream->page);
    stream->table = ROW_FILE;
    (void)snprintf(sql, sizeof sql, "CLOSE callgate_%s", row_shape(table)->name);
    return is_open ? pg_ask(rows->pg, sql, NULL, 0, NULL, rows->why) : CODE_OK;
}

static enum code fetch(struct centre_rows *rows, struct centre_stream *stream)
{
    char sql[64];

    pg_rows_free(&stream->page);
    stream->at = 0;
    (void)snprintf(sql, sizeof sql, "FETCH %d FROM callgate_%s", PIECE_ROWS, row_shape(stream->table)->name);
    return pg_ask(rows->pg, sql, NULL, 0, &stream->page, rows->why);
}

static enum code take_next(struct centre_rows *rows, struct centre_stream *stream)
{
    enum code code = CODE_OK;

    if (stream->table == ROW_EVENT)
        return walk_next(&rows->events, &stream->row);
    do {
        if (stream->at == pg_rows_count(stream->page))
            code = fetch(rows, stream);
        if (code == CODE_OK && pg_rows_count(stream->page) == 0)
            return CODE_NOT_FOUND;
        if (code == CODE_OK)
            code = take_row(rows, &rows->pieces, stream->table, stream->page, stream->at++, &stream->row);
    } while (code == CODE_NOT_FOUND);
    return code;
}

/* As `next` of the source. What was given out last borrows from its stream, which goes on only now. */
static enum code next_row(void *context, struct walk_row *row)
{
    struct centre_rows *rows = context;
    struct centre_stream *first = NULL;

    for (enum row_table table = ROW_DECISION; table < ROW_TABLES; table++) {
        struct centre_stream *stream = &rows->streams[table];
        enum code code = stream->has_row || stream->is_over ? CODE_OK : take_next(rows, stream);

        if (code != CODE_OK && code != CODE_NOT_FOUND)
            return code;
        stream->is_over |= code == CODE_NOT_FOUND;
        stream->has_row = !stream->is_over;
        if (stream->has_row && (first == NULL || stream->row.seq < first->row.seq))
            first = stream;
    }
    if (first == NULL)
        return CODE_NOT_FOUND;
    *row = first->row;
    first->has_row = false;
    return CODE_OK;
}

static enum code begin_streams(struct centre_rows *rows)
{
    enum code code = walk_init(&rows->events, rows->pieces.db, INT64_MIN, INT64_MAX);

    rows->streams[ROW_EVENT] = (struct centre_stream){.table = ROW_EVENT};
    if (code == CODE_OK)
        code = begin_stream(rows, ROW_DECISION);
    return code == CODE_OK ? begin_stream(rows, ROW_OUTCOME) : code;
}

static enum code end_file(struct centre_rows *rows)
{
    enum code code = end_stream(rows, ROW_DECISION), other = end_stream(rows, ROW_OUTCOME);

    walk_fini(&rows->events);
    pieces_fini(&rows->pieces);
    return code == CODE_OK ? other : code;
}

void centre_rows_fini(struct centre_rows *rows)
{
    struct why why;

    rows->why = &why; /* what went wrong before is told */
    (void)end_file(rows);
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
    enum code code = end_file(rows);

    rows->file = *file;
    if (code == CODE_OK)
        code = pieces_init(&rows->pieces);
    if (code == CODE_OK) /* of one that begins within it there is none of this number */
        code = put_file(rows);
    if (code == CODE_OK)
        code = put_events(rows, &rows->pieces, "", first_of(file, INT64_MIN), file->last);
    if (code == CODE_OK) /* behind the last row, too: it tells that the end was cut off */
        code = put_marks(rows, file->last);
    if (code == CODE_OK)
        code = put_kept(rows);
    if (code == CODE_OK)
        code = pieces_continue(&rows->pieces, sequence);
    if (code == CODE_OK)
        code = begin_streams(rows);
    source->db = rows->pieces.db;
    source->next = next_row;
    source->context = rows;
    return code;
}
