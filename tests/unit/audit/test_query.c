/* SPDX-License-Identifier: Apache-2.0 */
/* 1.28: audit query: each filter alone and together, over indexed parts and what is above them. */
#include "audit/query.h"

#include "base/mem.h"
#include "fakes/audit_file.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 9000
#define BEGIN_US 1700000000000000

static struct audit_file file;

static const char *const tools[] = {"read", "write", "send"};

/* Call i: tenant t0..t4, tool by thirds, every seventh denied, every eleventh held; one second apart. */
static void fill(struct audit_ring *ring)
{
    struct audit_decision decision = audit_call("", "");
    char tenant[16], correlation[16], rule[16];
    uint64_t ticket = 0, seq;

    decision.expects_outcome = false;
    for (int i = 0; i < CALLS; i++) {
        (void)snprintf(tenant, sizeof tenant, "t%d", i % 5);
        (void)snprintf(correlation, sizeof correlation, "c-%d", i / 2);
        (void)snprintf(rule, sizeof rule, "rule-%d", i % 4);
        decision.time_us = BEGIN_US + (int64_t)i * 1000000;
        decision.tenant = span_text(tenant);
        decision.correlation = span_text(correlation);
        decision.tool = span_text(tools[i % 3]);
        decision.rule = span_text(rule);
        decision.principal = i % 2 == 0 ? SPAN_LIT("bot") : SPAN_LIT("robot");
        decision.verdict = i % 7 == 0 ? AUDIT_DENY : i % 11 == 0 ? AUDIT_HOLD : AUDIT_PERMIT;
        decision.reason = i % 7 == 0 ? REASON_FORBIDDEN : i % 11 == 0 ? REASON_APPROVAL_REQUIRED : REASON_PERMITTED;
        ticket = audit_file_put(ring, &decision);
    }
    assert_int_equal(audit_file_wait(ring, ticket, &seq), AUDIT_DURABLE);
}

static int setup(void **state)
{
    struct audit *audit;

    (void)state;
    audit_file_init(&file);
    audit = audit_file_open(&file, 1);
    fill(audit_ring(audit, 0));
    for (int tries = 0; audit_file_number(&file, "SELECT count(*) FROM part") < 2; tries++) {
        assert_true(tries < 2000);
        (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
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

struct seen {
    uint64_t rows;
    long long first, last; /* seq */
    bool ordered;
    enum code answer;
};

static enum code see(void *context, const struct query_row *row)
{
    struct seen *seen = context;
    long long seq;

    assert_string_equal(row->names[0], "seq");
    assert_true(row->values[0].is_number);
    seq = strtoll(row->values[0].text.at, NULL, 10);
    seen->ordered = seen->rows == 0 || (seen->ordered && seq > seen->last);
    seen->first = seen->rows == 0 ? seq : seen->first;
    seen->last = seq;
    seen->rows++;
    return seen->answer;
}

static struct seen ask(const struct query *query, bool more)
{
    struct seen seen = {.ordered = true};
    struct why why = {0};
    bool is_more;

    if (audit_query(file.path, query, see, &seen, &is_more, &why) != CODE_OK)
        fail_msg("%s", why.text);
    assert_true(seen.ordered);
    assert_int_equal(is_more, more);
    return seen;
}

static uint64_t count(const struct query *query)
{
    return ask(query, false).rows;
}

static int expected(bool (*is)(int i))
{
    int sum = 0;

    for (int i = 0; i < CALLS; i++)
        sum += is(i);
    return sum;
}

static bool is_t3(int i) { return i % 5 == 3; }
static bool is_send(int i) { return i % 3 == 2; }
static bool is_denied_send(int i) { return i % 3 == 2 && i % 7 == 0; }
static bool is_held_send(int i) { return i % 3 == 2 && i % 7 != 0 && i % 11 == 0; }
static bool is_permit(int i) { return i % 7 != 0 && i % 11 != 0; }
static bool is_rule_1(int i) { return i % 4 == 1; }
static bool is_robot(int i) { return i % 2 == 1; }
static bool is_forbidden(int i) { return i % 7 == 0; }
static bool is_t3_in_time(int i) { return i % 5 == 3 && i >= 100 && i < 8800; }

static void test_each_filter(void **state)
{
    (void)state;
    assert_int_equal(count(&(struct query){0}), CALLS);
    assert_int_equal(count(&(struct query){.tenant = SPAN_LIT("t3")}), expected(is_t3));
    assert_int_equal(count(&(struct query){.tenant = SPAN_LIT("t")}), 0);
    assert_int_equal(count(&(struct query){.tool = SPAN_LIT("send")}), expected(is_send));
    assert_int_equal(count(&(struct query){.tool = SPAN_LIT("send"), .verdict = SPAN_LIT("deny")}), expected(is_denied_send));
    assert_int_equal(count(&(struct query){.tool = SPAN_LIT("send"), .verdict = SPAN_LIT("hold")}), expected(is_held_send));
    assert_int_equal(count(&(struct query){.verdict = SPAN_LIT("permit")}), expected(is_permit));
    assert_int_equal(count(&(struct query){.rule = SPAN_LIT("rule-1")}), expected(is_rule_1));
    assert_int_equal(count(&(struct query){.principal = SPAN_LIT("robot")}), expected(is_robot));
    assert_int_equal(count(&(struct query){.reason = SPAN_LIT("forbidden")}), expected(is_forbidden));
}

static void test_correlation_wherever_it_lies(void **state)
{
    static const char *const ids[] = {"c-0", "c-2000", "c-4095", "c-4096", "c-4499"};

    (void)state;
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++)
        assert_int_equal(count(&(struct query){.correlation = span_text(ids[i])}), 2);
    assert_int_equal(count(&(struct query){.correlation = SPAN_LIT("c-1"), .principal = SPAN_LIT("bot")}), 1);
    assert_int_equal(count(&(struct query){.correlation = SPAN_LIT("c-9999")}), 0);
    assert_int_equal(count(&(struct query){.correlation = SPAN_LIT("")}), 0);
}

static void test_time(void **state)
{
    struct seen seen = ask(&(struct query){.since_us = BEGIN_US + 5000000, .until_us = BEGIN_US + 8000000}, false);

    (void)state;
    assert_int_equal(seen.rows, 3);
    assert_int_equal(seen.first, 2 + 5);
    assert_int_equal(count(&(struct query){.since_us = BEGIN_US + (int64_t)(CALLS - 4) * 1000000}), 4);
    assert_int_equal(count(&(struct query){.until_us = BEGIN_US}), 0);
    assert_int_equal(count(&(struct query){.tenant = SPAN_LIT("t3"), .since_us = BEGIN_US + 100000000,
                                           .until_us = BEGIN_US + 8800000000}), expected(is_t3_in_time));
}

static void test_limit_takes_the_newest(void **state)
{
    struct seen seen = ask(&(struct query){.limit = 10}, true);

    (void)state;
    assert_true(seen.rows == 10 && seen.last == CALLS + 1 && seen.first == CALLS - 8);
    assert_int_equal(ask(&(struct query){.limit = CALLS}, false).rows, CALLS);
    assert_int_equal(ask(&(struct query){.tenant = SPAN_LIT("t3"), .limit = 1}, true).last, 2 + 8998);
}

static void test_the_callback_ends_it(void **state)
{
    struct seen seen = {.ordered = true, .answer = CODE_IO};
    struct why why = {0};
    bool more;

    (void)state;
    assert_int_equal(audit_query(file.path, &(struct query){0}, see, &seen, &more, &why), CODE_IO);
    assert_int_equal(seen.rows, 1);
}

/* Each allocation in turn fails: an error, no crash, nothing lost (the sanitizer watches). */
static void test_out_of_memory(void **state)
{
    const struct query query = {.tenant = SPAN_LIT("t3"), .tool = SPAN_LIT("send"), .limit = 50};
    enum code code = CODE_NOMEM;

    (void)state;
    for (uint64_t n = 1; code != CODE_OK; n++) {
        struct seen seen = {.ordered = true};
        struct why why = {0};
        bool more;

        assert_true(n < 1000);
        mem_fail_at(n, 0);
        code = audit_query(file.path, &query, see, &seen, &more, &why);
        mem_fail_at(0, 0);
        assert_true(code == CODE_OK || code == CODE_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_filter),        cmocka_unit_test(test_correlation_wherever_it_lies),
        cmocka_unit_test(test_time),               cmocka_unit_test(test_limit_takes_the_newest),
        cmocka_unit_test(test_the_callback_ends_it), cmocka_unit_test(test_out_of_memory),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
