/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/policy/rows.h"

/* 1.20 (Meaning 4): equals and in are never undecided; types differ, numbers by decimal value, strings byte for byte. */
TEST_CASE(test_equals)
{
    static const struct row rows[] = {
        {"equals: 10", "10", 'T', 'T'},
        {"equals: 10", "10.0", 'T', 'T'},
        {"equals: 10", "1e1", 'T', 'T'},
        {"equals: 10", "1E+1", 'T', 'T'},
        {"equals: 10", "\"10\"", 'F', 'F'},
        {"equals: 10", "10.000000000000000000001", 'F', 'F'},
        {"equals: 0", "-0", 'T', 'T'},
        {"equals: 0", "0.0e5", 'T', 'T'},
        {"equals: 19.99", "19.990", 'T', 'T'},
        {"equals: 9007199254740993", "9007199254740992", 'F', 'F'},
        {"equals: 9007199254740993", "9007199254740993", 'T', 'T'},
        {"equals: '10'", "10", 'F', 'F'},
        {"equals: ''", "\"\"", 'T', 'T'},
        {"equals: ''", "null", 'F', 'F'},
        {"equals: null", "null", 'T', 'T'},
        {"equals: null", "false", 'F', 'F'},
        {"equals: null", "\"null\"", 'F', 'F'},
        {"equals: true", "true", 'T', 'T'},
        {"equals: true", "1", 'F', 'F'},
        {"equals: yes", "\"yes\"", 'T', 'T'},
        {"equals: abc", "\"ABC\"", 'F', 'F'},
        {"equals: abc", "\"abc\\n\"", 'F', 'F'},
        {"equals: \"\\u00e9\"", "\"e\\u0301\"", 'F', 'F'},
        {"equals: s", "\"\\u017f\"", 'F', 'F'},
        {"equals: [1, a]", "[1.0,\"a\"]", 'T', 'T'},
        {"equals: [1, a]", "[\"a\",1]", 'F', 'F'},
        {"equals: {a: 1, b: 2}", "{\"b\":2,\"a\":1}", 'T', 'T'},
        {"equals: {a: 1}", "{\"a\":1,\"b\":2}", 'F', 'F'},
        {"equals: []", "{}", 'F', 'F'},
        {"in: [a, 10, null]", "\"a\"", 'T', 'T'},
        {"in: [a, 10, null]", "1e1", 'T', 'T'},
        {"in: [a, 10, null]", "null", 'T', 'T'},
        {"in: [a, 10, null]", "\"10\"", 'F', 'F'},
        {"in: [a, 10, null]", "\"\"", 'F', 'F'},
        {"in: [c, b, a, d]", "\"b\"", 'T', 'T'},
        {"in: [c, b, a, d]", "\"bb\"", 'F', 'F'},
        {"in: [[1], {a: b}]", "{\"a\":\"b\"}", 'T', 'T'},
        {"in: [[1], {a: b}]", "[2]", 'F', 'F'},
    };

    CHECK(rows);
}

/* 1.20 (Meaning 4): `is` is never undecided; `integer` is a number without fractional value. */
TEST_CASE(test_is)
{
    static const struct row rows[] = {
        {"is: integer", "5", 'T', 'T'},          {"is: integer", "5.0", 'T', 'T'},      {"is: integer", "1e2", 'T', 'T'},
        {"is: integer", "1.5e1", 'T', 'T'},      {"is: integer", "1e-1", 'F', 'F'},     {"is: integer", "5.5", 'F', 'F'},
        {"is: integer", "\"5\"", 'F', 'F'},      {"is: integer", "-0", 'T', 'T'},       {"is: integer", "9e30", 'T', 'T'},
        {"is: number", "5.5", 'T', 'T'},         {"is: number", "\"5.5\"", 'F', 'F'},   {"is: string", "\"\"", 'T', 'T'},
        {"is: string", "null", 'F', 'F'},        {"is: boolean", "true", 'T', 'T'},     {"is: boolean", "false", 'T', 'T'},
        {"is: boolean", "0", 'F', 'F'},          {"is: 'null'", "null", 'T', 'T'},      {"is: null", "\"null\"", 'F', 'F'},
        {"is: array", "[]", 'T', 'T'},           {"is: array", "{}", 'F', 'F'},         {"is: object", "{}", 'T', 'T'},
        {"is: object", "null", 'F', 'F'},
    };

    CHECK(rows);
}

/* 1.20 (Meaning 4): min and max need a number, compare the decimal that was written, and are undecided beyond 2^53-1. */
TEST_CASE(test_min_max)
{
    static const struct row rows[] = {
        {"max: 100", "100", 'T', 'T'},
        {"max: 100", "100.0", 'T', 'T'},
        {"max: 100", "1e2", 'T', 'T'},
        {"max: 100", "100.00000000000000000000000000000001", 'F', 'F'},
        {"max: 19.99", "19.990", 'T', 'T'},
        {"max: 19.99", "19.9900000000000000000001", 'F', 'F'},
        {"min: 0.3", "0.30000000000000004", 'T', 'T'},
        {"min: 0.30000000000000004", "0.3", 'F', 'F'},
        {"min: 0", "-0", 'T', 'T'},
        {"max: 0", "-0", 'T', 'T'},
        {"min: 0", "-1e-300", 'F', 'F'},
        {"min: -5", "-5.0", 'T', 'T'},
        {"max: 9007199254740993", "9007199254740991", 'T', 'T'},
        {"max: 9007199254740993", "9007199254740992", 'U', 'U'},
        {"max: 100", "9007199254740993", 'U', 'U'},
        {"min: 100", "-9007199254740993", 'U', 'U'},
        {"min: 100", "1e300", 'U', 'U'},
        {"max: 100", "\"5\"", 'U', 'U'},
        {"max: 100", "null", 'U', 'U'},
        {"max: 100", "true", 'U', 'U'},
        {"max: 100", "[]", 'U', 'U'},
        {"max: 100", "{}", 'U', 'U'},
        {"min: 1, max: 3", "2", 'T', 'T'},
        {"min: 1, max: 3", "4", 'F', 'F'},
        {"max: 100, is: number", "\"5\"", 'F', 'F'}, /* false wins over undecided */
    };

    CHECK(rows);
}

/* 1.20 (Meaning 4 and 8): matches is whole where it opens, anywhere where it closes; scalars read as they were sent. */
TEST_CASE(test_matches)
{
    static const struct row rows[] = {
        {"matches: 'drop'", "\"x drop y\"", 'T', 'F'},
        {"matches: 'drop'", "\"drop\"", 'T', 'T'},
        {"matches: 'drop'", "\"drop\\n\"", 'T', 'F'},
        {"matches: 'drop$'", "\"drop\\n\"", 'F', 'F'},
        {"matches: 'a|b'", "\"ab\"", 'T', 'F'},
        {"matches: 'a|ab'", "\"ab\"", 'T', 'T'}, /* an alternation inside the anchors */
        {"matches: '.*'", "\"a\\nb\"", 'T', 'T'},
        {"matches: 'a.b'", "\"a\\nb\"", 'T', 'T'},
        {"matches: ''", "\"\"", 'T', 'T'},
        {"matches: ''", "\"a\"", 'T', 'F'},
        {"matches: '[0-9.]+'", "19.990", 'T', 'T'},
        {"matches: '19.99'", "19.990", 'T', 'F'},
        {"matches: 'true'", "true", 'T', 'T'},
        {"matches: 'null'", "null", 'T', 'T'},
        {"matches: '1e1'", "1e1", 'T', 'T'},
        {"matches: 'a'", "[\"a\"]", 'U', 'U'},
        {"matches: 'a'", "{\"a\":\"a\"}", 'U', 'U'},
        {"matches: 'drop', anchor: whole", "\"x drop\"", 'F', 'F'},
        {"matches: 'drop', anchor: anywhere", "\"x drop\"", 'T', 'T'},
        {"matches: '(?i)sk'", "\"SK\"", 'T', 'T'},
        {"matches: '(?i)sk'", "\"\\u017fK\"", 'T', 'U'}, /* LATIN SMALL LETTER LONG S */
        {"matches: '(?i)k'", "\"\\u212a\"", 'T', 'U'},   /* KELVIN SIGN */
        {"matches: '(?i)x'", "\"\\u212a\"", 'F', 'U'},
        {"matches: 'x'", "\"\\u212a\"", 'F', 'F'},
        {"matches: '\\w+'", "\"\\u00e9\"", 'F', 'F'}, /* UCP is off */
        {"matches: '^.$'", "\"\\ud83d\\ude00\"", 'T', 'T'},
    };

    CHECK(rows);
}

/* 1.20 (Meaning 5): not_matches is exactly not: {matches}: the inner leaf changes its polarity, so its anchors too. */
TEST_CASE(test_not_matches)
{
    static const struct row rows[] = {
        {"not_matches: 'drop'", "\"drop\"", 'F', 'F'},
        {"not_matches: 'drop'", "\"x drop\"", 'T', 'F'}, /* closing: only whole matches are spared; opening: none anywhere */
        {"not_matches: 'drop'", "\"x\"", 'T', 'T'},
        {"not_matches: 'drop'", "[]", 'U', 'U'},
        {"not_matches: 'drop', anchor: anywhere", "\"x drop\"", 'F', 'F'},
        {"not_matches: '(?i)k'", "\"\\u212a\"", 'U', 'F'}, /* closing: the inner leaf opens; opening: it closes and folds */
        {"not_matches: 'drop', max_length: 3", "\"xyz\"", 'T', 'T'},
        {"not_matches: 'drop', max_length: 3", "\"wxyz\"", 'F', 'F'},
        {"not_matches: 'drop', max_length: 4", "\"drop\"", 'F', 'F'},
        {"not_matches: 'drop', equals: 5", "5", 'T', 'T'},
    };

    CHECK(rows);
}

/* 1.20 (Meaning 8): glob is always whole. */
TEST_CASE(test_glob)
{
    static const struct row rows[] = {
        {"glob: '*.txt'", "\"a/b.txt\"", 'T', 'T'},   {"glob: '*.txt'", "\"b.txt\\n\"", 'F', 'F'},
        {"glob: '?'", "\"\\u00e9\"", 'T', 'T'},        {"glob: '?'", "\"\"", 'F', 'F'},
        {"glob: ''", "\"\"", 'T', 'T'},                {"glob: 'a\\*'", "\"a*\"", 'T', 'T'},
        {"glob: 'a\\*'", "\"ab\"", 'F', 'F'},          {"glob: '[a]'", "\"a\"", 'F', 'F'},
        {"glob: '1*'", "10", 'T', 'T'},                {"glob: '*'", "null", 'T', 'T'},
        {"glob: '*'", "[]", 'U', 'U'},                 {"glob: 'drop'", "\"x drop\"", 'F', 'F'},
    };

    CHECK(rows);
}

/* 1.20 (Meaning 4). */
TEST_CASE(test_parts)
{
    static const struct row rows[] = {
        {"starts_with: 'ab'", "\"abc\"", 'T', 'T'},    {"starts_with: 'ab'", "\"a\"", 'F', 'F'},
        {"starts_with: ''", "\"\"", 'T', 'T'},         {"starts_with: '1'", "10", 'T', 'T'},
        {"starts_with: 'a'", "{}", 'U', 'U'},          {"starts_with: 'A'", "\"a\"", 'F', 'F'},
        {"ends_with: 'bc'", "\"abc\"", 'T', 'T'},      {"ends_with: 'bc'", "\"abc\\n\"", 'F', 'F'},
        {"ends_with: '.990'", "19.990", 'T', 'T'},     {"ends_with: 'll'", "null", 'T', 'T'},
        {"ends_with: 'x'", "[]", 'U', 'U'},            {"contains: 'b'", "\"abc\"", 'T', 'T'},
        {"contains: ''", "\"\"", 'T', 'T'},            {"contains: 'd'", "\"abc\"", 'F', 'F'},
        {"contains: '9'", "19.99", 'T', 'T'},          {"contains: 'ul'", "null", 'T', 'T'},
        {"contains: 'a'", "[\"a\",\"b\"]", 'T', 'T'},  {"contains: 'a'", "[\"ab\"]", 'F', 'F'},
        {"contains: 10", "[1e1]", 'T', 'T'},           {"contains: 10", "[\"10\"]", 'F', 'F'},
        {"contains: 'a'", "[]", 'F', 'F'},             {"contains: {a: 1}", "[{\"a\":1.0}]", 'T', 'T'},
        {"contains: 'a'", "{\"a\":1}", 'U', 'U'},      {"contains: 10", "\"10\"", 'U', 'U'},
        {"contains: null", "[null]", 'T', 'T'},
    };

    CHECK(rows);
}

/* 1.20 (Meaning 4): lengths count code points, items members. */
TEST_CASE(test_counts)
{
    static const struct row rows[] = {
        {"max_length: 3", "\"abc\"", 'T', 'T'},        {"max_length: 3", "\"abcd\"", 'F', 'F'},
        {"max_length: 1", "\"\\ud83d\\ude00\"", 'T', 'T'}, {"max_length: 1", "\"e\\u0301\"", 'F', 'F'},
        {"min_length: 1", "\"\"", 'F', 'F'},           {"min_length: 0", "\"\"", 'T', 'T'},
        {"max_length: 4", "null", 'T', 'T'},           {"max_length: 5", "19.990", 'F', 'F'},
        {"max_length: 5", "[]", 'U', 'U'},             {"min_length: 0", "{}", 'U', 'U'},
        {"min_items: 1", "[]", 'F', 'F'},              {"min_items: 1", "[1]", 'T', 'T'},
        {"max_items: 1", "{\"a\":1,\"b\":2}", 'F', 'F'}, {"max_items: 2", "{\"a\":1,\"b\":2}", 'T', 'T'},
        {"max_items: 0", "[]", 'T', 'T'},              {"max_items: 5", "\"abc\"", 'U', 'U'},
        {"max_items: 5", "null", 'U', 'U'},            {"min_items: 0", "7", 'U', 'U'},
    };

    CHECK(rows);
}

/* 1.20 (Meaning 7): exists alone decides absence itself. */
TEST_CASE(test_exists)
{
    static const struct row rows[] = {
        {"exists: true", "null", 'T', 'T'},
        {"exists: false", "null", 'F', 'F'},
    };

    CHECK(rows);
    for (int opening = 0; opening <= 1; opening++) {
        assert_int_equal(truth_of_condition("{arg: w, exists: true}", SPAN_LIT("{\"v\":1}"), opening), 'F');
        assert_int_equal(truth_of_condition("{arg: w, exists: false}", SPAN_LIT("{\"v\":1}"), opening), 'T');
        assert_int_equal(truth_of_condition("{arg: w, exists: false}", SPAN_NONE, opening), 'T');
    }
}

/* A value of a megabyte and an array of ten thousand are ordinary. */
TEST_CASE(test_large_values)
{
    size_t len = 1 << 20;
    char *json = malloc(len + 64);
    size_t at;

    assert_non_null(json);
    memcpy(json, "{\"v\":\"", 6);
    memset(json + 6, 'a', len);
    memcpy(json + 6 + len, "\"}", 3);
    assert_int_equal(truth_of_condition("{arg: v, matches: '(?i)password'}", span_text(json), false), 'F');
    assert_int_equal(truth_of_condition("{arg: v, matches: 'a+'}", span_text(json), true), 'T');
    assert_int_equal(truth_of_condition("{arg: v, contains: 'b'}", span_text(json), false), 'F');
    assert_int_equal(truth_of_condition("{arg: v, glob: '*a'}", span_text(json), false), 'T');
    assert_int_equal(truth_of_condition("{arg: v, max_length: 1048576}", span_text(json), true), 'T');
    assert_int_equal(truth_of_condition("{arg: v, max_length: 1048575}", span_text(json), true), 'F');
    at = (size_t)snprintf(json, len, "{\"v\":[0");
    for (int i = 1; i < 10000; i++)
        at += (size_t)snprintf(json + at, 16, ",%d", i);
    snprintf(json + at, 16, "]}");
    assert_int_equal(truth_of_condition("{arg: v, contains: 9999}", span_text(json), false), 'T');
    assert_int_equal(truth_of_condition("{arg: '$.v[*]', max: 9999}", span_text(json), true), 'T');
    assert_int_equal(truth_of_condition("{arg: '$.v[*]', max: 9998}", span_text(json), true), 'F');
    assert_int_equal(truth_of_condition("{arg: '$.v[-1]', equals: 9999}", span_text(json), true), 'T');
    assert_int_equal(truth_of_condition("{arg: v, max_items: 10000}", span_text(json), true), 'T');
    free(json);
}

TEST_MAIN(NULL, NULL)
