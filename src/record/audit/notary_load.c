/* SPDX-License-Identifier: Apache-2.0 */
/* What the notary reads from the file: where its tree stood, and the last row of each tenant. */
#include "audit/mark_priv.h"

#include "base/log.h"
#include "rows/walk.h"

enum code notary__load_tree(struct notary *notary, struct db *db)
{
    struct db_stmt *stmt;
    enum code code = db_find(db, "SELECT size, peaks, note FROM checkpoint ORDER BY size DESC LIMIT 1", NULL, 0, &stmt);
    unsigned char root[DIGEST_BYTES];
    struct note note;

    notary->tree = (struct merkle){.size = 0};
    if (code == CODE_OK) {
        if (!merkle_load(&notary->tree, (uint64_t)db_int(stmt, 0), db_blob(stmt, 1)) ||
            note_read(db_text(stmt, 2), &note) != CODE_OK)
            code = CODE_INVALID;
        merkle_root(&notary->tree, root);
        if (code == CODE_OK && (note.size != notary->tree.size || memcmp(root, note.root, DIGEST_BYTES) != 0))
            code = CODE_INVALID;
    }
    db_finalize(&stmt);
    if (code == CODE_INVALID) { /* `audit verify` names what was changed; the rows themselves are the truth */
        log_warn("audit", "%s: the last checkpoint in it is not what was written; reading all rows", notary->path);
        notary->tree = (struct merkle){.size = 0};
        code = CODE_OK;
    }
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

void notary__set_tenant(struct notary *notary, struct span tenant, uint64_t seq, struct span hash)
{
    enum code code;

    if (tenant.at == NULL || !notary->has_tenants || hash.len != DIGEST_BYTES)
        return;
    code = tenants_set(&notary->tenants, tenant, seq, (const unsigned char *)hash.at);
    if (code == CODE_OK)
        return;
    log_warn("audit", "%s: %s; checkpoints bind no heads of tenants from here on", notary->path,
             code == CODE_LIMIT ? "there are too many tenants" : code_text(code));
    notary->has_tenants = false;
    tenants_fini(&notary->tenants);
}

static enum code read_tenants(struct notary *notary, struct db *db, const char *sql)
{
    struct db_stmt *row = NULL;
    enum code code = db_select(db, sql, NULL, 0, &row);

    while (db_next(&row, &code))
        notary__set_tenant(notary, db_text(row, 0), (uint64_t)db_int(row, 1), db_blob(row, 2));
    return code;
}

/* The mark is checked each time: the file may hold another one than the writer knows, or somebody may have changed it. */
enum code notary__load_tenants(struct notary *notary, struct db *db)
{
    uint64_t marked;
    enum code code = mark__find(db, notary, &marked);
    struct walk leaves;
    struct leaf leaf;

    if (code == CODE_OK)
        code = read_tenants(notary, db, "SELECT tenant, seq, hash FROM tenant_start");
    if (code == CODE_OK && marked > 0)
        code = read_tenants(notary, db, "SELECT tenant, seq, hash FROM tenant_head");
    if (code == CODE_OK)
        code = walk_leaves(&leaves, db, (int64_t)marked + 1, (int64_t)notary->tree.size);
    if (code != CODE_OK)
        return code;
    while ((code = walk_next_leaf(&leaves, &leaf)) == CODE_OK)
        notary__set_tenant(notary, leaf.tenant, (uint64_t)leaf.seq, leaf.hash);
    walk_fini(&leaves);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}
