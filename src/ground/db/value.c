/* SPDX-License-Identifier: Apache-2.0 */
/* What a column holds, read at once: of a row with many columns, asking for kind, bytes and length one by one takes longest. */
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

/* SQLite calls it unprotected, but nobody else uses the connection. */
struct db_value db_value(struct db_stmt *stmt, int column)
{
    return db__value_of(sqlite3_column_value(stmt->handle, column));
}
