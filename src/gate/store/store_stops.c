/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_stops.h"

#include "store/store.h"
#include "base/mem.h"
#include "base/num.h"
#include "crypto/digest.h"

#include <inttypes.h>

#define STANDS "(until_us IS NULL OR until_us > ?1) AND mark NOT IN (SELECT mark FROM stop_end) "
#define MARK_BYTES 16

enum code store_stops_mark(struct db *db, int64_t *mark, struct why *why)
{
    enum code code = db_number(db, "SELECT coalesce((SELECT max(id) FROM stop), 0) + "
                               "coalesce((SELECT max(id) FROM stop_end), 0)", NULL, 0, mark);

    return db_why(why, code, db, "reading what is stopped");
}

static bool keep_name(struct arena *arena, struct span *name)
{
    const char *kept = name->at != NULL ? arena_dup(arena, name->at, name->len) : NULL;
    bool is_kept = kept != NULL || name->at == NULL;

    name->at = kept;
    return is_kept;
}

enum code store_stops_load(struct db *db, int64_t now_us, struct stops **set, struct why *why)
{
    struct db_stmt *row = NULL;
    struct stop *stops = NULL;
    size_t count = 0, room = 0;
    struct arena arena;
    enum code code = db_select(db, "SELECT id, until_us, tenant, principal, agent, upstream, tool, session FROM stop WHERE "
                               STANDS, DB_VALUES(db_of_int(now_us)), &row);

    arena_init(&arena, SIZE_MAX);
    while (db_next(&row, &code)) {
        struct stop *more = mem_room(stops, &room, count + 1, sizeof *stops);
        bool is_kept = more != NULL;

        stops = is_kept ? more : stops;
        if (is_kept)
            stops[count] = (struct stop){.id = db_int(row, 0), .until_us = db_int(row, 1)};
        for (int by = 0; by < STOP_BY_COUNT && is_kept; by++) {
            stops[count].by[by] = db_is_null(row, by + 2) ? SPAN_NONE : db_text(row, by + 2);
            is_kept = keep_name(&arena, &stops[count].by[by]);
        }
        code = is_kept ? CODE_OK : CODE_NOMEM;
        count++;
    }
    if (code == CODE_OK)
        code = stops_new(stops, count, set);
    mem_free(stops);
    arena_fini(&arena);
    return db_why(why, code, db, "reading what is stopped");
}

enum code store_stop_add(struct db *db, const struct store_stop *stop, int64_t *id, struct why *why)
{
    const struct span *by = stop->what.by;
    unsigned char mark[MARK_BYTES];
    char hex[2 * MARK_BYTES];
    enum code code;

    random_bytes(mark, sizeof mark);
    num_hex(mark, sizeof mark, hex);
    code = db_change(db, "INSERT INTO stop(mark, tenant, principal, agent, upstream, tool, session, until_us, made_us, "
                     "made_by, rule, why) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, nullif(?8, 0), ?9, ?10, ?11, ?12)",
                     DB_VALUES(db_of_text(span_of(hex, sizeof hex)), db_of_text(by[STOP_TENANT]),
                               db_of_text(by[STOP_PRINCIPAL]), db_of_text(by[STOP_AGENT]), db_of_text(by[STOP_UPSTREAM]),
                               db_of_text(by[STOP_TOOL]), db_of_text(by[STOP_SESSION]), db_of_int(stop->what.until_us),
                               db_of_int(stop->made_us), db_of_text(stop->made_by), db_of_text(stop->rule),
                               db_of_text(stop->why)));
    *id = code == CODE_OK ? db_last_id(db) : 0;
    return db_why(why, code, db, "storing the stop");
}

/* Returns: CODE_EXISTS: such a stop stands since the denial, for as long or longer, or was lifted since; or too many do. */
static enum code has_room(struct db *db, const struct store_stop *stop)
{
    const struct span *by = stop->what.by;
    int64_t is_full = 0;
    enum code code = db_number(db, "SELECT count(*) >= ?7 OR total(principal IS ?3 AND agent IS ?4 AND session IS ?5 AND "
                               "until_us - made_us >= ?6) > 0 FROM stop WHERE until_us > ?1 AND rule IS NOT NULL AND "
                               "tenant IS ?2 AND (principal IS NULL) = (?3 IS NULL) AND (agent IS NULL) = (?4 IS NULL) AND "
                               "mark NOT IN (SELECT mark FROM stop_end WHERE ended_us < ?1)",
                               DB_VALUES(db_of_int(stop->made_us), db_of_text(by[STOP_TENANT]), db_of_text(by[STOP_PRINCIPAL]),
                                         db_of_text(by[STOP_AGENT]), db_of_text(by[STOP_SESSION]),
                                         db_of_int(stop->what.until_us - stop->made_us), db_of_int(STOPS_OF_RULES_MAX)),
                               &is_full);

    return code == CODE_OK && is_full != 0 ? CODE_EXISTS : code;
}

enum code store_stops_take(struct db *db, struct rule_stops *asked, bool *any, struct why *why)
{
    enum code code = CODE_OK;
    struct rule_stop rule;

    *any = false;
    while (code == CODE_OK && rule_stops_first(asked, &rule)) {
        struct store_stop stop = {.what = {.until_us = rule.denied_us + rule.lasts_us}, .made_us = rule.denied_us,
                                  .rule = rule.rule, .made_by = SPAN_LIT("policy"),
                                  .why = SPAN_LIT("a rule of the policy stops who meets it")};
        int64_t id;

        stop.what.by[STOP_TENANT] = rule.tenant;
        stop.what.by[rule.by] = rule.name;
        code = has_room(db, &stop);
        if (code == CODE_OK)
            code = store_stop_add(db, &stop, &id, why);
        *any |= code == CODE_OK;
        code = code == CODE_EXISTS ? CODE_OK : code;
        if (code == CODE_OK)
            rule_stops_drop(asked);
    }
    return db_why(why, code, db, "storing what rules stop");
}

enum code store_stops_allow(struct db *db, int64_t ask, int64_t now_us, struct why *why)
{
    struct db_stmt *stop;
    enum code code = db_find(db, "SELECT id, made_by, why FROM stop WHERE " STANDS "AND EXISTS (SELECT 1 FROM approval a WHERE "
                             "a.id = ?2 AND a.tenant IS coalesce(stop.tenant, a.tenant) AND "
                             "a.principal IS coalesce(stop.principal, a.principal) AND "
                             "a.agent IS coalesce(stop.agent, a.agent) AND "
                             "a.upstream IS coalesce(stop.upstream, a.upstream) AND "
                             "(a.tool IS coalesce(stop.tool, a.tool) OR a.via IS stop.tool) AND "
                             "a.session IS coalesce(stop.session, a.session)) ORDER BY id LIMIT 1",
                             DB_VALUES(db_of_int(now_us), db_of_int(ask)), &stop);

    if (code == CODE_OK)
        code = why_set(why, CODE_DENIED, "approval %" PRId64 " is of a call that is stopped (stop %" PRId64 ", by %.*s: %.*s); "
                       "`callgate resume %" PRId64 " --why TEXT` ends the stop", ask, db_int(stop, 0),
                       SPAN_ARG(db_text(stop, 1)), SPAN_ARG(db_text(stop, 2)), db_int(stop, 0));
    db_finalize(&stop);
    if (code == CODE_NOT_FOUND)
        return CODE_OK;
    return code == CODE_DENIED ? code : db_why(why, code, db, "reading what is stopped");
}
