/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"

#include "os/clock.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

TEST_CASE(texts_of_known_moments)
{
    static const struct {
        int64_t us;
        const char *text;
    } known[] = {
        {0, "1970-01-01T00:00:00.000000Z"},
        {-1, "1969-12-31T23:59:59.999999Z"},
        {INT64_C(951782400000001), "2000-02-29T00:00:00.000001Z"},
        {INT64_C(1795187045123456), "2026-11-20T15:04:05.123456Z"},
        {INT64_C(4107542399999999), "2100-02-28T23:59:59.999999Z"},
        {INT64_C(4107542400000000), "2100-03-01T00:00:00.000000Z"},
        {INT64_C(253402300799999999), "9999-12-31T23:59:59.999999Z"},
    };
    char text[CLOCK_TEXT_BYTES];

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        clock_text(known[i].us, text);
        assert_string_equal(text, known[i].text);
    }
}

TEST_CASE(text_agrees_with_the_c_library)
{
    char text[CLOCK_TEXT_BYTES], expected[64];

    /* A prime step passes through all months, leap years and times of day. */
    for (int64_t second = 0; second < INT64_C(8000000000); second += 7654321) {
        time_t t = (time_t)second;
        struct tm tm;

        assert_non_null(gmtime_r(&t, &tm));
        strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S.000007Z", &tm);
        clock_text(second * 1000000 + 7, text);
        assert_string_equal(text, expected);
    }
}

TEST_CASE(clocks_move_on)
{
    int64_t wall = clock_wall_us(), monotonic = clock_monotonic_us(), cpu = clock_thread_cpu_us();
    volatile unsigned work = 0;

    assert_true(wall > INT64_C(1700000000) * 1000000);
    while (clock_monotonic_us() - monotonic < 2000)
        work++;
    assert_true(clock_wall_us() != wall);
    assert_true(clock_thread_cpu_us() > cpu);
}

TEST_CASE(after_ms_is_that_much_later)
{
    int64_t before = clock_monotonic_us();
    struct timespec until = clock_after_ms(1999);
    int64_t us = (int64_t)until.tv_sec * 1000000 + until.tv_nsec / 1000 - before, took = clock_monotonic_us() - before;

    assert_in_range(until.tv_nsec, 0, 999999999);
    assert_in_range(us, 1998000, 2000000 + took);
}

TEST_MAIN(NULL, NULL)
