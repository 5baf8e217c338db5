/* SPDX-License-Identifier: Apache-2.0 */
/* The history: what versions there are, and what was in force when. Texts are store.c's. */
#include "language/store.h"

#include <stdio.h>

/* Takes: from: versions `v` with their activations `a`. */
static enum code list(struct db *db, const char *from, policy_store_version_fn each, void *context, struct why *why)
{
    char select[512];
    struct db_stmt *stmt;
    uint64_t active;
    enum code code = policy_store_active(db, &active, why), told = CODE_OK;

    if (code != CODE_OK)
        return code;
    (void)snprintf(select, sizeof select,
                   "SELECT v.version, v.created_us, v.author, v.message, v.hash,"
                   " (SELECT count(*) FROM policy_file f WHERE f.version = v.version), a.activated_us, a.activated_by,"
                   " a.message, v.failing_tests, v.despite FROM %s", from);
    code = db_prepare(db, select, &stmt);
    if (code != CODE_OK)
        return db_why(why, code, db, "listing policy versions");
    while (told == CODE_OK && (code = db_step(stmt)) == CODE_OK) {
        struct policy_store_version version = {
            .version = (uint64_t)db_int(stmt, 0), .created_us = db_int(stmt, 1), .author = db_text(stmt, 2),
            .message = db_text(stmt, 3), .hash = db_text(stmt, 4), .files = (uint64_t)db_int(stmt, 5),
            .activated_us = db_int(stmt, 6), .activated_by = db_text(stmt, 7), .activated_why = db_text(stmt, 8),
            .failing_tests = (uint64_t)db_int(stmt, 9), .despite = db_text(stmt, 10)};

        version.is_active = version.version == active;
        told = each(context, &version);
    }
    db_finalize(&stmt);
    if (told != CODE_OK)
        return told;
    return db_why(why, code == CODE_NOT_FOUND ? CODE_OK : code, db, "listing policy versions");
}

enum code policy_store_list(struct db *db, policy_store_version_fn each, void *context, struct why *why)
{
    return list(db, "policy_version v LEFT JOIN policy_activation a ON a.id = (SELECT max(id) FROM policy_activation WHERE "
                "version = v.version) ORDER BY v.version DESC", each, context, why);
}

enum code policy_store_activations(struct db *db, policy_store_version_fn each, void *context, struct why *why)
{
    return list(db, "policy_activation a JOIN policy_version v ON v.version = a.version ORDER BY a.id DESC", each, context,
                why);
}
