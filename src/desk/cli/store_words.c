/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/store_words.h"

#include "store/store.h"

#include <inttypes.h>

enum code store_hold_add(struct db *db, const struct store_hold *hold, int64_t *id, struct why *why)
{
    enum code code = db_change(db, "INSERT INTO audit_hold(tenant, principal, since_us, until_us, held_us, held_by, why) "
                               "VALUES (?1, ?2, nullif(?3, 0), nullif(?4, 0), ?5, ?6, ?7)",
                               DB_VALUES(db_of_text(hold->tenant), db_of_text(hold->principal), db_of_int(hold->since_us),
                                         db_of_int(hold->until_us), db_of_int(hold->held_us), db_of_text(hold->held_by),
                                         db_of_text(hold->why)));

    *id = code == CODE_OK ? db_last_id(db) : 0;
    return db_why(why, code, db, "writing the store");
}

enum code store_hold_release(struct db *db, int64_t id, struct span actor, struct span reason, int64_t now_us, struct why *why)
{
    int64_t is_there = 0;
    enum code code = db_number(db, "SELECT 1 FROM audit_hold WHERE id = ?1", DB_VALUES(db_of_int(id)), &is_there);

    if (code == CODE_OK && is_there == 0)
        return why_set(why, CODE_NOT_FOUND, "there is no hold %" PRId64 "; `callgate audit holds` lists them", id);
    if (code == CODE_OK)
        code = db_change(db, "INSERT INTO audit_hold_release(hold, released_us, released_by, why) VALUES (?1, ?2, ?3, ?4)",
                         DB_VALUES(db_of_int(id), db_of_int(now_us), db_of_text(actor), db_of_text(reason)));
    if (code == CODE_EXISTS)
        return why_set(why, code, "hold %" PRId64 " is released already", id);
    return db_why(why, code, db, "writing the store");
}

#define SELECT_HOLDS \
    "SELECT h.id, h.tenant, h.principal, h.since_us, h.until_us, h.held_us, r.released_us, h.held_by, h.why, r.released_by, " \
    "r.why FROM audit_hold AS h LEFT JOIN audit_hold_release AS r ON r.hold = h.id "

static struct store_hold hold_of(struct db_stmt *stmt)
{
    return (struct store_hold){
        .id = db_int(stmt, 0), .tenant = db_text(stmt, 1), .principal = db_text(stmt, 2), .since_us = db_int(stmt, 3),
        .until_us = db_int(stmt, 4), .held_us = db_int(stmt, 5), .released_us = db_int(stmt, 6), .held_by = db_text(stmt, 7),
        .why = db_text(stmt, 8), .released_by = db_text(stmt, 9), .released_why = db_text(stmt, 10),
    };
}

enum code store_holds_each(struct db *db, store_hold_fn each, void *context, struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_prepare(db, SELECT_HOLDS "ORDER BY h.id", &stmt);

    while (db_next(&stmt, &code)) {
        const struct store_hold hold = hold_of(stmt);

        code = each(context, &hold);
    }
    return db_why(why, code, db, "reading the store");
}

enum code store_audit_erasing(struct db *db, struct span tenant, int64_t *request, struct why *why)
{
    enum code code = db_number(db, "SELECT min(id) FROM audit_request WHERE kind = 'erase' AND (?1 IS NULL OR tenant = ?1) AND "
                               "id NOT IN (SELECT request FROM audit_answer)", DB_VALUES(db_of_text(tenant)), request);

    return db_why(why, code, db, "reading the store");
}

enum code store_audit_note_reading(struct db *db, const char *mark, const struct store_reading *reading, struct why *why)
{
    enum code code = db_change(db, "INSERT INTO audit_reading(audit, command, tenants, asked_us, asked_by) VALUES "
                               "(?1, ?2, ?3, ?4, ?5)",
                               DB_VALUES(db_of_text(span_text(mark)), db_of_text(reading->command),
                                         db_of_text(reading->tenants), db_of_int(reading->asked_us),
                                         db_of_text(reading->actor)));

    return db_why(why, code, db, "writing the store");
}

enum code store_holds_newest(struct db *db, int64_t *hold, struct why *why)
{
    enum code code = db_number(db, "SELECT coalesce(max(id), 0) FROM audit_hold", NULL, 0, hold);

    return db_why(why, code, db, "reading the store");
}

enum code store_audit_retire(struct db *db, const char *mark, const struct store_retirement *retirement, int64_t *id,
                             struct why *why)
{
    enum code code = db_change(db, "INSERT INTO " STORE_RETIREMENTS "(audit, first, last, retired_us, retired_by, why, "
                               "shipped) SELECT ?1, ?2, ?3, ?4, ?5, ?6, nullif(?8, -1) "
                               "WHERE (SELECT coalesce(max(id), 0) FROM audit_hold) = ?7",
                               DB_VALUES(db_of_text(span_text(mark)), db_of_int(retirement->first), db_of_int(retirement->last),
                                         db_of_int(retirement->retired_us), db_of_text(retirement->actor),
                                         db_of_text(retirement->why), db_of_int(retirement->newest_hold),
                                         db_of_int(retirement->shipped)));

    *id = code == CODE_OK && db_changes(db) > 0 ? db_last_id(db) : 0;
    return db_why(why, code, db, "writing the store");
}
