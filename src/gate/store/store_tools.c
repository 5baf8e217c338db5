/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_tools.h"

#include "store/store.h"

static enum code put_all(struct db *db, struct span listed)
{
    struct span gone = SPAN_NONE;
    enum code code = CODE_OK;

    while (listed.len > 0 && code == CODE_OK) {
        struct span upstream = span_cut(listed, '\0', &listed), tool = span_cut(listed, '\0', &listed);

        if (!span_equals(upstream, gone)) /* those of one stand together */
            code = db_change(db, "DELETE FROM listed_tool WHERE upstream = ?1", DB_VALUES(db_of_text(upstream)));
        gone = upstream;
        if (code == CODE_OK)
            code = db_change(db, "INSERT OR IGNORE INTO listed_tool(upstream, tool) VALUES (?1, ?2)",
                             DB_VALUES(db_of_text(upstream), db_of_text(tool)));
    }
    return code;
}

enum code store_tools_put(struct db *db, struct span listed, struct why *why)
{
    enum code code = db_begin(db);

    if (code != CODE_OK)
        return store_why(why, code, db, "locking the store");
    code = put_all(db, listed);
    if (code == CODE_OK)
        code = db_commit(db);
    if (code == CODE_OK)
        return code;
    (void)store_why(why, code, db, "keeping what servers listed");
    db_rollback(db);
    return code;
}
