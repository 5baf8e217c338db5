/* SPDX-License-Identifier: Apache-2.0 */
#include "courier/down_roster.h"

#include "base/log.h"

#include <inttypes.h>

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

enum code down_roster_open(struct down_roster *roster, struct db *store, const unsigned char root[SIGN_PUBLIC_BYTES],
                           const char *fleet, struct span text, struct span signature, struct why *why)
{
    enum code code;

    *roster = (struct down_roster){.store = store, .root = root, .fleet = fleet};
    code = take(roster, text, signature, why);
    return code == CODE_OK ? take_kept(roster, why) : code;
}

void down_roster_close(struct down_roster *roster)
{
    roster_free(&roster->now);
}

static enum code keep(const struct down_roster *roster, struct span text, struct span signature, struct why *why)
{
    enum code code = db_change(roster->store, "INSERT INTO fleet_roster(number, text, signature) VALUES (?1, ?2, ?3) ON "
                                              "CONFLICT DO "
                               "NOTHING", DB_VALUES(db_of_int(roster->now->number), db_of_blob(text), db_of_blob(signature)));

    if (code == CODE_OK)
        code = db_change(roster->store, "DELETE FROM fleet_roster WHERE number < ?1",
                         DB_VALUES(db_of_int(roster->now->number)));
    return db_why(why, code, roster->store, "keeping the roster");
}

enum code down_roster_turn(struct down_roster *roster, struct pg *pg, struct why *why)
{
    struct pg_rows *rows = NULL;
    enum code code = pg_ask(pg, "SELECT text, signature FROM callgate.roster WHERE number > $1 ORDER BY number DESC LIMIT 1",
                            PG_VALUES(pg_of_int(roster->now->number)), &rows, why);

    if (code == CODE_OK && pg_rows_count(rows) > 0) {
        code = take(roster, pg_rows_bytes(rows, 0, 0), pg_rows_bytes(rows, 0, 1), why);
        if (code == CODE_EXISTS) /* an old one under a new number: what it says of itself counts */
            code = why_set(why, CODE_INVALID, "the centre shows a roster of before as a newer one than number %" PRId64,
                           roster->now->number);
        if (code == CODE_OK)
            code = keep(roster, pg_rows_bytes(rows, 0, 0), pg_rows_bytes(rows, 0, 1), why);
        if (code == CODE_OK)
            log_info("fleet", "roster %" PRId64 " is taken: %zu nodes are, or were, of the fleet", roster->now->number,
                     roster->now->count);
    }
    pg_rows_free(&rows);
    return code;
}

bool down_roster_key_of(void *context, struct span node, int64_t number, unsigned char key[SIGN_PUBLIC_BYTES])
{
    const struct down_roster *roster = context;

    return roster_key_of(roster->now, node, number, key);
}
