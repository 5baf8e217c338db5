/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include "base/span.h"
#include "fakes/cm.h"

TEST_CASE(test_first_and_last_of_each_length)
{
    static const struct {
        uint32_t point;
        const char *bytes;
    } rows[] = {{0x7f, "\x7f"},          {0x80, "\xc2\x80"},         {0x7ff, "\xdf\xbf"},           {0x800, "\xe0\xa0\x80"},
                {0xffff, "\xef\xbf\xbf"}, {0x10000, "\xf0\x90\x80\x80"}, {0x10ffff, "\xf4\x8f\xbf\xbf"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char out[4];

        assert_true(span_is(span_of(out, utf8_put(out, rows[i].point)), rows[i].bytes));
    }
}

TEST_CASE(test_cuts_between_code_points)
{
    struct span text = SPAN_LIT("a\xc3\xa4\xf0\x9f\x98\x80");

    assert_int_equal(utf8_cut(text, 0).len, 0);
    assert_int_equal(utf8_cut(text, 1).len, 1);
    assert_int_equal(utf8_cut(text, 2).len, 1);
    assert_int_equal(utf8_cut(text, 3).len, 3);
    assert_int_equal(utf8_cut(text, 6).len, 3);
    assert_int_equal(utf8_cut(text, 7).len, 7);
    assert_int_equal(utf8_cut(text, 999).len, 7);
    assert_int_equal(utf8_cut(SPAN_LIT("\x80\x80\x80"), 2).len, 0);
}

TEST_MAIN(NULL, NULL)
