/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"
#include "fakes/cm.h"

static void says(const char *pattern, const char *text, bool expected)
{
    if (glob_matches(span_text(pattern), span_text(text)) != expected)
        fail_msg("%s on %s: expected %d", pattern, text, expected);
}

static void names(void **state)
{
    (void)state;
    says("acme", "acme", true);
    says("acme", "Acme", false);
    says("acme", "acme2", false);
    says("acme", "acm", false);
    says("", "", true);
    says("", "a", false);
    assert_true(glob_is_literal(SPAN_LIT("a.b[c]")));
    assert_false(glob_is_literal(SPAN_LIT("a*")));
    assert_false(glob_is_literal(SPAN_LIT("a\\b")));
}

static void stars(void **state)
{
    (void)state;
    says("*", "", true);
    says("*", "a/b/c", true);
    says("team-*", "team-", true);
    says("team-*", "team-a/b", true);
    says("team-*", "teams", false);
    says("*-x-*", "a-x-b-x-c", true);
    says("*ab", "aab", true);
    says("*ab", "aabc", false);
    says("a*b*c", "a1b2b3c", true);
    says("a*b*c", "a1c2b", false);
    says("**", "x", true);
}

static void one_code_point(void **state)
{
    (void)state;
    says("?", "\xc3\xa9", true);
    says("?", "ab", false);
    says("?", "", false);
    says("a?c", "a\xf0\x9f\x98\x80" "c", true);
    says("*?", "\xc3\xa9", true);
    says("??", "\xc3\xa9", false);
}

static void escapes(void **state)
{
    (void)state;
    says("\\*", "*", true);
    says("\\*", "a", false);
    says("a\\?", "a?", true);
    says("a\\?", "ab", false);
    says("a\\\\", "a\\", true);
    says("a\\", "a\\", true);
    says("[ab]", "a", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(stars),
        cmocka_unit_test(one_code_point),
        cmocka_unit_test(escapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
