/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_holds.h"

#include "store/store.h"
#include "os/clock.h"

#include <inttypes.h>

enum code store_holds_allow(struct db *db, const char *tenant, int64_t before_us, struct why *why)
{
    struct db_stmt *stmt;
    char held[CLOCK_TEXT_BYTES];
    enum code code = db_find(db, "SELECT id, held_us, held_by, why FROM audit_hold WHERE (tenant IS NULL OR tenant = ?1) AND "
                             "(since_us IS NULL OR since_us < ?2) AND id NOT IN (SELECT hold FROM audit_hold_release) "
                             "ORDER BY id LIMIT 1",
                             DB_VALUES(db_of_text(span_text(tenant)), db_of_int(before_us)), &stmt);

    if (code == CODE_OK) {
        clock_text(db_int(stmt, 1), held);
        code = why_set(why, CODE_DENIED, "nothing was erased: hold %" PRId64 " keeps these values (%.*s placed it at %s; "
                       "`callgate audit release %" PRId64 " --why TEXT` ends it): %.*s", db_int(stmt, 0),
                       SPAN_ARG(db_text(stmt, 2)), held, db_int(stmt, 0), SPAN_ARG(db_text(stmt, 3)));
    }
    db_finalize(&stmt);
    if (code == CODE_NOT_FOUND)
        return CODE_OK;
    return code == CODE_DENIED ? code : db_why(why, code, db, "reading the store");
}
