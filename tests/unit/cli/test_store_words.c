/* SPDX-License-Identifier: Apache-2.0 */
/* 10.37: nothing is given away where a hold was placed while the files were looked at. */
#include "cli/store_words.h"
#include "store/store.h"
#include "fakes/cm.h"

TEST_CASE(a_hold_that_comes_meanwhile_counts)
{
    const struct store_hold hold = {.held_us = 1, .tenant = SPAN_LIT("acme"), .held_by = SPAN_LIT("ann"), .why = SPAN_LIT("w")};
    struct store_retirement retirement = {.shipped = -1, .first = 1, .last = 9, .actor = SPAN_LIT("bob"), .why = SPAN_LIT("tape")};
    struct why why = {""};
    struct db *db;
    int64_t id;

    assert_int_equal(store_open(":memory:", DB_WRITE, &db, &why), CODE_OK);
    assert_int_equal(store_holds_newest(db, &retirement.newest_hold, &why), CODE_OK);
    assert_int_equal(store_hold_add(db, &hold, &id, &why), CODE_OK);
    assert_int_equal(store_audit_retire(db, "m", &retirement, &id, &why), CODE_OK);
    assert_int_equal(id, 0);
    assert_int_equal(store_holds_newest(db, &retirement.newest_hold, &why), CODE_OK);
    assert_int_equal(retirement.newest_hold, 1);
    assert_int_equal(store_audit_retire(db, "m", &retirement, &id, &why), CODE_OK);
    assert_int_equal(id, 1);
    db_close(&db);
}

TEST_MAIN(NULL, NULL)
