/* SPDX-License-Identifier: Apache-2.0 */
#include "json_help.h"

#define LIT(text) SPAN_LIT(text)

/* 1.11: grammar, the payloads that cJSON lets through */
TEST_CASE(refuses_what_is_not_the_grammar)
{
    static const char *const texts[] = {
        "", " ", "\n", "nul", "nulll", "TRUE", "True", "tru", "NaN", "Infinity", "-Infinity", "undefined", "'a'", "{a:1}",
        "{'a':1}", "[1,]", "[,1]", "[1 2]", "[1", "]", "[", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,\"a\":1}",
        "{\"a\" 1}", "{\"a\":1 \"b\":2}", "[1}", "{\"a\":1]", "{1:2}", "{null:1}", "[1,,2]", "\"a", "\"a\\", "/*c*/1", "//c\n1",
        "1//c", "1 2", "{}{}", "{} {}", "[]]", "null,", "{\"a\":1}x", "01", "-01", "00", "+1", "-", "--1", "5.", ".5", "-.5",
        "1.e1", "1e", "1e+", "1e-", "1E", "0x10", "1_000", "1,000", "1.2.3", "1e1.5", "1f", "\v1", "\f1", "\b1", "\x01" "1",
        "1\x7f", "[1\v]", "\xc2\xa0" "1", "\xe2\x80\xa8" "1"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        refuse_text(texts[i], JSON_FAULT_SYNTAX);
}

/* 1.11: NUL bytes and UTF-16 bodies */
TEST_CASE(refuses_nul_and_utf16)
{
    refuse(LIT("{}\0"), &json_file_rules, JSON_FAULT_SYNTAX);
    refuse(LIT("\0{}"), &json_file_rules, JSON_FAULT_SYNTAX);
    refuse(LIT("[1,\0 2]"), &json_file_rules, JSON_FAULT_SYNTAX);
    refuse(LIT("\"a\0b\""), &json_file_rules, JSON_FAULT_STRING);
    refuse(LIT("{\"a\0\":1}"), &json_file_rules, JSON_FAULT_STRING);
    refuse(LIT("{\0\"\0a\0\"\0:\0" "1\0}\0"), &json_file_rules, JSON_FAULT_SYNTAX);
    refuse(LIT("\0{\0\"\0a\0\"\0:\0" "1\0}"), &json_file_rules, JSON_FAULT_SYNTAX);
    refuse(LIT("\xff\xfe{\0}\0"), &json_file_rules, JSON_FAULT_SYNTAX);
    refuse(LIT("\xfe\xff\0{\0}"), &json_file_rules, JSON_FAULT_SYNTAX);
    /* One byte pair per character, so that only the NULs give it away. */
    refuse(LIT("1\0"), &json_file_rules, JSON_FAULT_SYNTAX);
}

/* 1.11 */
TEST_CASE(refuses_byte_order_mark)
{
    refuse_text("\xef\xbb\xbf{}", JSON_FAULT_UTF8);
    refuse_text("\xef\xbb\xbf", JSON_FAULT_UTF8);
    accept_text("\"\xef\xbb\xbf\"", "\"\xef\xbb\xbf\""); /* inside a string it is a character */
}

/* 1.11: strings */
TEST_CASE(refuses_bad_strings)
{
    static const char *const texts[] = {
        "\"\\u0000\"", "{\"\\u0000\":1}", "{\"a\\u0000b\":1}", "\"\\uZZZZ\"", "\"\\u12\"", "\"\\u123g\"", "\"\\u 123\"",
        "\"\\u-123\"", "\"\\x41\"", "\"\\'\"", "\"\\0\"", "\"\\a\"", "\"\\U00000041\"", "\"\\\xc3\xa4\"", "\"\\\x80\"", "\"\\\n\"",
        "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800x\"", "\"\\ud800\\n\"", "\"\\ud800\\u0041\"", "\"\\ud800\\ud800\"",
        "\"\\udc00\\ud800\"", "\"\\ud83d\\ude0\"", "{\"\\udfff\":1}", "\"\t\"", "\"a\nb\"", "\"\r\"", "\"\x01\"",
        "\"1234567890123456\x1f\""};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        refuse_text(texts[i], JSON_FAULT_STRING);
}

/* 1.11: UTF-8, at every place within a word of eight bytes */
TEST_CASE(refuses_bad_utf8)
{
    static const char *const bad[] = {
        "\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc0\xaf", "\xc3", "\xc3(", "\xe0\x80\xaf", "\xe0\x9f\xbf", "\xe2\x82",
        "\xe2\x28\xa1", "\xe2\x82\x28", "\xed\xa0\x80", "\xed\xbf\xbf", "\xed\xa0\xbd\xed\xb8\x80", "\xf0\x80\x80\x80",
        "\xf0\x8f\xbf\xbf", "\xf0\x9f\x98", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xf8\x88\x80\x80\x80", "\xfe", "\xff"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        for (int before = 0; before < 9; before++)
            for (int after = 0; after < 9; after += 8) {
                char text[64];

                snprintf(text, sizeof text, "\"%.*s%s%.*s\"", before, "abcdefgh", bad[i], after, "ijklmnop");
                refuse_text(text, JSON_FAULT_UTF8);
            }
    refuse_text("{\"\xff\":1}", JSON_FAULT_UTF8);
}

/* 1.11: one spelling for each string; 1.14: Unicode passes */
TEST_CASE(writes_canonical_strings)
{
    accept_text("\"\\u0041\\u00e9\\u20AC\\uD83D\\uDE00\"", "\"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    accept_text("\"\xf0\x9f\x98\x80\xe6\xbc\xa2\xe5\xad\x97 caf\xc3\xa9\"",
                "\"\xf0\x9f\x98\x80\xe6\xbc\xa2\xe5\xad\x97 caf\xc3\xa9\"");
    accept_text("\"\\/\"", "\"/\"");
    accept_text("\"/\"", "\"/\"");
    accept_text("\"\\u002f\\u0022\\u005c\"", "\"/\\\"\\\\\"");
    accept_text("\"\\u0008\\u0009\\u000A\\u000c\\u000D\"", "\"\\b\\t\\n\\f\\r\"");
    accept_text("\"\\b\\t\\n\\f\\r\\\"\\\\\"", "\"\\b\\t\\n\\f\\r\\\"\\\\\"");
    accept_text("\"\\u0001\\u001F\\u007f\"", "\"\\u0001\\u001f\x7f\"");
    accept_text("\"\\ud7ff\\ue000\\uffff\\udbff\\udfff\"", "\"\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf4\x8f\xbf\xbf\"");
    accept_text("{\"\\u006dethod\":1}", "{\"method\":1}");
    accept_text("\"\"", "\"\"");
}

/* 1.11: U+2028, U+2029 and U+0085 never leave as they came */
TEST_CASE(escapes_separators)
{
    struct document d;

    accept_text("\"a\xe2\x80\xa8" "b\xe2\x80\xa9" "c\xc2\x85" "d\"", "\"a\\u2028b\\u2029c\\u0085d\"");
    accept_text("\"\\u2028\\u2029\\u0085\"", "\"\\u2028\\u2029\\u0085\"");
    accept_text("{\"\xe2\x80\xa8\":1}", "{\"\\u2028\":1}");
    accept_text("\"\xe2\x80\xa7\xe2\x80\xaa\xc2\x84\xc2\x86\"", "\"\xe2\x80\xa7\xe2\x80\xaa\xc2\x84\xc2\x86\"");
    read_doc(&d, LIT("{\"k\xc2\x85\":\"\xe2\x80\xa8\"}"), &json_file_rules);
    assert_int_equal(d.code, CODE_OK);
    assert_true(span_is(d.root->child->key, "k\xc2\x85"));
    assert_true(span_is(d.root->child->text, "\xe2\x80\xa8"));
    free_doc(&d);
    /* Nothing but separators is the longest that a result can grow. */
    {
        struct buf in;

        repeat(&in, "\"", "\xc2\x85", 5000, "\"");
        read_doc(&d, buf_peek(&in), &json_file_rules);
        assert_int_equal(d.code, CODE_OK);
        assert_int_equal(buf_len(&d.canon), 30002);
        free_doc(&d);
        buf_fini(&in);
    }
}

/* Claims are read where they stand, in what wipes; a separator in them makes the text longer, which moves them aside. */
TEST_CASE(reads_secrets_in_place)
{
    struct json_fault fault;
    struct buf text;

    buf_init(&text, 1000);
    buf_wipes(&text);
    assert_ok(buf_add_text(&text, " {\"sub\":\"a\xe2\x80\xa8\"} "));
    assert_int_equal(json_read(buf_peek(&text), &json_file_rules, &text, NULL, NULL, &fault), CODE_OK);
    assert_true(span_is(buf_peek(&text), "{\"sub\":\"a\\u2028\"}"));
    assert_true(text.wipes);
    buf_fini(&text);
}

static void see_byte(int byte, size_t len, size_t at, size_t blanks)
{
    char in[80] = "\"", out[80];
    struct buf written;
    struct json_fault fault;
    bool is_plain = byte >= 0x20 && byte != '"' && byte != '\\';
    enum code code;

    memset(in + 1, at % 2 ? '!' : '[', len); /* the neighbours of a quote and of a backslash */
    in[1 + at] = (char)byte;
    in[1 + len] = '"';
    (void)snprintf(out, sizeof out, "%.*s", (int)len + 2, in);
    memset(in + len + 2, ' ', blanks);
    buf_init(&written, 100);
    code = json_read(span_of(in, len + 2 + blanks), &json_file_rules, &written, NULL, NULL, &fault);
    if ((code == CODE_OK) != is_plain || (is_plain && !span_is(buf_peek(&written), out)))
        if (!(byte == '\\' && code == CODE_OK)) /* with what follows it an escape */
            fail_msg("byte %d at %zu of %zu: %s", byte, at, len, code_text(code));
    buf_fini(&written);
}

/* 1.11: sixteen bytes at a time, or eight where the end is near, see what one at a time would */
TEST_CASE(sees_every_byte_at_every_place)
{
    for (int byte = 1; byte < 0x80; byte++)
        for (size_t len = 1; len < 36; len++)
            for (size_t at = 0; at < len; at++) {
                see_byte(byte, len, at, 0);
                see_byte(byte, len, at, 40);
            }
}

/* 1.11: what is written in another way than it came, or is more than a byte, at every place of a long string */
TEST_CASE(writes_alike_at_every_place)
{
    static const struct {
        const char *in, *out; /* out NULL: refused */
    } rows[] = {{"\\n", "\\n"}, {"\\\"", "\\\""}, {"\\/", "/"}, {"\\u0041", "A"}, {"\\u000a", "\\n"}, {"\xc3\xa9", "\xc3\xa9"},
                {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"}, {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
                {"\xe2\x80\xa8", "\\u2028"}, {"\xc2\x85", "\\u0085"}, {"\\x", NULL}, {"\xe2\x80", NULL}, {"\xc0\x80", NULL},
                {"\x80", NULL}, {"\\ud83d", NULL}};

    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        for (int before = 0; before < 36; before++)
            for (int blanks = 0; blanks <= 40; blanks += 40) {
                char in[200], out[200];

                (void)snprintf(in, sizeof in, "[\"%0*d%sxyz\"%*s]", before + 1, 0, rows[row].in, blanks, "");
                (void)snprintf(out, sizeof out, "[\"%0*d%sxyz\"]", before + 1, 0, rows[row].out ? rows[row].out : "");
                if (rows[row].out != NULL)
                    accept_text(in, out);
                else
                    refuse(span_text(in), &json_file_rules, rows[row].in[0] == '\\' ? JSON_FAULT_STRING : JSON_FAULT_UTF8);
            }
}

/* 1.11: minified, members in order, lexemes verbatim; 1.14: nulls, 19.99 */
TEST_CASE(keeps_values)
{
    accept_text(" { \"b\" : [ 1 , 2.50 , -0 , 1E+2 , 19.99 ] ,\r\n\t\"a\" : null , \"c\" : { } , \"d\" : [ ] } ",
                "{\"b\":[1,2.50,-0,1E+2,19.99],\"a\":null,\"c\":{},\"d\":[]}");
    accept_text("9007199254740993", "9007199254740993");
    accept_text("0.30000000000000004", "0.30000000000000004");
    accept_text("[true,false,null]", "[true,false,null]");
    accept_text(" 0 ", "0");
    accept_text("-0.0e-0", "-0.0e-0");
}

/* 1.11: numbers */
TEST_CASE(bounds_numbers)
{
    char digits[512];

    memset(digits, '1', sizeof digits);
    digits[300] = '\0';
    accept_text(digits, digits);
    memset(digits, '1', sizeof digits);
    digits[1] = '.';
    digits[401] = '\0'; /* 400 digits and the point */
    accept_text(digits, digits);
    digits[401] = '1';
    digits[402] = '\0';
    refuse_text(digits, JSON_FAULT_NUMBER);
    accept_text("1.7976931348623157e308", "1.7976931348623157e308");
    accept_text("-1.7976931348623157e308", "-1.7976931348623157e308");
    accept_text("17976931348623157e292", "17976931348623157e292");
    accept_text("0.00017976931348623157e+312", "0.00017976931348623157e+312");
    refuse_text("1.7976931348623158e308", JSON_FAULT_NUMBER);
    refuse_text("-1.7976931348623158e308", JSON_FAULT_NUMBER);
    refuse_text("1.79769313486231570000000000001e308", JSON_FAULT_NUMBER);
    refuse_text("17976931348623158e292", JSON_FAULT_NUMBER);
    refuse_text("1e309", JSON_FAULT_NUMBER);
    refuse_text("1e400", JSON_FAULT_NUMBER);
    refuse_text("-1e400", JSON_FAULT_NUMBER);
    refuse_text("0.1e310", JSON_FAULT_NUMBER);
    refuse_text("1e99999999999999999999999999", JSON_FAULT_NUMBER);
    refuse_text("{\"a\":[1e400]}", JSON_FAULT_NUMBER);
    memset(digits, '9', 309);
    digits[309] = '\0';
    refuse_text(digits, JSON_FAULT_NUMBER);
    accept_text("5e-324", "5e-324");
    accept_text("1e-400", "1e-400");
    accept_text("1e-99999999999999999999999999", "1e-99999999999999999999999999");
    accept_text("0e99999999999999999999999999", "0e99999999999999999999999999");
    accept_text("0.0000000000000000000000001", "0.0000000000000000000000001");
}

/* 1.11: depth */
TEST_CASE(bounds_depth)
{
    struct buf in;
    struct json_rules rules = json_request_rules;

    for (size_t depth = 64; depth <= 65; depth++) {
        buf_init(&in, 1024);
        for (size_t i = 0; i < depth; i++)
            assert_int_equal(buf_add_byte(&in, '['), CODE_OK);
        for (size_t i = 0; i < depth; i++)
            assert_int_equal(buf_add_byte(&in, ']'), CODE_OK);
        if (depth == 64)
            accept_as(buf_peek(&in), &rules, buf_peek(&in));
        else
            refuse(buf_peek(&in), &rules, JSON_FAULT_DEPTH);
        accept_as(buf_peek(&in), &json_reply_rules, buf_peek(&in));
        buf_fini(&in);
    }
    repeat(&in, "", "{\"a\":", 65, "");
    refuse(buf_peek(&in), &rules, JSON_FAULT_DEPTH);
    buf_fini(&in);
    repeat(&in, "", "[", 129, "");
    refuse(buf_peek(&in), &json_reply_rules, JSON_FAULT_DEPTH);
    buf_fini(&in);
    repeat(&in, "", "[", 1000000, "");
    refuse(buf_peek(&in), &json_reply_rules, JSON_FAULT_DEPTH);
    buf_fini(&in);
}

/* 1.11: nodes; 1.14: 150,000 numbers */
TEST_CASE(bounds_nodes)
{
    struct buf in;
    struct document d;

    repeat(&in, "[0", ",0", 199998, "]"); /* 199,999 numbers and the array */
    accept_as(buf_peek(&in), &json_request_rules, buf_peek(&in));
    buf_fini(&in);
    repeat(&in, "[0", ",0", 199999, "]");
    refuse(buf_peek(&in), &json_request_rules, JSON_FAULT_NODES);
    accept_as(buf_peek(&in), &json_reply_rules, buf_peek(&in)); /* replies have no such cap */
    buf_fini(&in);
    repeat(&in, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{\"v\":[0",
           ", -1234567.890123456e10", 149999, "]}}}");
    assert_true(buf_len(&in) < 4u << 20);
    read_doc(&d, buf_peek(&in), &json_request_rules);
    assert_int_equal(d.code, CODE_OK);
    assert_int_equal(json_at(d.root, "params", "arguments", "v", NULL)->count, 150000);
    free_doc(&d);
    buf_fini(&in);
}

/* 1.14: a long base64 string */
TEST_CASE(passes_long_strings)
{
    struct buf in;
    struct document d;

    repeat(&in, "{\"blob\":\"", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5eg==", 75000, "\"}");
    assert_true(buf_len(&in) > 5400000);
    read_doc(&d, buf_peek(&in), &json_reply_rules);
    assert_int_equal(d.code, CODE_OK);
    assert_int_equal(d.root->child->text.len, buf_len(&in) - 11);
    assert_true(span_equals(buf_peek(&d.canon), buf_peek(&in)));
    free_doc(&d);
    buf_fini(&in);
}

/* 1.11: the cap on canonical bytes; a cap below the input's length is no refusal where the result fits */
TEST_CASE(bounds_canonical_bytes)
{
    struct json_fault fault;
    struct buf out;

    for (size_t cap = 0; cap < 20; cap++) {
        struct span in = LIT("[ 1 ,  \"a\\u000a\xc2\x85\" , { } ]");
        struct span canonical = LIT("[1,\"a\\n\\u0085\",{}]");
        enum code code;

        buf_init(&out, cap);
        code = json_read(in, &json_file_rules, &out, NULL, NULL, &fault);
        assert_int_equal(code, cap >= canonical.len ? CODE_OK : CODE_LIMIT);
        assert_int_equal(fault.kind, cap >= canonical.len ? JSON_FAULT_NONE : JSON_FAULT_SIZE);
        assert_int_equal(buf_len(&out), cap >= canonical.len ? canonical.len : 0);
        buf_fini(&out);
    }
}

TEST_CASE(appends_behind_what_is_there)
{
    struct json_fault fault;
    struct buf out;

    buf_init(&out, 100);
    assert_int_equal(buf_add_text(&out, "data: "), CODE_OK);
    assert_int_equal(json_read(LIT("[ 1 ]"), &json_file_rules, &out, NULL, NULL, &fault), CODE_OK);
    assert_true(span_is(buf_peek(&out), "data: [1]"));
    assert_int_equal(json_read(LIT("[ 1 "), &json_file_rules, &out, NULL, NULL, &fault), CODE_INVALID);
    assert_true(span_is(buf_peek(&out), "data: [1]"));
    buf_fini(&out);
}

TEST_CASE(names_the_place)
{
    struct document d;

    read_doc(&d, LIT("{\"a\": 1, \"b\": 01}"), &json_file_rules);
    assert_int_equal(d.fault.offset, 14);
    free_doc(&d);
    read_doc(&d, LIT("{\"a\": 1, \"\\u0061\": 2}"), &json_file_rules);
    assert_int_equal(d.fault.kind, JSON_FAULT_DUPLICATE);
    assert_int_equal(d.fault.offset, 9);
    free_doc(&d);
    read_doc(&d, LIT("[\"abc\xff\"]"), &json_file_rules);
    assert_int_equal(d.fault.offset, 5);
    free_doc(&d);
}

TEST_CASE(fails_without_memory)
{
    struct span in = LIT("{\"a\\n\":[1,\"x\\u0085\",{\"k\\t\":null}],\"b\":{\"c\":\"d\"},\"1\":1,\"2\":1,\"3\":1,\"4\":1,"
                         "\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"10\":[{\"11\":[1,2,3,4,5,6,7,8,9]}]}");
    uint64_t n;
    struct document d;

    for (n = 1;; n++) {
        buf_init(&d.canon, CANON_CAP);
        arena_init(&d.arena, CANON_CAP);
        mem_fail_at(n, 1);
        d.code = json_read(in, &json_request_rules, &d.canon, &d.arena, &d.root, &d.fault);
        mem_fail_at(0, 0);
        free_doc(&d);
        if (d.code == CODE_OK)
            break;
        assert_int_equal(d.code, CODE_NOMEM);
        assert_int_equal(d.fault.kind, JSON_FAULT_MEMORY);
        assert_null(d.root);
    }
    assert_true(n > 3);
    /* An arena that is too small is the same failure. */
    buf_init(&d.canon, CANON_CAP);
    arena_init(&d.arena, 100);
    assert_int_equal(json_read(in, &json_request_rules, &d.canon, &d.arena, &d.root, &d.fault), CODE_NOMEM);
    free_doc(&d);
}

TEST_MAIN(NULL, NULL)
