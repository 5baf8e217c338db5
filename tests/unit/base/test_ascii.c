/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"

#include "base/ascii.h"

#include <ctype.h>

/* Each byte, as C's own locale has it. */
TEST_CASE(bytes)
{
    for (int i = 0; i < 256; i++) {
        char c = (char)i;
        bool is_ascii = i < 0x80;

        assert_int_equal(ascii_is_digit(c), is_ascii && isdigit(i) != 0);
        assert_int_equal(ascii_is_letter(c), is_ascii && isalpha(i) != 0);
        assert_int_equal(ascii_is_word(c), is_ascii && isalnum(i) != 0);
        assert_int_equal((unsigned char)ascii_lower(c), is_ascii ? tolower(i) : i);
        assert_int_equal(ascii_is_of(c, "a-zA-Z0-9"), ascii_is_word(c));
        assert_int_equal(ascii_is_of(c, ASCII_VISIBLE), is_ascii && isgraph(i) != 0);
        assert_int_equal(ascii_is_of(c, ASCII_UNQUOTED), is_ascii && isgraph(i) != 0 && c != '"' && c != '\\');
        assert_int_equal(ascii_is_of(c, "+-"), c == '+' || c == '-');
        assert_false(ascii_is_of(c, ""));
    }
}

TEST_CASE(texts)
{
    char out[8];

    assert_true(ascii_is_all(SPAN_NONE, "a-z"));
    assert_true(ascii_is_all(SPAN_LIT("read_2"), "a-z0-9_"));
    assert_false(ascii_is_all(SPAN_LIT("read_2!"), "a-z0-9_"));
    assert_false(ascii_is_all(SPAN_LIT("a\0b"), "a-z"));
    assert_true(span_is(ascii_lower_all(SPAN_LIT("Ab-\xc3\x84"), out), "ab-\xc3\x84"));
}

TEST_MAIN(NULL, NULL)
