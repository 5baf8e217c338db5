/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_policies.h"

#include "args/command.h"
#include "args/print.h"
#include "cli/told.h"
#include "store/store.h"


/* Versions that judged, and versions that were activated. */
#define NAMED "SELECT version, hash, min(seq), max(seq) FROM (" \
              "SELECT policy_version AS version, lower(hex(policy_hash)) AS hash, seq FROM decision WHERE policy_version > 0 " \
              "UNION ALL SELECT json_extract(detail, '$.version'), json_extract(detail, '$.hash'), seq FROM event " \
              "WHERE kind = 'policy_activated' AND json_valid(detail)) GROUP BY version, hash ORDER BY version, hash"

struct checking {
    struct db *store;
    const char *path;
    struct doc *doc, *faults;
    size_t versions, missed;
};

static void add_fault(struct checking *checking, struct db_stmt *stmt, const struct why *why)
{
    struct doc *one = doc_add_object(checking->faults, NULL);

    checking->missed++;
    doc_text(one, "file", span_text(checking->path));
    doc_int(one, "first_seq", db_int(stmt, 2));
    doc_int(one, "last_seq", db_int(stmt, 3));
    doc_int(one, "version", db_int(stmt, 0));
    doc_text(one, "hash", db_text(stmt, 1));
    doc_text(one, "text", span_text(why->text));
}

static enum code check_file(struct checking *checking, struct why *why)
{
    struct db_stmt *stmt;
    struct db *db = NULL;
    enum code code = db_open(checking->path, DB_PAST, &db, why);

    if (code != CODE_OK)
        return code;
    code = db_prepare(db, NAMED, &stmt);
    while (db_next(&stmt, &code)) {
        struct why fault = {""};

        checking->versions++;
        code = policy_store_check(checking->store, (uint64_t)db_int(stmt, 0), db_text(stmt, 1), &fault);
        if (code == CODE_NOT_FOUND || code == CODE_INVALID)
            add_fault(checking, stmt, &fault);
        else if (code != CODE_OK)
            *why = fault;
        if (code == CODE_NOT_FOUND || code == CODE_INVALID)
            code = CODE_OK;
    }
    if (code != CODE_OK && why->text[0] == '\0')
        (void)why_set(why, code, "%s: %s", checking->path, db_error(db));
    db_close(&db);
    return code;
}

static int conclude(struct checking *checking, const char *store, bool as_json)
{
    bool good = checking->missed == 0;

    doc_text(checking->doc, "verdict", good ? SPAN_LIT("consistent") : SPAN_LIT("broken"));
    doc_text(checking->doc, "store", span_text(store));
    doc_int(checking->doc, "policies", (int64_t)checking->versions);
    doc_int(checking->doc, "missed", (int64_t)checking->missed);
    if (told_answer(&checking->doc, as_json,
                    "{*faults}{file}: rows {first_seq} to {last_seq} name policy version {version} with hash {hash}: "
                    "{text}\n{/}"
                    "[{!missed}policies: {policies} named, each in {store} with the text that judged\n]"
                    "[BROKEN: of {policies} policies named, {store} does not hold {missed}\n]") != STATUS_DONE)
        return STATUS_CANNOT;
    return good ? STATUS_DONE : STATUS_NEGATIVE;
}

int audit_policies_check(const struct trail *trail, const char *store, bool as_json)
{
    struct checking checking = {.doc = doc_object()};
    struct why why = {""};
    enum code code = store_open(store, DB_READ, &checking.store, &why);
    int status;

    checking.faults = doc_add_array(checking.doc, "faults");
    for (size_t i = 0; i < trail->count && code == CODE_OK; i++) {
        checking.path = trail->files[i].path;
        code = check_file(&checking, &why);
    }
    status = code == CODE_OK ? conclude(&checking, store, as_json) : complain(STATUS_CANNOT, "%s", why.text);
    doc_free(&checking.doc);
    db_close(&checking.store);
    return status;
}
