/* SPDX-License-Identifier: Apache-2.0 */
#include "base/glob.h"
#include "fakes/cm.h"

static void says(const char *pattern, const char *text, bool expected)
{
    if (glob_matches(span_text(pattern), span_text(text)) != expected)
        fail_msg("%s on %s: expected %d", pattern, text, expected);
}

TEST_CASE(names)
{
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

TEST_CASE(stars)
{
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

TEST_CASE(one_code_point)
{
    says("?", "\xc3\xa9", true);
    says("?", "ab", false);
    says("?", "", false);
    says("a?c", "a\xf0\x9f\x98\x80" "c", true);
    says("*?", "\xc3\xa9", true);
    says("??", "\xc3\xa9", false);
}

TEST_CASE(escapes)
{
    says("\\*", "*", true);
    says("\\*", "a", false);
    says("a\\?", "a?", true);
    says("a\\?", "ab", false);
    says("a\\\\", "a\\", true);
    says("a\\", "a\\", true);
    says("[ab]", "a", false);
}

TEST_MAIN(NULL, NULL)
