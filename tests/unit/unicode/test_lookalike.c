/* SPDX-License-Identifier: Apache-2.0 */
#include "unicode/lookalike.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool look_alike(const char *a, const char *b)
{
    char first[64], second[64];
    size_t one = lookalike_skeleton(span_text(a), first, sizeof first);
    size_t two = lookalike_skeleton(span_text(b), second, sizeof second);

    return span_equals(span_of(first, one), span_of(second, two));
}

/* 2.3 */
static void test_skeletons(void **state)
{
    char tiny[3];

    (void)state;
    assert_true(look_alike("send_mail", "Send_Mail"));
    assert_true(look_alike("paypal", "p\xd0\xb0yp\xd0\xb0l"));             /* Cyrillic a */
    assert_true(look_alike("COPE", "\xd0\xa1\xd0\x9e\xd0\xa0\xd0\x95"));   /* all of it Cyrillic */
    assert_true(look_alike("list", "1ist"));
    assert_true(look_alike("t0ol", "tool"));
    assert_true(look_alike("abc", "\xef\xbd\x81\xef\xbd\x82\xef\xbd\x83")); /* full width */
    assert_false(look_alike("send_mail", "send-mail"));
    assert_false(look_alike("read", "road"));
    assert_false(look_alike("\xe8\xb2\xb7", "\xe8\xb3\xa3"));
    assert_int_equal(lookalike_skeleton(SPAN_LIT("abcd"), tiny, sizeof tiny), 0);
}

/* 2.3 */
static void test_scripts(void **state)
{
    (void)state;
    assert_true(lookalike_mixes_scripts(SPAN_LIT("p\xd0\xb0ypal")));
    assert_true(lookalike_mixes_scripts(SPAN_LIT("\xce\xb1" "bc")));
    assert_false(lookalike_mixes_scripts(SPAN_LIT("\xd1\x87\xd1\x82\xd0\xb5\xd0\xbd\xd0\xb8\xd0\xb5_2")));
    assert_false(lookalike_mixes_scripts(SPAN_LIT("gr\xc3\xbc\xc3\x9f_1.x-y")));
    assert_false(lookalike_mixes_scripts(SPAN_LIT("12_-")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_skeletons),
        cmocka_unit_test(test_scripts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
