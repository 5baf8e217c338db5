/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include "base/span.h"
#include "fakes/cm.h"

static void test_first_and_last_of_each_length(void **state)
{
    static const struct {
        uint32_t point;
        const char *bytes;
    } rows[] = {{0x7f, "\x7f"},          {0x80, "\xc2\x80"},         {0x7ff, "\xdf\xbf"},           {0x800, "\xe0\xa0\x80"},
                {0xffff, "\xef\xbf\xbf"}, {0x10000, "\xf0\x90\x80\x80"}, {0x10ffff, "\xf4\x8f\xbf\xbf"}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char out[4];

        assert_true(span_is(span_of(out, utf8_put(out, rows[i].point)), rows[i].bytes));
    }
}

static void test_cuts_between_code_points(void **state)
{
    struct span text = SPAN_LIT("a\xc3\xa4\xf0\x9f\x98\x80");

    (void)state;
    assert_int_equal(utf8_cut(text, 0).len, 0);
    assert_int_equal(utf8_cut(text, 1).len, 1);
    assert_int_equal(utf8_cut(text, 2).len, 1);
    assert_int_equal(utf8_cut(text, 3).len, 3);
    assert_int_equal(utf8_cut(text, 6).len, 3);
    assert_int_equal(utf8_cut(text, 7).len, 7);
    assert_int_equal(utf8_cut(text, 999).len, 7);
    assert_int_equal(utf8_cut(SPAN_LIT("\x80\x80\x80"), 2).len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_and_last_of_each_length),
                                       cmocka_unit_test(test_cuts_between_code_points)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
