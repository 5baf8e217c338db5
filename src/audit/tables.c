/* SPDX-License-Identifier: Apache-2.0 */
/* The tables and views around the chain prove nothing, but an auditor looks through them: a view that leaves rows out or
 * an index that does not find them deceives as well as a changed row. */
#include "audit/verify_priv.h"

#include "audit/schema_priv.h"

static void compare_objects(struct verifier *verifier, struct db_stmt *ours, struct db_stmt *theirs, int order)
{
    struct span name = db_text(order > 0 ? theirs : ours, 0);

    if (order > 0)
        verify__fault(verifier, 0, "schema", "object", "%.*s is not of the gate's making", SPAN_ARG(name));
    else if (order < 0)
        verify__fault(verifier, 0, "schema", "object", "%.*s is missing", SPAN_ARG(name));
    else if (!span_equals(db_text(ours, 1), db_text(theirs, 1)))
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
    static const char objects[] = "SELECT name, sql FROM sqlite_schema "
                                  "WHERE type NOT IN ('table', 'index') OR name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
                                  "ORDER BY name";
    struct db_stmt *ours = NULL, *theirs = NULL;
    struct db *model = NULL;
    int64_t version;
    enum code code = db_number(verifier->db, "PRAGMA user_version", &version);

    if (code == CODE_OK)
        code = audit__schema_model(version, &model);
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

/* A head that the next part brought already: its row must exist. */
static enum code is_row_of(struct db_stmt *find, struct db_stmt *heads, bool *is)
{
    enum code code;

    db_bind_text(find, 1, db_text(heads, 0));
    db_bind_int(find, 2, db_int(heads, 1));
    db_bind_blob(find, 3, db_blob(heads, 2));
    code = db_step(find);
    *is = code == CODE_OK;
    db_reset(find);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code check_head(struct verifier *verifier, struct db_stmt *heads, struct db_stmt *find, size_t *known)
{
    struct span tenant = db_text(heads, 0), hash = db_blob(heads, 2);
    int64_t seq = db_int(heads, 1);
    struct head *head;
    bool right = true;
    enum code code = heads__find(&verifier->heads, tenant, &head);

    if (code != CODE_OK)
        return code;
    *known += head->known && head->seq > (uint64_t)verifier->begin;
    if (seq > verifier->indexed_seq)
        code = is_row_of(find, heads, &right);
    else if (head->known)
        right = (uint64_t)seq == head->seq && hash.len == DIGEST_BYTES && memcmp(hash.at, head->hash, DIGEST_BYTES) == 0;
    else
        right = verifier->continues; /* a tenant of the file before this one */
    if (!right)
        verify__fault(verifier, 0, "tenant_head", "hash", "the last row of tenant '%.*s' is another one",
                      tenant.len > 100 ? 100 : (int)tenant.len, tenant.at);
    return code;
}

enum code verify__heads(struct verifier *verifier)
{
    struct db_stmt *heads = NULL, *find = NULL;
    size_t expected = verifier->report->tenants, known = 0;
    enum code code = db_prepare(verifier->db, "SELECT tenant, seq, hash FROM tenant_head", &heads);

    if (code == CODE_OK)
        code = db_prepare(verifier->db,
                          "SELECT 1 FROM decision WHERE tenant = ?1 AND seq = ?2 AND hash = ?3 UNION ALL "
                          "SELECT 1 FROM outcome WHERE tenant = ?1 AND seq = ?2 AND hash = ?3 UNION ALL "
                          "SELECT 1 FROM event WHERE tenant = ?1 AND seq = ?2 AND hash = ?3", &find);
    while (code == CODE_OK && (code = db_step(heads)) == CODE_OK)
        code = check_head(verifier, heads, find, &known);
    if (code == CODE_NOT_FOUND && known != expected)
        verify__fault(verifier, 0, "tenant_head", "tenant", "%zu tenants are missing", expected - known);
    db_finalize(&heads);
    db_finalize(&find);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
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
