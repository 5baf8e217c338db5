/* SPDX-License-Identifier: Apache-2.0 */
/* Decoded readings: what a string may be taken for behind the gate. */
#include "author/explain.h"
#include "json/doc.h"
#include "judgement/judgement.h"
#include "texts/decode_text.h"
#include "unit/policy/rows.h"

#include <entity_tbl.h>

#define P "decode: [percent]"
#define B "decode: [base64]"
#define U "decode: [unicode]"
#define H "decode: [html]"
#define J "decode: [json]"
#define HEX "decode: [hex]"
#define IN "decode: [base64_inside]"
#define GLYPH "decode: [homoglyph]"
#define SECRET "AKIAIOSFODNN7EXAMPLE"

static const struct row single_rows[] = {
    /* percent: well-formed escapes only */
    {"equals: 'a/b', " P, "\"a%2Fb\"", 'T', 'F'},
    {"equals: 'a%2Fb', " P, "\"a%2Fb\"", 'T', 'F'},
    {"matches: '^a', " P, "\"a%2Fb\"", 'T', 'F'},
    {"matches: 'a.*', " P, "\"a%2Fb\"", 'T', 'T'},
    {"contains: '..', " P, "\"%252e%252e\"", 'T', 'F'},
    {"contains: '..', " P, "\"%25252e%25252e\"", 'T', 'F'},
    {"contains: '..', " P, "\"%2525252e%2525252e\"", 'F', 'F'}, /* four times */
    {"contains: 'a', " P, "\"%4%61%\"", 'T', 'F'},
    {"equals: '%4a%', " P, "\"%4%61%\"", 'T', 'F'},
    {"equals: '%zz', " P, "\"%zz\"", 'T', 'T'},
    {"equals: '+', " P, "\"+\"", 'T', 'T'},
    /* 9.1: what is no UTF-8 hides nothing that stands beside it. */
    {"equals: \"a\\ufffd\", " P, "\"%61%ff\"", 'T', 'F'},
    {"contains: drop, " P, "\"%ff%64rop\"", 'T', 'F'},
    {"equals: \"\\ufffd\\ufffddrop\", " P, "\"%e4%b8%64rop\"", 'T', 'F'}, /* cut short */
    {"equals: \"\\ufffd\\ufffdd\", " P, "\"%c0%afd\"", 'T', 'F'}, /* overlong */
    {"equals: \"\\ufffd\\ufffd\\ufffdd\", " P, "\"%ed%a0%80%64\"", 'T', 'F'}, /* half a pair */
    {"equals: \"\\ufffd\\u00e9\\ufffd\", " P, "\"%c3\u00e9%a9\"", 'T', 'F'}, /* each its own */
    {"equals: \"\\U0001f600d\", " P, "\"%f0%9f%98%80%64\"", 'T', 'F'},
    {"min_length: 2, " P, "\"%61\"", 'T', 'F'},
    {"max_length: 1, " P, "\"%61\"", 'T', 'F'},
    {"max_length: 0, " P, "\"\"", 'T', 'T'},
    {"matches: '^a.b$', " P, "\"a%00b\"", 'T', 'F'}, /* NUL */
    {"matches: 'b$', " P, "\"b%0a\"", 'F', 'F'},
    {"equals: 5, " P, "\"5\"", 'F', 'F'},
    {"equals: 5, " P, "5.0", 'T', 'T'},
    {"equals: null, " P, "null", 'T', 'T'},
    {"equals: {a: '%61'}, " P, "{\"a\":\"%61\"}", 'T', 'T'},
    {"contains: a, " P, "[\"%61\"]", 'F', 'F'}, /* of an array: its members, as they are */
    {"contains: a, " P, "{}", 'U', 'U'},
    {"in: [a, b], " P, "\"%61\"", 'T', 'F'},
    {"in: [a, '%61'], " P, "\"%61\"", 'T', 'T'},
    {"glob: 'a*', " P, "\"%61b\"", 'T', 'F'},
    {"starts_with: a, " P, "\"%61b\"", 'T', 'F'},
    {"ends_with: b, " P, "\"a%62\"", 'T', 'F'},
    {"starts_with: a, ends_with: '2', " P, "\"%61b%62\"", 'T', 'F'}, /* each operator is asked by itself */
    {"under: /srv, " P, "\"/srv/%252e%252e/etc\"", 'U', 'F'}, /* the string: undecided; then /srv/../etc */
    {"url: {hosts: [a.example]}, " P, "\"https%3a%2f%2fa.example/\"", 'T', 'U'},
    {"cidr: 10.0.0.0/8, " P, "\"%310.0.0.1\"", 'T', 'U'},
    {"format: date, " P, "\"2024-01-0%31\"", 'T', 'F'},
    {"is: string, equals: a, " P, "\"%61\"", 'T', 'F'},
    {"not_matches: drop, " P, "\"d%72op\"", 'T', 'F'},
    {"not_matches: drop, " P, "\"d%73op\"", 'T', 'T'},
    {"not_matches: 'dr[%2fop]*', " P, "\"dr%6fp\"", 'T', 'F'},
    {"min: 5, equals: '5', " P, "\"%35\"", 'U', 'F'},
    /* html: names with the semicolon */
    {"equals: '<a>', " H, "\"&lt;a&gt;\"", 'T', 'F'},
    {"equals: '<a>', " H, "\"&#60;a&#x3E;\"", 'T', 'F'},
    {"equals: '<a>', " H, "\"&#X3c;a&#0000000000062;\"", 'T', 'F'},
    {"equals: '<', " H, "\"&amp;lt;\"", 'T', 'F'},
    {"contains: '<', " H, "\"&lt &#x; &#; &LTx; &Lt; &nosuch; &;\"", 'F', 'F'},
    {"contains: '<', " H, "\"&&lt;\"", 'T', 'F'},
    {"equals: '<', " H, "\"&#60\"", 'T', 'F'}, /* 9.1: as browsers read numbers */
    {"equals: drop, " H, "\"&#100&#x72&#111;&#x70\"", 'T', 'F'},
    {"equals: '&#0;&#xd800;&#x110000;&#99999999999;', " H, "\"&#0;&#xd800;&#x110000;&#99999999999;\"", 'T', 'T'},
    {"equals: \"\\U0001f600\", " H, "\"&#x1F600;\"", 'T', 'F'},
    {"contains: '<', " H, "\"&#x110000;&#xd800;&#0;&lt;\"", 'T', 'F'},
    {"equals: '/', " H, "\"&sol;\"", 'T', 'F'},
    {"equals: \"java\\tscript\", " H, "\"java&Tab;script\"", 'T', 'F'},
    {"equals: \"\\u226b\\u20d2\\u226b\\u20d2\", " H, "\"&nGt;&nGt;\"", 'T', 'F'}, /* becomes longer */
    {"equals: drop, decode: [html, unicode]", "\"&dfr;&rscr;&oopf;&pscr;\"", 'T', 'F'},
    {"equals: \"\\u2233\", " H, "\"&CounterClockwiseContourIntegral;\"", 'T', 'F'}, /* the longest name */
    {"equals: 'fj', " H, "\"&fjlig;\"", 'T', 'F'},
    {"equals: drop, decode: [html, unicode]", "\"d&ZeroWidthSpace;r&shy;op\"", 'T', 'F'},
    /* base64: the whole string */
    {"equals: drop, " B, "\"ZHJvcA==\"", 'T', 'F'},
    {"equals: drop, " B, "\"ZHJvcA\"", 'T', 'F'},
    {"equals: drop, " B, "\"ZHJv\\r\\ncA==\"", 'T', 'F'},
    {"equals: drop, " B, "\"x ZHJvcA==\"", 'F', 'F'},
    {"equals: '?\?\?', " B, "\"Pz8_\"", 'T', 'F'},
    {"equals: '?\?\?', " B, "\"Pz8/\"", 'T', 'F'},
    {"matches: '.*', " B, "\"/////w==\"", 'T', 'T'}, /* no UTF-8 */
    {"equals: drop, " B, "\"WkhKdmNBPT0=\"", 'T', 'F'},
    {"equals: drop, " B, "\"V2toS2RtTkJQVDA9\"", 'T', 'F'},
    {"equals: drop, " B, "\"VjJ0b1MyUnRUa0pRVkRBOQ==\"", 'F', 'F'}, /* four times */
    {"equals: '', " B, "\"\"", 'T', 'T'},
    {"equals: '', " B, "\" \"", 'T', 'F'},
    {"equals: '', " B, "\"=\"", 'F', 'F'},
    /* json: the whole string */
    {"equals: drop, " J, "\"\\\"dr\\\\u006fp\\\"\"", 'T', 'F'},
    {"contains: drop, " J, "\"{\\\"q\\\": [\\\"\\\\u0064rop\\\"]}\"", 'T', 'F'},
    {"equals: '{\"q\":[\"drop\"]}', " J, "\"{\\\"q\\\": [\\\"\\\\u0064rop\\\"]}\"", 'T', 'F'},
    {"contains: drop, " J, "\"{\\\"\\\\u0064rop\\\":1,\\\"\\\\u0064rop\\\":1e999}\"", 'T', 'F'},
    {"contains: drop, " J, "\"{\\\"q\\\": \\\"\\\\u0064rop\\\"} x\"", 'F', 'F'},
    {"contains: drop, " J, "\"\\\"\\\\u0064rop\\\\ud800\\\"\"", 'T', 'F'}, /* 9.1 */
    {"equals: '5', " J, "\" 5\"", 'T', 'F'},
    {"equals: 5, " J, "\"5\"", 'F', 'F'},
    {"matches: '^a.b$', " J, "\"\\\"a\\\\u0000b\\\"\"", 'T', 'F'},
    /* unicode */
    {"equals: drop, " U, "\"\\uff44\\uff52\\uff4f\\uff50\"", 'T', 'F'},
    {"equals: drop, " U, "\"d\\u200br\\u00ado\\u202ep\"", 'T', 'F'},
    {"matches: drop, " U, "\"\\uff44rop\"", 'T', 'F'},
    {"equals: s, " U, "\"\\u017f\"", 'T', 'F'},
    {"equals: \"\\u00e9\", " U, "\"e\\u0301\"", 'T', 'F'},
    {"max_length: 1, " U, "\"e\\u0301\"", 'T', 'F'},
    {"matches: '(?i)k', " U, "\"\\u212a\"", 'T', 'U'}, /* the string itself: undecided where it opens */
    {"equals: \"\\u0430\", " U, "\"a\"", 'F', 'F'},
    /* nested, in any order */
    {"equals: drop, decode: [percent, base64]", "\"%5AHJvcA==\"", 'T', 'F'},
    {"equals: drop, decode: [base64, percent]", "\"ZCU3Mm9w\"", 'T', 'F'},
    {"equals: drop, decode: [json, html, unicode]", "\"\\\"&#xff44;rop\\\"\"", 'T', 'F'},
    {"equals: drop, decode: [percent, base64, unicode, html, json]", "\"drop\"", 'T', 'T'},
    {"equals: drop, decode: [percent, base64, unicode, html, json], quantify: any", "\"&#37;64rop\"", 'T', 'F'},
};

TEST_CASE(test_single)
{
    CHECK(single_rows); /* 2.11, 2.1 */
}

/* Names are found by halves, and room is made for the one that grows most. */
TEST_CASE(test_entities)
{
    static const struct {
        const char *name, *text;
    } entities[] = {
#define X(name, text) {name, text},
        ENTITY_TABLE(X)
#undef X
    };
    size_t count = sizeof entities / sizeof *entities;

    assert_int_equal(count, 2125);
    for (size_t i = 0; i < count; i++) {
        size_t written = strlen(entities[i].name) + 2, becomes = strlen(entities[i].text);

        assert_true(i == 0 || strcmp(entities[i - 1].name, entities[i].name) < 0);
        assert_in_range(strlen(entities[i].name), 2, 31);
        assert_in_range(becomes, 1, 7);
        assert_true(becomes * 5 <= written * 6);
    }
}

/* 9.1, 9.5: what is written in hexadecimal digits, in base64 or in letters of other scripts, inside of a text. */
static const struct row inside_rows[] = {
    /* hex: escapes wherever they are, runs of eight bytes or the whole string */
    {"equals: drop, " HEX, "\"d\\\\x72op\"", 'T', 'F'},
    {"equals: drop it, " HEX, "\"\\\\x64\\\\X72\\\\x6F\\\\x70 it\"", 'T', 'F'},
    {"equals: drop, " HEX, "\"d\\\\xff\\\\x72op\"", 'T', 'F'}, /* what is no text does not save the rest */
    {"contains: r, " HEX, "\"\\\\x7g \\\\x7 \\\\x \\\\\"", 'F', 'F'},
    {"equals: drop, " HEX, "\"64726f70\"", 'T', 'F'},
    {"equals: drop, " HEX, "\"0x64726F70\"", 'T', 'F'},
    {"equals: drop, " HEX, "\"64:72:6f:70\"", 'T', 'F'},
    {"equals: drop, " HEX, "\"0x64, 0x72,\\r\\n 0x6f 0x70\"", 'T', 'F'},
    {"contains: drop, " HEX, "\"see 64726f70\"", 'F', 'F'}, /* four bytes are in many numbers */
    {"equals: 'see drop table!', " HEX, "\"see 64726f70207461626c65!\"", 'T', 'F'},
    {"equals: 'see drop table!', " HEX, "\"see 64 72 6f 70 20 74 61 62 6c 65!\"", 'T', 'F'},
    {"equals: 'see drop table!', " HEX, "\"see 6472-6f70-2074-6162-6c65!\"", 'T', 'F'},
    {"contains: drop table, " HEX, "\"see 64__72\"", 'F', 'F'},
    {"contains: drop table, " HEX, "\"id=a64726f70207461626c65;\"", 'T', 'F'}, /* from the second digit */
    {"contains: drop table, " HEX, "\"fffe64726f70207461626c65ffff\"", 'T', 'F'},
    {"equals: \"drop t\\xe4ble\", " HEX, "\"64726f702074c3a4626c65\"", 'T', 'F'},
    {"matches: '.*', " HEX, "\"d2c7ab5f 2024-05-12 be added 4111 1111 1111 1111\"", 'T', 'T'},
    /* base64: both alphabets, with and without padding, from each of four letters, across the ends of long lines */
    {"equals: 'd=drop table&e', " IN, "\"d=ZHJvcCB0YWJsZQ==&e\"", 'T', 'F'},
    {"equals: 'd=drop table&e', " IN, "\"d=ZHJvcCB0YWJsZQ&e\"", 'T', 'F'},
    {"equals: 'Basic drop table?\?>', " IN, "\"Basic ZHJvcCB0YWJsZT8_Pg\"", 'T', 'F'},
    {"equals: 'Basic drop table?\?>', " IN, "\"Basic ZHJvcCB0YWJsZT8/Pg\"", 'T', 'F'},
    {"matches: '(?m)^AKIAIOSFODNN7EXAMPLE', " IN, "\"https://a.example/c/QUtJQUlPU0ZPRE5ON0VYQU1QTEU=?n=1\"", 'T', 'F'},
    {"matches: '\\b" SECRET "\\b', anchor: anywhere, " IN, "\"https://a.example/c/QUtJQUlPU0ZPRE5ON0VYQU1QTEU=?n=1\"", 'T', 'F'},
    {"matches: '\\b" SECRET "\\b', anchor: anywhere, " IN, "\"my-key_QUtJQUlPU0ZPRE5ON0VYQU1QTEU\"", 'T', 'F'},
    {"contains: " SECRET ", " IN, "\"xQUtJQUlPU0ZPRE5ON0VYQU1QTEU\"", 'T', 'F'},
    {"contains: " SECRET ", " IN, "\"xyQUtJQUlPU0ZPRE5ON0VYQU1QTEU\"", 'T', 'F'},
    {"contains: " SECRET ", " IN, "\"xyzQUtJQUlPU0ZPRE5ON0VYQU1QTEUabcdefghijklmn\"", 'T', 'F'},
    {"contains: " SECRET ", " IN, "\"gives: QUtJQUlPU0ZPRE5O\\n  N0VYQU1QTEUgYSBi.\"", 'T', 'F'},
    {"contains: " SECRET ", " IN, "\"QUtJQUlPU0Z PRE5ON0VYQU1QTEU\"", 'F', 'F'}, /* a blank ends it: base64 reads whole strings */
    {"contains: " SECRET ", " IN, "\"a UVV0SlFVbFBVMFpQUkU1T04wVllRVTFRVEVV\"", 'T', 'F'}, /* twice */
    {"contains: '\"sub\":\"1\"', " IN, "\"Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.c2lnbmF0dXJl\"", 'T', 'F'},
    {"contains: drop, " IN, "\"x ZHJvcA== y\"", 'F', 'F'}, /* shorter than a piece */
    {"equals: \"a: dr\\xf6p t\\xe4ble\", " IN, "\"a: ZHLDtnAgdMOkYmxl\"", 'T', 'F'},
    {"matches: '.*', " IN, "\"internationalization of responsibilities is incomprehensible\"", 'T', 'T'},
    /* homoglyph: NFKC, then what looks like ASCII */
    {"equals: delete, " GLYPH, "\"d\\u0435l\\u0435t\\u0435\"", 'T', 'F'},
    {"equals: DROP, " GLYPH, "\"DR\\u041e\\u0420\"", 'T', 'F'},
    {"equals: drop, " GLYPH, "\"\\u0501\\ud835\\udc2b\\u03bf\\u200b\\u0440\"", 'T', 'F'},
    {"equals: make, " GLYPH, "\"\\u043c\\u0430\\u043a\\u0435\"", 'T', 'F'}, /* as their capitals */
    {"equals: ID10, " GLYPH, "\"\\u0406D\\uff11\\ud835\\udfce\"", 'T', 'F'}, /* what of I, l, 1 and of O, 0 is meant */
    {"equals: lO, " GLYPH, "\"lO\"", 'T', 'T'},
    {"equals: 1l, " GLYPH, "\"l1\"", 'F', 'F'}, /* ASCII stays */
    {"equals: \"caf\\xe9\", " GLYPH, "\"\\u0441af\\u00e9\"", 'T', 'F'},
    {"equals: \"\\u8cb7\", " GLYPH, "\"\\u8cb7\"", 'T', 'T'},
    /* one after the other */
    {"contains: " SECRET ", decode: [percent, base64_inside]", "\"q=QUtJQUlPU0ZPRE5ON0VYQU1QTEU%3D\"", 'T', 'F'},
    {"contains: " SECRET ", decode: [hex, base64_inside]",
     "\"51 55 74 4a 51 55 6c 50 55 30 5a 50 52 45 35 4f 4e 30 56 59 51 55 31 51 54 45 55\"", 'T', 'F'},
    {"contains: " SECRET ", decode: [json, hex, base64_inside, homoglyph]",
     "\"{\\\"a\\\": \\\"Q\\\\u0055tJQUlPU0ZPRE5ON0VYQU1QTEU\\\"}\"", 'T', 'F'},
};

TEST_CASE(test_inside)
{
    CHECK(inside_rows);
}

/* 11.13: a run is found wherever it stands, whatever is passed by before it. */
TEST_CASE(test_every_place)
{
    static const char *const passed[] = {" ", "e.g., it's a word; ", "\xc3\xa9l\xc3\xa8ve ", "well-known/some_word.", "0123456789"};
    char text[128], wanted[128];
    struct buf out;

    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        for (int before = 0; before < 48; before++)
            for (int behind = 0; behind < 24; behind++) {
                char front[49] = "";

                for (int at = 0; at < before; at++)
                    front[at] = passed[i][(size_t)at % strlen(passed[i])];
                snprintf(text, sizeof text, "%s|c2VjcmV0IGE|%.*s", front, behind, "                        ");
                snprintf(wanted, sizeof wanted, "%s|secret a|%.*s", front, behind, "                        ");
                buf_init(&out, 4096);
                assert_int_equal(decode_base64(span_text(text), &out), CODE_OK);
                assert_true(span_is(buf_peek(&out), wanted));
                buf_fini(&out);
                snprintf(text, sizeof text, "%s|c2VjcmV0IG|%.*s", front, behind, "                        ");
                assert_int_equal(decode_base64(span_text(text), &out), CODE_INVALID);
                buf_fini(&out);
            }
}

static char joined_truth(const char *more, const char *json, bool opening)
{
    char text[256];

    snprintf(text, sizeof text, "{arg: '$..*', joined: true, %s}", more);
    return truth_of_condition(text, span_text(json), opening);
}

/* 9.1, 9.5: over several values: as they were sent, each read by itself or all of them together; names too. */
TEST_CASE(test_joined)
{
    static const struct {
        const char *more, *json;
        char opening, closing;
    } rows[] = {
        {"contains: drop table", "{\"a\":\"drop t\",\"b\":\"able\"}", 'F', 'T'},
        {"contains: drop table", "{\"a\":\"drop t\",\"b\":[{\"c\":\"ab\"}],\"d\":\"le\"}", 'F', 'T'}, /* document order */
        {"contains: drop table", "{\"a\":\"able\",\"b\":\"drop t\"}", 'F', 'F'},
        {"contains: '4111111111111111'", "{\"a\":[4111,1111,\"1111\",1111]}", 'F', 'T'},
        {"contains: drop table", "{\"a\":\"drop t\",\"b\":true,\"c\":null,\"d\":\"\",\"e\":\"able\"}", 'F', 'T'},
        {"equals: ab", "{\"v\":\"ab\"}", 'T', 'T'},                    /* one alone is joined to nothing */
        {"matches: '[a-z]*'", "{\"a\":\"b\",\"c\":\"d\"}", 'T', 'T'},
        {"max_length: 3", "{\"a\":\"bb\",\"c\":\"dd\"}", 'F', 'T'}, /* a permit asks it of the whole, too */
        {"not_matches: 'bd'", "{\"a\":\"b\",\"c\":\"d\"}", 'F', 'T'},
        {"contains: " SECRET ", decode: [base64_inside]", "{\"a\":\"QUtJQUlPU0ZP\",\"b\":\"RE5ON0VYQU1QTEU=\"}", 'F', 'T'},
        {"contains: " SECRET ", decode: [base64]", "{\"a\":\"QUtJQUlPU0Y=\",\"b\":\"T0ROTjdFWEFNUExF\"}", 'F', 'T'}, /* each by itself */
        {"contains: " SECRET ", decode: [base64]", "{\"t\":\"see!\",\"a\":\"QUtJQUlPU0Y=\",\"b\":\"T0ROTjdFWEFNUExF\"}", 'F', 'T'},
        {"contains: " SECRET ", decode: [hex]", "{\"a\":\"41 4b49414\",\"b\":\"94f53464f444e4e374558414d504c45\"}", 'F', 'T'},
        {"contains: drop, decode: [percent]", "{\"a\":\"%6\",\"b\":\"4rop\"}", 'F', 'T'},
        {"keys: true, contains: drop table", "{\"drop \":{\"ta\":1},\"ble\":[{}]}", 'F', 'T'},
        {"keys: true, contains: " SECRET ", decode: [base64_inside]", "{\"QUtJQUlPU0ZP\":1,\"RE5ON0VYQU1QTEU=\":2}", 'F', 'T'},
    };
    char *many = malloc(1 << 20);
    size_t at = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char opening = joined_truth(rows[i].more, rows[i].json, true), closing = joined_truth(rows[i].more, rows[i].json, false);

        if (opening != rows[i].opening || closing != rows[i].closing)
            fail_msg("%s of %s: %c%c", rows[i].more, rows[i].json, opening, closing);
    }
    assert_int_equal(truth_of_condition("{arg: '$[\"a\", \"b\", \"a\"]', joined: true, equals: xy}",
                                        SPAN_LIT("{\"b\":\"y\",\"a\":\"x\"}"), false), 'F');
    assert_int_equal(truth_of_condition("{arg: '$[\"a\", \"b\", \"a\"]', joined: true, equals: yx}",
                                        SPAN_LIT("{\"b\":\"y\",\"a\":\"x\"}"), false), 'T'); /* as sent, each once */
    many[at++] = '[';
    for (int i = 0; i < 65535; i++, at += 4)
        memcpy(many + at, "\"x\",", 4);
    memcpy(many + at - 1, "]", 2);
    assert_int_equal(joined_truth("contains: xxy", many, false), 'F');
    memcpy(many + at - 1, ",\"x\"]", 6);
    assert_int_equal(joined_truth("contains: xxy", many, false), 'U'); /* too many */
    assert_int_equal(joined_truth("contains: xxy", many, true), 'F');
    free(many);
}

#define ALL "decode: [percent, html, unicode, json]"

/* Marks within marks, so that the decoders make something else of it in each order. */
static const char just_enough[] =
    "\"\\\"\\\\\\\"\\\\\\\\\\\\\\\"%2526#97;%26#97;\\uff3cu0061&#92;uff41&#38;#97;\\uff41%"
    "5cu0061%61\\uff06#37;61\\uff41\\uff0561&#38;#65345;\\\\\\\\\\\\\\\"\\\\\\\"\\\"\"";
static const char one_more[] =
    "\"\\\"\\\\\\\"\\uff0561%2561\\uff3cuff41\\\\\\\\u0061\\\\\\\\u0061&#38;#97;&#65345;&#"
    "37;2561\\\\\\\\u0061&#92;uff41%5cu0061%252561\\uff41\\\\\\\"\\\"\"";

/* 2.11, 2.1: over 64 readings the operators that look at strings are undecided; those that do not are not. */
TEST_CASE(test_too_many)
{
    const struct row rows[] = {
        {"equals: x, " ALL, just_enough, 'F', 'F'},
        {"equals: x, " ALL, one_more, 'U', 'U'},
        {"in: [x], " ALL, one_more, 'U', 'U'},
        {"matches: '', " ALL, one_more, 'U', 'U'},
        {"max_length: 1000, " ALL, one_more, 'U', 'U'},
        {"format: uuid, " ALL, one_more, 'U', 'U'},
        {"not_matches: 'x', " ALL, one_more, 'U', 'U'},
        {"equals: x, is: integer, " ALL, one_more, 'F', 'F'},
        {"equals: x, is: string, " ALL, one_more, 'U', 'U'},
        {"equals: x, max: 5, " ALL, one_more, 'U', 'U'},
        {"equals: x, decode: [percent]", one_more, 'F', 'F'},
        {"equals: x, decode: [json, unicode]", one_more, 'F', 'F'},
    };

    CHECK(rows);
}

/* 2.11: large values: what was decoded counts too, and long names are decoded as values are. */
TEST_CASE(test_large)
{
    size_t len = 1 << 20;
    char *json = malloc(17 * len), *end;

    assert_non_null(json);
    memset(json, 'a', 17 * len);
    memcpy(json, "{\"v\":\"%64", 9);
    memcpy(json + len, "rop\"}", 6);
    for (int opening = 0; opening <= 1; opening++) {
        assert_int_equal(truth_of_condition("{arg: v, matches: '^d.*rop$', " ALL "}", span_text(json), opening),
                         opening ? 'F' : 'T');
        assert_int_equal(truth_of_condition("{arg: v, matches: '.*rop$', " ALL "}", span_text(json), opening), 'T');
        assert_int_equal(truth_of_condition("{arg: $, keys: true, equals: v, " ALL "}", span_text(json), opening), 'T');
    }
    memset(json + len, 'a', 16);
    end = json + 9 * len;
    memcpy(end, "\"}", 3);
    assert_int_equal(truth_of_condition("{arg: v, starts_with: d, " P "}", span_text(json), false), 'U'); /* 9 and 9 MiB */
    memcpy(json + 6, "aaa", 3);
    assert_int_equal(truth_of_condition("{arg: v, starts_with: d, " P "}", span_text(json), false), 'F');
    memset(end, 'a', 16);
    memcpy(json + 17 * len - 3, "\"}", 3);
    assert_int_equal(truth_of_condition("{arg: v, starts_with: d, " P "}", span_text(json), false), 'U');
    assert_int_equal(truth_of_condition("{arg: v, starts_with: d}", span_text(json), false), 'F');
    free(json);
}

/* 2.11: many values, names with escapes, elements without the asked member, absence behind `not`. */
TEST_CASE(test_places)
{
    char *json = malloc(1 << 20);
    size_t at = (size_t)snprintf(json, 64, "{\"v\":[");

    for (int i = 0; i < 10000; i++)
        at += (size_t)snprintf(json + at, 64, "{\"k.%%64\":\"dr%s6fp %d\"},", i == 9999 ? "%" : "", i);
    memcpy(json + at - 1, "]}", 3);
    assert_int_equal(truth_of_condition("{arg: '$..*', contains: drop, " P "}", span_text(json), false), 'T');
    assert_int_equal(truth_of_condition("{arg: '$..*', contains: drop}", span_text(json), false), 'F');
    assert_int_equal(truth_of_condition("{arg: '$..*', keys: true, equals: k.d, " P "}", span_text(json), false), 'T');
    assert_int_equal(truth_of_condition("{arg: '$.v[*][\"k.%64\"]', matches: 'dr.*', " P "}", span_text(json), true), 'T');
    assert_int_equal(truth_of_condition("{arg: '$.v[-1][\"k.%64\"]', ends_with: ' 9999', " P "}", span_text(json), true), 'T');
    assert_int_equal(truth_of_condition("{arg: w, equals: x, " P "}", span_text(json), false), 'F');
    assert_int_equal(truth_of_condition("{arg: w, equals: x, " P "}", span_text(json), true), 'T');
    assert_int_equal(truth_of_condition("{arg: '$.v[*].w', equals: x, " P "}", span_text(json), false), 'F');
    free(json);
}

/* Without memory the call is denied for that, whatever the rules say: never permitted because a reading is missing. */
TEST_CASE(test_no_memory)
{
    struct court court;
    struct question question = plain_question();
    bool starved = false, forbidden = false;

    court_open(&court, "policy: p\nrules:\n  - {id: a, effect: permit}\n"
                       "  - {id: f, effect: forbid, when: [{arg: v, equals: /drop, decode: [percent, base64, unicode]}]}\n"
                       "  - {id: i, effect: forbid, when: [{arg: '$..*', joined: true, contains: x,"
                       " decode: [hex, base64_inside, homoglyph]}], mode: monitor}\n"
                       "  - {id: u, effect: forbid, when: [{arg: v, under: /x}], mode: monitor}\n");
    question.root = court_tree(&court, SPAN_LIT("{\"v\":\"/%64r\\uff4fp\",\"w\":\"QUtJQUlPU0ZPRE5ON\\n"
                                              "0VYQU1QTEU= 64726f70207461626c65 \\\\x41\"}"));
    for (uint64_t nth = 1; nth < 90; nth++) {
        mem_fail_at(nth, 0);
        policy_eval(court.policy, &question, false, court.scratch, &court.verdict);
        mem_fail_at(0, 0);
        assert_int_equal(court.verdict.kind, VERDICT_DENY);
        assert_true(court.verdict.reason == REASON_MEMORY || court.verdict.reason == REASON_FORBIDDEN);
        starved |= court.verdict.reason == REASON_MEMORY;
        forbidden |= court.verdict.reason == REASON_FORBIDDEN;
        policy_scratch_free(&court.scratch);
        assert_int_equal(policy_scratch_new(&court.scratch), CODE_OK);
    }
    assert_true(starved && forbidden);
    court_close(&court);
}

/* What a record lost of _meta is guessed, in favour of a permit and against it. */
TEST_CASE(test_lost_meta)
{
    static const char *const conditions[] = {"{meta: a, equals: 1}", "{not: {meta: a, equals: 1}}", "{meta: a, exists: true}"};
    struct question_hidden hidden = {.meta = true};
    struct question question = plain_question();
    struct court court;

    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++)
        for (int forbid = 0; forbid <= 1; forbid++)
            for (int favours = 0; favours <= 1; favours++) {
                char text[512];

                snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, effect: %s, when: [%s]}\n%s",
                         forbid ? "forbid" : "permit", conditions[i], forbid ? "  - {id: p, effect: permit}\n" : "");
                court_open(&court, text);
                hidden.favours_permit = favours;
                question.hidden = &hidden;
                policy_eval(court.policy, &question, false, court.scratch, &court.verdict);
                assert_int_equal(court.verdict.kind, favours ? VERDICT_PERMIT : VERDICT_DENY);
                assert_true(court.verdict.guessed);
                court_close(&court);
            }
}

/* 2.1: what explain says of readings and names. */
TEST_CASE(test_words)
{
    struct court court;
    struct question question = plain_question();
    struct buf out;

    court_open(&court, "policy: p\nrules:\n"
                       "  - {id: f, effect: forbid, when: [{arg: v, matches: drop, decode: [percent, base64]}]}\n"
                       "  - {id: g, effect: forbid, when: [{arg: w, matches: drop, decode: [percent]}]}\n"
                       "  - {id: k, effect: forbid, when: [{arg: $, keys: true, equals: 'x\"y'}]}\n");
    question.root = court_tree(&court, SPAN_LIT("{\"v\":\"%5AHJvcA==\",\"w\":\"%20\",\"x\\\"y\":1}"));
    buf_init(&out, 1 << 20);
    assert_int_equal(explain_verdict(court.policy, &question, court.scratch, &court.verdict,
                                     &(struct explain_to){.words = &out}), CODE_OK);
    assert_int_equal(buf_add(&out, "", 1), CODE_OK);
    assert_non_null(strstr(buf_peek(&out).at, "(closing, any value, anywhere, decoded by percent, base64)"));
    assert_non_null(strstr(buf_peek(&out).at, "matches is true on its reading by percent, then base64 \"drop\", one of 3 readings"));
    assert_non_null(strstr(buf_peek(&out).at, "matches is false on the string itself \"%20\", one of 2 readings"));
    assert_non_null(strstr(buf_peek(&out).at, "keys of $ equals"));
    assert_non_null(strstr(buf_peek(&out).at, "the name \"x\\\"y\": true"));
    buf_fini(&out);
    court_close(&court);
}

/* 2.4: the same as a document; a NUL, which our JSON never has, as U+FFFD. */
TEST_CASE(test_document)
{
    struct court court;
    struct question question = plain_question();
    struct doc *doc = doc_object();
    struct buf out;

    court_open(&court, "policy: p\nrules:\n"
                       "  - {id: f, effect: forbid, when: [{arg: v, ends_with: b, is: string, decode: [percent]}]}\n"
                       "  - {id: k, effect: forbid, when: [{meta: $, keys: true, equals: x}]}\n");
    question.root = court_tree(&court, SPAN_LIT("{\"v\":\"a%00%62\",\"m\":{\"x\":1}}"));
    question.meta = json_member(question.root, SPAN_LIT("m"));
    buf_init(&out, 1 << 20);
    assert_int_equal(explain_verdict(court.policy, &question, court.scratch, &court.verdict,
                                     &(struct explain_to){.rules = doc_add_array(doc, "rules")}),
                     CODE_OK);
    assert_int_equal(doc_print(doc, &out), CODE_OK);
    assert_int_equal(buf_add(&out, "", 1), CODE_OK);
    assert_non_null(strstr(buf_peek(&out).at, "\"path\":\"v\",\"decode\":[\"percent\"],\"polarity\":\"closing\""));
    assert_non_null(strstr(buf_peek(&out).at, "\"readings\":[{\"value\":0,\"operator\":\"ends_with\",\"by\":[\"percent\"],"
                                              "\"text\":\"a\xef\xbf\xbd" "b\",\"of\":2,\"truth\":\"true\"}]"));
    assert_non_null(strstr(buf_peek(&out).at, "\"path\":\"$\",\"meta\":true,\"keys\":true,"));
    assert_non_null(strstr(buf_peek(&out).at, "\"values\":[{\"name\":\"x\",\"truth\":\"true\"}]"));
    doc_free(&doc);
    buf_fini(&out);
    court_close(&court);
}

TEST_MAIN(NULL, NULL)
