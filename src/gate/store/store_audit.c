/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_audit.h"

#include "store/store.h"
#include "base/mem.h"
#include "base/num.h"
#include "crypto/digest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

const char store_audit_schema[] =
    "CREATE TABLE audit_request("
    "  id        INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  audit     TEXT NOT NULL," /* which: several gates on one store have one each */
    "  kind      TEXT NOT NULL CHECK (kind IN ('archive', 'erase')),"
    "  tenant    TEXT,"
    "  before_us INTEGER,"
    "  asked_us  INTEGER NOT NULL,"
    "  asked_by  TEXT NOT NULL) STRICT;"
    "CREATE TABLE audit_answer("
    "  request     INTEGER PRIMARY KEY REFERENCES audit_request(id),"
    "  done        INTEGER NOT NULL,"
    "  text        TEXT NOT NULL,"
    "  answered_us INTEGER NOT NULL) STRICT;"
    "CREATE TRIGGER audit_request_stays BEFORE UPDATE ON audit_request"
    "  BEGIN SELECT raise(ABORT, 'requests are append-only'); END;"
    "CREATE TRIGGER audit_request_remains BEFORE DELETE ON audit_request"
    "  BEGIN SELECT raise(ABORT, 'requests are append-only'); END;"
    "CREATE TRIGGER audit_answer_stays BEFORE UPDATE ON audit_answer"
    "  BEGIN SELECT raise(ABORT, 'answers are append-only'); END;"
    "CREATE TRIGGER audit_answer_remains BEFORE DELETE ON audit_answer"
    "  BEGIN SELECT raise(ABORT, 'answers are append-only'); END;";

void store_audit_mark(const char *path, char mark[STORE_MARK_BYTES])
{
    const char *slash = strrchr(path, '/');
    unsigned char digest[DIGEST_BYTES];
    char folder[PATH_MAX], real[2 * PATH_MAX];

    (void)snprintf(real, sizeof real, "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1, slash == NULL ? "." : path);
    if (realpath(real, folder) == NULL) /* of the folder: the audit itself is a link to another file every time */
        (void)snprintf(real, sizeof real, "%s", path);
    else
        (void)snprintf(real, sizeof real, "%s/%s", folder, slash != NULL ? slash + 1 : path);
    digest_of(span_text(real), digest);
    num_hex(digest, (STORE_MARK_BYTES - 1) / 2, mark);
    mark[STORE_MARK_BYTES - 1] = '\0';
}

enum code store_audit_ask(struct db *db, const char *mark, struct store_audit_request *request, struct why *why)
{
    bool erases = request->kind == STORE_AUDIT_ERASE;
    enum code code = db_change(db, "INSERT INTO audit_request(audit, kind, tenant, before_us, asked_us, asked_by) "
                               "VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                               DB_VALUES(db_of_text(span_text(mark)),
                                         db_of_text(erases ? SPAN_LIT("erase") : SPAN_LIT("archive")),
                                         db_of_text(erases ? span_text(request->tenant) : SPAN_NONE),
                                         erases ? db_of_int(request->before_us) : db_of_text(SPAN_NONE),
                                         db_of_int(request->asked_us), db_of_text(span_text(request->actor))));

    request->id = code == CODE_OK ? db_last_id(db) : 0;
    return code == CODE_OK ? code : store_why(why, code, db, "writing the store");
}

static void copy(char out[STORE_AUDIT_TEXT], struct span text)
{
    (void)snprintf(out, STORE_AUDIT_TEXT, "%.*s", SPAN_ARG(text));
}

enum code store_audit_next(struct db *db, const char *mark, struct store_audit_request *request, struct why *why)
{
    struct db_stmt *stmt;
    enum code code = db_find(db, "SELECT id, kind, tenant, before_us, asked_by, asked_us FROM audit_request "
                             "WHERE audit = ?1 AND id NOT IN (SELECT request FROM audit_answer) ORDER BY id LIMIT 1",
                             DB_VALUES(db_of_text(span_text(mark))), &stmt);

    *request = (struct store_audit_request){.id = 0};
    if (code == CODE_OK) {
        request->id = db_int(stmt, 0);
        request->kind = span_is(db_text(stmt, 1), "erase") ? STORE_AUDIT_ERASE : STORE_AUDIT_ARCHIVE;
        copy(request->tenant, db_text(stmt, 2));
        request->before_us = db_int(stmt, 3);
        copy(request->actor, db_text(stmt, 4));
        request->asked_us = db_int(stmt, 5);
    }
    db_finalize(&stmt);
    return code == CODE_OK || code == CODE_NOT_FOUND ? code : store_why(why, code, db, "reading the store");
}

enum code store_audit_answer(struct db *db, int64_t request, bool done, const char *text, int64_t now_us, struct why *why)
{
    enum code code = db_change(db, "INSERT OR IGNORE INTO audit_answer VALUES (?1, ?2, ?3, ?4)",
                               DB_VALUES(db_of_int(request), db_of_int(done), db_of_text(span_text(text)), db_of_int(now_us)));

    return code == CODE_OK ? code : store_why(why, code, db, "writing the store");
}

enum code store_audit_answered(struct db *db, int64_t request, bool *done, char **text, struct why *why)
{
    struct db_stmt *stmt;
    enum code code = db_find(db, "SELECT done, text FROM audit_answer WHERE request = ?1", DB_VALUES(db_of_int(request)),
                             &stmt);

    *text = NULL;
    if (code == CODE_OK) {
        *done = db_int(stmt, 0) != 0;
        *text = mem_dup(db_text(stmt, 1).at, db_text(stmt, 1).len);
        code = *text != NULL ? CODE_OK : CODE_NOMEM;
    }
    db_finalize(&stmt);
    return code == CODE_OK || code == CODE_NOT_FOUND ? code : store_why(why, code, db, "reading the store");
}
