/* SPDX-License-Identifier: Apache-2.0 */
#include "courier/down_roster.h"

#include "base/log.h"

#include <inttypes.h>

#define AT_ONCE 8
#define SOME_BEHIND(number) \
    "SELECT number, text, signature FROM callgate.roster WHERE number > " number " AND octet_length(text) <= $4 " \
    "ORDER BY number LIMIT $3"

static enum code take(struct down_roster *roster, struct span text, struct span signature, struct why *why)
{
    struct roster *read = NULL;
    enum code code = roster_read(text, signature, roster->root, roster->fleet, &read, why);

    if (code != CODE_OK)
        return code;
    if (roster->now != NULL && read->number <= roster->now->number) {
        roster_free(&read);
        return CODE_EXISTS;
    }
    roster_free(&roster->now);
    roster->now = read;
    return CODE_OK;
}

/* What the store has was signed by the root, too, and is verified again: who can write the store can put none of his own in. */
static enum code take_kept(struct down_roster *roster, struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_find(roster->store, "SELECT text, signature FROM fleet_roster ORDER BY number DESC LIMIT 1", NULL, 0,
                             &stmt);

    if (code == CODE_OK)
        code = take(roster, db_blob(stmt, 0), db_blob(stmt, 1), why);
    else if (code != CODE_NOT_FOUND)
        (void)db_why(why, code, roster->store, "reading the roster");
    db_finalize(&stmt);
    return code == CODE_NOT_FOUND || code == CODE_EXISTS ? CODE_OK : code;
}

static enum code keep(const struct down_roster *roster, struct span text, struct span signature, struct why *why)
{
    enum code code = db_change(roster->store, "INSERT INTO fleet_roster(number, text, signature) VALUES (?1, ?2, ?3) ON "
                               "CONFLICT DO NOTHING",
                               DB_VALUES(db_of_int(roster->now->number), db_of_blob(text), db_of_blob(signature)));

    if (code == CODE_OK)
        code = db_change(roster->store, "DELETE FROM fleet_roster WHERE number < ?1",
                         DB_VALUES(db_of_int(roster->now->number)));
    return db_why(why, code, roster->store, "keeping the roster");
}

enum code down_roster_open(struct down_roster *roster, struct db *store, const unsigned char root[SIGN_PUBLIC_BYTES],
                           const char *fleet, struct span text, struct span signature, struct why *why)
{
    int64_t joined;
    enum code code;

    *roster = (struct down_roster){.store = store, .root = root, .fleet = fleet};
    code = take(roster, text, signature, why);
    joined = code == CODE_OK ? roster->now->number : 0;
    if (code == CODE_OK)
        code = take_kept(roster, why);
    return code == CODE_OK && roster->now->number == joined ? keep(roster, text, signature, why) : code;
}

void down_roster_close(struct down_roster *roster)
{
    roster_free(&roster->now);
}

void down_roster_anew(struct down_roster *roster)
{
    roster->is_put = false;
}

/* A centre that was restored from an older copy lacks what this node has seen. */
static enum code put_again(struct down_roster *roster, struct pg *pg, struct why *why)
{
    const struct db_value number = db_of_int(roster->now->number);
    struct db_stmt *stmt = NULL;
    enum code code = db_find(roster->store, "SELECT text, signature FROM fleet_roster WHERE number = ?1", &number, 1, &stmt);

    if (code == CODE_OK)
        code = pg_ask(pg, "SELECT callgate.roster_put($1, $2, $3)",
                      PG_VALUES(pg_of_int(number.number), pg_of_bytes(db_blob(stmt, 0)), pg_of_bytes(db_blob(stmt, 1))), NULL,
                      why);
    else
        (void)db_why(why, code, roster->store, "reading the roster");
    db_finalize(&stmt);
    roster->is_put = code == CODE_OK;
    return code;
}

/* One that is shown. What nobody signed, and what is one of before under a new number, is passed over: it keeps none that is
 * good from being taken. */
static enum code look_at(struct down_roster *roster, struct span text, struct span signature, struct why *why)
{
    enum code code = take(roster, text, signature, why);

    if (code == CODE_OK) {
        code = keep(roster, text, signature, why);
        log_info("fleet", "roster %" PRId64 " is taken: %zu nodes are, or were, of the fleet", roster->now->number,
                 roster->now->count);
        return code;
    }
    if (code == CODE_EXISTS)
        (void)why_set(&roster->refused, code, "the centre shows a roster of before as a newer one than number %" PRId64,
                      roster->now->number);
    else if (code != CODE_NOMEM)
        roster->refused = *why;
    return code == CODE_NOMEM ? code : CODE_OK;
}

/* The next ones, whatever stands behind them, and some more from where it looked last: however many rows somebody puts there,
 * all are looked at in time. */
enum code down_roster_turn(struct down_roster *roster, struct pg *pg, struct why *why)
{
    struct pg_rows *rows = NULL;
    const int64_t behind = roster->looked > roster->now->number ? roster->looked : INT64_MAX;
    enum code code = roster->is_put ? CODE_OK : put_again(roster, pg, why);

    if (code == CODE_OK)
        code = pg_ask(pg, "(" SOME_BEHIND("$1") ") UNION ALL (" SOME_BEHIND("$2") ")",
                      PG_VALUES(pg_of_int(roster->now->number), pg_of_int(behind), pg_of_int(AT_ONCE),
                                pg_of_int(ROSTER_TEXT_BYTES)), &rows, why);
    if (code == CODE_OK)
        roster->refused.text[0] = '\0';
    for (size_t i = 0; code == CODE_OK && i < pg_rows_count(rows); i++)
        if (pg_rows_int(rows, i, 0) > roster->now->number)
            code = look_at(roster, pg_rows_bytes(rows, i, 1), pg_rows_bytes(rows, i, 2), why);
    if (code == CODE_OK) /* full: there may be more */
        roster->looked = pg_rows_count(rows) >= AT_ONCE ? pg_rows_int(rows, pg_rows_count(rows) - 1, 0) : 0;
    pg_rows_free(&rows);
    return code;
}
