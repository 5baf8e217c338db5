/* SPDX-License-Identifier: Apache-2.0 */
/* The tables and views around the chain prove nothing, but an auditor looks through them: a view that leaves rows out or
 * an index that does not find them deceives as well as a changed row. */
#include "evidence/verify_priv.h"

#include "rows/schema.h"

static void tell(void *context, const char *field, struct span name, const char *fault)
{
    verify__fault(context, 0, "schema", field, "%.*s %s", SPAN_ARG(name), fault);
}

enum code verify__schema(struct verifier *verifier)
{
    return audit_differences(verifier->db, tell, verifier);
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

/* Where somebody has dropped these tables, the rest can still be judged. */
enum code verify__has_checkpoints(struct db *db, bool *has)
{
    int64_t tables;
    enum code code = db_number(db, "SELECT count(*) FROM sqlite_schema WHERE type IN ('table', 'view') AND name IN "
                               "('checkpoint', 'tenant_start')", &tables);

    *has = tables == 2;
    return code;
}
