/* SPDX-License-Identifier: Apache-2.0 */
#include "toml/toml.h"

#include "fakes/cm.h"

#include <stdio.h>
#include <string.h>

static enum code read_toml(const char *text, size_t len, struct buf *json, struct faults *faults)
{
    faults_init(faults);
    buf_init(json, SIZE_MAX / 2);
    return toml_to_json(span_of(text, len), "x.toml", json, faults);
}

static void assert_json(const char *text, const char *wanted)
{
    struct faults faults;
    struct buf json;
    enum code code = read_toml(text, strlen(text), &json, &faults);

    if (code != CODE_OK)
        fail_msg("%s: %s", text, faults.fault[0].text);
    (void)buf_add(&json, "", 1);
    assert_string_equal(buf_peek(&json).at, wanted);
    buf_fini(&json);
}

static void assert_refused_bytes(const char *text, size_t len, int line, const char *why)
{
    struct faults faults;
    struct buf json;

    if (read_toml(text, len, &json, &faults) != CODE_INVALID)
        fail_msg("%s: was taken, in place of: %s", text, why);
    assert_int_equal(faults.count, 1);
    assert_string_equal(faults.fault[0].text, why);
    assert_string_equal(faults.fault[0].file, "x.toml");
    assert_int_equal(faults.fault[0].line, line);
    buf_fini(&json);
}

static void assert_refused(const char *text, int line, const char *why)
{
    assert_refused_bytes(text, strlen(text), line, why);
}

TEST_CASE(test_keys_and_tables)
{
    assert_json("", "{}");
    assert_json("# a comment\n\n  a = 1 # behind\r\nb=2", "{\"a\":\"1\",\"b\":\"2\"}");
    assert_json("bare_key-1 = true\n1234 = false\n\"127.0.0.1\" = 'x'\n'quoted \"x\"' = 'y'\n\"\" = 'z'",
                "{\"bare_key-1\":true,\"1234\":false,\"127.0.0.1\":\"x\",\"quoted \\\"x\\\"\":\"y\",\"\":\"z\"}");
    assert_json("a.b = 1\na . \"c.d\" = 2\nsite.'google.com' = true",
                "{\"a\":{\"b\":\"1\",\"c.d\":\"2\"},\"site\":{\"google.com\":true}}");
    assert_json("[a]\nx = 1\n[ b . c ]\ny = 2\n[b]\nz = 3\n[empty]",
                "{\"a\":{\"x\":\"1\"},\"b\":{\"c\":{\"y\":\"2\"},\"z\":\"3\"},\"empty\":{}}");
    assert_json("[[rule]]\na = 1\n[[rule]]\na = 2\n[[other]]",
                "{\"rule\":{\"0\":{\"a\":\"1\"},\"1\":{\"a\":\"2\"}},\"other\":{\"2\":{}}}");
}

/* A table belongs to the element that stands last (TOML 1.0, "Array of Tables"). */
TEST_CASE(test_arrays_of_tables)
{
    assert_json("[[fruits]]\nname = 'apple'\n[fruits.physical]\ncolor = 'red'\n[[fruits.varieties]]\nname = 'red delicious'\n"
                "[[fruits.varieties]]\nname = 'granny smith'\n[[fruits]]\nname = 'banana'\n[fruits.physical]\ncolor = 'yellow'\n"
                "[[fruits.varieties]]\nname = 'plantain'\n[fruits.varieties.from]\nland = 'x'",
                "{\"fruits\":{\"0\":{\"name\":\"apple\",\"physical\":{\"color\":\"red\"},\"varieties\":{\"1\":{\"name\":"
                "\"red delicious\"},\"2\":{\"name\":\"granny smith\"}}},\"3\":{\"name\":\"banana\",\"physical\":{\"color\":"
                "\"yellow\"},\"varieties\":{\"4\":{\"name\":\"plantain\",\"from\":{\"land\":\"x\"}}}}}}");
    assert_refused("[[a]]\n[a.b]\n[a.b]", 3, "a table stands twice");
    assert_refused("[[a]]\n[a]", 2, "a table stands twice");
    assert_refused("[[a.b.c.d.e.f]]\n[[a.b.c.d.e.f.g.h.i.j.k.l]]", 2, "a key has too many parts");
}

TEST_CASE(test_values)
{
    assert_json("a = [ 1, 'b', # c\n [true,], {x = 1, y = {}} ]", "{\"a\":[\"1\",\"b\",[true],{\"x\":\"1\",\"y\":{}}]}");
    assert_json("a = []\nb = [\n]", "{\"a\":[],\"b\":[]}");
    assert_json("a = +99\nb = 0xDEAD_beef\nc = -6.626e-34\nd = 1979-05-27T07:32:00-07:00\ne = 07:32:00.5\nf = inf\ng = -nan",
                "{\"a\":\"+99\",\"b\":\"0xDEAD_beef\",\"c\":\"-6.626e-34\",\"d\":\"1979-05-27T07:32:00-07:00\",\"e\":\"07:32:00.5\","
                "\"f\":\"inf\",\"g\":\"-nan\"}");
}

TEST_CASE(test_texts)
{
    assert_json("a = \"b\\t\\n\\f\\r\\b\\\"\\\\ \\u00E9\\U0001F600\"", "{\"a\":\"b\\t\\n\\f\\r\\b\\\"\\\\ \xc3\xa9\xf0\x9f\x98\x80\"}");
    assert_json("a = 'C:\\Users\\n\"o\"'", "{\"a\":\"C:\\\\Users\\\\n\\\"o\\\"\"}");
    assert_json("a = \"\"\nb = ''\nc = \"\tx\"", "{\"a\":\"\",\"b\":\"\",\"c\":\"\\tx\"}");
}

TEST_CASE(test_texts_of_several_lines)
{
    assert_json("a = \"\"\"\nRoses\r\nViolets\"\"\"", "{\"a\":\"Roses\\r\\nViolets\"}");
    assert_json("a = \"\"\"\\\n   The quick \\ \t\n\n  fox \\\r\n .\\\n \"\"\"", "{\"a\":\"The quick fox .\"}");
    assert_json("a = '''\nI [dw]on't \\\n'''", "{\"a\":\"I [dw]on't \\\\\\n\"}");
    assert_json("a = \"\"\"\"\"\"\nb = ''''''", "{\"a\":\"\",\"b\":\"\"}");
}

/* Up to two quotes stand anywhere, also right before the three that end it. */
TEST_CASE(test_quotes_at_the_end)
{
    assert_json("a = \"\"\"Two quotes: \"\". Enough.\"\"\"", "{\"a\":\"Two quotes: \\\"\\\". Enough.\"}");
    assert_json("a = \"\"\"\"This,\" she said, \"is pointless.\"\"\"\"", "{\"a\":\"\\\"This,\\\" she said, \\\"is pointless.\\\"\"}");
    assert_json("a = \"\"\"x\"\"\"\"\"\nb = '''x'''''", "{\"a\":\"x\\\"\\\"\",\"b\":\"x''\"}");
    assert_json("a = \"\"\"\"\"\"\"\nb = \"\"\"\"\"\"\"\"", "{\"a\":\"\\\"\",\"b\":\"\\\"\\\"\"}");
    assert_json("a = \"\"\"x\\\"\"\"\"", "{\"a\":\"x\\\"\"}");
    assert_refused("a = \"\"\"x\"\"\"\"\"\"", 1, "something stands behind a value");
    assert_refused("a = '''x''''''\n", 1, "something stands behind a value");
    assert_refused("a = \"\"\"\"\"\"\"\"\"", 1, "something stands behind a value");
    assert_refused("a = [\"\"\"\nx\"\"\"\"\"\"]", 2, "an array goes on with `,` or ends with `]`");
}

TEST_CASE(test_what_is_no_text)
{
    assert_refused("a = 'x\nb = 1'", 1, "a text does not end in its line");
    assert_refused("a = \"x", 1, "a text does not end in its line");
    assert_refused("a = \"\"\"\nx\"\"", 2, "a text of several lines does not end");
    for (const char *const *one = (const char *const[]){"\\x41", "\\e", "\\u12", "\\ud800", "\\U00110000", "\\u0000", "\\", " \\ x", NULL};
         *one != NULL; one++) {
        char text[64];

        (void)snprintf(text, sizeof text, "\na = \"%s", *one);
        assert_refused(text, 2, "an escape in a text is none that TOML has");
    }
    assert_refused_bytes("a = \"x\0y\"", 9, 1, "a control character stands in a text");
    assert_refused("a = 'x\x7f'", 1, "a control character stands in a text");
    assert_refused("a = \"\"\"x\x1b\"\"\"", 1, "a control character stands in a text");
    assert_refused("a = \"\"\"x\ry\"\"\"", 1, "a control character stands in a text");
}

TEST_CASE(test_what_is_refused)
{
    assert_refused("= 1", 1, "a key is missing; write NAME = VALUE, or [TABLE]");
    assert_refused("\xc3\xa9 = 1", 1, "a key is missing; write NAME = VALUE, or [TABLE]");
    assert_refused("a..b = 1", 1, "a key is missing; write NAME = VALUE, or [TABLE]");
    assert_refused("\"\"\"a\"\"\" = 1", 1, "a key stands in one line");
    assert_refused("a.b.c.d.e.f.g.h.i.j.k.l.m = 1", 1, "a key has too many parts");
    assert_refused("[a.b.c.d.e.f]\na.b.c.d.e.f.g = 1", 2, "a key has too many parts");
    assert_refused("\n\nkey", 3, "a key is followed by `=`");
    assert_refused("a =\nb = 1", 1, "a value is missing");
    assert_refused("a = 1 b = 2", 1, "something stands behind a value");
    assert_refused("a = 1979-05-27 07:32:00", 1, "something stands behind a value"); /* with T it is read */
    assert_refused("[a]\n[b]\n[a]", 3, "a table stands twice");
    assert_refused("[a", 1, "a table's name ends with `]`");
    assert_refused("[[a] ]", 1, "a table's name ends with `]`");
    assert_refused("[a] x = 1", 1, "something stands behind a value");
    assert_refused("a = [1 2]", 1, "an array goes on with `,` or ends with `]`");
    assert_refused("a = [,]", 1, "a value is missing");
    assert_refused("a = {x = 1,}", 1, "a key is missing; write NAME = VALUE, or [TABLE]");
    assert_refused("a = {x = 1\n}", 1, "an inline table goes on with `,` or ends with `}`");
    assert_refused("a = {x.y = 1}", 1, "a key with a dot in an inline table is not read here");
    assert_refused("a = [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", 1, "values stand too deep in one another");
    assert_refused("a = yes", 1, "a value is none that TOML has; a text stands in quotes");
    assert_refused("a = True", 1, "a value is none that TOML has; a text stands in quotes");
}

/* What stands twice is told by who reads the JSON, as of any document. */
TEST_CASE(test_twice)
{
    assert_json("a = 1\na = 2", "{\"a\":\"1\",\"a\":\"2\"}");
    assert_json("a = 1\n[a]\nb = 2", "{\"a\":\"1\",\"a\":{\"b\":\"2\"}}");
    assert_json("a = {b = 1}\na.c = 2", "{\"a\":{\"b\":\"1\"},\"a\":{\"c\":\"2\"}}");
}

TEST_CASE(test_limits)
{
    struct buf text;

    buf_init(&text, SIZE_MAX / 2);
    (void)buf_add_text(&text, "a = '");
    for (size_t i = 0; i <= (size_t)1 << 20; i++)
        (void)buf_add_byte(&text, 'x');
    assert_int_equal(buf_add_byte(&text, '\''), CODE_OK);
    assert_refused_bytes(buf_peek(&text).at, buf_peek(&text).len, 1, "a text is too long");
    buf_clear(&text);
    for (int i = 0; i <= 4096; i++)
        (void)buf_addf(&text, "k%d=1\n", i);
    assert_refused_bytes(buf_peek(&text).at, buf_peek(&text).len, 4097, "it has more keys than 4,096");
    buf_fini(&text);
}

TEST_MAIN(NULL, NULL)
