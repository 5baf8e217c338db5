/* SPDX-License-Identifier: Apache-2.0 */
/* For commands; a gate only tells. */
#include "store/store.h"
#include "store/store_tools.h"
#include "base/glob.h"

#include <string.h>

#define TOOLS_MAX 8192 /* of a route, and one for the NULL behind them */

/* Takes: tools: room for TOOLS_MAX. */
static enum code take_one(struct db *db, struct route_names *names, struct policy_route *route, const char **tools)
{
    struct span name = span_text(route->name);
    bool is_one = glob_is_literal(name);
    struct db_stmt *stmt = NULL;
    const char **kept;
    size_t count = 0;
    enum code code = db_select(db, "SELECT upstream, tool FROM listed_tool WHERE upstream = ?1 OR ?1 IS NULL ORDER BY 2",
                               DB_VALUES(db_of_text(is_one ? name : SPAN_NONE)), &stmt);

    while (count + 1 < TOOLS_MAX && db_next(&stmt, &code)) {
        struct span tool = db_text(stmt, 1);

        if (!glob_matches(name, db_text(stmt, 0)))
            continue;
        tools[count] = arena_dup(&names->arena, tool.at, tool.len);
        if (tools[count++] == NULL)
            code = CODE_NOMEM;
    }
    db_finalize(&stmt);
    tools[count] = NULL;
    if (count == 0 || code != CODE_OK)
        return code;
    kept = arena_alloc(&names->arena, (count + 1) * sizeof *kept);
    if (kept == NULL)
        return CODE_NOMEM;
    memcpy(kept, tools, (count + 1) * sizeof *kept);
    route->tools = kept;
    return CODE_OK;
}

enum code store_tools_take(struct db *db, struct route_names *names, struct why *why)
{
    const char **tools = mem_array(TOOLS_MAX, sizeof *tools);
    enum code code = tools != NULL ? CODE_OK : CODE_NOMEM;

    for (size_t i = 0; i < names->count && code == CODE_OK; i++)
        code = take_one(db, names, &names->routes[i], tools);
    mem_free(tools);
    return code == CODE_OK ? code : store_why(why, code, db, "reading what servers listed");
}
