/* SPDX-License-Identifier: Apache-2.0 */
/* What a column holds. */
#include "db/db.h"
#include "db/db_priv.h"

#include <sqlite3.h>

struct db_value db__value_of(sqlite3_value *value)
{
    const void *at;

    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        return db_of_int(sqlite3_value_int64(value));
    case SQLITE_FLOAT:
        return (struct db_value){.type = DB_REAL};
    case SQLITE_TEXT:
        at = sqlite3_value_text(value);
        return db_of_text(span_of(at, at != NULL ? (size_t)sqlite3_value_bytes(value) : 0));
    case SQLITE_BLOB:
        at = sqlite3_value_blob(value);
        return db_of_blob(at != NULL ? span_of(at, (size_t)sqlite3_value_bytes(value)) : SPAN_LIT(""));
    default:
        return (struct db_value){.type = DB_NULL};
    }
}

/* Read at once, because of a row with many columns asking for kind, bytes and length one by one takes longest. SQLite calls the
 * value unprotected, but nobody else uses the connection. */
struct db_value db_value(struct db_stmt *stmt, int column)
{
    return db__value_of(sqlite3_column_value(stmt->handle, column));
}

int64_t db_int(struct db_stmt *stmt, int column)
{
    return sqlite3_column_int64(stmt->handle, column);
}

struct span db_text(struct db_stmt *stmt, int column)
{
    const void *at;

    if (db_is_null(stmt, column))
        return SPAN_NONE;
    at = sqlite3_column_text(stmt->handle, column);
    return span_of(at, at != NULL ? (size_t)sqlite3_column_bytes(stmt->handle, column) : 0);
}

struct span db_blob(struct db_stmt *stmt, int column)
{
    const void *at;

    if (db_is_null(stmt, column))
        return SPAN_NONE;
    at = sqlite3_column_blob(stmt->handle, column);
    return at != NULL ? span_of(at, (size_t)sqlite3_column_bytes(stmt->handle, column)) : SPAN_LIT("");
}

bool db_is_null(struct db_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt->handle, column) == SQLITE_NULL;
}

enum db_type db_type(struct db_stmt *stmt, int column)
{
    switch (sqlite3_column_type(stmt->handle, column)) {
    case SQLITE_INTEGER:
        return DB_INT;
    case SQLITE_FLOAT:
        return DB_REAL;
    case SQLITE_TEXT:
        return DB_TEXT;
    case SQLITE_BLOB:
        return DB_BLOB;
    default:
        return DB_NULL;
    }
}

int db_columns(struct db_stmt *stmt)
{
    return sqlite3_column_count(stmt->handle);
}

const char *db_column_name(struct db_stmt *stmt, int column)
{
    const char *name = sqlite3_column_name(stmt->handle, column);

    return name != NULL ? name : "";
}
