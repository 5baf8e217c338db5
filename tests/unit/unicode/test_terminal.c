/* SPDX-License-Identifier: Apache-2.0 */
/* 3.4: what agents chose reaches no terminal and no spreadsheet as anything but text. */
#include "unicode/terminal.h"

#include "cli/csv.h"
#include "unicode/unicode.h"
#include "fakes/cm.h"

#include <stdlib.h>

static struct buf out;

static int setup(void **state)
{
    (void)state;
    buf_init(&out, 65536);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    buf_fini(&out);
    return 0;
}

static void same(const char *expected)
{
    if (!span_is(buf_peek(&out), expected))
        fail_msg("got \"%.*s\", wanted \"%s\"", SPAN_ARG(buf_peek(&out)), expected);
    buf_clear(&out);
}

TEST_CASE(test_escapes)
{
    static const struct { const char *text, *safe; } rows[] = {
        {"plain \xc3\xa4\xe6\x97\xa5 ~", "plain \xc3\xa4\xe6\x97\xa5 ~"}, {"", ""}, {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
        {"\x1b[31m", "\\u001b[31m"}, {"\x7f", "\\u007f"}, {"\xc2\x9b" "31m", "\\u009b31m"}, {"a\xe2\x80\xae" "b", "a\\u202eb"},
        {"\xe2\x80\xa8\xef\xbb\xbf", "\\u2028\\ufeff"}, {"\xf3\xa0\x81\xa1", "\\udb40\\udc61"}, {"\xff\xc3", "\\xff\\xc3"},
        {"C:\\x", "C:\\x"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(terminal_add(&out, span_text(rows[i].text)), CODE_OK);
        same(rows[i].safe);
    }
}

TEST_CASE(test_cells)
{
    assert_int_equal(terminal_cells(SPAN_LIT("abc")), 3);
    assert_int_equal(terminal_cells(SPAN_LIT("\xe6\x97\xa5\xe6\x9c\xac")), 4);
    assert_int_equal(terminal_cells(SPAN_LIT("e\xcc\x81")), 1); /* a combining accent */
    assert_int_equal(terminal_add_cell(&out, SPAN_LIT("abc"), 5, true), CODE_OK);
    same("abc  ");
    assert_int_equal(terminal_add_cell(&out, SPAN_LIT("abc"), 5, false), CODE_OK);
    same("abc");
    assert_int_equal(terminal_add_cell(&out, SPAN_LIT("abcdef"), 4, true), CODE_OK);
    same("abc\xe2\x80\xa6");
    assert_int_equal(terminal_add_cell(&out, SPAN_LIT("\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e"), 4, true), CODE_OK);
    same("\xe6\x97\xa5\xe2\x80\xa6 "); /* no half of a wide one */
    assert_int_equal(terminal_add_cell(&out, SPAN_LIT("abc"), 0, true), CODE_OK);
    same("");
}

TEST_CASE(test_width)
{
    assert_int_equal(setenv("COLUMNS", "72", 1), 0);
    assert_int_equal(terminal_width(), 72);
    assert_int_equal(setenv("COLUMNS", "-3", 1), 0);
    assert_true(terminal_width() < 10000);
    assert_int_equal(unsetenv("COLUMNS"), 0);
}

TEST_CASE(test_csv)
{
    static const struct { const char *text; bool is_number; const char *csv; } rows[] = {
        {"plain", false, "plain"}, {"a,b", false, "\"a,b\""}, {"say \"hi\"", false, "\"say \"\"hi\"\"\""},
        {"two\nlines", false, "two\\nlines"}, {"=1+1", false, "'=1+1"}, {"+1", false, "'+1"}, {"-1", false, "'-1"},
        {"-32000", true, "-32000"}, {"@x", false, "'@x"}, {"\t=1", false, "'\\t=1"}, {"=\"a\",b", false, "\"'=\"\"a\"\",b\""},
        {"\xef\xbc\x9d" "1", false, "'\xef\xbc\x9d" "1"}, {"\x1b]0;x", false, "\"\\u001b]0;x\""},
        {"a;b", false, "\"a;b\""}, {"", false, ""},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(csv_add(&out, span_text(rows[i].text), rows[i].is_number), CODE_OK);
        same(rows[i].csv);
    }
}

TEST_CASE(test_cells_of_points)
{
    assert_int_equal(unicode_cells('a'), 1);
    assert_int_equal(unicode_cells(0x65e5), 2);
    assert_int_equal(unicode_cells(0x0301), 0);
    assert_int_equal(unicode_cells(0x1f600), 2);
    assert_int_equal(unicode_cells(0), -1);
    assert_int_equal(unicode_cells(0x9b), -1);
    assert_int_equal(unicode_cells(0x202e), -1);
    assert_int_equal(unicode_cells(0x200b), -1);
    assert_int_equal(unicode_cells(0xe0061), -1);
}

TEST_MAIN(setup, teardown)
