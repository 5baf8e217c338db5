/* SPDX-License-Identifier: Apache-2.0 */
/* The tables and views around the chain prove nothing, but an auditor looks through them: a view that leaves rows out or
 * an index that does not find them deceives as well as a changed row. */
#include "evidence/verify_priv.h"

#include "audit/indices.h"
#include "audit/schema.h"

static void compare_objects(struct verifier *verifier, struct db_stmt *ours, struct db_stmt *theirs, int order)
{
    struct span name = db_text(order > 0 ? theirs : ours, 0);

    if (order > 0)
        verify__fault(verifier, 0, "schema", "object", "%.*s is not of the gate's making", SPAN_ARG(name));
    else if (order < 0 && !span_is(db_text(ours, 2), "index")) /* those come once it is sealed */
        verify__fault(verifier, 0, "schema", "object", "%.*s is missing", SPAN_ARG(name));
    else if (order == 0 && !span_equals(db_text(ours, 1), db_text(theirs, 1)))
        verify__fault(verifier, 0, "schema", "object", "%.*s is not as the gate made it", SPAN_ARG(name));
}

static enum code compare_schemas(struct verifier *verifier, struct db_stmt *ours, struct db_stmt *theirs)
{
    enum code left = db_step(ours), right = db_step(theirs);

    while (left == CODE_OK || right == CODE_OK) {
        int order = left != CODE_OK ? 1 : right != CODE_OK ? -1 : span_compare(db_text(ours, 0), db_text(theirs, 0));

        compare_objects(verifier, ours, theirs, order);
        if (order <= 0)
            left = db_step(ours);
        if (order >= 0)
            right = db_step(theirs);
    }
    if (left != CODE_NOT_FOUND)
        return left;
    return right == CODE_NOT_FOUND ? CODE_OK : right;
}

enum code verify__schema(struct verifier *verifier)
{
    static const char objects[] = "SELECT name, sql, type FROM sqlite_schema "
                                  "WHERE type NOT IN ('table', 'index') OR name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
                                  "ORDER BY name";
    struct db_stmt *ours = NULL, *theirs = NULL;
    struct db *model = NULL;
    int64_t version;
    enum code code = db_number(verifier->db, "PRAGMA user_version", &version);

    if (code == CODE_OK)
        code = audit__schema_model(version, &model);
    if (code == CODE_OK)
        code = db_exec(model, audit__indices);
    if (code == CODE_NOT_FOUND) {
        verify__fault(verifier, 0, "schema", "user_version", "%lld is no version that there ever was",
                      (long long)version);
        return CODE_OK;
    }
    if (code == CODE_OK)
        code = db_prepare(model, objects, &ours);
    if (code == CODE_OK)
        code = db_prepare(verifier->db, objects, &theirs);
    if (code == CODE_OK)
        code = compare_schemas(verifier, ours, theirs);
    db_finalize(&ours);
    db_finalize(&theirs);
    db_close(&model);
    return code;
}

/* Each row in each index, each entry of an index a row, all where a search finds them, and no decision with two outcomes. */
enum code verify__indices(struct verifier *verifier)
{
    struct db_stmt *stmt;
    enum code code = db_find(verifier->db, "PRAGMA integrity_check(1)", NULL, 0, &stmt);

    if (code == CODE_OK && !span_is(db_text(stmt, 0), "ok"))
        verify__fault(verifier, 0, "index", "entry", "%.*s", SPAN_ARG(db_text(stmt, 0)));
    db_finalize(&stmt);
    return code;
}

/* Tables that files of the first schema do not have. */
enum code verify__has_checkpoints(struct db *db, bool *has)
{
    int64_t tables;
    enum code code = db_number(db, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name IN ('checkpoint', "
                               "'tenant_start')", &tables);

    *has = tables == 2;
    return code;
}
