/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/fleet_state.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define MEMBER(name) {#name, offsetof(struct fleet_state, name), 0}
#define TEXT_MEMBER(name) {#name, offsetof(struct fleet_state, name), sizeof ((struct fleet_state *)NULL)->name}

static const struct {
    const char *name;
    size_t at, bytes; /* bytes: of a text's room; 0: it is a number */
} members[] = {
    MEMBER(beat_us), MEMBER(beat_up_us), TEXT_MEMBER(start), MEMBER(spent_us), MEMBER(change), TEXT_MEMBER(hash),
    MEMBER(behind), MEMBER(forked), MEMBER(lag_rows), MEMBER(lag_us), MEMBER(shipped_seq), MEMBER(refused),
    TEXT_MEMBER(problem),
};
#define MEMBERS (sizeof members / sizeof members[0])

static void take(struct db_stmt *stmt, struct fleet_state *out)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        char *at = (char *)out + members[i].at;
        int64_t number = db_int(stmt, 1);

        if (!span_is(db_text(stmt, 0), members[i].name))
            continue;
        if (members[i].bytes == 0)
            memcpy(at, &number, sizeof number);
        else
            (void)snprintf(at, members[i].bytes, "%.*s", SPAN_ARG(db_text(stmt, 1)));
    }
}

enum code fleet_state_load(struct db *store, struct fleet_state *out, struct why *why)
{
    struct db_stmt *stmt = NULL;
    enum code code = db_select(store, "SELECT name, value FROM fleet_state", NULL, 0, &stmt);

    *out = (struct fleet_state){.beat_us = 0};
    while (db_next(&stmt, &code))
        take(stmt, out);
    return db_why(why, code, store, "reading what is known of the fleet");
}

enum code fleet_state_save(struct db *store, const struct fleet_state *state, struct why *why)
{
    struct db_value values[2 * MEMBERS];
    char sql[1024] = "INSERT INTO fleet_state(name, value) VALUES ";
    size_t len = strlen(sql);

    for (size_t i = 0; i < MEMBERS; i++) {
        const char *at = (const char *)state + members[i].at;
        int64_t number = 0;

        if (members[i].bytes == 0)
            memcpy(&number, at, sizeof number);
        values[2 * i] = db_of_text(span_text(members[i].name));
        values[2 * i + 1] = members[i].bytes == 0 ? db_of_int(number) : db_of_text(span_text(at));
        len += (size_t)snprintf(sql + len, sizeof sql - len, "%s(?%zu, ?%zu)", i > 0 ? ", " : "", 2 * i + 1, 2 * i + 2);
    }
    (void)snprintf(sql + len, sizeof sql - len, " ON CONFLICT (name) DO UPDATE SET value = excluded.value");
    return db_why(why, db_change(store, sql, values, 2 * MEMBERS), store, "writing what is known of the fleet");
}

enum code fleet_state_change(struct db *store, int64_t *number, struct why *why)
{
    enum code code = db_number(store, "SELECT coalesce(max(number), 0) FROM fleet_change", NULL, 0, number);

    return db_why(why, code, store, "reading the fleet's changes");
}

enum code fleet_state_spend(struct db *store, const struct fleet_state *state, int64_t age_us, struct why *why)
{
    enum code code = db_change(store, "UPDATE fleet_state SET value = ?1 WHERE name = 'spent_us' AND value < ?1 AND "
                               "(SELECT value FROM fleet_state WHERE name = 'beat_us') = ?2",
                               DB_VALUES(db_of_int(age_us), db_of_int(state->beat_us)));

    return db_why(why, code, store, "writing what is known of the fleet");
}

int64_t fleet_state_age(const struct fleet_state *state, int64_t wall_us, int64_t up_us, const char *start)
{
    bool is_same = start[0] != '\0' && strcmp(start, state->start) == 0;
    int64_t age_us = is_same ? up_us - state->beat_up_us : wall_us - state->beat_us;

    if (state->beat_us == 0 || age_us < 0)
        return FLEET_NEVER;
    return age_us > state->spent_us ? age_us : state->spent_us;
}
