/* SPDX-License-Identifier: Apache-2.0 */
/* What the store keeps of the fleet, and how old the last beat is by it. */
#include "fleet/fleet_state.h"
#include "fleet/watch.h"
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

TEST_CASE(what_is_saved_is_loaded)
{
    const struct fleet_state kept = {.beat_us = WALL, .beat_up_us = 5, .start = "a-start", .spent_us = 1, .change = 7,
                                      .hash = "ab", .behind = 3, .forked = 1, .lag_rows = 9, .lag_us = 8, .shipped_seq = 6,
                                      .refused = 4, .problem = "it is \"away\""};
    struct fleet_state loaded;
    struct db *db = open_store();
    struct why why;

    assert_ok(fleet_state_load(db, &loaded, &why));
    assert_int_equal(loaded.beat_us, 0);
    assert_string_equal(loaded.problem, "");
    assert_ok(fleet_state_save(db, &kept, &why));
    assert_ok(fleet_state_save(db, &kept, &why)); /* again: the same rows */
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
TEST_CASE(time_is_spent_once)
{
    struct fleet_state kept = {.beat_us = WALL, .spent_us = 0}, loaded;
    struct db *db = open_store();
    struct why why;

    assert_ok(fleet_state_save(db, &kept, &why));
    assert_ok(fleet_state_spend(db, &kept, 5 * MINUTE, &why));
    assert_ok(fleet_state_spend(db, &kept, 2 * MINUTE, &why));
    assert_ok(fleet_state_load(db, &loaded, &why));
    assert_int_equal(loaded.spent_us, 5 * MINUTE);
    kept.beat_us += MINUTE;
    assert_ok(fleet_state_save(db, &kept, &why));
    kept.beat_us -= MINUTE;
    assert_ok(fleet_state_spend(db, &kept, 6 * MINUTE, &why)); /* of the beat before */
    assert_ok(fleet_state_load(db, &loaded, &why));
    assert_int_equal(loaded.spent_us, 0);
    db_close(&db);
}

/* While the machine runs no set clock counts; afterwards one that is behind gives nothing. */
TEST_CASE(no_clock_that_is_set_gives_time)
{
    struct fleet_state kept = {.beat_us = WALL, .beat_up_us = 10 * MINUTE, .start = "one"};

    assert_int_equal(fleet_state_age(&kept, WALL + MINUTE, 11 * MINUTE, "one"), MINUTE);
    assert_int_equal(fleet_state_age(&kept, WALL - 1000 * MINUTE, 30 * MINUTE, "one"), 20 * MINUTE);
    assert_int_equal(fleet_state_age(&kept, WALL + 1000 * MINUTE, 12 * MINUTE, "one"), 2 * MINUTE);
    assert_int_equal(fleet_state_age(&kept, WALL + 3 * MINUTE, MINUTE, "two"), 3 * MINUTE);
    assert_true(fleet_state_age(&kept, WALL - 1, MINUTE, "two") == FLEET_NEVER);
    assert_int_equal(fleet_state_age(&kept, WALL + MINUTE, MINUTE, ""), MINUTE);
    kept.spent_us = 9 * MINUTE; /* before the machine was started again, with its clock set back to just behind the beat */
    assert_int_equal(fleet_state_age(&kept, WALL + 1, MINUTE, "two"), 9 * MINUTE);
    kept.beat_us = 0;
    assert_true(fleet_state_age(&kept, WALL, MINUTE, "one") == FLEET_NEVER);
}

/* A beat is of a node that has all changes; the gate may have looked at the store before the last of them came. */
TEST_CASE(what_is_denied_stays_so_until_what_was_decided_counts)
{
    struct fleet_watch watch = {.is_on = true, .stale_us = MINUTE, .reason = REASON_FLEET_STALE, .taken = 6, .courier = -1};
    struct fleet_state kept = {.beat_us = clock_wall_us(), .beat_up_us = clock_up_us(), .change = 7};
    struct db *db = open_store();
    struct why why;

    clock_start_name(watch.start);
    clock_start_name(kept.start);
    assert_ok(fleet_state_save(db, &kept, &why));
    assert_int_equal(fleet_watch_look(&watch, db, true), REASON_FLEET_STALE);
    watch.taken = 7;
    assert_int_equal(fleet_watch_look(&watch, db, false), REASON_FLEET_STALE);
    assert_int_equal(fleet_watch_look(&watch, db, true), REASON_UNSET);
    kept.change = 8; /* what is judged goes on by what was there before, as for anybody */
    assert_ok(fleet_state_save(db, &kept, &why));
    assert_int_equal(fleet_watch_look(&watch, db, true), REASON_UNSET);
    db_close(&db);
}

TEST_MAIN(NULL, NULL)
