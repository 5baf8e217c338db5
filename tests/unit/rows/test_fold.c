/* SPDX-License-Identifier: Apache-2.0 */
#include "rows/fold.h"

#include "base/mem.h"
#include "fakes/audit_file.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_US 1000000
#define WALL_US 1700000000000000

struct bench {
    struct audit_file file;
    struct audit *audit;
    struct audit_ring *ring;
    struct fold *fold;
};

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);

    audit_file_init(&bench->file);
    bench->audit = audit_file_open(&bench->file, 1);
    bench->ring = audit_ring(bench->audit, 0);
    *state = bench;
    return fold_new(&bench->fold) == CODE_OK ? 0 : -1;
}

static int teardown(void **state)
{
    struct bench *bench = *state;

    audit_close(&bench->audit);
    fold_free(&bench->fold);
    audit_file_fini(&bench->file);
    free(bench);
    return 0;
}

static int taken(struct bench *bench, enum reason reason, const char *client, int count, int64_t now_us)
{
    int folded = 0;

    for (int i = 0; i < count; i++)
        folded += fold_takes(bench->fold, reason, span_text(client), now_us, WALL_US + i);
    return folded;
}

/* 1.26 */
TEST_CASE_WITH(test_ten_rows_a_second_then_a_count, setup, teardown)
{
    struct bench *bench = *state;

    assert_int_equal(taken(bench, REASON_CREDENTIAL_WRONG, "10.1.2.3", 10, 0), 0);
    assert_int_equal(taken(bench, REASON_CREDENTIAL_WRONG, "10.1.2.200", 90, SECOND_US - 1), 90);
    assert_int_equal(taken(bench, REASON_CREDENTIAL_MISSING, "10.1.2.3", 10, 5), 0); /* another reason */
    assert_int_equal(taken(bench, REASON_CREDENTIAL_WRONG, "10.1.3.3", 10, 5), 0);   /* another network */
    fold_tick(bench->fold, bench->ring, SECOND_US - 1, WALL_US, false);
    assert_int_equal(taken(bench, REASON_CREDENTIAL_WRONG, "10.1.2.3", 11, SECOND_US), 1); /* the next second */
    fold_tick(bench->fold, bench->ring, SECOND_US + 5, WALL_US, false); /* not over yet */
    fold_tick(bench->fold, bench->ring, 2 * SECOND_US, WALL_US, false);
    fold_tick(bench->fold, bench->ring, 9 * SECOND_US, WALL_US, true); /* nothing left */
    audit_close(&bench->audit);
    assert_string_equal(audit_file_ask(&bench->file, "SELECT count(*) || ' ' || group_concat(detail) FROM event "
                                                     "WHERE kind = 'folded'"),
                        "1 {\"reason\":\"credential_wrong\",\"network\":\"10.1.2.0/24\",\"count\":91,"
                        "\"first\":\"2023-11-14T22:13:20.000000Z\",\"last\":\"2023-11-14T22:13:20.000010Z\"}");
}

/* 1.26 */
TEST_CASE_WITH(test_ipv6_is_folded_by_64, setup, teardown)
{
    struct bench *bench = *state;

    assert_int_equal(taken(bench, REASON_HTTP_MALFORMED, "2001:db8:1:2:3::4", 10, 0), 0);
    assert_int_equal(taken(bench, REASON_HTTP_MALFORMED, "2001:db8:1:2:ffff::4", 3, 0), 3);
    assert_int_equal(taken(bench, REASON_HTTP_MALFORMED, "2001:db8:1:3::4", 1, 0), 0);
    assert_int_equal(taken(bench, REASON_HTTP_MALFORMED, "::ffff:10.0.0.1", 10, 0), 0);
    assert_int_equal(taken(bench, REASON_HTTP_MALFORMED, "10.0.0.9", 1, 0), 1); /* the same network in both forms */
    assert_int_equal(taken(bench, REASON_HTTP_MALFORMED, "no address", 10, 0), 0);
    assert_int_equal(taken(bench, REASON_HTTP_MALFORMED, "none either", 1, 0), 1);
    fold_tick(bench->fold, bench->ring, 0, WALL_US, true);
    audit_close(&bench->audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT sum(json_extract(detail, '$.count')) FROM event"), 5);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE json_extract(detail, '$.network') "
                                                     "IN ('2001:db8:1:2::/64', '10.0.0.0/24')"), 2);
}

/* 1.26: many sources cannot take more memory, and no refusal goes uncounted */
TEST_CASE_WITH(test_more_networks_than_slots, setup, teardown)
{
    struct bench *bench = *state;
    int rows = 0, folded = 0;
    char client[40];

    for (int i = 0; i < 60000; i++) {
        (void)snprintf(client, sizeof client, "10.%d.%d.1", i / 250, i % 250);
        if (fold_takes(bench->fold, REASON_CREDENTIAL_MISSING, span_text(client), i, WALL_US))
            folded++;
        else
            rows++;
    }
    assert_true(rows <= 4096 + 10);
    fold_tick(bench->fold, bench->ring, SECOND_US * 3, WALL_US, false);
    audit_close(&bench->audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT sum(json_extract(detail, '$.count')) FROM event"), folded);
}

static bool takes_call(struct bench *bench, const char *tenant, const char *tool, const char *rule, uint32_t rows)
{
    const struct fold_call call = {.reason = REASON_REQUEST_RATE, .tenant = span_text(tenant), .principal = SPAN_LIT("a\"b\\"),
                                   .tool = tool != NULL ? span_text(tool) : SPAN_NONE,
                                   .rule = rule != NULL ? span_text(rule) : SPAN_NONE};

    return fold_takes_call(bench->fold, &call, rows, 0, WALL_US);
}

#define TIMES "\"first\":\"2023-11-14T22:13:20.000000Z\",\"last\":\"2023-11-14T22:13:20.000000Z\"}"

/* 4.12: one principal's refusals are counted by it, whatever its address, and its names cannot break the event. 10.41: in its
 * tenant's chain, with the tool and the rule where all had the same. */
TEST_CASE_WITH(test_principals, setup, teardown)
{
    struct bench *bench = *state;
    int folded = 0;

    for (int i = 0; i < 100; i++)
        folded += takes_call(bench, "acme", NULL, NULL, FOLD_ROWS_A_SECOND);
    for (int i = 0; i < 260; i++)
        folded += takes_call(bench, "globex", "x\"", "r", FOLD_DENIALS_A_SECOND);
    for (int i = 0; i < 260; i++)
        folded += takes_call(bench, "initech", i % 2 == 0 ? "x" : "y", "r", FOLD_DENIALS_A_SECOND);
    assert_int_equal(folded, 90 + 10 + 10);
    assert_false(takes_call(bench, "umbrella", NULL, NULL, FOLD_ROWS_A_SECOND));
    assert_false(fold_takes(bench->fold, REASON_REQUEST_RATE, SPAN_LIT("10.0.0.1"), 0, WALL_US));
    fold_tick(bench->fold, bench->ring, 2 * SECOND_US, WALL_US, false);
    audit_close(&bench->audit);
    assert_string_equal(audit_file_ask(&bench->file, "SELECT group_concat(tenant || ' ' || detail, ' ') FROM (SELECT * FROM event "
                                                     "WHERE kind = 'folded' ORDER BY tenant)"),
                        "acme {\"reason\":\"request_rate\",\"tenant\":\"acme\",\"principal\":\"a\\\"b\\\\\",\"count\":90," TIMES
                        " globex {\"reason\":\"request_rate\",\"tenant\":\"globex\",\"principal\":\"a\\\"b\\\\\",\"tool\":\"x\\\"\","
                        "\"rule\":\"r\",\"count\":10," TIMES
                        " initech {\"reason\":\"request_rate\",\"tenant\":\"initech\",\"principal\":\"a\\\"b\\\\\",\"rule\":\"r\","
                        "\"count\":10," TIMES);
}

/* 10.41: two resources whose URIs begin alike are not told as one */
TEST_CASE_WITH(test_long_names, setup, teardown)
{
    struct bench *bench = *state;
    char uri[201] = {0};

    memset(uri, 'u', sizeof uri - 1);
    for (int i = 0; i < 260; i++) {
        uri[sizeof uri - 2] = (char)('0' + i % 2);
        (void)takes_call(bench, "acme", uri, "r", FOLD_DENIALS_A_SECOND);
    }
    fold_tick(bench->fold, bench->ring, 2 * SECOND_US, WALL_US, false);
    audit_close(&bench->audit);
    assert_int_equal(audit_file_number(&bench->file, "SELECT count(*) FROM event WHERE kind = 'folded' AND "
                                                     "json_extract(detail, '$.tool') IS NULL"), 1);
}

TEST_CASE(test_out_of_memory)
{
    struct fold *fold;

    mem_fail_at(1, 0);
    assert_int_equal(fold_new(&fold), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_null(fold);
    fold_free(&fold);
}

TEST_MAIN(NULL, NULL)
