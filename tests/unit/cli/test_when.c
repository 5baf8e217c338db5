/* SPDX-License-Identifier: Apache-2.0 */
/* Points of time on command lines (2.5). */
#include "cli/when.h"

#include "os/clock.h"
#include "fakes/cm.h"

#include <string.h>

#define NOW_US INT64_C(1700000000123456) /* 2023-11-14T22:13:20.123456Z */

TEST_CASE(test_times)
{
    static const struct {
        const char *text, *meant;
    } cases[] = {
        {"now", "2023-11-14T22:13:20.123456Z"}, {"2h", "2023-11-14T20:13:20.123456Z"},
        {"today", "2023-11-14T00:00:00.000000Z"}, {"yesterday", "2023-11-13T00:00:00.000000Z"}, /* 4.18 */
        {"1700000000", "2023-11-14T22:13:20.000000Z"}, {"999999999", "2001-09-09T01:46:39.000000Z"},
        {"7d", "2023-11-07T22:13:20.123456Z"}, {"30min", "2023-11-14T21:43:20.123456Z"},
        {"250ms", "2023-11-14T22:13:19.873456Z"}, {"2023-11-14", "2023-11-14T00:00:00.000000Z"},
        {"2024-02-29", "2024-02-29T00:00:00.000000Z"}, {"2000-03-01", "2000-03-01T00:00:00.000000Z"},
        {"1970-01-01", "1970-01-01T00:00:00.000000Z"}, {"2023-11-14T08:09", "2023-11-14T08:09:00.000000Z"},
        {"2023-11-14 08:09:10", "2023-11-14T08:09:10.000000Z"}, {"2023-11-14T08:09:10Z", "2023-11-14T08:09:10.000000Z"},
        {"2023-11-14T08:09:10.5Z", "2023-11-14T08:09:10.500000Z"},
        {"2023-11-14T08:09:10.123456Z", "2023-11-14T08:09:10.123456Z"},
        {"2023-11-14T00:30+02:00", "2023-11-13T22:30:00.000000Z"},
        {"2023-11-14T23:30:00-01:30", "2023-11-15T01:00:00.000000Z"},
    };
    struct why why = {""};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[CLOCK_TEXT_BYTES];
        int64_t time_us;

        if (when_parse(span_text(cases[i].text), NOW_US, &time_us, &why) != CODE_OK)
            fail_msg("%s: %s", cases[i].text, why.text);
        clock_text(time_us, text);
        if (strcmp(text, cases[i].meant) != 0)
            fail_msg("%s is %s, not %s", cases[i].text, text, cases[i].meant);
    }
}

TEST_CASE(test_what_is_no_time)
{
    static const char *const cases[] = {
        "", "2", "h", "-2h", "Yesterday", "tomorrow", "20231114", "99999999999999999999", "-1700000000", "1700000000.5",
        "2023-1-1", "2023-13-01", "2023-02-29", "2100-02-29", "2023-00-10", "2023-11-31",
        "1969-12-31", "2023-11-14T", "2023-11-14T8:09", "2023-11-14T24:00", "2023-11-14T08:60", "2023-11-14T08:09:60",
        "2023-11-14T08:09:10.", "2023-11-14T08:09:10.1234567Z", "2023-11-14T08:09Zx", "2023-11-14T08:09+2:00",
        "2023-11-14T08:09+24:00", "2023-11-14x", "999999999999d",
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct why why = {""};
        int64_t time_us = 0;

        if (when_parse(span_text(cases[i]), NOW_US, &time_us, &why) != CODE_INVALID)
            fail_msg("\"%s\" was taken", cases[i]);
        assert_non_null(strstr(why.text, "2026-11-20"));
    }
}

/* How long ago is told by what is easy to read: each unit up to two of the next. */
TEST_CASE(test_ages)
{
    static const struct {
        int64_t seconds;
        const char *told;
    } cases[] = {
        {-5, "0 s"}, {0, "0 s"}, {119, "119 s"}, {120, "2 min"}, {7199, "119 min"}, {7200, "2 h"}, {172799, "47 h"}, {172800, "2 d"},
        {86400 * 30, "30 d"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[WHEN_AGE_BYTES];

        assert_string_equal(when_age(NOW_US - cases[i].seconds * 1000000, NOW_US, text), cases[i].told);
    }
}

TEST_MAIN(NULL, NULL)
