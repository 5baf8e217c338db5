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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_too_costly),
        cmocka_unit_test(test_costly_without_regexes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
