/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/walk.h"

/* Takes: whole: all columns; else those of a leaf. */
static enum code prepare(struct db *db, enum row_table table, bool whole, const char *where, const struct db_value *values,
                         size_t count, struct db_stmt **stmt)
{
    struct buf sql;
    enum code code;

    *stmt = NULL;
    buf_init(&sql, 4096);
    if (whole)
        row_add_select(&sql, table);
    else
        buf_addf(&sql, "SELECT seq, hash, tenant FROM %s ", row_shape(table)->name);
    code = buf_add(&sql, where, strlen(where) + 1);
    if (code == CODE_OK)
        code = db_select(db, buf_peek(&sql).at, values, count, stmt);
    buf_fini(&sql);
    return code;
}

static enum code step(struct walk *walk, enum row_table table)
{
    enum code code = db_step(walk->stmt[table]);

    walk->has[table] = code == CODE_OK;
    walk->seq[table] = code == CODE_OK ? db_int(walk->stmt[table], 0) : 0;
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code begin(struct walk *walk, struct db *db, bool whole, int64_t first, int64_t last)
{
    enum code code = CODE_OK;

    *walk = (struct walk){.given = ROW_FILE};
    for (enum row_table table = ROW_DECISION; table < ROW_TABLES && code == CODE_OK; table++) {
        code = prepare(db, table, whole, "WHERE seq BETWEEN ? AND ? ORDER BY seq",
                       DB_VALUES(db_of_int(first), db_of_int(last)), &walk->stmt[table]);
        if (code == CODE_OK)
            code = step(walk, table);
    }
    if (code != CODE_OK)
        walk_fini(walk);
    return code;
}

enum code walk_init(struct walk *walk, struct db *db, int64_t first, int64_t last)
{
    return begin(walk, db, true, first, last);
}

enum code walk_leaves(struct walk *walk, struct db *db, int64_t first, int64_t last)
{
    return begin(walk, db, false, first, last);
}

static void read_row(struct db_stmt *stmt, enum row_table table, struct walk_row *row)
{
    const struct row_shape *shape = row_shape(table);

    row->table = table;
    row->seq = db_int(stmt, 0);
    for (int i = 0; i < shape->count; i++)
        row->values[i] = row_read(stmt, i);
    row->hash = row_read(stmt, shape->count);
    for (int i = 0; i < ROW_OUTSIDE_MAX; i++)
        row->outside[i] = i < shape->outside ? row_read(stmt, shape->count + 1 + i) : row_null();
}

/* Sets `given` to the table whose row is next. The last statement moves on only now, since that row borrows from it. */
static enum code advance(struct walk *walk)
{
    enum code code = walk->given != ROW_FILE ? step(walk, walk->given) : CODE_OK;

    walk->given = ROW_FILE;
    for (enum row_table table = ROW_DECISION; table < ROW_TABLES; table++)
        if (walk->has[table] && (walk->given == ROW_FILE || walk->seq[table] < walk->seq[walk->given]))
            walk->given = table;
    return code == CODE_OK && walk->given == ROW_FILE ? CODE_NOT_FOUND : code;
}

enum code walk_next(struct walk *walk, struct walk_row *row)
{
    enum code code = advance(walk);

    if (code == CODE_OK)
        read_row(walk->stmt[walk->given], walk->given, row);
    return code;
}

enum code walk_next_leaf(struct walk *walk, struct leaf *leaf)
{
    enum code code = advance(walk);
    struct db_stmt *stmt = walk->stmt[walk->given];

    if (code == CODE_OK)
        *leaf = (struct leaf){db_int(stmt, 0), db_blob(stmt, 1), db_text(stmt, 2)};
    return code;
}

void walk_fini(struct walk *walk)
{
    for (int table = 0; table < ROW_TABLES; table++)
        db_finalize(&walk->stmt[table]);
}

enum code walk_file(struct db *db, struct db_stmt **stmt, struct walk_row *row)
{
    enum code code = prepare(db, ROW_FILE, true, "", NULL, 0, stmt);

    if (code == CODE_OK)
        code = db_step(*stmt);
    if (code == CODE_OK)
        read_row(*stmt, ROW_FILE, row);
    else
        db_finalize(stmt);
    return code;
}
