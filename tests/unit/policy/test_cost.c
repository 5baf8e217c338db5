/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/policy/judge.h"

/* 1.21: a call that uses up its budget is denied, too_costly,
    whatever else applies; monitored rules cannot do that. */
static void test_too_costly(void **state)
{
    size_t len = 1 << 20;
    char *json = malloc(len + 16), text[2048];
    struct court court;

    (void)state;
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
static void test_costly_without_regexes(void **state)
{
    static const char *const conditions[] = {"{arg: v, contains: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab}",
                                             "{arg: v, min_length: 5000000}",
                                             "{arg: v, glob: '*aaaab'}", "{arg: '$.n..*..*', equals: x}"};
    size_t len = 4 << 20, at;
    char *json = malloc(len + 300000), *text = malloc(65536);
    struct court court;

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_costly),
        cmocka_unit_test(test_costly_without_regexes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
