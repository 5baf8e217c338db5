/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"

#include "base/list.h"
#include "base/span.h"

TEST_CASE(comparing)
{
    assert_true(span_equals(SPAN_NONE, SPAN_LIT("")));
    assert_true(span_equals(SPAN_LIT("a\0b"), SPAN_LIT("a\0b")));
    assert_false(span_equals(SPAN_LIT("a\0b"), SPAN_LIT("a\0c")));
    assert_false(span_is(SPAN_LIT("a\0b"), "a"));
    assert_true(span_is(span_text(NULL), ""));
    assert_true(span_equals_nocase(SPAN_LIT("Content-TYPE"), SPAN_LIT("content-type")));
    assert_false(span_equals_nocase(SPAN_LIT("@"), SPAN_LIT("`")));
    assert_false(span_equals_nocase(SPAN_LIT("["), SPAN_LIT("{")));
    assert_false(span_equals_nocase(SPAN_LIT("\xc0"), SPAN_LIT("\xe0"))); /* ASCII only */
    assert_false(span_equals_nocase(SPAN_LIT("a"), SPAN_LIT("ab")));
    assert_true(span_compare(SPAN_LIT("a"), SPAN_LIT("b")) < 0);
    assert_true(span_compare(SPAN_LIT("a"), SPAN_LIT("ab")) < 0);
    assert_true(span_compare(SPAN_LIT("\xff"), SPAN_LIT("a")) > 0);
    assert_int_equal(span_compare(SPAN_NONE, SPAN_LIT("")), 0);
    assert_true(span_starts_with(SPAN_LIT("abc"), SPAN_LIT("ab")));
    assert_true(span_starts_with(SPAN_NONE, SPAN_NONE));
    assert_false(span_starts_with(SPAN_LIT("a"), SPAN_LIT("ab")));
    assert_true(span_ends_with(SPAN_LIT("abc"), SPAN_LIT("bc")));
    assert_true(span_ends_with(SPAN_LIT("abc"), SPAN_NONE));
    assert_false(span_ends_with(SPAN_LIT("c"), SPAN_LIT("bc")));
}

static int small(unsigned c)
{
    return c >= 'A' && c <= 'Z' ? (int)c + 32 : (int)c;
}

/* Any two bytes, in any place of spans of any length. */
TEST_CASE(comparing_in_any_case)
{
    char a[20], b[20];

    for (size_t len = 1; len <= sizeof a; len++)
        for (size_t at = 0; at < len; at++) {
            memset(a, 'x', sizeof a);
            memset(b, 'X', sizeof b);
            for (unsigned pair = 0; pair < 65536; pair++) {
                a[at] = (char)(pair >> 8);
                b[at] = (char)pair;
                if (span_equals_nocase(span_of(a, len), span_of(b, len)) != (small(pair >> 8) == small(pair & 255)))
                    fail_msg("bytes %#x and %#x at %zu of %zu", pair >> 8, pair & 255, at, len);
            }
        }
}

TEST_CASE(parts)
{
    struct span rest;

    assert_true(span_is(span_part(SPAN_LIT("hello"), 1, 3), "ell"));
    assert_true(span_is(span_part(SPAN_LIT("hello"), 3, SIZE_MAX), "lo"));
    assert_true(span_is_empty(span_part(SPAN_LIT("hello"), 9, 1)));
    assert_null(span_part(SPAN_NONE, 1, 1).at);
    assert_true(span_is(span_trim(SPAN_LIT(" \t a b\t ")), "a b"));
    assert_true(span_is(span_trim(SPAN_LIT("\n a")), "\n a"));
    assert_true(span_is_empty(span_trim(SPAN_LIT(" \t "))));
    assert_int_equal(span_find(SPAN_LIT("a,b"), ','), 1);
    assert_int_equal(span_find(SPAN_LIT("ab"), ','), 2);
    assert_int_equal(span_find(SPAN_NONE, ','), 0);
    assert_true(span_is(span_cut(SPAN_LIT("a,b,c"), ',', &rest), "a"));
    assert_true(span_is(rest, "b,c"));
    assert_true(span_is(span_cut(SPAN_LIT("a"), ',', &rest), "a"));
    assert_true(span_is_empty(rest));
    assert_true(span_is_empty(span_cut(SPAN_LIT(",a"), ',', &rest)));
    assert_true(span_is(rest, "a"));
}

struct thing {
    int number;
    struct list link;
};

TEST_CASE(lists)
{
    struct list head, *link, *following;
    struct thing things[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    int sum = 0;

    list_init(&head);
    assert_true(list_is_empty(&head));
    for (int i = 0; i < 4; i++) {
        assert_false(list_is_linked(&things[i].link));
        list_append(&head, &things[i].link);
        assert_true(list_is_linked(&things[i].link));
    }
    LIST_EACH(link, following, &head)
    {
        struct thing *thing = LIST_ENTRY(link, struct thing, link);

        sum = sum * 10 + thing->number;
        if (thing->number % 2)
            list_remove(link); /* the current one may go */
    }
    assert_int_equal(sum, 123);
    list_remove(&things[1].link); /* twice is harmless */
    sum = 0;
    LIST_EACH(link, following, &head)
        sum = sum * 10 + LIST_ENTRY(link, struct thing, link)->number + 1;
    assert_int_equal(sum, 13);
    assert_false(list_is_empty(&head));
}

TEST_MAIN(NULL, NULL)
