/* SPDX-License-Identifier: Apache-2.0 */
/* 3.7: a part of the finding tables that was gathered while its rows were appended is the one that its rows give when they are read
 * back; and where a row of it is missing there is none. */
#include "audit/part_priv.h"

#include "fakes/audit_file.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const unsigned char some_hash[DIGEST_BYTES] = {1};

static void add(struct fresh *fresh, uint64_t from, uint64_t to)
{
    for (uint64_t seq = from; seq <= to; seq++)
        fresh__add(fresh, &(struct part_row){.seq = (int64_t)seq, .time_us = 1, .tenant = SPAN_LIT("acme"),
                                             .hash = span_of(some_hash, sizeof some_hash)});
}

static bool has(struct fresh *fresh, uint64_t number)
{
    struct part *part = fresh__take(fresh, number);
    bool is_there = part != NULL;

    part__free(&part);
    return is_there;
}

static void test_rows_in_a_row(void **state)
{
    struct fresh fresh = {0};

    (void)state;
    add(&fresh, 1, LEDGER_PART_ROWS);
    assert_false(has(&fresh, 1));
    assert_true(has(&fresh, 0));
    assert_false(has(&fresh, 0));
    add(&fresh, LEDGER_PART_ROWS + 1, 4 * LEDGER_PART_ROWS);
    assert_false(has(&fresh, 1)); /* two are kept at most */
    assert_true(has(&fresh, 3));
    assert_true(has(&fresh, 2));
    fresh__drop(&fresh);
}

static void test_begun_late(void **state)
{
    struct fresh fresh = {0};

    (void)state;
    add(&fresh, 2, 2 * LEDGER_PART_ROWS); /* a file that continues another, or was opened again */
    assert_false(has(&fresh, 0));
    assert_true(has(&fresh, 1));
    fresh__drop(&fresh);
}

static void test_rolled_back(void **state)
{
    struct fresh fresh = {0};

    (void)state;
    add(&fresh, 1, 100);
    add(&fresh, 50, LEDGER_PART_ROWS);
    assert_false(has(&fresh, 0));
    add(&fresh, LEDGER_PART_ROWS + 1, 2 * LEDGER_PART_ROWS);
    add(&fresh, 2 * LEDGER_PART_ROWS, 3 * LEDGER_PART_ROWS); /* its last row was, after it was whole */
    assert_false(has(&fresh, 1));
    assert_true(has(&fresh, 2));
    fresh__drop(&fresh);
}

/* ---- against the rows in the file ---- */

static enum code append(struct ledger *ledger, uint64_t number)
{
    static const char *const tenants[] = {"acme", "beta", "acme", "gamma", "acme-2"};
    char correlation[32];
    struct span texts[TEXT_COUNT] = {[TEXT_CORRELATION] = SPAN_LIT("c")};
    struct ring_decision decision = {.time_us = 1700000000000000 - (int64_t)(number * 7919 % 1000), .reason = REASON_NO_RULE,
                                     .verdict = number % 11 == 0 ? AUDIT_HOLD : AUDIT_DENY};
    const struct audit_event event = {.time_us = 5, .kind = SPAN_LIT("test"), .tenant = SPAN_LIT("of-events-alone")};
    uint64_t seq;

    if (number % 13 == 0)
        return ledger__event(ledger, &event);
    (void)snprintf(correlation, sizeof correlation, "%s%llu", number % 2 ? "correlation-" : "", (unsigned long long)(number / 3));
    if (number % 17 != 0)
        texts[TEXT_TENANT] = span_text(tenants[number % 5]);
    texts[TEXT_CORRELATION] = number % 19 == 0 ? SPAN_NONE : span_text(correlation);
    texts[TEXT_TOOL] = number % 7 == 0 ? SPAN_NONE : span_text(number % 3 ? "search" : "search_products");
    return ledger__decision(ledger, &decision, texts, &seq);
}

static void test_is_what_is_read_back(void **state)
{
    struct audit_file file;
    struct ledger ledger;
    struct why why = {0};
    struct part *part;
    bool done = false, matches = false;

    (void)state;
    audit_file_init(&file);
    assert_int_equal(ledger__init(&ledger, file.path, "here"), CODE_OK);
    if (ledger__open(&ledger, DB_CREATE, 1, &why) != CODE_OK)
        fail_msg("%s", why.text);
    ledger.keeps_parts = true;
    assert_int_equal(ledger__begin(&ledger), CODE_OK);
    for (uint64_t i = 1; i <= LEDGER_PART_ROWS + 10; i++)
        assert_int_equal(append(&ledger, i), CODE_OK);
    part = fresh__take(&ledger.fresh, 0);
    assert_non_null(part);
    assert_int_equal(part__finish(part, ledger.db, true), CODE_OK);
    assert_int_equal(part__write(part, &ledger, 1000000, &done), CODE_OK);
    assert_true(done);
    part__free(&part);
    assert_int_equal(ledger__commit(&ledger), CODE_OK);
    assert_int_equal(part__matches(ledger.db, 0, &matches), CODE_OK);
    assert_true(matches);
    assert_int_equal(audit_file_number(&file, "SELECT count(*) FROM tenant_head"), 5);
    assert_int_equal(audit_file_number(&file, "SELECT count(*) FROM tenant_head AS h JOIN entry AS e ON e.seq = h.seq "
                                       "JOIN decision AS d ON d.seq = h.seq WHERE d.hash = h.hash AND d.tenant = h.tenant"), 4);
    ledger__fini(&ledger);
    audit_file_fini(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_in_a_row), cmocka_unit_test(test_begun_late), cmocka_unit_test(test_rolled_back),
        cmocka_unit_test(test_is_what_is_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
