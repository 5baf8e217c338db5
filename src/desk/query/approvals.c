/* SPDX-License-Identifier: Apache-2.0 */
#include "query/entries.h"

#include "files/reader.h"
#include "files/reader_open.h"
#include "query/query_priv.h"

#define APPROVALS_MAX 32 /* that one call can wait for */

struct approvals_of {
    int64_t decision;
    int64_t id[APPROVALS_MAX];
    int count;
    query_row_fn row;
    void *context;
};

/* An event that names the decision names its approval. */
static enum code find_ids(struct approvals_of *of, struct db *db)
{
    struct db_stmt *stmt;
    enum code code = db_select(db, "SELECT DISTINCT json_extract(detail, '$.approval') FROM event "
                               "WHERE kind IN ('approval_asked', 'approval_used') AND json_valid(detail) "
                               "AND json_extract(detail, '$.decision') = ?1", DB_VALUES(db_of_int(of->decision)), &stmt);

    while (db_next(&stmt, &code))
        if (of->count < APPROVALS_MAX && db_type(stmt, 0) == DB_INT)
            of->id[of->count++] = db_int(stmt, 0);
    return code;
}

static bool is_ours(const struct approvals_of *of, int64_t id)
{
    for (int i = 0; i < of->count; i++)
        if (of->id[i] == id)
            return true;
    return false;
}

static enum code tell(struct approvals_of *of, struct db *db)
{
    struct db_stmt *stmt;
    enum code code = db_prepare(db, "SELECT json_extract(detail, '$.approval') AS approval, * FROM event_log "
                                "WHERE kind LIKE 'approval\\_%' ESCAPE '\\' AND json_valid(detail) ORDER BY seq", &stmt);

    while (db_next(&stmt, &code))
        if (is_ours(of, db_int(stmt, 0)))
            code = query__give(stmt, NULL, of->row, of->context);
    return code;
}

static enum code each_file(const struct trail *trail, struct approvals_of *of,
                           enum code (*step)(struct approvals_of *, struct db *), struct why *why)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < trail->count && code == CODE_OK; i++) {
        struct db *db;

        if (trail->files[i].last_seq < of->decision && i + 1 < trail->count)
            continue;
        code = reader_open(trail->files[i].path, &db, why);
        if (code == CODE_OK)
            code = step(of, db);
        if (code != CODE_OK)
            (void)reader_why(why, code, trail->files[i].path, db);
        db_close(&db);
    }
    return code;
}

enum code audit_approvals_of(const struct trail *trail, int64_t decision, query_row_fn row, void *context, struct why *why)
{
    struct approvals_of of = {.decision = decision, .row = row, .context = context};
    enum code code = each_file(trail, &of, find_ids, why);

    of.decision = of.count > 0 ? 0 : decision; /* an approval is asked for before it is used */
    return code == CODE_OK && of.count > 0 ? each_file(trail, &of, tell, why) : code;
}
