/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/indices.h"

#include "rows/schema.h"

#include <string.h>

/* Sorting the keys of a large file takes more memory than the gate has otherwise, so that SQLite sorts in a file. It lies
 * beside the audit's, since the gate may write nowhere else. Nothing that can be erased is among the keys. */
static enum code sort_beside(struct db *db, const char *path)
{
    const char *slash = strrchr(path, '/');
    struct span folder = slash == NULL ? SPAN_LIT(".") : span_of(path, slash == path ? 1 : (size_t)(slash - path));
    struct db_stmt *quote;
    enum code code = db_find(db, "SELECT format('PRAGMA temp_store_directory = %Q; PRAGMA temp_store = FILE; "
                             "PRAGMA cache_size = -8192; PRAGMA journal_mode = WAL', ?1)", DB_VALUES(db_of_text(folder)),
                             &quote);

    if (code == CODE_OK)
        code = db_exec(db, db_text(quote, 0).at); /* SQLite ends its texts with NUL */
    db_finalize(&quote);
    return code;
}

/* Each statement is a transaction of its own. ANALYZE lets SQLite choose the index that leaves fewest rows. It comes last, so
 * that its table says that all indices are there. */
static enum code make(struct db *db)
{
    int64_t known = 0;
    enum code code = db_exec(db, audit_indices);

    if (code == CODE_OK)
        code = db_number(db, "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'", NULL, 0, &known);
    return code == CODE_OK && known == 0 ? db_exec(db, "ANALYZE") : code;
}

/* Whether each table is one: a view that somebody put in its place can have no index. */
static enum code has_tables(struct db *db, bool *has)
{
    int64_t tables = 0;
    enum code code = db_number(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                               "name IN ('decision', 'outcome', 'event')", NULL, 0, &tables);

    *has = tables == 3;
    return code;
}

enum code indices_build(const char *path, const atomic_bool *stop, struct why *why)
{
    struct db *db;
    bool has = false;
    enum code code = db_open(path, DB_WRITE, &db, why);

    if (code != CODE_OK)
        return code;
    db_stop_when(db, stop);
    db_take_tables_alone(db);
    code = audit_refuse_other(db, path, why);
    if (code == CODE_OK)
        code = has_tables(db, &has);
    if (code == CODE_OK && has)
        code = sort_beside(db, path);
    if (code == CODE_OK && has)
        code = make(db);
    if (code != CODE_OK && why->text[0] == '\0')
        (void)why_set(why, code, "%s: its indices: %s", path, db_error(db));
    db_close(&db);
    return code;
}
