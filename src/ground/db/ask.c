/* SPDX-License-Identifier: Apache-2.0 */
/* Statements that are prepared, bound and stepped in one go. */
#include "db/db.h"

enum code db_select(struct db *db, const char *sql, const struct db_value *values, size_t count, struct db_stmt **stmt)
{
    enum code code = db_prepare(db, sql, stmt);

    for (size_t i = 0; i < count && code == CODE_OK; i++)
        if (values[i].type == DB_INT)
            db_bind_int(*stmt, (int)i + 1, values[i].number);
        else if (values[i].type == DB_BLOB)
            db_bind_blob(*stmt, (int)i + 1, values[i].bytes);
        else
            db_bind_text(*stmt, (int)i + 1, values[i].bytes);
    return code;
}

enum code db_find(struct db *db, const char *sql, const struct db_value *values, size_t count, struct db_stmt **stmt)
{
    enum code code = db_select(db, sql, values, count, stmt);

    return code == CODE_OK ? db_step(*stmt) : code;
}

enum code db_change(struct db *db, const char *sql, const struct db_value *values, size_t count)
{
    struct db_stmt *stmt;
    enum code code = db_select(db, sql, values, count, &stmt);

    if (code == CODE_OK)
        code = db_run(stmt);
    db_finalize(&stmt);
    return code;
}

enum code db_number(struct db *db, const char *sql, const struct db_value *values, size_t count, int64_t *number)
{
    struct db_stmt *stmt;
    enum code code = db_find(db, sql, values, count, &stmt);

    *number = code == CODE_OK ? db_int(stmt, 0) : 0;
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

bool db_next(struct db_stmt **stmt, enum code *code)
{
    if (*code == CODE_OK)
        *code = db_step(*stmt);
    if (*code == CODE_OK)
        return true;
    if (*code == CODE_NOT_FOUND)
        *code = CODE_OK;
    db_finalize(stmt);
    return false;
}
