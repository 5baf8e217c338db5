/* SPDX-License-Identifier: Apache-2.0 */
/* RFC 8785. Number: 8.7 */
#include "json_help.h"

static void expect(const char *text, const char *canonical)
{
    struct document d;
    struct buf out;

    read_doc(&d, span_text(text), &json_file_rules);
    assert_int_equal(d.code, CODE_OK);
    buf_init(&out, 65536);
    if (canonical == NULL) {
        assert_int_equal(json_canonical(d.root, &out), CODE_INVALID);
    } else {
        assert_int_equal(json_canonical(d.root, &out), CODE_OK);
        if (!span_is(buf_peek(&out), canonical))
            fail_msg("%s became %.*s, not %s", text, SPAN_ARG(buf_peek(&out)), canonical);
    }
    buf_fini(&out);
    free_doc(&d);
}

/* Appendix B: what is written there is what must come of it, and stays as it is. */
TEST_CASE(test_numbers)
{
    static const char *const fixed[] = {
        "0", "5e-324", "-5e-324", "1.7976931348623157e+308", "-1.7976931348623157e+308", "9007199254740992",
        "-9007199254740992", "295147905179352830000", "9.999999999999997e+22", "1e+23", "1.0000000000000001e+23",
        "999999999999999700000", "999999999999999900000", "1e+21", "9.999999999999997e-7", "0.000001",
        "333333333.3333332", "333333333.33333325", "333333333.3333333", "333333333.3333334", "333333333.33333343",
        "-0.0000033333333333333333", "1424953923781206.2", "1e-7", "-1.5", "123456789012345", "100000000000000000000",
    };

    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        expect(fixed[i], fixed[i]);
    expect("-0", "0");
    expect("-0.0e5", "0");
    expect("1e2", "100");
    expect("12.50", "12.5");
    expect("1.0", "1");
}

TEST_CASE(test_numbers_that_doubles_do_not_hold)
{
    static const char *const lost[] = {
        "9007199254740993", "0.1000000000000000055511151231257827", "1e-400", "333333333.33333329", "100000000000000000001",
        "1.00000000000000000000000000000000000000000000000001",
    };

    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        expect(lost[i], NULL);
    expect("[1,{\"a\":9007199254740993}]", NULL);
}

/* 3.2.3, and its members' order: U+FB33 comes behind U+1F600, whose first half is 0xd83d. */
TEST_CASE(test_members_and_strings)
{
    expect("{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\"1\":\"One\","
           "\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\",\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}",
           "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\xc2\x80\":\"Control\",\"\xc3\xb6\":\"Latin Small Letter O With Diaeresis\","
           "\"\xe2\x82\xac\":\"Euro Sign\",\"\xf0\x9f\x98\x80\":\"Emoji: Grinning Face\","
           "\"\xef\xac\xb3\":\"Hebrew Letter Dalet With Dagesh\"}");
    expect("{\"numbers\":[333333333.3333333,1E30,4.50,2e-3,0.000000000000000000000000001],"
           "\"string\":\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\"literals\":[null,true,false]}",
           "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
           "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
    expect("{\"ab\":1,\"a\":2,\"\":[],\"b\":{}}", "{\"\":[],\"a\":2,\"ab\":1,\"b\":{}}");
    expect("\"\\b\\t\\f\\u001f\\u007f\\u2028\\u0085\"", "\"\\b\\t\\f\\u001f\x7f\xe2\x80\xa8\xc2\x85\"");
}

TEST_MAIN(NULL, NULL)
