/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include "base/span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_first_and_last_of_each_length)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
