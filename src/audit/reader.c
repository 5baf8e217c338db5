/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/reader.h"

#include "audit/schema.h"
#include "audit/trail.h"
#include "base/buf.h"
#include "base/bug.h"

enum code reader__why(struct why *why, enum code code, const char *path, const struct db *db)
{
    if (why->text[0] != '\0')
        return code;
    return why_set(why, code, "%s: %s", path, code == CODE_NOMEM ? "out of memory" : db_error(db));
}

/* A temporary view hides the file's own of the same name. Its text is what the schema has between the name and the semicolon:
 * cheaper than asking an empty database for it at every opening. */
static enum code put_view(struct db *db)
{
    static const char name[] = "\nCREATE VIEW call ";
    const char *view = strstr(audit__schema, name), *end = view != NULL ? strchr(view, ';') : NULL;
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

enum code reader__is_trail(struct db *db, const char *path, struct why *why)
{
    int64_t application = 0;
    enum code code = db_number(db, "PRAGMA application_id", &application);

    if (code == CODE_OK && application == AUDIT_EXPORT_ID)
        return why_set(why, CODE_INVALID, "%s: is an export: ask it with sqlite3, or name the audit that it was made of", path);
    if (code == CODE_OK && application != AUDIT_APPLICATION_ID)
        code = why_set(why, CODE_INVALID, "%s: is a database, but no audit trail; name another file", path);
    return code;
}

enum code reader__open(const char *path, struct db **db, struct why *why)
{
    enum code code = trail_open(path, db, why);

    if (code != CODE_OK)
        return code;
    code = reader__is_trail(*db, path, why);
    if (code == CODE_OK)
        code = put_view(*db);
    if (code != CODE_OK) {
        (void)reader__why(why, code, path, *db);
        db_close(db);
    }
    return code;
}

/* What filters and figures ask of an outcome. */
#define LATER_COLUMNS "decision, outcome, status, latency_us, answer_effect, answer_rule, answer_rules, answer_found"

/* A file lists what was open at its beginning: where no call of ours is among that, none ends behind it. */
static enum code read_later(struct db *db, const char *path, int64_t last, bool is_next, bool *some)
{
    struct db_stmt *open = NULL;
    enum code code = db_change(db, "ATTACH ? AS next", DB_VALUES(db_of_text(span_text(path))));

    *some = is_next;
    if (code != CODE_OK)
        return code;
    if (!is_next)
        *some = db_find(db, "SELECT 1 FROM next.permit_start WHERE decision <= ?", DB_VALUES(db_of_int(last)),
                        &open) == CODE_OK;
    db_finalize(&open);
    if (*some)
        code = db_change(db, "INSERT OR IGNORE INTO temp.later SELECT " LATER_COLUMNS " FROM next.outcome WHERE decision <= ?",
                         DB_VALUES(db_of_int(last)));
    return code == CODE_OK ? db_exec(db, "DETACH next") : code;
}

bool reader__later(struct db *db, const struct trail *trail, size_t file)
{
    bool some = true;
    enum code code = db_exec(db, "CREATE TEMP TABLE later (decision INTEGER PRIMARY KEY, outcome TEXT, status INTEGER, "
                             "latency_us INTEGER, answer_effect TEXT, answer_rule TEXT, answer_rules TEXT, answer_found TEXT)");

    for (size_t i = file + 1; i < trail->count && code == CODE_OK && some; i++)
        code = read_later(db, trail->files[i].path, trail->files[file].last_seq, i == file + 1, &some);
    return code == CODE_OK;
}

static enum code find_hash(struct db *db, const char *sql, int64_t seq, unsigned char hash[DIGEST_BYTES])
{
    struct db_stmt *stmt;
    enum code code = db_find(db, sql, DB_VALUES(db_of_int(seq)), &stmt);
    struct span bytes = code == CODE_OK ? db_blob(stmt, 0) : SPAN_NONE;

    if (code == CODE_OK && bytes.at == NULL)
        code = CODE_NOT_FOUND;
    else if (code == CODE_OK && bytes.len != DIGEST_BYTES)
        code = CODE_INVALID;
    else if (code == CODE_OK)
        memcpy(hash, bytes.at, DIGEST_BYTES);
    db_finalize(&stmt);
    return code;
}

enum code reader__previous(struct db *db, int64_t seq, unsigned char hash[DIGEST_BYTES])
{
    return find_hash(db, "SELECT previous FROM file WHERE seq = ?1", seq, hash);
}

enum code reader__hash(struct db *db, int64_t seq, unsigned char hash[DIGEST_BYTES])
{
    return find_hash(db, "SELECT hash FROM decision WHERE seq = ?1 UNION ALL SELECT hash FROM outcome WHERE seq = ?1 UNION ALL "
                     "SELECT hash FROM event WHERE seq = ?1 UNION ALL SELECT hash FROM file WHERE seq = ?1", seq, hash);
}
