/* SPDX-License-Identifier: Apache-2.0 */
/* For commands; a gate only tells. */
#include "store/store.h"
#include "store/store_tools.h"
#include "base/glob.h"

#include <string.h>

#define TOOLS_MAX 8192 /* of a route, and one for the NULL behind them */

/* Takes: room: of which `count` are taken, for one more than these. Returns: CODE_OK with *kept, where there are some, NULL at
 * its end. */
static enum code keep(struct route_names *names, const char **room, size_t count, const char *const **kept)
{
    const char **all = count > 0 ? arena_alloc(&names->arena, (count + 1) * sizeof *all) : NULL;

    room[count] = NULL;
    if (count == 0)
        return CODE_OK;
    if (all == NULL)
        return CODE_NOMEM;
    memcpy(all, room, (count + 1) * sizeof *all);
    *kept = all;
    return CODE_OK;
}

/* The arguments that any stored definition of the tool has, NULL at the end; *args NULL: none says any.
 * Takes: room: for TOOLS_MAX. */
static enum code take_args(struct db *db, struct route_names *names, struct span upstream, const char *tool, const char **room,
                           const char *const **args)
{
    struct db_stmt *stmt = NULL;
    size_t count = 0;
    enum code code = db_select(db, "SELECT DISTINCT k.key FROM definition d, json_each(d.body, '$.inputSchema.properties') k "
                               "WHERE d.tool = ?1 AND (d.upstream = ?2 OR ?2 IS NULL)",
                               DB_VALUES(db_of_text(span_text(tool)), db_of_text(upstream)), &stmt);

    while (count + 1 < TOOLS_MAX && db_next(&stmt, &code)) {
        struct span key = db_text(stmt, 0);

        room[count] = arena_dup(&names->arena, key.at, key.len);
        if (room[count++] == NULL)
            code = CODE_NOMEM;
    }
    db_finalize(&stmt);
    return code == CODE_OK ? keep(names, room, count, args) : code;
}

/* Of all tools of the route. Takes: room: for TOOLS_MAX. */
static enum code take_all_args(struct db *db, struct route_names *names, struct policy_route *route, size_t count,
                               const char **room)
{
    struct span name = span_text(route->name);
    const char *const **args = arena_zalloc(&names->arena, (count + 1) * sizeof *args);
    enum code code = args != NULL ? CODE_OK : CODE_NOMEM;

    for (size_t i = 0; i < count && code == CODE_OK; i++)
        code = take_args(db, names, glob_is_literal(name) ? name : SPAN_NONE, route->tools[i], room, &args[i]);
    route->args = args;
    return code;
}

/* Takes: tools: room for TOOLS_MAX. */
static enum code take_one(struct db *db, struct route_names *names, struct policy_route *route, const char **tools)
{
    struct span name = span_text(route->name);
    bool is_one = glob_is_literal(name);
    struct db_stmt *stmt = NULL;
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
    if (code == CODE_OK)
        code = keep(names, tools, count, &route->tools);
    return code == CODE_OK && count > 0 ? take_all_args(db, names, route, count, tools) : code;
}

enum code store_tools_take(struct db *db, struct route_names *names, struct why *why)
{
    const char **tools = mem_array(TOOLS_MAX, sizeof *tools);
    enum code code = tools != NULL ? CODE_OK : CODE_NOMEM;

    for (size_t i = 0; i < names->count && code == CODE_OK; i++)
        code = take_one(db, names, &names->routes[i], tools);
    mem_free(tools);
    return db_why(why, code, db, "reading what servers listed");
}
