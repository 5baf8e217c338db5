/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "unicode/unicode.h"
#include "fakes/cm.h"

TEST_CASE(test_valid_and_invalid_bytes)
{
    static const char *const good[] = {"", "plain", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf", NULL};
    static const char *const bad[] = {"\x80", "\xc0\xaf", "\xc3", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                      "\xff", "a\xe2\x82", "\xf8\x88\x80\x80\x80", NULL};

    for (size_t i = 0; good[i] != NULL; i++)
        assert_true(unicode_is_utf8(span_text(good[i])));
    for (size_t i = 0; bad[i] != NULL; i++) {
        assert_false(unicode_is_utf8(span_text(bad[i])));
        assert_true(unicode_count(span_text(bad[i])) == SIZE_MAX);
    }
    assert_true(unicode_is_utf8(span_of("a\0b", 3)));
}

TEST_CASE(test_code_points)
{
    uint32_t point = 7;

    assert_int_equal(unicode_count(SPAN_LIT("")), 0);
    assert_int_equal(unicode_count(SPAN_LIT("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80")), 4);
    assert_int_equal(unicode_next(SPAN_LIT(""), &point), 0);
    assert_int_equal(unicode_next(SPAN_LIT("\xf0\x9f\x98\x80x"), &point), 4);
    assert_int_equal(point, 0x1f600);
    assert_int_equal(unicode_next(SPAN_LIT("\xc3"), &point), 0);
}

TEST_CASE(test_deceptive)
{
    static const char *const plain[] = {
        "", "Reads a file.\n\tThen writes it.\r\n", "na\xc3\xafve \xe2\x82\xac 5", "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
        "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x92\xbb",                         /* woman, ZWJ, computer */
        "\xe2\x9d\xa4\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x94\xa5",                 /* heart, VS16, ZWJ, fire */
        "\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae\xd9\x88\xd8\xa7\xd9\x87\xd9\x85", /* Persian with a ZWNJ */
        "\xe0\xa4\x95\xe0\xa5\x8d\xe2\x80\x8d\xe0\xa4\xb7",                     /* Devanagari with a ZWJ */
        "1\xef\xb8\x8f\xe2\x83\xa3 #\xef\xb8\x8e \xc2\xa9\xef\xb8\x8f",               /* keycap 1, # as text, the sign of copyright */
        NULL};
    static const char *const deceptive[] = {
        "\x1b[2J", "a\x7f", "a\xc2\x85" "b", "a\xe2\x80\xae" "b", "a\xe2\x81\xa6" "b", "a\xe2\x80\x8b" "b",
        "\xef\xbb\xbf", "a\xe2\x80\x8d" "b", "a\xe2\x80\x8c" "b", "a\xe2\x80\x8d", "\xe2\x80\x8d",
        "a\xf3\xa0\x81\xa1", "a\xc2\xad" "b", "a\xe2\x81\xa0" "b", "a\xe3\x85\xa4", "a\xcd\x8f" "b", "a\xe2\x80\xa8" "b",
        "a\xef\xb8\x80\xef\xb8\x81", "\xef\xb8\x8f", "bad \xff",
        "a\xef\xb8\x80" "b", "a\xef\xb8\x8f", " \xef\xb8\x8f", "1\xef\xb8\x80",  /* 7.7: one behind each letter is a message */
        "a\xe2\x81\xa5" "b", "a\xef\xbf\xb0" "b", "a\xef\xbf\xb8" "b", "a\xf0\x96\xbf\xa4", NULL}; /* not assigned, and ignored */

    for (size_t i = 0; plain[i] != NULL; i++)
        if (unicode_is_deceptive(span_text(plain[i])))
            fail_msg("plain[%zu] was refused", i);
    for (size_t i = 0; deceptive[i] != NULL; i++)
        if (!unicode_is_deceptive(span_text(deceptive[i])))
            fail_msg("deceptive[%zu] passed", i);
}

/* 10.7: whatever is drawn as nothing, wherever it stands: format characters with a sign of their own, blanks, what is no character. */
TEST_CASE(test_unseen)
{
    static const uint32_t points[] = {
        0x2800, 0x13430, 0x13438, 0x13439, 0x1343f, 0x0600, 0x06dd, 0x070f, 0x08e2, 0x110bd, 0x110cd, 0xfff9, 0xfdd0, 0xfdef, 0xfffe,
        0xffff,
        0x1fffe, 0x10ffff, 0x00ad, 0x034f, 0x115f, 0x1160, 0x17b4, 0x180b, 0x180f, 0x2065, 0x3164, 0xffa0, 0xfff0, 0x16fe4, 0x1bca0,
        0x1d159, 0x1d173, 0xe0000, 0xe0100, 0xe0fff, 0x2028, 0x2029, 0x7f, 0x9b,
    };

    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        char text[6] = "a";
        size_t len = 1 + utf8_put(text + 1, points[i]);

        text[len++] = 'b';
        if (!unicode_is_deceptive(span_of(text, len)) || unicode_cells(points[i]) != -1)
            fail_msg("U+%04X passed", (unsigned)points[i]);
    }
    for (uint32_t point = 0xa1; point < 0x3000; point++) /* ordinary letters, marks and signs: not one too many */
        if (unicode_cells(point) < 0)
            assert_true(unicode_is_ignorable(point) || point == 0x2028 || point == 0x2029 || point == 0x2800);
}

TEST_CASE(test_one_by_one) /* 4.13: what is left where each that deceives is left out deceives nobody */
{
    static const char *const texts[] = {
        "a\xe2\x80\x8b\xef\xb8\x8f", "\xd8\x9c\xe2\x80\x8d\xd8\x9c", "\xd9\x85\xe2\x80\x8c\xd8\x9c\xd8\xae",
        "\xf0\x9f\x91\xa9\xe2\x80\x8d\xe2\x80\x8d\xf0\x9f\x92\xbb", "\xe2\x80\xae\xf0\x9f\x91\xa9\xe2\x80\x8d\x1b\xf0\x9f\x92\xbb",
        "a\xef\xb8\x80\xef\xb8\x81\xef\xb8\x82", "\xe1\x9e\xb4\xe2\x80\x8d\xe1\x9e\xb4", NULL};

    for (size_t i = 0; texts[i] != NULL; i++) {
        struct span rest = span_text(texts[i]);
        char kept[64];
        size_t len = 0, taken;
        uint32_t point, before = 0;

        assert_true(unicode_is_deceptive(rest));
        for (; (taken = unicode_next(rest, &point)) > 0; rest = span_part(rest, taken, SIZE_MAX)) {
            if (unicode_deceives(before, point, span_part(rest, taken, SIZE_MAX)))
                continue;
            memcpy(kept + len, rest.at, taken);
            len += taken;
            before = point;
        }
        if (unicode_is_deceptive(span_of(kept, len)))
            fail_msg("texts[%zu] still deceives", i);
    }
}

TEST_MAIN(NULL, NULL)
