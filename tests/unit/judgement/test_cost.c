/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/policy/judge.h"

#include "judgement/candidates_priv.h"
#include "judgement/judgement.h"
#include "policy/walk.h"

/* 1.21: a call that uses up its budget is denied, too_costly,
    whatever else applies; monitored rules cannot do that. */
TEST_CASE(test_too_costly)
{
    size_t len = 1 << 20;
    char *json = malloc(len + 16), text[2048];
    struct court court;

    assert_non_null(json);
    memcpy(json, "{\"v\":\"", 6);
    memset(json + 6, ' ', len);
    memcpy(json + 6 + len, "!\"}", 4);
    for (int monitor = 0; monitor < 2; monitor++) {
        size_t at = (size_t)snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: a, effect: permit}\n");

        for (int i = 0; i < 12; i++)
            at += (size_t)snprintf(text + at, sizeof text - at,
                                   "  - {id: f%d, effect: forbid, slow_regex: allow%s,\n"
                                   "     when: [{arg: v, matches: '\\s++\\d'}]}\n",
                                   i, monitor ? ", mode: monitor" : "");
        court_open(&court, text);
        judge_args(&court, json);
        assert_int_equal(court.verdict.kind, monitor ? VERDICT_PERMIT : VERDICT_DENY);
        assert_int_equal(court.verdict.reason, monitor ? REASON_PERMITTED : REASON_TOO_COSTLY);
        if (monitor)
            assert_int_equal(court.verdict.monitor_kind, VERDICT_DENY);
        else
            assert_null(court.verdict.rule.at);
        court_close(&court);
    }
    free(json);
}

/* 1.21: what is no regex takes from the same budget, which ends the call wherever it is used up. */
TEST_CASE(test_costly_without_regexes)
{
    static const char *const conditions[] = {"{arg: v, contains: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab}",
                                             "{arg: v, min_length: 5000000}",
                                             "{arg: v, glob: '*aaaab'}", "{arg: '$.n..*..*', equals: x}",
                                             "{arg: v, equals: x, decode: [percent, base64, unicode, html, json]}",
                                             "{arg: v, equals: x, decode: [hex, homoglyph]}"};
    size_t len = 4 << 20, at;
    char *json = malloc(len + 300000), *text = malloc(65536);
    struct court court;

    assert_non_null(json);
    assert_non_null(text);
    at = (size_t)snprintf(json, 64, "{\"v\":\"");
    memset(json + at, 'a', len);
    at += len + (size_t)snprintf(json + at + len, 64, "\",\"n\":[1");
    for (int i = 0; i < 1000; i++) {
        json[at] = ',';
        memset(json + at + 1, '[', 61);
        json[at + 62] = '1';
        memset(json + at + 63, ']', 61);
        at += 124;
    }
    memcpy(json + at, "]}", 3);
    for (size_t c = 0; c < sizeof conditions / sizeof conditions[0]; c++)
        for (int rules = 1; rules <= 100; rules += 99) {
            size_t end = (size_t)snprintf(text, 64, "policy: p\nrules:\n  - {id: a, effect: permit}\n");

            for (int i = 0; i < rules; i++)
                end += (size_t)snprintf(text + end, 256, "  - {id: f%d, effect: forbid, when: [%s]}\n", i, conditions[c]);
            court_open(&court, text);
            judge_args(&court, json);
            assert_int_equal(court.verdict.reason, rules == 1 ? REASON_PERMITTED : REASON_TOO_COSTLY);
            assert_in_range(court.verdict.work, 1, 130000000);
            court_close(&court);
        }
    free(json);
    free(text);
}

static char *many(const char *element, size_t count)
{
    size_t len = strlen(element), at = 6;
    char *json = malloc(at + count * (len + 1) + 2);

    assert_non_null(json);
    memcpy(json, "{\"v\":[", 6);
    for (size_t i = 0; i < count; i++) {
        memcpy(json + at, element, len);
        json[at + len] = ',';
        at += len + 1;
    }
    memcpy(json + at - 1, "]}", 3);
    return json;
}

/* 1.21: each comparison with a member of a list counts. */
TEST_CASE(test_long_lists)
{
    char *json = many("{\"a\":1,\"b\":[0]}", 40000), *text = malloc(65536);
    size_t at = (size_t)snprintf(text, 256, "policy: p\nrules:\n  - {id: a, effect: permit, when: [{not: {arg: '$..*', in: [");
    struct court court;

    for (int i = 1; i <= 300; i++)
        at += (size_t)snprintf(text + at, 64, "{a: 1, b: [%d]},", i);
    snprintf(text + at - 1, 64, "]}}]}\n");
    court_open(&court, text);
    judge_args(&court, json);
    assert_int_equal(court.verdict.reason, REASON_TOO_COSTLY);
    court_close(&court);
    free(json);
    free(text);
}

/* 1.21, 2.12: the clock is looked at within a leaf that has no regex, also where the path selects next to nothing. */
TEST_CASE(test_clock_within_a_leaf)
{
    static const char *const conditions[] = {"{arg: '$..*', equals: x}", "{arg: '$..none..none', equals: x}",
                                             "{arg: v, contains: x}", "{arg: '$..*', cidr: [10.0.0.0/8, '2001:db8::/32']}"};
    char *json = many("\"192.0.2.1\"", 100000), text[256];
    struct court court;

    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        struct question question = plain_question();
        struct regex_budget budget;
        uint64_t whole;

        snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: a, effect: permit}\n  - {id: f, effect: forbid, when: [%s]}\n",
                 conditions[i]);
        court_open(&court, text);
        judge_args(&court, json);
        assert_int_equal(court.verdict.reason, REASON_PERMITTED);
        whole = court.verdict.work;
        question.root = court_tree(&court, span_text(json));
        regex_budget_init_timed(&budget);
        budget.cpu_until_us = 1; /* long over */
        budget.look_at = 0;
        policy_judge(court.policy, &question, &budget, court.scratch, NULL, &court.verdict);
        assert_int_equal(court.verdict.reason, REASON_TOO_COSTLY);
        assert_true(court.verdict.work < whole / 2 || i == 2); /* one charge pays for the whole array */
        court_close(&court);
    }
    free(json);
}

static int64_t ticks_us;

static int64_t ticking_us(void)
{
    return ticks_us += 1000;
}

/* 2.12: monitored rules take of the time what the others have left, not as much again. */
TEST_CASE(test_one_time_for_all_rules)
{
    char *json = many("\"192.0.2.1\"", 100000), text[1024];
    size_t at = (size_t)snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: a, effect: permit}\n");
    struct question question = plain_question();
    struct regex_budget budget;
    struct court court;

    for (int i = 0; i < 6; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "  - {id: f%d, effect: forbid%s, when: [{arg: '$..*', matches: '19+x'}]}\n",
                               i, i < 3 ? "" : ", mode: monitor");
    court_open(&court, text);
    question.root = court_tree(&court, span_text(json));
    regex_budget_init_timed(&budget);
    budget.now_us = ticking_us;
    policy_judge(court.policy, &question, &budget, court.scratch, NULL, &court.verdict);
    assert_int_equal(court.verdict.reason, REASON_TOO_COSTLY);
    assert_int_equal(court.verdict.monitor_kind, VERDICT_DENY);
    assert_in_range(ticks_us / 1000, 15, 22);
    court_close(&court);
    free(json);
}

static int64_t stopped_us(void)
{
    return 1;
}

/* 2.12: nor do they begin, once time is over, a stretch that is too short to look at the clock before it. */
TEST_CASE(test_no_time_left_for_monitored_rules)
{
    size_t len = 250000;
    char *json = malloc(len + 16);
    struct question question = plain_question();
    struct regex_budget budget;
    struct court court;

    assert_non_null(json);
    memcpy(json, "{\"v\":\"", 6);
    memset(json + 6, 'a', len);
    memcpy(json + 6 + len, "\"}", 3);
    court_open(&court, "policy: p\nrules:\n  - {id: f, effect: forbid, when: [{arg: v, matches: x}]}\n"
                       "  - {id: g, effect: forbid, when: [{arg: v, matches: y}]}\n"
                       "  - {id: m, effect: forbid, mode: monitor, slow_regex: allow,\n"
                       "     when: [{arg: v, matches: '\\p{L}*+\\d'}]}\n");
    question.root = court_tree(&court, span_text(json));
    regex_budget_init_timed(&budget);
    budget.now_us = stopped_us;
    budget.cpu_until_us = 1;
    policy_judge(court.policy, &question, &budget, court.scratch, NULL, &court.verdict);
    assert_int_equal(court.verdict.reason, REASON_TOO_COSTLY);
    assert_true(court.verdict.work < budget.work + len);
    court_close(&court);
    free(json);
}

TEST_MAIN(NULL, NULL)
