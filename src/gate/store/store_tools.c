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
    enum code code = store_begin(db, why);

    return code == CODE_OK ? store_end(db, put_all(db, listed), "keeping what servers listed", why) : code;
}
