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
    code = buf_add_text(&sql, "CREATE TEMP VIEW call ");
    if (code == CODE_OK)
        code = buf_add(&sql, view + sizeof name - 1, (size_t)(end - view) - (sizeof name - 1));
    if (code == CODE_OK)
        code = buf_add_byte(&sql, '\0');
    if (code == CODE_OK)
        code = db_exec(db, buf_peek(&sql).at);
    buf_fini(&sql);
    return code;
}

enum code reader__open(const char *path, struct db **db, struct why *why)
{
    int64_t application = 0;
    enum code code = trail_open(path, db, why);

    if (code != CODE_OK)
        return code;
    code = db_number(*db, "PRAGMA application_id", &application);
    if (code == CODE_OK && application != AUDIT_APPLICATION_ID)
        code = why_set(why, CODE_INVALID, "%s: is a database, but no audit trail; name another file", path);
    if (code == CODE_OK)
        code = put_view(*db);
    if (code != CODE_OK) {
        (void)reader__why(why, code, path, *db);
        db_close(db);
    }
    return code;
}

bool reader__attach_next(struct db *db, const char *path)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "ATTACH ? AS next", &stmt);

    if (code != CODE_OK)
        return false;
    db_bind_text(stmt, 1, span_text(path));
    code = db_run(stmt);
    db_finalize(&stmt);
    return code == CODE_OK && db_exec(db, "SELECT 1 FROM next.outcome LIMIT 1") == CODE_OK;
}

static enum code step_hash(struct db_stmt *stmt, unsigned char hash[DIGEST_BYTES])
{
    enum code code = db_step(stmt);
    struct span bytes = code == CODE_OK ? db_blob(stmt, 0) : SPAN_NONE;

    if (code == CODE_OK && bytes.at == NULL)
        return CODE_NOT_FOUND;
    if (code == CODE_OK && bytes.len != DIGEST_BYTES)
        return CODE_INVALID;
    if (code == CODE_OK)
        memcpy(hash, bytes.at, DIGEST_BYTES);
    return code;
}

enum code reader__previous(struct db *db, unsigned char hash[DIGEST_BYTES])
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "SELECT previous FROM file", &stmt);

    if (code == CODE_OK)
        code = step_hash(stmt, hash);
    db_finalize(&stmt);
    return code;
}

enum code reader__hash(struct db *db, int64_t seq, unsigned char hash[DIGEST_BYTES])
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "SELECT hash FROM decision WHERE seq = ?1 UNION ALL "
                                "SELECT hash FROM outcome WHERE seq = ?1 UNION ALL "
                                "SELECT hash FROM event WHERE seq = ?1 UNION ALL SELECT hash FROM file WHERE seq = ?1", &stmt);

    if (code != CODE_OK)
        return code;
    db_bind_int(stmt, 1, seq);
    code = step_hash(stmt, hash);
    db_finalize(&stmt);
    return code;
}
