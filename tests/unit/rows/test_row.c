/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/row.h"

#include "rows/schema.h"
#include "base/num.h"
#include "fakes/cm.h"

#include <stdio.h>

static const unsigned char zeros[DIGEST_BYTES];

static void expect_bytes(enum row_table table, const struct row_value *values, const char *hex)
{
    unsigned char bytes[512], want[DIGEST_BYTES], got[DIGEST_BYTES];
    struct digest digest;

    assert_int_equal(num_unhex(span_text(hex), bytes, strlen(hex) / 2), CODE_OK);
    digest_init(&digest);
    digest_add(&digest, zeros, sizeof zeros);
    digest_add(&digest, bytes, strlen(hex) / 2);
    digest_final(&digest, want);
    row_hash(table, values, zeros, got);
    assert_memory_equal(got, want, DIGEST_BYTES);
}

/* 1.24: the example of schema/audit-format.md, and each kind of value */
TEST_CASE(test_canonical_bytes)
{
    const struct row_value file[F_COUNT] = {row_int(0), row_int(1), row_int(2), row_blob("\xab\xcd", 2), row_null()};
    struct row_value event[E_COUNT] = {row_int(1), row_int(-2), row_null(), row_text(SPAN_LIT("")), row_text(SPAN_LIT("start")),
                                       row_blob("\x01\x02", 2), row_null()};

    expect_bytes(ROW_FILE, file, "46" "010000000000000000" "010000000000000001" "010000000000000002" "0300000002abcd");
    expect_bytes(ROW_EVENT, event, "45" "010000000000000001" "01fffffffffffffffe" "00" "0200000000" "02000000057374617274"
                                   "03000000020102");
    event[E_DETAIL] = row_text(SPAN_LIT("{}"));
    expect_bytes(ROW_EVENT, event, "45" "010000000000000001" "01fffffffffffffffe" "00" "0200000000" "02000000057374617274"
                                   "03000000020102" "02000000027b7d");
}

/* Long values go past the buffer in which small ones are gathered. */
TEST_CASE(test_lengths_do_not_matter)
{
    static char text[5000];
    unsigned char got[DIGEST_BYTES], want[DIGEST_BYTES];

    memset(text, 'x', sizeof text);
    for (size_t len = 900; len < 1100; len++) {
        const struct row_value event[E_COUNT] = {row_int(1), row_int(2), row_null(), row_null(),
                                                 row_text(span_of(text, len)), row_text(span_of(text, 3 * len)), row_int(7)};
        struct digest digest;
        unsigned char head[] = {'E', 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0};
        unsigned char size[5] = {2, 0, 0, (unsigned char)(len >> 8), (unsigned char)len};
        unsigned char triple[5] = {2, 0, 0, (unsigned char)(3 * len >> 8), (unsigned char)(3 * len)};
        unsigned char seven[9] = {1, 0, 0, 0, 0, 0, 0, 0, 7};

        digest_init(&digest);
        digest_add(&digest, zeros, sizeof zeros);
        digest_add(&digest, head, sizeof head);
        digest_add(&digest, size, sizeof size);
        digest_add(&digest, text, len);
        digest_add(&digest, triple, sizeof triple);
        digest_add(&digest, text, 3 * len);
        digest_add(&digest, seven, sizeof seven);
        digest_final(&digest, want);
        row_hash(ROW_EVENT, event, zeros, got);
        assert_memory_equal(got, want, DIGEST_BYTES);
    }
}

/* The chained columns, the hash and what is outside are all that schema/audit.sql declares, each once. */
TEST_CASE(test_columns_are_the_schemas)
{
    struct db *db;
    struct why why;

    assert_int_equal(db_open(":memory:", DB_CREATE, &db, &why), CODE_OK);
    assert_int_equal(db_exec(db, audit_schema), CODE_OK);
    for (int table = 0; table < ROW_TABLES; table++) {
        const struct row_shape *shape = row_shape((enum row_table)table);
        char sql[160];
        int64_t columns;

        for (int i = 0; i < shape->count + shape->outside; i++) {
            const char *name = i < shape->count ? shape->columns[i] : shape->outside_columns[i - shape->count];

            (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s') WHERE name = '%s'", shape->name, name);
            assert_int_equal(db_number(db, sql, NULL, 0, &columns), CODE_OK);
            if (columns != 1)
                fail_msg("%s.%s", shape->name, name);
        }
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('%s')", shape->name);
        assert_int_equal(db_number(db, sql, NULL, 0, &columns), CODE_OK);
        assert_int_equal(columns, shape->count + 1 + shape->outside);
    }
    db_close(&db);
}

TEST_MAIN(NULL, NULL)
