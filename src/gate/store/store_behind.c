/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store_behind.h"

#include "store/store.h"
#include "files/trail.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 96

/* ---- what the trail tells ---------------------------------------------------------------------------------------- */

struct search {
    struct db *store; /* reads JSON for us, too */
    struct store_places *places;
    bool is_known[STORE_SOURCES];
};

/* Two numbers of a JSON text; 0 where there is none. */
static enum code read_two(struct db *db, struct span text, const char *first, const char *second, int64_t *one, int64_t *two)
{
    struct db_stmt *stmt;
    enum code code = db_find(db, "SELECT json_extract(?1, ?2), json_extract(?1, ?3) WHERE json_valid(?1)",
                             DB_VALUES(db_of_text(text), db_of_text(span_text(first)), db_of_text(span_text(second))), &stmt);

    *one = code == CODE_OK ? db_int(stmt, 0) : 0;
    *two = code == CODE_OK ? db_int(stmt, 1) : 0;
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND ? CODE_OK : code;
}

static enum code take_event(struct search *search, size_t source, struct span detail)
{
    char time[PATH_BYTES];

    if (search->is_known[source] || store_sources[source].time == NULL)
        return CODE_OK;
    search->is_known[source] = true;
    (void)snprintf(time, sizeof time, "$.%s", store_sources[source].time);
    return read_two(search->store, detail, "$.row", time, &search->places->at[source].row, &search->places->at[source].time_us);
}

/* Takes what the event `start` repeats; *says: whether it does, so that nothing older need be asked. */
static enum code take_start(struct search *search, struct span detail, bool *says)
{
    int64_t has, ignored;
    enum code code = read_two(search->store, detail, "$.store.is_told", "$", &has, &ignored);

    *says = code == CODE_OK && has != 0;
    for (size_t i = 0; i < STORE_SOURCES && code == CODE_OK && *says; i++) {
        char row[PATH_BYTES], time[PATH_BYTES];

        if (search->is_known[i])
            continue;
        (void)snprintf(row, sizeof row, "$.store.rows.\"%s\"[0]", store_sources[i].table);
        (void)snprintf(time, sizeof time, "$.store.rows.\"%s\"[1]", store_sources[i].table);
        code = read_two(search->store, detail, row, time, &search->places->at[i].row, &search->places->at[i].time_us);
    }
    return code;
}

/* Newest first. CODE_OK with *ends: nothing older need be asked. */
static enum code search_file(struct search *search, const char *path, bool *ends, struct why *why)
{
    struct db_stmt *stmt = NULL;
    struct db *db = NULL;
    enum code code = trail_open(path, &db, why);

    *ends = false;
    if (code == CODE_OK)
        code = db_prepare(db, "SELECT kind, detail FROM event ORDER BY seq DESC", &stmt);
    while (!*ends && db_next(&stmt, &code)) {
        struct span kind = db_text(stmt, 0), detail = db_text(stmt, 1);

        if (span_is(kind, "start"))
            code = take_start(search, detail, ends);
        for (size_t i = 0; i < STORE_SOURCES && code == CODE_OK; i++)
            if (span_is(kind, store_sources[i].kind))
                code = take_event(search, i, detail);
    }
    db_finalize(&stmt);
    if (code != CODE_OK && why->text[0] == '\0')
        (void)why_set(why, code, "%s: its events cannot be read: %s", path, db_error(db));
    db_close(&db);
    return code;
}

static enum code read_places(struct db *store, const char *path, struct store_places *places, struct why *why)
{
    struct search search = {.store = store, .places = places};
    struct trail trail = {0};
    char audit[TRAIL_PATH_BYTES];
    bool ends = false;
    enum code code;

    trail_settle(path, audit);
    code = search_file(&search, audit, &ends, why);

    if (code == CODE_OK && !ends)
        code = trail_find(audit, true, &trail, why);
    for (size_t i = trail.count; i-- > 1 && code == CODE_OK && !ends;)
        code = search_file(&search, trail.files[i - 1].path, &ends, why);
    trail_fini(&trail);
    return code;
}

/* ---- what the store holds ---------------------------------------------------------------------------------------- */

/* The time of a row; CODE_NOT_FOUND where the store lacks it. */
static enum code time_of(struct db *store, const struct store_source *source, int64_t row, int64_t *time_us)
{
    struct db_stmt *stmt;
    char time[PATH_BYTES];
    int64_t ignored;
    enum code code = db_find(store, source->sql, DB_VALUES(db_of_int(row - 1)), &stmt);

    (void)snprintf(time, sizeof time, "$.%s", source->time);
    if (code == CODE_OK && db_int(stmt, 0) != row)
        code = CODE_NOT_FOUND;
    if (code == CODE_OK)
        code = read_two(store, db_text(stmt, 3), time, "$", time_us, &ignored);
    db_finalize(&stmt);
    return code;
}

/* CODE_NOT_FOUND: it lacks the row. */
static enum code holds(struct db *store, size_t source, const struct store_places *places)
{
    int64_t time_us;
    enum code code;

    if (places->at[source].row <= 0)
        return CODE_OK;
    code = time_of(store, &store_sources[source], places->at[source].row, &time_us);
    return code == CODE_OK && time_us != places->at[source].time_us ? CODE_NOT_FOUND : code;
}

enum code store_is_behind(struct db *store, const char *path, const char *audit, struct store_places *places, struct why *why)
{
    enum code code;

    *places = (struct store_places){0};
    why->text[0] = '\0';
    code = read_places(store, audit, places, why);
    if (code == CODE_NOT_FOUND)
        return CODE_OK;
    for (size_t i = 0; i < STORE_SOURCES && code == CODE_OK; i++) {
        code = holds(store, i, places);
        if (code == CODE_NOT_FOUND)
            return why_set(why, CODE_DENIED, "%s: lacks row %" PRId64 " of %s, of which %s tells (event %s): it is an older "
                           "copy, or another store; put the newest one back, or `callgate serve --despite-loss --why "
                           "TEXT` goes on with it, and revokes again what was revoked", path, places->at[i].row,
                           store_sources[i].table, audit, store_sources[i].kind);
        if (code != CODE_OK)
            return db_why(why, code, store, "comparing the store with the trail");
    }
    return code;
}

enum code store_write_places(struct db *store, const char *mark, struct buf *out, struct why *why)
{
    bool is_first = true;
    enum code code = CODE_OK;

    (void)buf_add_byte(out, '{');
    for (size_t i = 0; i < STORE_SOURCES && code == CODE_OK; i++) {
        int64_t row = 0, time_us = 0;
        char name[PATH_BYTES];

        if (store_sources[i].time == NULL)
            continue;
        (void)snprintf(name, sizeof name, "%s@%s", store_sources[i].table, mark);
        code = store_told(store, name, &row, why);
        if (code == CODE_OK && row > 0)
            code = time_of(store, &store_sources[i], row, &time_us);
        if (code == CODE_OK && row > 0) {
            (void)buf_addf(out, "%s\"%s\":[%" PRId64 ",%" PRId64 "]", is_first ? "" : ",", store_sources[i].table, row,
                           time_us);
            is_first = false;
        }
        if (code == CODE_NOT_FOUND) /* one that was lost with an older store */
            code = CODE_OK;
    }
    if (code == CODE_OK)
        code = buf_add_byte(out, '}');
    return code == CODE_OK ? code : why->text[0] != '\0' ? code : db_why(why, code, store, "reading the store");
}

/* ---- going on all the same ---------------------------------------------------------------------------------------- */

/* Only a key that was made before its revocation: another store may have given the number to a newer one, which stays. */
#define REVOKE \
    "INSERT INTO agent_key_revocation(key, revoked_us, revoked_by, why) SELECT k.id, json_extract(?1, '$.revoked_us'), ?2, " \
    "json_extract(?1, '$.why') FROM agent_key k WHERE k.id = json_extract(?1, '$.key') AND " \
    "k.principal = json_extract(?1, '$.principal') AND " \
    "k.made_us <= json_extract(?1, '$.revoked_us') AND k.id NOT IN (SELECT key FROM agent_key_revocation)"
#define WITHDRAW \
    "INSERT INTO definition_word(definition, accepted, given_us, given_by, login, why) SELECT d.id, 0, " \
    "json_extract(?1, '$.given_us'), ?2, json_extract(?1, '$.login'), json_extract(?1, '$.why') FROM definition d " \
    "WHERE d.upstream = json_extract(?1, '$.upstream') AND d.tool = json_extract(?1, '$.tool') AND " \
    "d.digest = json_extract(?1, '$.definition') AND (SELECT w.accepted AND w.given_us < json_extract(?1, '$.given_us') " \
    "FROM definition_word w WHERE w.definition = d.id ORDER BY w.id DESC LIMIT 1)"

/* One that was released since is a hold again: who releases it says why once more. */
#define HOLD \
    "INSERT INTO audit_hold(tenant, principal, since_us, until_us, held_us, held_by, why) SELECT ?3, " \
    "json_extract(?1, '$.principal'), json_extract(?1, '$.since_us'), json_extract(?1, '$.until_us'), " \
    "json_extract(?1, '$.held_us'), ?2, json_extract(?1, '$.why') WHERE NOT EXISTS (SELECT 1 FROM audit_hold h " \
    "WHERE h.held_us = json_extract(?1, '$.held_us') AND h.held_by = ?2 AND h.tenant IS ?3)"

/* Likewise what was lifted since. */
#define STOP \
    "INSERT INTO stop(mark, tenant, principal, agent, upstream, tool, session, until_us, made_us, made_by, rule, why) SELECT " \
    "json_extract(?1, '$.mark'), ?3, json_extract(?1, '$.principal'), json_extract(?1, '$.agent'), json_extract(?1, " \
    "'$.upstream'), json_extract(?1, '$.tool'), json_extract(?1, '$.session'), json_extract(?1, '$.until_us'), " \
    "json_extract(?1, '$.made_us'), ?2, json_extract(?1, '$.rule'), json_extract(?1, '$.why') WHERE NOT EXISTS " \
    "(SELECT 1 FROM stop WHERE mark = json_extract(?1, '$.mark'))"

/* As of a key. */
#define END \
    "INSERT INTO account_end(account, ended_us, ended_by, why) SELECT a.id, json_extract(?1, '$.ended_us'), ?2, " \
    "json_extract(?1, '$.why') FROM account a WHERE a.id = json_extract(?1, '$.account') AND " \
    "a.principal = json_extract(?1, '$.principal') AND a.upstream = json_extract(?1, '$.upstream') AND " \
    "a.made_us <= json_extract(?1, '$.ended_us') AND a.id NOT IN (SELECT account FROM account_end)"

/* What the trail says again into the store: kinds of events, and the statement of each. ?1 is its detail, ?2 its actor, ?3 its
 * tenant. */
enum again { AGAIN_REVOKED, AGAIN_WITHDRAWN, AGAIN_HELD, AGAIN_STOPPED, AGAIN_ENDED, AGAINS };
static const struct {
    const char *kind, *sql, *called; /* called: how many, in the event */
    bool has_tenant;
} agains[AGAINS] = {
    {"key_revoked", REVOKE, "revoked", false}, {"definition_withdrawn", WITHDRAW, "withdrawn", false},
    {"hold_placed", HOLD, "held", true}, {"stop_placed", STOP, "stopped", true}, {"account_ended", END, "accounts", false},
};

struct going_on {
    struct db *store;
    int64_t count[AGAINS], version;
};

static enum code apply(struct going_on *going_on, struct span kind, struct span actor, struct span detail,
                       struct span tenant)
{
    const struct db_value values[] = {db_of_text(detail), db_of_text(actor), db_of_text(tenant)};
    int64_t version, ignored;
    size_t which = 0;
    enum code code;

    if (span_is(kind, "policy_activated")) {
        code = read_two(going_on->store, detail, "$.version", "$", &version, &ignored);
        if (version > going_on->version)
            going_on->version = version;
        return code;
    }
    while (which < AGAINS && !span_is(kind, agains[which].kind))
        which++;
    if (which == AGAINS)
        return CODE_OK;
    code = db_change(going_on->store, agains[which].sql, values, agains[which].has_tenant ? 3 : 2);
    going_on->count[which] += code == CODE_OK ? db_changes(going_on->store) : 0;
    return code;
}

static enum code apply_file(struct going_on *going_on, const char *path, struct why *why)
{
    struct db_stmt *stmt = NULL;
    struct db *db = NULL;
    enum code code = trail_open(path, &db, why);

    if (code == CODE_OK)
        code = db_prepare(db, "SELECT kind, actor, detail, tenant FROM event WHERE kind IN ('key_revoked', "
                          "'definition_withdrawn', 'policy_activated', 'hold_placed', 'stop_placed', 'account_ended') AND "
                          "json_valid(detail) ORDER BY seq", &stmt);
    while (db_next(&stmt, &code))
        code = apply(going_on, db_text(stmt, 0), db_text(stmt, 1), db_text(stmt, 2), db_text(stmt, 3));
    db_close(&db);
    return code;
}

static enum code raise_number(struct db *store, struct span table, int64_t number)
{
    enum code code = db_change(store, "UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1",
                               DB_VALUES(db_of_text(table), db_of_int(number)));

    if (code == CODE_OK)
        code = db_change(store, "INSERT INTO sqlite_sequence(name, seq) SELECT ?1, ?2 WHERE NOT EXISTS "
                         "(SELECT 1 FROM sqlite_sequence WHERE name = ?1)", DB_VALUES(db_of_text(table), db_of_int(number)));
    return code;
}

/* Sets the table's numbers behind all that the trail knows, and has its rows told from the beginning, since
 * nobody can say which of them the trail knows. */
static enum code settle_source(struct db *store, size_t source, const char *mark, const struct store_places *places)
{
    char name[PATH_BYTES];
    struct span rest, table = span_cut(span_text(store_sources[source].table), '/', &rest);
    enum code code = holds(store, source, places);

    if (code != CODE_NOT_FOUND)
        return code;
    (void)snprintf(name, sizeof name, "%s@%s", store_sources[source].table, mark);
    code = raise_number(store, table, places->at[source].row);
    if (code == CODE_OK)
        code = db_change(store, "DELETE FROM told WHERE name = ?1", DB_VALUES(db_of_text(span_text(name))));
    return code;
}

static enum code go_on(struct going_on *going_on, const struct trail *trail, const char *mark,
                       const struct store_places *places, struct why *why)
{
    enum code code = CODE_OK;

    for (size_t i = 0; i < STORE_SOURCES && code == CODE_OK; i++)
        code = settle_source(going_on->store, i, mark, places);
    for (size_t i = 0; i < trail->count && code == CODE_OK; i++)
        code = apply_file(going_on, trail->files[i].path, why);
    if (code == CODE_OK)
        code = db_exec(going_on->store, "DELETE FROM account_token WHERE account IN (SELECT account FROM account_end)");
    return code == CODE_OK ? raise_number(going_on->store, SPAN_LIT("policy_version"), going_on->version) : code;
}

enum code store_go_on(struct db *store, const char *audit, const char *mark, const struct store_places *places, struct buf *out,
                      struct why *why)
{
    struct going_on going_on = {.store = store};
    struct trail trail = {0};
    char settled[TRAIL_PATH_BYTES];
    enum code code;

    trail_settle(audit, settled);
    code = trail_find(settled, true, &trail, why);
    if (code != CODE_OK)
        return code;
    why->text[0] = '\0';
    code = store_begin(store, why);
    if (code == CODE_OK) {
        code = go_on(&going_on, &trail, mark, places, why);
        code = store_end(store, code, why->text[0] == '\0' ? "going on with an older store" : NULL, why);
    }
    trail_fini(&trail);
    if (code != CODE_OK)
        return code;
    for (size_t i = 0; i < AGAINS; i++)
        buf_addf(out, "%s\"%s\":%" PRId64, i > 0 ? "," : "", agains[i].called, going_on.count[i]);
    return buf_code(out);
}
