/* SPDX-License-Identifier: Apache-2.0 */
/* 12.16: what stays of a file's layout, and what becomes one manner. */
#include "yaml/layout.h"

#include "fakes/cm.h"

#include <stdio.h>

#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void lay_out(const char *text, const char *const *keys, struct buf *out)
{
    struct layout *layout;

    assert_ok(layout_read(span_text(text), &layout));
    if (keys != NULL)
        layout_order(layout_root(layout), keys);
    assert_ok(layout_write(layout, out));
    layout_free(&layout);
    assert_null(layout);
    buf_add_byte(out, '\0');
    assert_ok(buf_code(out));
}

/* Written again it stays as it is. */
static void expect_order(const char *text, const char *const *keys, const char *wanted)
{
    struct buf out, again;

    buf_init(&out, 1 << 20);
    buf_init(&again, 1 << 20);
    lay_out(text, keys, &out);
    assert_string_equal(buf_peek(&out).at, wanted);
    lay_out(wanted, keys, &again);
    assert_string_equal(buf_peek(&again).at, wanted);
    buf_fini(&out);
    buf_fini(&again);
}

static void expect(const char *text, const char *wanted)
{
    expect_order(text, NULL, wanted);
}

TEST_CASE(test_blocks)
{
    expect("a:    1\nb:\n - x\n -   y: 1\n     z: 2\n", "a: 1\nb:\n  - x\n  - y: 1\n    z: 2\n");
    expect("a:\n- - b\n  - c\n-\n  d: 1\n", "a:\n  - - b\n    - c\n  - d: 1\n");
    expect("--- # head\na: \n...\n# end\n", "# head\na:\n# end\n");
    expect("\n\n\na: 1\n\n\n\nb: 2\n\n", "a: 1\n\nb: 2\n");
    expect("a: 1\r\nb: 2\r# c\r", "a: 1\nb: 2\n# c\n");
    expect("? a\n: 1\n", "a: 1\n");
    expect("{\"\\b\r\"}\n", "{\"\\x08 \": }\n"); /* a key that a carriage return breaks, and what no quotes hold as it is */
    expect("{\"\\x7f\\L\\N\\ufeff\n  'a\"}\n", "{\"\\x7f\\u2028\\x85\\ufeff 'a\": }\n");
    expect("a: 1\n? --- b\n: 2\n? ...\n: 3\n?   ---c\n", "a: 1\n'--- b': 2\n'...': 3\n---c:\n"); /* no document begins */
    expect("? |-\n  a\n  \"b\n: 1\n", "\"a\\n\\\"b\": 1\n");
    expect("", "");
    expect("# only this", "# only this\n");
}

TEST_CASE(test_comments)
{
    expect("# file\n\n# two\na: 1\n", "# file\n\n# two\na: 1\n");
    expect("a:   # of a\n    - x   # of x\n    # foot\n# of b\nb: 1\n", "a:   # of a\n  - x     # of x\n  # foot\n# of b\nb: 1\n");
    expect("a:\n- x\n# of b\nb: 1\n", "a:\n  - x\n# of b\nb: 1\n"); /* a list as far left as its key has no foot */
    expect("a: [ # one\n  x, # two\n  y # three\n  # four\n  ]\n", "a: [\n    # one\n    x,  # two\n    y  # three\n    # four\n   ]\n");
    expect("a: # why\n  x\n", "# why\na: x\n");
    expect("- # why\n  a: 1\n", "# why\n- a: 1\n");
    expect("a:      1 # c\nb: 2\n", "a: 1      # c\nb: 2\n"); /* in its column, where others may stand */
    expect("b:\n  'it''s # none'\n", "b: \"it's # none\"\n");
}

TEST_CASE(test_quotes)
{
    static const char *const cases[][2] = {
        {"'plain'", "plain"}, {"\"a/b.c-d_1\"", "a/b.c-d_1"}, {"'/srv/x'", "/srv/x"}, {"\"a b\"", "'a b'"}, {"'yes'", "'yes'"},
        {"\"Null\"", "'Null'"}, {"'1a'", "'1a'"}, {"''", "''"}, {"\"\"", "''"}, {"'it''s'", "\"it's\""}, {"\"it's\"", "\"it's\""},
        {"'it''s \\d'", "'it''s \\d'"}, {"\"\\\\d\"", "'\\d'"}, {"\"a\\u200b\"", "\"a\\u200b\""}, {"\"a\\n\"", "\"a\\n\""},
        {"\"say \\\"x\\\"\"", "'say \"x\"'"}, {"a b", "a b"}, {"0x1f", "0x1f"}, {"~", "~"}, {"'a*'", "'a*'"}, {"'-x'", "'-x'"},
        {"'a ''\\'' b'", "\"a '\\\\' b\""}, {"\"a \\\"' b\"", "'a \"'' b'"}, {"'''a'' \"b\" ''c'''", "\"'a' \\\"b\\\" 'c'\""},
    };
    char text[128], wanted[128];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "k: %s\n", cases[i][0]);
        snprintf(wanted, sizeof wanted, "k: %s\n", cases[i][1]);
        expect(text, wanted);
        snprintf(text, sizeof text, "{k: [%s]}\n", cases[i][0]);
        snprintf(wanted, sizeof wanted, "{k: [%s]}\n", cases[i][1]);
        expect(text, wanted);
    }
    expect("'a': 1\n\"b c\": 2\n'true': 3\n", "a: 1\n'b c': 2\n'true': 3\n");
}

TEST_CASE(test_lines)
{
    expect("a: >-\n      x\n        y\n\n      z\n\n\nb: |\n x\n", "a: >-\n  x\n    y\n\n  z\n\nb: |\n  x\n");
    expect("a: |2\n    x\n", "a: \"  x\\n\"\n");
    expect("a: |+\n  x\n\n", "a: \"x\\n\\n\"\n");
    expect("a: |\nb: 1\n", "a: ''\nb: 1\n");
    expect("l:\n    - k: 'one\n        two'\n", "l:\n  - k: 'one\n      two'\n");
    expect("a: one\n two\n", "a: one\n  two\n");
}

TEST_CASE(test_brackets)
{
    expect("a: { b : 1 , c: [ x,y ] , d: }\n", "a: {b: 1, c: [x, y], d: }\n");
    expect("a: [\n  x,\n      y]\n", "a: [x,\n    y]\n"); /* a break stays, but for one behind the bracket */
    expect("a: [b: 1, c]\n", "a: [{b: 1}, c]\n");
    expect("a: {}\nb: [ ]\n", "a: {}\nb: []\n");
    expect("a: {b: " LONG ", c: " LONG ", d: " LONG "}\n", "a: {b: " LONG ", c: " LONG ",\n    d: " LONG "}\n");
    expect("- [" LONG ", [" LONG ", " LONG "]]\n", "- [" LONG ",\n   [" LONG ", " LONG "]]\n");
}

TEST_CASE(test_order)
{
    static const char *const keys[] = {"id", "", "when", NULL};

    expect_order("# file\nx: 1\n# of when\nwhen: 2 # w\nid: 3\n", keys, "# file\nid: 3\n# of when\nwhen: 2 # w\nx: 1\n");
    expect_order("a: 1\n\nid: 2\nwhen: 3\n", keys, "id: 2\n\nwhen: 3\na: 1\n"); /* blank lines part places */
    expect_order("{x: 1,\n when: 2, id: 3}\n", keys, "{id: 3,\n when: 2, x: 1}\n");
    expect_order("[id, when]\n", keys, "[id, when]\n");
}

/* What fuzzing found: what a line end, blanks that nobody sees, or letters of several bytes would have changed. */
TEST_CASE(test_what_is_hard_to_see)
{
    expect("a: >\n  b\n  c", "a: 'b c'\n"); /* the file ends in it, without the line end that is written */
    expect("a: |\n  b\n  c", "a: \"b\\nc\"\n");
    expect("a: >-\n  b\n  c\n", "a: >-\n  b\n  c\n");
    expect("a: |\n  b \nc: 1\n", "a: \"b \\n\"\nc: 1\n");
    expect("\xc3\xa4\xc3\xb6: 1    # c\n", "\xc3\xa4\xc3\xb6: 1    # c\n");
    expect("\xc3\xa4\xc3\xb6\xc3\xbc: # c\n", "\xc3\xa4\xc3\xb6\xc3\xbc: # c\n");
}

/* A map that was too wide for its key's line, and was broken, fits there: it is written so at once. */
TEST_CASE(test_it_stays)
{
    static const char wide[] = "cpara :\n {\"json\":[1,2.5" LONG "KKKKKKKKKKKKKKKKKKKKKKKKKKKK ;K   ;% KKKKKKKKKKKKK^K^^Kl,"
                               "\"x\"],\"/\":{}}\n";
    struct buf out, again;

    for (size_t cut = 0; cut < 12; cut++) { /* one of them is as wide as it takes */
        char text[256];

        (void)snprintf(text, sizeof text, "cpara :\n {\"json\":[1,2.5%s", wide + strlen("cpara :\n {\"json\":[1,2.5") + cut);
        buf_init(&out, 1 << 20);
        buf_init(&again, 1 << 20);
        lay_out(text, NULL, &out);
        lay_out(buf_peek(&out).at, NULL, &again);
        assert_string_equal(buf_peek(&again).at, buf_peek(&out).at);
        buf_fini(&out);
        buf_fini(&again);
    }
}

TEST_MAIN(NULL, NULL)
