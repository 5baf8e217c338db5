/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/walk.h"

static enum code prepare(struct db *db, enum row_table table, const char *where, struct db_stmt **stmt)
{
    struct buf sql;
    enum code code;

    *stmt = NULL;
    buf_init(&sql, 4096);
    row__add_select(&sql, table);
    code = buf_add(&sql, where, strlen(where) + 1);
    if (code == CODE_OK)
        code = db_prepare(db, buf_peek(&sql).at, stmt);
    buf_fini(&sql);
    return code;
}

enum code walk__init(struct walk *walk, struct db *db, int64_t first, int64_t last)
{
    *walk = (struct walk){.given = ROW_FILE};
    for (int table = ROW_DECISION; table < ROW_TABLES; table++) {
        enum code code = prepare(db, (enum row_table)table, "WHERE seq BETWEEN ? AND ? ORDER BY seq", &walk->stmt[table]);

        if (code == CODE_OK) {
            db_bind_int(walk->stmt[table], 1, first);
            db_bind_int(walk->stmt[table], 2, last);
            code = db_step(walk->stmt[table]);
        }
        if (code != CODE_OK && code != CODE_NOT_FOUND) {
            walk__fini(walk);
            return code;
        }
        walk->has[table] = code == CODE_OK;
        walk->seq[table] = code == CODE_OK ? db_int(walk->stmt[table], 0) : 0;
    }
    return CODE_OK;
}

static void read_row(struct db_stmt *stmt, enum row_table table, struct walk_row *row)
{
    const struct row_shape *shape = row__shape(table);

    row->table = table;
    row->seq = db_int(stmt, 0);
    for (int i = 0; i < shape->count; i++)
        row->values[i] = row__read(stmt, i);
    row->hash = row__read(stmt, shape->count);
    for (int i = 0; i < ROW_OUTSIDE_MAX; i++)
        row->outside[i] = i < shape->outside ? row__read(stmt, shape->count + 1 + i) : row_null();
}

enum code walk__next(struct walk *walk, struct walk_row *row)
{
    enum row_table lowest = ROW_FILE;

    if (walk->given != ROW_FILE) { /* moves on only now, since the row given out was borrowed from the statement */
        enum code code = db_step(walk->stmt[walk->given]);

        if (code != CODE_OK && code != CODE_NOT_FOUND)
            return code;
        walk->has[walk->given] = code == CODE_OK;
        walk->seq[walk->given] = code == CODE_OK ? db_int(walk->stmt[walk->given], 0) : 0;
        walk->given = ROW_FILE;
    }
    for (int table = ROW_DECISION; table < ROW_TABLES; table++)
        if (walk->has[table] && (lowest == ROW_FILE || walk->seq[table] < walk->seq[lowest]))
            lowest = (enum row_table)table;
    if (lowest == ROW_FILE)
        return CODE_NOT_FOUND;
    read_row(walk->stmt[lowest], lowest, row);
    walk->given = lowest;
    return CODE_OK;
}

void walk__fini(struct walk *walk)
{
    for (int table = 0; table < ROW_TABLES; table++)
        db_finalize(&walk->stmt[table]);
}

enum code walk__file(struct db *db, struct db_stmt **stmt, struct walk_row *row)
{
    enum code code = prepare(db, ROW_FILE, "", stmt);

    if (code == CODE_OK)
        code = db_step(*stmt);
    if (code == CODE_OK)
        read_row(*stmt, ROW_FILE, row);
    else
        db_finalize(stmt);
    return code;
}
