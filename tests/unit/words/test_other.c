/* SPDX-License-Identifier: Apache-2.0 */
/* 12.6: values compared with other arguments, with claims of who calls and with the moment of the call. */
#include "unit/policy/rows.h"

struct whole_row {
    const char *condition, *arguments;
    char closing, opening;
};

static void check_whole(const struct whole_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int opening = 0; opening <= 1; opening++) {
            char truth = truth_of_condition(rows[i].condition, span_text(rows[i].arguments), opening);

            if (truth != (opening ? rows[i].opening : rows[i].closing))
                fail_msg("%s of %s is %c in %s place", rows[i].condition, rows[i].arguments, truth,
                         opening ? "an opening" : "a closing");
        }
}

/* 12.6: two arguments; what is not there, or of another type, is undecided, so that leaving it out opens nothing. */
TEST_CASE(test_arguments)
{
    static const struct whole_row rows[] = {
        {"{arg: a, equals: {arg: b}}", "{\"a\":\"x\",\"b\":\"x\"}", 'T', 'T'},
        {"{arg: a, equals: {arg: b}}", "{\"a\":\"x\",\"b\":\"X\"}", 'F', 'F'},
        {"{arg: a, equals: {arg: b}}", "{\"a\":1.0,\"b\":1}", 'T', 'T'},
        {"{arg: a, equals: {arg: b}}", "{\"a\":true,\"b\":false}", 'F', 'F'},
        {"{arg: a, equals: {arg: b}}", "{\"a\":null,\"b\":null}", 'T', 'T'},
        {"{arg: a, equals: {arg: b}}", "{\"a\":[1],\"b\":[1.0]}", 'T', 'T'},
        {"{arg: a, equals: {arg: b}}", "{\"a\":\"1\",\"b\":1}", 'U', 'U'},
        {"{arg: a, equals: {arg: b}}", "{\"a\":\"x\",\"b\":null}", 'U', 'U'},
        {"{arg: a, equals: {arg: b}}", "{\"a\":\"x\"}", 'U', 'U'},
        {"{arg: a, equals: {arg: b}}", "{\"b\":\"x\"}", 'F', 'T'}, /* absent is the argument that is asked about */
        {"{arg: a, equals: {arg: '$.o.list[0]'}}", "{\"a\":\"x\",\"o\":{\"list\":[\"x\"]}}", 'T', 'T'},
        {"{arg: '$.l[*]', equals: {arg: b}}", "{\"l\":[\"x\",\"y\"],\"b\":\"x\"}", 'T', 'F'},
        {"{arg: a, equals: {arg: b}, ignore_case: true}", "{\"a\":\"x\",\"b\":\"X\"}", 'T', 'T'},
        {"{arg: a, equals: {arg: b}, decode: [percent]}", "{\"a\":\"%78\",\"b\":\"x\"}", 'T', 'F'},
        {"{arg: a, equals: {arg: 5}}", "{\"a\":{\"arg\":5}}", 'T', 'T'}, /* an object, as no path is a number */
        {"{arg: a, in: [{arg: b}]}", "{\"a\":{\"arg\":\"b\"},\"b\":1}", 'T', 'T'},
        {"{arg: a, not_equals: {arg: b}}", "{\"a\":\"x\",\"b\":\"y\"}", 'T', 'T'},
        {"{arg: a, not_equals: {arg: b}}", "{\"a\":\"x\",\"b\":\"x\"}", 'F', 'F'},
        {"{arg: a, not_equals: {arg: b}}", "{\"a\":\"x\",\"b\":5}", 'U', 'U'},
        {"{arg: a, not_equals: {arg: b}}", "{\"a\":\"x\"}", 'U', 'U'},
        {"{arg: a, not_equals: x}", "{\"a\":\"y\"}", 'T', 'T'},
        {"{arg: a, not_equals: x}", "{\"a\":5}", 'T', 'T'},
        {"{arg: a, not_equals: x, ignore_case: true}", "{\"a\":\"X\"}", 'F', 'F'},
        {"{arg: '$.l[*]', not_equals: x}", "{\"l\":[\"x\",\"y\"]}", 'T', 'F'},
        {"{arg: a, not_equals: x, not_matches: 'z.*', is: string}", "{\"a\":\"y\"}", 'T', 'T'},
        {"{arg: a, not_equals: x, not_matches: 'z.*', is: string}", "{\"a\":\"zz\"}", 'F', 'F'},
        {"{arg: a, in: {arg: list}}", "{\"a\":\"x\",\"list\":[1,\"x\"]}", 'T', 'T'},
        {"{arg: a, in: {arg: list}}", "{\"a\":\"x\",\"list\":[1,\"y\"]}", 'F', 'F'},
        {"{arg: a, in: {arg: list}}", "{\"a\":\"x\",\"list\":[]}", 'F', 'F'},
        {"{arg: a, in: {arg: list}}", "{\"a\":\"x\",\"list\":\"x\"}", 'U', 'U'},
        {"{arg: a, in: {arg: list}}", "{\"a\":\"x\",\"list\":{\"x\":\"x\"}}", 'U', 'U'},
        {"{arg: a, in: {arg: list}}", "{\"a\":\"x\"}", 'U', 'U'},
        {"{arg: a, min: {arg: b}}", "{\"a\":2,\"b\":1.5}", 'T', 'T'},
        {"{arg: a, min: {arg: b}}", "{\"a\":1,\"b\":1.5}", 'F', 'F'},
        {"{arg: a, max: {arg: b}}", "{\"a\":1.50,\"b\":1.5}", 'T', 'T'},
        {"{arg: a, max: {arg: b}}", "{\"a\":1,\"b\":\"9\"}", 'U', 'U'},
        {"{arg: a, max: {arg: b}}", "{\"a\":1,\"b\":9007199254740993}", 'U', 'U'},
        {"{arg: a, max: {arg: b}}", "{\"a\":1}", 'U', 'U'},
        {"{arg: a, max: {claim: c}}", "{\"a\":1}", 'U', 'U'}, /* who has no token has no claims */
    };

    check_whole(rows, sizeof rows / sizeof *rows);
}

/* 12.6: moments, whatever their offsets. */
TEST_CASE(test_times)
{
    static const struct row types[] = {
        {"is: time", "\"2026-11-28T12:00:00Z\"", 'T', 'T'},
        {"is: time", "\"2026-11-28t12:00:00.5+01:00\"", 'T', 'T'},
        {"is: time", "\"2026-11-28T12:00:00\"", 'F', 'F'},
        {"is: time", "\"2026-11-28\"", 'F', 'F'},
        {"is: time", "1764331200", 'F', 'F'},
        {"is: time", "null", 'F', 'F'},
        {"is: [time, 'null']", "null", 'T', 'T'},
        {"is: [time, string]", "\"x\"", 'T', 'T'},
        {"is: [string, time]", "\"x\"", 'T', 'T'},
    };
    static const struct whole_row rows[] = {
        {"{arg: a, is: time, min: {arg: b}}", "{\"a\":\"2026-01-01T12:00:00Z\",\"b\":\"2026-01-01T12:30:00+01:00\"}", 'T', 'T'},
        {"{arg: a, is: time, min: {arg: b}}", "{\"a\":\"2026-01-01T12:00:00Z\",\"b\":\"2026-01-01T11:30:00-01:00\"}", 'F', 'F'},
        {"{arg: a, is: time, max: {arg: b, plus: 31d}}", "{\"a\":\"2026-02-01T00:00:00Z\",\"b\":\"2026-01-01T00:00:00Z\"}", 'T', 'T'},
        {"{arg: a, is: time, max: {arg: b, plus: 31d}}", "{\"a\":\"2026-02-01T00:00:01Z\",\"b\":\"2026-01-01T00:00:00Z\"}", 'F', 'F'},
        {"{arg: a, is: time, min: {arg: b, plus: -1h}}", "{\"a\":\"2026-01-01T11:00:00Z\",\"b\":\"2026-01-01T12:00:00Z\"}", 'T', 'T'},
        {"{arg: a, is: time, min: {arg: b}}", "{\"a\":\"2026-01-01T12:00:00Z\",\"b\":\"2026-01-01\"}", 'U', 'U'},
        {"{arg: a, is: time, min: {arg: b}}", "{\"a\":\"2026-01-01T12:00:00Z\"}", 'U', 'U'},
        {"{arg: a, is: time, min: '2026-01-01T00:00:00Z'}", "{\"a\":\"2026-01-01T01:00:00+01:00\"}", 'T', 'T'},
        {"{arg: a, is: time, min: '2026-01-01T00:00:00Z'}", "{\"a\":\"2026-01-01T01:00:00+01:01\"}", 'F', 'F'},
        {"{arg: a, is: time, min: '2026-01-01T00:00:00Z'}", "{\"a\":\"soon\"}", 'F', 'F'},
        {"{arg: a, is: time, max: now}", "{\"a\":\"2026-01-01T00:00:00Z\"}", 'U', 'U'}, /* when the call comes is not known */
    };

    CHECK(types);
    check_whole(rows, sizeof rows / sizeof *rows);
}

/* 12.6: now is the moment of the call, claims are those of who calls. */
TEST_CASE(test_now_and_claims)
{
    static struct court court;
    struct question question = plain_question();
    static struct court claims;

    court_open(&court, "policy: p\nrules:\n  - {id: r, effect: permit, match: {tools: [t]}, when: [{arg: from, is: time, min: now, max: "
                       "{now: true, plus: 2d}}, {arg: team, in: {claim: teams}}, {arg: who, equals: {claim: '$.sub'}}]}\n");
    court_open(&claims, "policy: c\nrules: []\n");
    question.time_us = INT64_C(1767225600000000); /* 2026-01-01T00:00:00Z */
    question.claims = court_tree(&claims, SPAN_LIT("{\"teams\":[\"red\",\"blue\"],\"sub\":\"ada\"}"));
    assert_int_equal(judge(&court, question, "{\"from\":\"2026-01-01T00:00:00Z\",\"team\":\"red\",\"who\":\"ada\"}")->kind,
                     VERDICT_PERMIT);
    assert_int_equal(judge(&court, question, "{\"from\":\"2026-01-03T01:00:00+01:00\",\"team\":\"red\",\"who\":\"ada\"}")->kind,
                     VERDICT_PERMIT);
    assert_int_equal(judge(&court, question, "{\"from\":\"2026-01-03T00:00:01Z\",\"team\":\"red\",\"who\":\"ada\"}")->kind,
                     VERDICT_DENY);
    assert_int_equal(judge(&court, question, "{\"from\":\"2025-12-31T23:59:59Z\",\"team\":\"red\",\"who\":\"ada\"}")->kind,
                     VERDICT_DENY);
    assert_int_equal(judge(&court, question, "{\"from\":\"2026-01-01T00:00:00Z\",\"team\":\"green\",\"who\":\"ada\"}")->kind,
                     VERDICT_DENY);
    assert_int_equal(judge(&court, question, "{\"from\":\"2026-01-01T00:00:00Z\",\"team\":\"red\",\"who\":\"bob\"}")->kind,
                     VERDICT_DENY);
    question.claims = NULL;
    assert_int_equal(judge(&court, question, "{\"from\":\"2026-01-01T00:00:00Z\",\"team\":\"red\",\"who\":\"ada\"}")->kind,
                     VERDICT_DENY);
    assert_true(policy_asks_claims(court.policy)); /* they are kept in the audit */
    court_close(&claims);
    court_close(&court);
}

/* 12.6: what cannot be meant is said with its repair. */
TEST_CASE(test_faults)
{
    expect_fault("permit", "{arg: a, equals: {arg: '$..b'}}", "may select several values");
    expect_fault("permit", "{arg: a, equals: {arg: '$.['}}", "the path `$.[`");
    expect_fault("permit", "{arg: a, min: now}", "`is: time` beside it");
    expect_fault("permit", "{arg: a, min: {arg: b, plus: 1d}}", "`is: time` beside it");
    expect_fault("permit", "{arg: a, is: time, min: 5}", "a bound is a moment");
    expect_fault("permit", "{arg: a, is: time, min: '2026-01-01'}", "a time with its offset");
    expect_fault("permit", "{arg: a, is: time, min: {arg: b, claim: c}}", "one thing");
    expect_fault("permit", "{arg: a, is: time, min: {plus: 1d}}", "one thing");
    expect_fault("permit", "{arg: a, is: time, min: {now: false}}", "one thing");
    expect_fault("permit", "{arg: a, is: time, min: {arg: b, plus: 5}}", "how much later");
    expect_fault("permit", "{arg: a, is: time, min: {arg: b, plus: 1y}}", "how much later");
    expect_fault("permit", "{arg: a, is: time, min: {arg: b, add: 1d}}", "a moment knows no `add`");
}

TEST_MAIN(NULL, NULL)
