/* SPDX-License-Identifier: Apache-2.0 */
/* Time zones against the C library's own reading of the same files, and files that are not in order. Number: 2.1 */
#include "texts/zone.h"
#include "texts/zone_priv.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const names[] = {
    "Europe/Berlin", "America/New_York", "Europe/Dublin",     "Australia/Lord_Howe", "Asia/Kathmandu",   "Pacific/Apia",
    "Africa/Cairo",  "America/Nuuk",     "Antarctica/Troll",  "Asia/Gaza",           "America/Santiago", "Pacific/Chatham",
    "Asia/Tehran",   "Etc/GMT+12",       "Africa/Casablanca", "UTC",
};

static const struct zone *load(const char *name, struct arena *arena)
{
    const struct zone *zone = NULL;
    const char *wrong = "";

    if (zone_load(span_text(name), arena, &zone, &wrong) != CODE_OK)
        fail_msg("%s: %s", name, wrong);
    return zone;
}

static int64_t library_offset(int64_t time_s)
{
    time_t time = (time_t)time_s;
    struct tm local;

    assert_non_null(localtime_r(&time, &local));
    return local.tm_gmtoff;
}

/* Five hundred years by odd steps, and every change closely. */
TEST_CASE(test_offsets_as_the_library_has_them)
{
    struct arena arena;

    arena_init(&arena, (size_t)16 << 20);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct zone *zone = load(names[i], &arena);
        int64_t last = INT64_MIN, begin_s = zone_days(1900, 1, 1) * 86400, end_s = zone_days(2400, 1, 1) * 86400;

        setenv("TZ", names[i], 1);
        tzset();
        for (int64_t time_s = begin_s; time_s < end_s; time_s += 500009) {
            int64_t offset = library_offset(time_s), low = time_s - 500009, high = time_s;

            if (zone_offset_s(zone, time_s) != offset)
                fail_msg("%s at %lld: %lld, the library says %lld", names[i], (long long)time_s,
                         (long long)zone_offset_s(zone, time_s), (long long)offset);
            while (last != INT64_MIN && offset != last && high - low > 1) { /* to the second of the change */
                int64_t middle = low + (high - low) / 2;

                if (library_offset(middle) == offset)
                    high = middle;
                else
                    low = middle;
            }
            assert_int_equal(zone_offset_s(zone, high), library_offset(high));
            assert_int_equal(zone_offset_s(zone, high - 1), library_offset(high - 1));
            last = offset;
        }
    }
    arena_fini(&arena);
}

/* A verdict never depends on the machine's own zone. */
TEST_CASE(test_the_machines_zone_says_nothing)
{
    struct arena arena;
    const struct zone *zone;
    int64_t noon_s = zone_days(2026, 7, 1) * 86400 + 43200;

    arena_init(&arena, (size_t)1 << 20);
    zone = load("Europe/Berlin", &arena);
    setenv("TZ", "Asia/Tokyo", 1);
    tzset();
    assert_int_equal(zone_offset_s(zone, noon_s), 7200);
    assert_int_equal(zone_offset_s(zone, noon_s + INT64_C(86400) * 184), 3600);
    arena_fini(&arena);
}

TEST_CASE(test_rules)
{
    static const char *const good[] = {"CET-1CEST,M3.5.0,M10.5.0/3", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "EST5EDT,J60/2,300/-167",
                                       "UTC0", "XXX3EDT4,0/0,J365/23", "IST-1GMT0,M10.5.0,M3.5.0/1"};
    static const char *const bad[] = {"", "CET", "C-1", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-25",
                                      "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0", "CET-1CEST,J0,J365", "CET-1 ",
                                      "CET-1CEST,M3.5.0,M10.5.0/3x", "<+10-10", "CET-1CEST,366,1", "CET-1:60"};
    struct zone__rule rule;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(zone__rule_read(span_text(good[i]), &rule));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (zone__rule_read(span_text(bad[i]), &rule))
            fail_msg("`%s` was taken", bad[i]);
    assert_true(zone__rule_read(SPAN_LIT("XXX3EDT4,0/0,J365/23"), &rule)); /* summer all the year */
    for (int64_t time_s = 0; time_s < INT64_C(86400) * 3000; time_s += 1801)
        assert_int_equal(zone__rule_offset_s(&rule, time_s), -4 * 3600);
}

TEST_CASE(test_names)
{
    static const char *const bad[] = {"", "/etc/passwd", "../../../etc/passwd", "Europe//Berlin", "Europe/", "Europe/Berlin\n", "..",
                                      "No/Such", "Europe", "zone.tab", "tzdata.zi"};
    const struct zone *zone;
    const char *wrong = NULL;
    struct arena arena;

    arena_init(&arena, (size_t)1 << 20);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (zone_load(span_text(bad[i]), &arena, &zone, &wrong) != CODE_INVALID || wrong == NULL)
            fail_msg("`%s` was taken", bad[i]);
    arena_fini(&arena);
}

/* Cut short anywhere, or one byte changed: refused or read, never beyond its end. */
TEST_CASE(test_damaged_files)
{
    static char bytes[65536];
    FILE *file = fopen("/usr/share/zoneinfo/Europe/Berlin", "rb");
    const struct zone *zone;
    const char *wrong;
    struct arena arena;
    size_t len;

    assert_non_null(file);
    len = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    arena_init(&arena, (size_t)16 << 20);
    assert_int_equal(zone_read(span_of(bytes, len), &arena, &zone, &wrong), CODE_OK);
    for (size_t cut = 0; cut < len; cut++) {
        char *exact = malloc(cut > 0 ? cut : 1); /* its own block, so that a reader beyond the end is seen */

        memcpy(exact, bytes, cut);
        assert_int_equal(zone_read(span_of(exact, cut), &arena, &zone, &wrong), CODE_INVALID);
        free(exact);
        arena_reset(&arena);
    }
    for (size_t at = 0; at < len; at++) {
        bytes[at] ^= (char)0x81;
        if (zone_read(span_of(bytes, len), &arena, &zone, &wrong) == CODE_OK)
            (void)zone_offset_s(zone, 1800000000);
        bytes[at] ^= (char)0x81;
        arena_reset(&arena);
    }
    arena_fini(&arena);
}

TEST_MAIN(NULL, NULL)
