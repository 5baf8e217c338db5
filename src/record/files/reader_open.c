/* SPDX-License-Identifier: Apache-2.0 */
/* Commands read an audit so; the gate reads its files without the views. */
#include "files/reader_open.h"

#include "files/reader.h"
#include "rows/schema.h"
#include "base/buf.h"
#include "base/bug.h"

/* Makes a temporary view, which hides the file's own of the same name. Its text is cut out of the schema, between the name
 * and the semicolon, since asking an empty database for it at each opening costs more. */
static enum code put_view(struct db *db)
{
    static const char name[] = "\nCREATE VIEW call ";
    const char *view = strstr(audit_schema, name), *end = view != NULL ? strchr(view, ';') : NULL;
    struct buf sql;
    enum code code;

    BUG_ON(end == NULL);
    buf_init(&sql, 65536);
    buf_add_text(&sql, "CREATE TEMP VIEW call ");
    buf_add(&sql, view + sizeof name - 1, (size_t)(end - view) - (sizeof name - 1));
    code = buf_add_byte(&sql, '\0');
    if (code == CODE_OK)
        code = db_exec(db, buf_peek(&sql).at);
    buf_fini(&sql);
    return code;
}

enum code reader_open(const char *path, struct db **db, struct why *why)
{
    enum code code = trail_open(path, db, why);

    if (code != CODE_OK)
        return code;
    code = reader_is_trail(*db, path, why);
    if (code == CODE_OK)
        code = put_view(*db);
    if (code != CODE_OK) {
        (void)reader_why(why, code, path, *db);
        db_close(db);
    }
    return code;
}

/* The columns of an outcome that filters and figures ask for. */
#define LATER_COLUMNS "decision, outcome, status, latency_us, answer_effect, answer_rule, answer_rules, answer_found"

/* Takes the outcomes that one later file holds. A file lists the permits that were open at its beginning:
 * where none of this file's calls is among them, no later file has an outcome of them. */
static enum code read_later(struct db *db, const char *path, int64_t last, bool is_next, bool *some)
{
    int64_t open = is_next;
    enum code code = db_change(db, "ATTACH ? AS next", DB_VALUES(db_of_text(span_text(path))));

    if (code == CODE_OK && !is_next)
        code = db_number(db, "SELECT 1 FROM next.permit_start WHERE decision <= ?", DB_VALUES(db_of_int(last)), &open);
    *some = open != 0;
    if (code != CODE_OK)
        return code;
    if (*some)
        code = db_change(db, "INSERT OR IGNORE INTO temp.later SELECT " LATER_COLUMNS " FROM next.outcome WHERE decision <= ?",
                         DB_VALUES(db_of_int(last)));
    return code == CODE_OK ? db_exec(db, "DETACH next") : code;
}

bool reader_later(struct db *db, const struct trail *trail, size_t file)
{
    bool some = true;
    enum code code = db_exec(db, "CREATE TEMP TABLE later (decision INTEGER PRIMARY KEY, outcome TEXT, status INTEGER, "
                             "latency_us INTEGER, answer_effect TEXT, answer_rule TEXT, answer_rules TEXT, answer_found TEXT)");

    for (size_t i = file + 1; i < trail->count && code == CODE_OK && some; i++)
        code = read_later(db, trail->files[i].path, trail->files[file].last_seq, i == file + 1, &some);
    return code == CODE_OK;
}
