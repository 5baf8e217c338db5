/* SPDX-License-Identifier: Apache-2.0 */
#include "files/reader.h"

#include "rows/schema.h"

enum code reader_why(struct why *why, enum code code, const char *path, const struct db *db)
{
    if (why->text[0] != '\0' || (code == CODE_IO && !db_has_failed(db)))
        return code; /* whoever took its rows failed */
    return why_set(why, code, "%s: %s", path, code == CODE_NOMEM ? "out of memory" : db_error(db));
}

enum code reader_is_trail(struct db *db, const char *path, struct why *why)
{
    int64_t application = 0;
    enum code code = db_number(db, "PRAGMA application_id", NULL, 0, &application);

    if (code == CODE_OK && application == AUDIT_EXPORT_ID)
        return why_set(why, CODE_INVALID, "%s: is an export: ask it with sqlite3, or name the audit that it was made of", path);
    if (code == CODE_OK && application != AUDIT_APPLICATION_ID)
        code = why_set(why, CODE_INVALID, "%s: is a database, but no audit trail; name another file", path);
    return code;
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

enum code reader_previous(struct db *db, int64_t seq, unsigned char hash[DIGEST_BYTES])
{
    return find_hash(db, "SELECT previous FROM file WHERE seq = ?1", seq, hash);
}

enum code reader_hash(struct db *db, int64_t seq, unsigned char hash[DIGEST_BYTES])
{
    return find_hash(db, "SELECT hash FROM decision WHERE seq = ?1 UNION ALL SELECT hash FROM outcome WHERE seq = ?1 UNION ALL "
                     "SELECT hash FROM event WHERE seq = ?1 UNION ALL SELECT hash FROM file WHERE seq = ?1", seq, hash);
}
