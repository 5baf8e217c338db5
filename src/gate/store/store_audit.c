/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_audit.h"

#include "store/store.h"
#include "store/store_holds.h"
#include "files/trail.h"
#include "base/mem.h"
#include "base/num.h"
#include "crypto/digest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static void digest_mark(const char *text, char mark[STORE_MARK_BYTES])
{
    unsigned char digest[DIGEST_BYTES];

    digest_of(span_text(text), digest);
    num_hex(digest, (STORE_MARK_BYTES - 1) / 2, mark);
    mark[STORE_MARK_BYTES - 1] = '\0';
}

void store_audit_place(const char *path, char mark[STORE_MARK_BYTES])
{
    const char *slash = strrchr(path, '/');
    char folder[PATH_MAX], real[2 * PATH_MAX];

    (void)snprintf(real, sizeof real, "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1, slash == NULL ? "." : path);
    if (realpath(real, folder) == NULL) /* of the folder, since the audit itself is a link that leads to another file every
                                         * time */
        (void)snprintf(real, sizeof real, "%s", path);
    else
        (void)snprintf(real, sizeof real, "%s/%s", folder, slash != NULL ? slash + 1 : path);
    digest_mark(real, mark);
}

enum code store_audit_mark(const char *path, char mark[STORE_MARK_BYTES], struct why *why)
{
    struct trail_candidate candidate = {.continues = false};
    enum code code = trail_look_at(path, &candidate, why);

    mark[0] = '\0';
    if (code == CODE_OK)
        digest_mark(candidate.origin[0] != '\0' ? candidate.origin : path, mark);
    return code;
}

static enum code put_request(struct db *db, const char *mark, struct store_audit_request *request, struct why *why)
{
    bool erases = request->kind == STORE_AUDIT_ERASE;
    enum code code = db_change(db, "INSERT INTO audit_request(audit, kind, tenant, before_us, asked_us, asked_by, why) "
                               "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                               DB_VALUES(db_of_text(span_text(mark)),
                                         db_of_text(erases ? SPAN_LIT("erase") : SPAN_LIT("archive")),
                                         db_of_text(erases ? span_text(request->tenant) : SPAN_NONE),
                                         erases ? db_of_int(request->before_us) : db_of_text(SPAN_NONE),
                                         db_of_int(request->asked_us), db_of_text(span_text(request->actor)),
                                         db_of_text(erases ? span_text(request->why) : SPAN_NONE)));

    request->id = code == CODE_OK ? db_last_id(db) : 0;
    return db_why(why, code, db, "writing the store");
}

/* In one transaction: a hold that is placed now is seen, or sees the request. */
enum code store_audit_ask(struct db *db, const char *mark, struct store_audit_request *request, struct why *why)
{
    enum code code = store_begin(db, why);

    if (code != CODE_OK)
        return code;
    if (request->kind == STORE_AUDIT_ERASE)
        code = store_holds_allow(db, request->tenant, request->before_us, why);
    if (code == CODE_OK)
        code = put_request(db, mark, request, why);
    return store_end(db, code, NULL, why);
}

static void copy(char *out, size_t size, struct span text)
{
    (void)snprintf(out, size, "%.*s", SPAN_ARG(text));
}

enum code store_audit_next(struct db *db, const char *mark, struct store_audit_request *request, struct why *why)
{
    struct db_stmt *stmt;
    enum code code = db_find(db, "SELECT id, kind, tenant, before_us, asked_by, asked_us, why FROM audit_request "
                             "WHERE audit = ?1 AND id NOT IN (SELECT request FROM audit_answer) ORDER BY id LIMIT 1",
                             DB_VALUES(db_of_text(span_text(mark))), &stmt);

    *request = (struct store_audit_request){.id = 0};
    if (code == CODE_OK) {
        request->id = db_int(stmt, 0);
        request->kind = span_is(db_text(stmt, 1), "erase") ? STORE_AUDIT_ERASE : STORE_AUDIT_ARCHIVE;
        copy(request->tenant, sizeof request->tenant, db_text(stmt, 2));
        request->before_us = db_int(stmt, 3);
        copy(request->actor, sizeof request->actor, db_text(stmt, 4));
        request->asked_us = db_int(stmt, 5);
        copy(request->why, sizeof request->why, db_text(stmt, 6));
    }
    db_finalize(&stmt);
    return code == CODE_OK || code == CODE_NOT_FOUND ? code : db_why(why, code, db, "reading the store");
}

enum code store_audit_answer(struct db *db, int64_t request, bool done, const char *text, int64_t now_us, struct why *why)
{
    enum code code = db_change(db, "INSERT OR IGNORE INTO audit_answer VALUES (?1, ?2, ?3, ?4)",
                               DB_VALUES(db_of_int(request), db_of_int(done), db_of_text(span_text(text)), db_of_int(now_us)));

    return db_why(why, code, db, "writing the store");
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
    return code == CODE_OK || code == CODE_NOT_FOUND ? code : db_why(why, code, db, "reading the store");
}
