/* SPDX-License-Identifier: Apache-2.0 */
/* 12.2: what stands beside operators: several arguments, ignore_case, optional: or_null; and free_of. */
#include "unit/policy/rows.h"

/* T, F or U of a whole condition. */
struct whole_row {
    const char *condition, *arguments;
    char closing, opening;
};

static void check_whole(const struct whole_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int opening = 0; opening <= 1; opening++) {
            char truth = truth_of_condition(rows[i].condition, span_text(rows[i].arguments), opening);

            if (truth != (opening ? rows[i].opening : rows[i].closing))
                fail_msg("%s of %s is %c in %s place", rows[i].condition, rows[i].arguments, truth, opening ? "an opening" : "a closing");
        }
}

/* 12.2: of several arguments every one that is there where the condition opens, any where it closes; none is absence. */
TEST_CASE(test_several_arguments)
{
    static const struct whole_row rows[] = {
        {"{arg: [a, b], equals: x}", "{\"a\":\"x\",\"b\":\"x\"}", 'T', 'T'},
        {"{arg: [a, b], equals: x}", "{\"a\":\"x\",\"b\":\"y\"}", 'T', 'F'},
        {"{arg: [a, b], equals: x}", "{\"b\":\"x\"}", 'T', 'T'},
        {"{arg: [a, b], equals: x}", "{\"b\":\"y\"}", 'F', 'F'},
        {"{arg: [a, b], equals: x}", "{\"c\":\"x\"}", 'F', 'T'}, /* absent: the rule does not apply */
        {"{arg: [a, '$.l[*].m'], equals: x}", "{\"a\":\"x\",\"l\":[{\"m\":\"x\"},{\"m\":\"x\"}]}", 'T', 'T'},
        {"{arg: [a, '$.l[*].m'], equals: x}", "{\"a\":\"x\",\"l\":[{\"m\":\"x\"},{\"n\":\"x\"}]}", 'T', 'T'}, /* an absent one, too */
        {"{arg: [a, '$..*'], starts_with: x}", "{\"a\":\"x\",\"b\":{\"c\":\"x\"}}", 'T', 'T'},
        {"{arg: [a, '$..*'], starts_with: x}", "{\"a\":\"x\",\"b\":{\"c\":\"y\"}}", 'T', 'F'},
        {"{arg: [a, '$.l..*'], starts_with: x}", "{\"a\":[\"y\"],\"l\":[[\"x\"]]}", 'T', 'U'}, /* what `a` holds is not selected */
        {"{arg: [a, b], keys: true, equals: x}", "{\"a\":{\"x\":1},\"b\":{\"x\":1}}", 'T', 'T'},
        {"{arg: [a, b], keys: true, equals: x}", "{\"a\":{\"x\":1},\"b\":{\"y\":1}}", 'T', 'F'},
        {"{arg: [a, b], joined: true, equals: xy}", "{\"b\":\"y\",\"a\":\"x\"}", 'F', 'F'},
        {"{arg: [a, b], joined: true, equals: xy}", "{\"a\":\"x\",\"b\":\"y\"}", 'T', 'F'},
        {"{arg: [a, b], joined: true, matches: '[xy]+'}", "{\"a\":\"x\",\"b\":\"y\"}", 'T', 'T'},
        {"{arg: [a, b], not_matches: x}", "{\"a\":\"x\",\"b\":\"y\"}", 'T', 'F'},
        {"{arg: [a, b], exists: true}", "{\"b\":\"y\"}", 'T', 'T'},
        {"{arg: [a, b], exists: false}", "{\"c\":\"y\"}", 'T', 'T'},
        {"{arg: [a, b], quantify: any, equals: x}", "{\"a\":\"x\",\"b\":\"y\"}", 'T', 'T'},
    };

    check_whole(rows, sizeof rows / sizeof *rows);
}

static bool permits(const char *condition, const char *arguments)
{
    return judge_condition("permit", condition, span_text(arguments), NULL) == VERDICT_PERMIT;
}

/* 12.2: null is nothing where the author says so, at whatever depth of `not`, and nothing else is. */
TEST_CASE(test_or_null)
{
    assert_true(permits("{arg: v, is: string, optional: or_null}", "{\"v\":null}"));
    assert_true(permits("{arg: v, is: string, optional: or_null}", "{}"));
    assert_true(permits("{arg: v, is: string, optional: or_null}", "{\"v\":\"x\"}"));
    assert_false(permits("{arg: v, is: string, optional: or_null}", "{\"v\":5}"));
    assert_false(permits("{arg: v, is: string, optional: or_null}", "{\"v\":false}"));
    assert_false(permits("{arg: v, is: string, optional: or_null}", "{\"v\":[null]}"));
    assert_false(permits("{arg: v, is: string, optional: true}", "{\"v\":null}"));
    assert_false(permits("{arg: v, is: string}", "{\"v\":null}"));
    assert_true(permits("{not: {arg: v, equals: x, optional: or_null}}", "{\"v\":null}"));
    assert_false(permits("{not: {arg: v, equals: x, optional: or_null}}", "{\"v\":\"x\"}"));
    assert_true(permits("{arg: '$.l[*]', is: string, optional: or_null}", "{\"l\":[\"x\",null]}"));
    assert_false(permits("{arg: '$.l[*]', is: string, optional: or_null}", "{\"l\":[\"x\",null,5]}"));
    assert_true(permits("{arg: '$.l[*].m', is: string, optional: or_null}", "{\"l\":[{\"m\":\"x\"},{\"m\":null}]}"));
    assert_true(permits("{arg: [a, b], is: string, optional: or_null}", "{\"a\":null,\"b\":\"x\"}"));
    assert_false(permits("{arg: [a, b], is: string, optional: or_null}", "{\"a\":null,\"b\":5}"));
    assert_true(permits("{arg: v, keys: true, equals: x, optional: or_null}", "{\"v\":{\"x\":null}}"));
}

/* 12.2: without case and what NFKC makes equal, in operators of text. */
TEST_CASE(test_ignore_case)
{
    static const struct row rows[] = {
        {"equals: Abc, ignore_case: true", "\"aBC\"", 'T', 'T'},
        {"equals: Abc, ignore_case: true", "\"abd\"", 'F', 'F'},
        {"equals: STRASSE, ignore_case: true", "\"stra\\u00dfe\"", 'T', 'T'},
        {"equals: stra\xc3\x9f" "e, ignore_case: true", "\"STRASSE\"", 'T', 'T'},
        {"equals: k, ignore_case: true", "\"\\u212a\"", 'T', 'T'},
        {"equals: secret, ignore_case: true", "\"\\uff33ECRET\"", 'T', 'T'},
        {"equals: \xc3\x89t\xc3\xa9, ignore_case: true", "\"e\\u0301TE\\u0301\"", 'T', 'T'},
        {"equals: \xce\xa3\xce\xaf\xcf\x83\xcf\x85\xcf\x86\xce\xbf\xcf\x82, ignore_case: true",
         "\"\\u03a3\\u038a\\u03a3\\u03a5\\u03a6\\u039f\\u03a3\"", 'T', 'T'},
        {"equals: \"\\u03b1\\u0313\\u0345\", ignore_case: true", "\"\\u0391\\u0345\\u0313\"", 'T', 'T'}, /* marks in any order */
        {"equals: i, ignore_case: true", "\"\\u0130\"", 'F', 'F'}, /* Unicode folds it to i and a dot */
        {"equals: s, ignore_case: true", "\"s\\u200b\"", 'F', 'F'},
        {"equals: s, ignore_case: true, decode: [unicode]", "\"S\\u200b\"", 'T', 'F'},
        {"equals: 'TRUE', ignore_case: true", "true", 'F', 'F'}, /* another type */
        {"starts_with: 'TR', ignore_case: true", "true", 'T', 'T'},
        {"ends_with: E5, ignore_case: true", "1e5", 'T', 'T'},
        {"ends_with: .exe, ignore_case: true", "\"a.E\\uff38e\"", 'T', 'T'},
        {"glob: '*.EXE', ignore_case: true", "\"a.Exe\"", 'T', 'T'},
        {"glob: 'A\\*', ignore_case: true", "\"a*\"", 'T', 'T'},
        {"glob: 'A\\*', ignore_case: true", "\"ab\"", 'F', 'F'},
        {"contains: DROP, ignore_case: true", "\"x dRoP y\"", 'T', 'T'},
        {"contains: DROP, ignore_case: true", "[\"Drop\"]", 'T', 'T'},
        {"contains: DROP, ignore_case: true", "[\"Drops\"]", 'F', 'F'},
        {"in: [Alpha, BETA, 7, [X]], ignore_case: true", "\"beta\"", 'T', 'T'},
        {"in: [Alpha, BETA, 7, [X]], ignore_case: true", "7.0", 'T', 'T'},
        {"in: [Alpha, BETA, 7, [X]], ignore_case: true", "[\"X\"]", 'T', 'T'},
        {"in: [Alpha, BETA, 7, [X]], ignore_case: true", "[\"x\"]", 'F', 'F'},
        {"equals: '{principal}@X', ignore_case: true", "\"BOT@x\"", 'T', 'T'},
        {"in: [z, '{tenant}'], ignore_case: true", "\"Acme\"", 'T', 'T'},
        {"glob: '{principal}-*', ignore_case: true", "\"BOT-a\"", 'T', 'T'},
        {"equals: Abc, max_length: 3, is: string, ignore_case: true", "\"aBC\"", 'T', 'T'},
        {"equals: Abc, ignore_case: false", "\"abc\"", 'F', 'F'},
        {"equals: s, ignore_case: true, keys: true", "{\"S\":1}", 'T', 'T'},
    };

    CHECK(rows);
}

/* 12.2: who chooses his name grows no wildcard by a wide one. */
TEST_CASE(test_wide_name)
{
    static struct court court;
    struct question question = plain_question();

    court_open(&court, "policy: p\nrules:\n  - {id: r, effect: permit, match: {tools: [t]}, when: [{arg: v, glob: '{principal}', "
                       "ignore_case: true}]}\n");
    question.principal = SPAN_LIT("a\xef\xbc\x8a"); /* U+FF0A, a wide asterisk */
    assert_int_equal(judge(&court, question, "{\"v\":\"anything\"}")->kind, VERDICT_DENY);
    assert_int_equal(judge(&court, question, "{\"v\":\"abc\"}")->kind, VERDICT_DENY);
    assert_int_equal(judge(&court, question, "{\"v\":\"A*\"}")->kind, VERDICT_PERMIT);
    court_close(&court);
}

/* 12.2: lines, and words that a mailer decodes. */
TEST_CASE(test_free_of)
{
    static const struct row rows[] = {
        {"free_of: line_ends", "\"a b\\t\"", 'T', 'T'},
        {"free_of: line_ends", "\"a\\nb\"", 'F', 'F'},
        {"free_of: line_ends", "\"\\r\"", 'F', 'F'},
        {"free_of: line_ends", "\"\\u000b\"", 'F', 'F'},
        {"free_of: line_ends", "\"\\f\"", 'F', 'F'},
        {"free_of: line_ends", "\"a\\u0085\"", 'F', 'F'},
        {"free_of: line_ends", "\"a\\u2028b\"", 'F', 'F'},
        {"free_of: line_ends", "\"a\\u2029b\"", 'F', 'F'},
        {"free_of: line_ends", "\"\\u0105\\u00c5\"", 'T', 'T'},
        {"free_of: line_ends", "5", 'T', 'T'},
        {"free_of: line_ends", "[]", 'U', 'U'},
        {"free_of: encoded_words", "\"=?utf-8?q?a?=\"", 'F', 'F'},
        {"free_of: encoded_words", "\"x=?ISO-8859-1*en?B?YQ\"", 'F', 'F'},
        {"free_of: encoded_words", "\"=??Q?a b?=\"", 'F', 'F'},
        {"free_of: encoded_words", "\"=? x =?a?q?\"", 'F', 'F'},
        {"free_of: encoded_words", "\"=?=?q?x\"", 'F', 'F'},
        {"free_of: encoded_words", "\"1 + 1 =? or =?a?x?\"", 'T', 'T'},
        {"free_of: encoded_words", "\"=?utf-8?q\"", 'T', 'T'},
        {"free_of: encoded_words", "\"=?\"", 'T', 'T'},
        {"free_of: [hidden, line_ends, encoded_words]", "\"Re: Why?\"", 'T', 'T'},
        {"free_of: [hidden, line_ends, encoded_words]", "\"a\\nb\"", 'F', 'F'},
        {"free_of: [hidden, line_ends, encoded_words]", "\"a\\u200bb\"", 'F', 'F'},
        {"free_of: [hidden, line_ends]", "\"=?utf-8?q?a?=\"", 'T', 'T'},
        {"free_of: line_ends, decode: [percent]", "\"a%0ab\"", 'T', 'F'},
    };

    CHECK(rows);
}

/* 12.2: what cannot be meant is said with its repair. */
TEST_CASE(test_faults)
{
    expect_fault("permit", "{arg: [], equals: x}", "name at least one path");
    expect_fault("permit", "{arg: [a, 5], equals: x}", "write a string");
    expect_fault("permit", "{arg: [a, '$.['], equals: x}", "the path `$.[`");
    expect_fault("permit", "{claim: [a, b], equals: x}", "a condition for each");
    expect_fault("permit", "{arg: a, equals: x, optional: null}", "true, false or or_null");
    expect_fault("forbid", "{arg: a, equals: x, optional: or_null}", "is for permits");
    expect_fault("permit", "{arg: a, equals: x, ignore_case: 1}", "true or false");
    expect_fault("permit", "{arg: a, equals: 5, ignore_case: true}", "compares texts");
    expect_fault("permit", "{arg: a, max: 5, ignore_case: true}", "leave it out");
    expect_fault("permit", "{arg: a, equals: x, matches: x, ignore_case: true}", "(?i)");
    expect_fault("permit", "{arg: a, glob: \"\xef\xbc\x8a\", ignore_case: true}", "wide character");
    expect_fault("permit", "{arg: a, free_of: [hidden, lines]}", "line_ends");
    expect_fault("permit", "{arg: a, free_of: []}", "empty list");
}

TEST_MAIN(NULL, NULL)
