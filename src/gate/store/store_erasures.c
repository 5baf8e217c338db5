/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_erasures.h"

#include "store/store_holds.h"

enum code store_erasure_add(struct db *db, const struct store_audit_request *request, struct why *why)
{
    enum code code = store_holds_allow(db, request->tenant, request->before_us, why);

    if (code != CODE_OK)
        return code;
    code = db_change(db, "INSERT INTO " STORE_ERASURES "(tenant, before_us, asked_us, asked_by, why) "
                     "VALUES (?1, ?2, ?3, ?4, ?5)",
                     DB_VALUES(db_of_text(span_text(request->tenant)), db_of_int(request->before_us),
                               db_of_int(request->asked_us), db_of_text(span_text(request->actor)),
                               db_of_text(span_text(request->why))));
    return db_why(why, code, db, "storing what is to be erased");
}

/* One statement, so that whoever asks at the same time asks for nothing twice. */
enum code store_erasures_ask(struct db *db, const char *mark, struct why *why)
{
    enum code code = db_change(db, "INSERT INTO audit_request(audit, kind, tenant, before_us, asked_us, asked_by, why) "
                               "SELECT ?1, 'erase', tenant, before_us, asked_us, asked_by, why FROM " STORE_ERASURES " AS e "
                               "WHERE NOT EXISTS (SELECT 1 FROM audit_request AS r WHERE r.audit = ?1 AND r.kind = 'erase' AND "
                               "r.tenant = e.tenant AND r.before_us = e.before_us AND r.asked_us = e.asked_us AND "
                               "r.asked_by = e.asked_by)",
                               DB_VALUES(db_of_text(span_text(mark))));

    return db_why(why, code, db, "asking the audit for what the fleet erases");
}
