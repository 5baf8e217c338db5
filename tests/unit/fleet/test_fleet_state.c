/* SPDX-License-Identifier: Apache-2.0 */
/* What the store keeps of the fleet, and how old the last beat is by it. */
#include "fleet/fleet_state.h"
#include "store/store.h"

#include "fakes/cm.h"

#include <string.h>

#define MINUTE INT64_C(60000000)
#define WALL INT64_C(1800000000000000)

static struct db *open_store(void)
{
    struct why why;
    struct db *db;

    assert_ok(store_open(":memory:", DB_WRITE, &db, &why));
    return db;
}

static void what_is_saved_is_loaded(void **unused)
{
    const struct fleet_state state = {.beat_us = WALL, .beat_up_us = 5, .start = "a-start", .spent_us = 1, .change = 7,
                                      .hash = "ab", .behind = 3, .forked = 1, .lag_rows = 9, .lag_us = 8, .shipped_seq = 6,
                                      .refused = 4, .problem = "it is \"away\""};
    struct fleet_state loaded;
    struct db *db = open_store();
    struct why why;

    (void)unused;
    assert_ok(fleet_state_load(db, &loaded, &why));
    assert_int_equal(loaded.beat_us, 0);
    assert_string_equal(loaded.problem, "");
    assert_ok(fleet_state_save(db, &state, &why));
    assert_ok(fleet_state_save(db, &state, &why)); /* again: the same rows */
    assert_ok(fleet_state_load(db, &loaded, &why));
    assert_int_equal(loaded.beat_us, WALL);
    assert_int_equal(loaded.beat_up_us, 5);
    assert_string_equal(loaded.start, "a-start");
    assert_int_equal(loaded.spent_us, 1);
    assert_int_equal(loaded.change, 7);
    assert_string_equal(loaded.hash, "ab");
    assert_int_equal(loaded.behind, 3);
    assert_int_equal(loaded.forked, 1);
    assert_int_equal(loaded.lag_rows, 9);
    assert_int_equal(loaded.lag_us, 8);
    assert_int_equal(loaded.shipped_seq, 6);
    assert_int_equal(loaded.refused, 4);
    assert_string_equal(loaded.problem, "it is \"away\"");
    db_close(&db);
}

/* What was spent only grows, and is another beat's no more. */
static void time_is_spent_once(void **unused)
{
    struct fleet_state state = {.beat_us = WALL, .spent_us = 0}, loaded;
    struct db *db = open_store();
    struct why why;

    (void)unused;
    assert_ok(fleet_state_save(db, &state, &why));
    assert_ok(fleet_state_spend(db, &state, 5 * MINUTE, &why));
    assert_ok(fleet_state_spend(db, &state, 2 * MINUTE, &why));
    assert_ok(fleet_state_load(db, &loaded, &why));
    assert_int_equal(loaded.spent_us, 5 * MINUTE);
    state.beat_us += MINUTE;
    assert_ok(fleet_state_save(db, &state, &why));
    state.beat_us -= MINUTE;
    assert_ok(fleet_state_spend(db, &state, 6 * MINUTE, &why)); /* of the beat before */
    assert_ok(fleet_state_load(db, &loaded, &why));
    assert_int_equal(loaded.spent_us, 0);
    db_close(&db);
}

/* While the machine runs no set clock counts; afterwards one that is behind gives nothing. */
static void no_clock_that_is_set_gives_time(void **unused)
{
    struct fleet_state state = {.beat_us = WALL, .beat_up_us = 10 * MINUTE, .start = "one"};

    (void)unused;
    assert_int_equal(fleet_state_age(&state, WALL + MINUTE, 11 * MINUTE, "one"), MINUTE);
    assert_int_equal(fleet_state_age(&state, WALL - 1000 * MINUTE, 30 * MINUTE, "one"), 20 * MINUTE);
    assert_int_equal(fleet_state_age(&state, WALL + 1000 * MINUTE, 12 * MINUTE, "one"), 2 * MINUTE);
    assert_int_equal(fleet_state_age(&state, WALL + 3 * MINUTE, MINUTE, "two"), 3 * MINUTE);
    assert_true(fleet_state_age(&state, WALL - 1, MINUTE, "two") == FLEET_NEVER);
    assert_int_equal(fleet_state_age(&state, WALL + MINUTE, MINUTE, ""), MINUTE);
    state.spent_us = 9 * MINUTE; /* before the machine was started again, with its clock set back to just behind the beat */
    assert_int_equal(fleet_state_age(&state, WALL + 1, MINUTE, "two"), 9 * MINUTE);
    state.beat_us = 0;
    assert_true(fleet_state_age(&state, WALL, MINUTE, "one") == FLEET_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_is_loaded),
        cmocka_unit_test(time_is_spent_once),
        cmocka_unit_test(no_clock_that_is_set_gives_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
