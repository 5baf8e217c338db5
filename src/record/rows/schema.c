/* SPDX-License-Identifier: Apache-2.0 */
/* The schema/audit.sql that auditors read is taken into the program as it is, so that no second copy can differ. */
#include "rows/schema.h"

#include "base/take_in.h"

#include <stdio.h>

TAKE_IN(audit_schema, "schema/audit.sql");
TAKE_IN(audit_indices, "schema/indices.sql");

enum code audit_schema_model(struct db **model)
{
    enum code code = db_open(":memory:", DB_CREATE, model, NULL);

    if (code == CODE_OK)
        code = db_exec(*model, audit_schema);
    if (code != CODE_OK)
        db_close(model);
    return code;
}

enum code audit_take_views(struct db *db)
{
    int64_t views = 0;
    enum code code = db_number(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'view' AND name IN ('file', 'decision', "
                               "'outcome', 'event', 'checkpoint', 'tenant_start', 'permit_start', 'erasure')", NULL, 0, &views);

    if (code == CODE_OK && views > 0)
        db_take_views(db, AUDIT_VIEWS_MS);
    return code;
}

/* Names the program that wrote the file, by its last `start` event; all versions of the tables have events. */
static void say_writer(struct db *db, char *out, size_t size)
{
    struct db_stmt *stmt = NULL;

    (void)snprintf(out, size, "another callgate");
    if (db_prepare(db, "SELECT json_extract(detail, '$.version') FROM event WHERE kind = 'start' AND json_valid(detail) "
                   "ORDER BY seq DESC LIMIT 1", &stmt) == CODE_OK && db_step(stmt) == CODE_OK && !db_is_null(stmt, 0))
        (void)snprintf(out, size, "callgate %.*s", SPAN_ARG(db_text(stmt, 0)));
    db_finalize(&stmt);
}

enum code audit_refuse_other(struct db *db, const char *path, struct why *why)
{
    int64_t version;
    char writer[80];
    enum code code = db_number(db, "PRAGMA user_version", NULL, 0, &version);

    if (code != CODE_OK)
        return why_set(why, code, "%s: %s", path, db_error(db));
    if (version == AUDIT_SCHEMA_VERSION)
        return CODE_OK;
    say_writer(db, writer, sizeof writer);
    return why_set(why, CODE_DENIED, "%s: was written by %s, in version %lld of its tables, and this one, " CALLGATE_VERSION
                   ", knows version %d: read and verify it with the program that wrote it, or name another file for the audit",
                   path, writer, (long long)version, AUDIT_SCHEMA_VERSION);
}

/* ---- what is not the gate's --------------------------------------------------------------------------------------- */

static enum code compare_head(struct db *db, audit_difference tell, void *context)
{
    static const struct { const char *field, *sql; int64_t ours; } head[] = {
        {"application_id", "PRAGMA application_id", AUDIT_APPLICATION_ID},
        {"user_version", "PRAGMA user_version", AUDIT_SCHEMA_VERSION},
        {"encoding", "SELECT encoding = 'UTF-8' FROM pragma_encoding", 1},
    };
    enum code code = CODE_OK;

    for (size_t i = 0; i < sizeof head / sizeof head[0] && code == CODE_OK; i++) {
        int64_t found;

        code = db_number(db, head[i].sql, NULL, 0, &found);
        if (code == CODE_OK && found != head[i].ours)
            tell(context, head[i].field, SPAN_LIT("the file"), "is not as the gate made it");
    }
    return code;
}

static void compare_object(audit_difference tell, void *context, struct db_stmt *ours, struct db_stmt *theirs, int order)
{
    struct span name = db_text(order > 0 ? theirs : ours, 0);

    if (order > 0)
        tell(context, "object", name, "is not of the gate's making");
    else if (order < 0 && !span_is(db_text(ours, 2), "index")) /* a file gets its indices when it is sealed */
        tell(context, "object", name, "is missing");
    else if (order == 0 && !span_equals(db_text(ours, 1), db_text(theirs, 1)))
        tell(context, "object", name, "is not as the gate made it");
}

static enum code compare_objects(audit_difference tell, void *context, struct db_stmt *ours, struct db_stmt *theirs)
{
    enum code left = db_step(ours), right = db_step(theirs);

    while (left == CODE_OK || right == CODE_OK) {
        int order = left != CODE_OK ? 1 : right != CODE_OK ? -1 : span_compare(db_text(ours, 0), db_text(theirs, 0));

        compare_object(tell, context, ours, theirs, order);
        if (order <= 0)
            left = db_step(ours);
        if (order >= 0)
            right = db_step(theirs);
    }
    if (left != CODE_NOT_FOUND)
        return left;
    return right == CODE_NOT_FOUND ? CODE_OK : right;
}

enum code audit_differences(struct db *db, audit_difference tell, void *context)
{
    static const char objects[] = /* without those that SQLite makes by itself */
        "SELECT name, sql, type FROM sqlite_schema WHERE NOT (type = 'index' AND sql IS NULL AND name GLOB 'sqlite_autoindex_*'"
        " OR type = 'table' AND sql IN ('CREATE TABLE sqlite_stat1(tbl,idx,stat)', "
        "'CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)')) ORDER BY name";
    struct db_stmt *ours = NULL, *theirs = NULL;
    struct db *model = NULL;
    enum code code = compare_head(db, tell, context);

    if (code == CODE_OK)
        code = audit_schema_model(&model);
    if (code == CODE_OK)
        code = db_exec(model, audit_indices);
    if (code == CODE_OK)
        code = db_prepare(model, objects, &ours);
    if (code == CODE_OK)
        code = db_prepare(db, objects, &theirs);
    if (code == CODE_OK)
        code = compare_objects(tell, context, ours, theirs);
    db_finalize(&ours);
    db_finalize(&theirs);
    db_close(&model);
    return code;
}
