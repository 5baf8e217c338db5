/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"
#include "fakes/cm.h"

#include <stdlib.h>


/* 2.1: `decode: [json]`: what a string says that is JSON for some reader. NULL: nothing. */
TEST_CASE(test_texts)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"\"drop\"", "drop"},
        {" \"\\u0064r\\u006fp\" ", "drop"},
        {"\"a\\n\\t\\\"\\\\\\/\\b\\f\\r\"", "a\n\t\"\\/\b\f\r"},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\xc3\xa9\"", "\xc3\xa9"},
        {"\"\"", ""},
        {"5", "5"},
        {"-0.50e+10", "-0.50e+10"},
        {"1e400", "1e400"},
        {"true", "true"},
        {" null\n", "null"},
        {"[]", "[]"},
        {"{ }", "{}"},
        {"[ 1 , \"\\u0041\" ]", "[1,\"A\"]"},
        {"{\"a\\\"b\" : {\"\\u0063\": [null, {}]}, \"a\\\"b\": 1}", "{\"a\"b\":{\"c\":[null,{}]},\"a\"b\":1}"},
        {"", NULL},
        {" ", NULL},
        {"drop", NULL},
        {"\"drop", NULL},
        {"\"a\" b", NULL},
        {"'a'", NULL},
        {"01", NULL},
        {"1.", NULL},
        {"-", NULL},
        {".5", NULL},
        {"1e", NULL},
        {"NaN", NULL},
        {"tru", NULL},
        {"[1,]", NULL},
        {"[1 2]", NULL},
        {"[1}", NULL},
        {"[", NULL},
        {"]", NULL},
        {"{1:2}", NULL},
        {"{\"a\" 1}", NULL},
        {"{\"a\":1,}", NULL},
        {"{\"a\":}", NULL},
        {"\"\\x41\"", NULL},
        {"\"\\u12\"", NULL},
        {"\"\\ud800\"", "\xef\xbf\xbd"}, /* half a pair hides nothing */
        {"\"\\ud800\\u0041\"", "\xef\xbf\xbd" "A"},
        {"\"\\ud800\\ud83d\\ude00\"", "\xef\xbf\xbd\xf0\x9f\x98\x80"},
        {"\"\\ude00\"", "\xef\xbf\xbd"},
        {"\"\\ud800\\u00\"", NULL},
        {"\"\\ud800\\n\"", "\xef\xbf\xbd\n"},
        {"\"\\", NULL},
        {"\"\n\"", NULL},
        {"\xef\xbb\xbf" "1", NULL},
    };
    struct buf out;

    buf_init(&out, 1 << 16);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum code code;

        buf_clear(&out);
        code = json_say(span_text(rows[i].text), &out);
        if (code != (rows[i].said ? CODE_OK : CODE_INVALID) || !span_is(buf_peek(&out), rows[i].said ? rows[i].said : ""))
            fail_msg("%s says %.*s (%d)", rows[i].text, SPAN_ARG(buf_peek(&out)), code);
    }
    buf_clear(&out);
    assert_int_equal(json_say(SPAN_LIT("\"a\\u0000b\""), &out), CODE_OK);
    assert_true(span_equals(buf_peek(&out), SPAN_LIT("a\0b")));
    buf_fini(&out);
}

TEST_CASE(test_bounds)
{
    char text[4096];
    struct buf out;

    buf_init(&out, 1 << 16);
    memset(text, '[', 1024);
    memset(text + 1024, ']', 1024);
    assert_int_equal(json_say(span_of(text, 2048), &out), CODE_OK);
    assert_int_equal(buf_len(&out), 2048);
    memset(text, '[', 1025);
    assert_int_equal(json_say(span_of(text, 1025), &out), CODE_LIMIT);
    buf_fini(&out);
    buf_init(&out, 4);
    assert_int_equal(json_say(SPAN_LIT("[1,2]"), &out), CODE_LIMIT);
    mem_fail_at(1, 0);
    assert_int_equal(json_say(SPAN_LIT("[1]"), &out), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_int_equal(buf_len(&out), 0);
    buf_fini(&out);
}

TEST_MAIN(NULL, NULL)
