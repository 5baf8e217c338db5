/* SPDX-License-Identifier: Apache-2.0 */
/* 3.4, 3.7: of every 16 parts one says which of them hold a correlation: nothing is missed by that, also where it is not there, and
 * what somebody changed in it is found. */
#include "audit/part_priv.h"
#include "audit/query.h"
#include "audit/verify.h"

#include "fakes/audit_file.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS (17 * LEDGER_PART_ROWS + 1000) /* one group, a part behind it, and what is in no part yet */

static struct audit_file file;

static int setup(void **state)
{
    struct audit *audit;
    struct audit_decision decision = {.time_us = 1700000000000000, .reason = REASON_NO_RULE, .tenant = SPAN_LIT("acme")};
    char correlation[24];

    (void)state;
    audit_file_init(&file);
    audit = audit_file_open(&file, 1);
    for (int i = 0; i < CALLS; i++) {
        (void)snprintf(correlation, sizeof correlation, "c-%d", i % (CALLS / 2)); /* each twice, far apart */
        decision.correlation = span_text(correlation);
        decision.time_us++;
        (void)audit_file_put(audit_ring(audit, 0), &decision);
    }
    for (int tries = 0; audit_file_number(&file, "SELECT count(*) FROM part") < 17; tries++) {
        assert_true(tries < 20000);
        (void)nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    audit_close(&audit);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    audit_file_fini(&file);
    return 0;
}

static enum code count(void *context, const struct query_row *row)
{
    (void)row;
    ++*(int *)context;
    return CODE_OK;
}

static int found(const char *correlation)
{
    const struct query query = {.correlation = span_text(correlation)};
    struct trail trail;
    struct why why = {0};
    int rows = 0;
    bool more;

    assert_int_equal(trail_find(file.path, false, &trail, &why), CODE_OK);
    if (audit_query(&trail, &query, count, &rows, &more, &why) != CODE_OK)
        fail_msg("%s", why.text);
    trail_fini(&trail);
    return rows;
}

static void find_many(void)
{
    char correlation[24];

    for (int i = 0; i < CALLS / 2; i += 997) {
        (void)snprintf(correlation, sizeof correlation, "c-%d", i);
        if (found(correlation) != 2)
            fail_msg("%s: %d rows", correlation, found(correlation));
    }
    assert_int_equal(found("c-nobody"), 0);
}

static uint64_t faults(void)
{
    struct verify_report report;
    struct why why = {0};

    assert_int_equal(audit_verify(&(struct verify_conf){.path = file.path}, &report, &why), CODE_OK);
    return report.fault_count;
}

static void change(const char *sql)
{
    struct why why = {0};
    struct db *db;

    assert_int_equal(db_open(file.path, DB_WRITE, &db, &why), CODE_OK);
    if (db_exec(db, sql) != CODE_OK)
        fail_msg("%s", db_error(db));
    db_close(&db);
}

static void test_groups(void **state)
{
    (void)state;
    assert_true(audit_file_number(&file, "SELECT count(*) FROM lookup WHERE kind = 6 AND part = 15") > 1000);
    assert_int_equal(audit_file_number(&file, "SELECT count(*) FROM lookup WHERE kind = 6 AND part <> 15"), 0);
    find_many();
    assert_int_equal(faults(), 0);
}

/* A fingerprint depends on the text alone; a change of it would lose what files hold. */
static void test_prints_stay(void **state)
{
    char bucket[PART_BUCKET_BYTES];

    (void)state;
    assert_int_equal(part__print(SPAN_LIT(""), bucket), 0x13f42f);
    assert_string_equal(bucket, "3c1");
    assert_int_equal(part__print(SPAN_LIT("order-4711"), bucket), 0x70ce8);
    assert_string_equal(bucket, "255");
}

static void test_a_changed_group_is_found(void **state)
{
    (void)state;
    change("UPDATE lookup SET seqs = '[1]' WHERE kind = 6 AND value = (SELECT min(value) FROM lookup WHERE kind = 6)");
    assert_true(faults() > 0);
}

/* Files of earlier versions have none. */
static void test_without_groups(void **state)
{
    (void)state;
    change("DELETE FROM lookup WHERE kind = 6");
    find_many();
    assert_int_equal(faults(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups), cmocka_unit_test(test_prints_stay), cmocka_unit_test(test_a_changed_group_is_found),
        cmocka_unit_test(test_without_groups),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
