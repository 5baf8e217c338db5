/* SPDX-License-Identifier: Apache-2.0 */
/* 2.11: every operator on every awkward value, and where there is none. A row says T, F or U for each value, in a closing place
 * and in an opening one. */
#include "forms/form_near.h"
#include "words/operator_priv.h"
#include "unit/policy/judge.h"

#define MEGABYTE ((size_t)1 << 20)
#define MANY 10000

/* NULL: too long to be written here. */
static const struct {
    const char *name, *json;
} values[] = {
    {"an empty string", "\"\""},
    {"null", "null"},
    {"a boolean", "true"},
    {"an empty array", "[]"},
    {"an empty object", "{}"},
    {"-0", "-0"},
    {"19.99", "19.99"},
    {"19.990", "19.990"},
    {"2^53+1", "9007199254740993"},
    {"s", "\"s\""},
    {"U+017F, which folds to s", "\"\\u017f\""},
    {"a combining character", "\"e\\u0301\""},
    {"escapes within escapes", "\"%252e%252e\""},
    {"an escaped NUL", "\"s%00\""},
    {"a line end at the end", "\"s\\n\""},
    {"a key with a dot", "{\"s.s\":\"s\"}"},
    {"an array", "[\"s\",\"s\"]"},
    {"1 MiB of s", NULL},
    {"10,000 elements", NULL},
};

#define VALUES (sizeof values / sizeof *values)

static const struct {
    const char *asks, *closing, *opening;
} rows[] = {
    /*  in the order of the values:  "" null true [] {} -0 19.99 19.990 2^53+1 s U+017F combining %25 NUL line-end {s.s} [s,s]
     *  1 MiB 10,000 */
    {"equals: s", "FFFFFFFFFTFFFFFFFFF", "FFFFFFFFFTFFFFFFFFF"},
    {"equals: ''", "TFFFFFFFFFFFFFFFFFF", "TFFFFFFFFFFFFFFFFFF"},
    {"equals: 19.99", "FFFFFFTTFFFFFFFFFFF", "FFFFFFTTFFFFFFFFFFF"},
    {"equals: 0", "FFFFFTFFFFFFFFFFFFF", "FFFFFTFFFFFFFFFFFFF"},
    {"equals: 9007199254740992", "FFFFFFFFFFFFFFFFFFF", "FFFFFFFFFFFFFFFFFFF"},
    {"equals: null", "FTFFFFFFFFFFFFFFFFF", "FTFFFFFFFFFFFFFFFFF"},
    {"equals: [s, s]", "FFFFFFFFFFFFFFFFTFF", "FFFFFFFFFFFFFFFFTFF"},
    {"not_equals: s", "TTTTTTTTTFTTTTTTTTT", "TTTTTTTTTFTTTTTTTTT"},
    {"in: [s, 19.99, 0, {}]", "FFFFTTTTFTFFFFFFFFF", "FFFFTTTTFTFFFFFFFFF"},
    {"matches: s", "FFFUUFFFFTFFFTTUUTU", "FFFUUFFFFTFFFFFUUFU"},
    {"matches: '(?i)s'", "FFFUUFFFFTTFFTTUUTU", "FFFUUFFFFTUFFFFUUFU"},
    {"matches: '^s$'", "FFFUUFFFFTFFFFFUUFU", "FFFUUFFFFTFFFFFUUFU"},
    {"matches: ''", "TTTUUTTTTTTTTTTUUTU", "TFFUUFFFFFFFFFFUUFU"},
    {"not_matches: s", "TTTUUTTTTFTTTTTUUTU", "TTTUUTTTTFTTTFFUUFU"},
    {"not_matches: '(?i)s'", "TTTUUTTTTFUTTTTUUTU", "TTTUUTTTTFFTTFFUUFU"},
    {"glob: 's*'", "FFFUUFFFFTFFFTTUUTU", "FFFUUFFFFTFFFTTUUTU"},
    {"glob: '?'", "FFFUUFFFFTTFFFFUUFU", "FFFUUFFFFTTFFFFUUFU"},
    {"glob: '*'", "TTTUUTTTTTTTTTTUUTU", "TTTUUTTTTTTTTTTUUTU"},
    {"starts_with: s", "FFFUUFFFFTFFFTTUUTU", "FFFUUFFFFTFFFTTUUTU"},
    {"starts_with: ''", "TTTUUTTTTTTTTTTUUTU", "TTTUUTTTTTTTTTTUUTU"},
    {"ends_with: s", "FFFUUFFFFTFFFFFUUTU", "FFFUUFFFFTFFFFFUUTU"},
    {"ends_with: '0'", "FFFUUTFTFFFFFTFUUFU", "FFFUUTFTFFFFFTFUUFU"},
    {"contains: s", "FFFFUFFFFTFFFTTUTTT", "FFFFUFFFFTFFFTTUTTT"},
    {"contains: '9'", "FFFFUFTTTFFFFFFUFFF", "FFFFUFTTTFFFFFFUFFF"},
    {"contains: 9", "UUUFUUUUUUUUUUUUFUF", "UUUFUUUUUUUUUUUUFUF"},
    {"is: string", "TFFFFFFFFTTTTTTFFTF", "TFFFFFFFFTTTTTTFFTF"},
    {"is: integer", "FFFFFTFFTFFFFFFFFFF", "FFFFFTFFTFFFFFFFFFF"},
    {"is: number", "FFFFFTTTTFFFFFFFFFF", "FFFFFTTTTFFFFFFFFFF"},
    {"is: 'null'", "FTFFFFFFFFFFFFFFFFF", "FTFFFFFFFFFFFFFFFFF"},
    {"is: boolean", "FFTFFFFFFFFFFFFFFFF", "FFTFFFFFFFFFFFFFFFF"},
    {"is: array", "FFFTFFFFFFFFFFFFTFT", "FFFTFFFFFFFFFFFFTFT"},
    {"is: object", "FFFFTFFFFFFFFFFTFFF", "FFFFTFFFFFFFFFFTFFF"},
    {"is: [string, integer]", "TFFFFTFFTTTTTTTFFTF", "TFFFFTFFTTTTTTTFFTF"},
    {"is: [integer, number]", "FFFFFTTTTFFFFFFFFFF", "FFFFFTTTTFFFFFFFFFF"},
    {"min: 0", "UUUUUTTTUUUUUUUUUUU", "UUUUUTTTUUUUUUUUUUU"},
    {"min: 19.99", "UUUUUFTTUUUUUUUUUUU", "UUUUUFTTUUUUUUUUUUU"},
    {"max: 0", "UUUUUTFFUUUUUUUUUUU", "UUUUUTFFUUUUUUUUUUU"},
    {"max: 19.99", "UUUUUTTTUUUUUUUUUUU", "UUUUUTTTUUUUUUUUUUU"},
    {"min_length: 1", "FTTUUTTTTTTTTTTUUTU", "FTTUUTTTTTTTTTTUUTU"},
    {"min_length: 2", "FTTUUTTTTFFTTTTUUTU", "FTTUUTTTTFFTTTTUUTU"},
    {"max_length: 1", "TFFUUFFFFTTFFFFUUFU", "TFFUUFFFFTTFFFFUUFU"},
    {"min_items: 1", "UUUFFUUUUUUUUUUTTUT", "UUUFFUUUUUUUUUUTTUT"},
    {"max_items: 1", "UUUTTUUUUUUUUUUTFUF", "UUUTTUUUUUUUUUUTFUF"},
    {"multiple_of: 0.01", "UUUUUTTTUUUUUUUUUUU", "UUUUUTTTUUUUUUUUUUU"},
    {"multiple_of: 2", "UUUUUTFFUUUUUUUUUUU", "UUUUUTFFUUUUUUUUUUU"},
    {"unique: true", "UUUTUUUUUUUUUUUUFUF", "UUUTUUUUUUUUUUUUFUF"},
    {"exists: true", "TTTTTTTTTTTTTTTTTTT", "TTTTTTTTTTTTTTTTTTT"},
    {"exists: false", "FFFFFFFFFFFFFFFFFFF", "FFFFFFFFFFFFFFFFFFF"},
    {"under: /", "UUUUUUUUUUUUUUUUUUU", "UUUUUUUUUUUUUUUUUUU"},
    {"path: {under: .}", "UFFUUFFFFTTTUUUUUUU", "UFFUUFFFFTTTUUUUUFU"},
    {"path: {under: /}", "UFFUUFFFFUUUUUUUUUU", "UFFUUFFFFFFFUUUUUFU"},
    {"cut: s, front: {equals: ''}", "FFFUUFFFFTFFFTTUUTU", "FFFUUFFFFTFFFTTUUTU"},
    {"url: {schemes: [s]}", "UUUUUUUUUUUUUUUUUUU", "UUUUUUUUUUUUUUUUUUU"},
    {"cidr: 0.0.0.0/0", "UUUUUUUUUUUUUUUUUUU", "UUUUUUUUUUUUUUUUUUU"},
    {"format: ipv4", "FFFUUFFFFFFFFFFUUFU", "FFFUUFFFFFFFFFFUUFU"},
    {"email: {domains: [s]}", "FUUFUUUUUUUUUUUUUUU", "FUUFUUUUUUUUUUUUUUU"},
    {"email: {most: 1, none: true}", "TTUTUUUUUUUUUUUUUUU", "TTUTUUUUUUUUUUUUFUF"},
    {"url: {ports: any}, links: true", "FFFUUFFFFFFFFFFUUFU", "TTTUUTTTTTTTTTTUUTU"},
    {"words: {forms: ['s [s]']}", "FFFFFFFFFFFFFFFFTFF", "FFFFFFFFFFFFFFFFTFF"},
    {"sql: {statements: [select]}", "UUUUUUUUUUUUUUUUUUU", "UUUUUUUUUUUUUUUUUUU"},
    {"free_of: hidden", "TTTUUTTTTTTTTTTUUTU", "TTTUUTTTTTTTTTTUUTU"},
    {"free_of: [line_ends, encoded_words]", "TTTUUTTTTTTTTTFUUTU", "TTTUUTTTTTTTTTFUUTU"},
    {"equals: S, ignore_case: true", "FFFFFFFFFTTFFFFFFFF", "FFFFFFFFFTTFFFFFFFF"},
    {"in: [S, 0, NULL, Null], ignore_case: true", "FTFFFTFFFTTFFFFFFFF", "FTFFFTFFFTTFFFFFFFF"},
    {"contains: S, ignore_case: true", "FFFFUFFFFTTFFTTUTTT", "FFFFUFFFFTTFFTTUTTT"},
    {"free_of: hidden, decode: [percent]", "TTTUUTTTTTTTTTTUUTU", "TTTUUTTTTTTTTFTUUTU"},
    {"detect: nul", "FFFUUFFFFFFFFTFUUFU", "FFFUUFFFFFFFFTFUUFU"},
    {"detect: [nul, fifth]", "FFFUUFTTFFFFFTFUUFU", "FFFUUFTTFFFFFTFUUFU"},
    {"detect: nul, decode: [percent]", "FFFUUFFFFFFFFTFUUFU", "FFFUUFFFFFFFFFFUUFU"},
    {"equals: '..', decode: [percent]", "FFFFFFFFFFFFTFFFFFF", "FFFFFFFFFFFFFFFFFFF"},
    {"matches: '^s.$', decode: [percent]", "FFFUUFFFFFFFFTTUUFU", "FFFUUFFFFFFFFFTUUFU"},
    {"equals: s, decode: [unicode]", "FFFFFFFFFTTFFFFFFFF", "FFFFFFFFFTFFFFFFFFF"},
    {"max_length: 1, decode: [unicode]", "TFFUUFFFFTTTFFFUUFU", "TFFUUFFFFTTFFFFUUFU"},
    {"equals: s.s, keys: true", "FFFFFFFFFFFFFFFTFFF", "TTTTTTTTTTTTTTTTTTT"},
    {"exists: true, keys: true", "FFFFFFFFFFFFFFFTFFF", "FFFFFFFFFFFFFFFTFFF"},
};

#define ROWS (sizeof rows / sizeof *rows)

/* The arguments {"v": value}. Returns: from the heap. */
static char *arguments_of(size_t value)
{
    char *json = malloc(MEGABYTE + 64);
    size_t at;

    assert_non_null(json);
    if (values[value].json != NULL) {
        snprintf(json, MEGABYTE, "{\"v\":%s}", values[value].json);
        return json;
    }
    if (value + 2 == VALUES) {
        memcpy(json, "{\"v\":\"", 6);
        memset(json + 6, 's', MEGABYTE);
        memcpy(json + 6 + MEGABYTE, "\"}", 3);
        return json;
    }
    at = (size_t)snprintf(json, 64, "{\"v\":[\"s\"");
    for (int i = 1; i < MANY; i++, at += 4)
        memcpy(json + at, ",\"s\"", 4);
    memcpy(json + at, "]}", 3);
    return json;
}

TEST_CASE(test_values)
{
    for (size_t value = 0; value < VALUES; value++) {
        char *arguments = arguments_of(value);

        for (size_t row = 0; row < ROWS; row++)
            for (int opening = 0; opening <= 1; opening++) {
                const char *wanted = opening ? rows[row].opening : rows[row].closing;
                char condition[256], truth;

                assert_int_equal(strlen(wanted), VALUES);
                snprintf(condition, sizeof condition, "{arg: v, %s}", rows[row].asks);
                truth = truth_of_condition(condition, span_text(arguments), opening);
                if (truth != wanted[value])
                    fail_msg("%s of %s is %c in %s place, wanted %c", condition, values[value].name, truth,
                             opening ? "an opening" : "a closing", wanted[value]);
            }
        free(arguments);
    }
}

/* Meaning 7: what selects nothing keeps its rule from applying, at whatever depth of `not`; `exists` alone decides it. */
TEST_CASE(test_absence)
{
    static const char *const places[] = {"w", "$.v[*].w", "$.v[7]", "$.v[5:]", "$['a.b']", "$..w"};

    for (size_t row = 0; row < ROWS; row++)
        for (size_t place = 0; place < sizeof places / sizeof *places; place++)
            for (int nots = 0; nots <= 3; nots++)
                for (int permit = 0; permit <= 1; permit++) {
                    bool exists = strncmp(rows[row].asks, "exists: ", 8) == 0, undecided, applies;
                    bool wanted = exists && (strncmp(rows[row].asks, "exists: true", 12) == 0) == (nots % 2 == 1);
                    char condition[512];

                    snprintf(condition, sizeof condition, "%.*s{arg: \"%s\", %s}%.*s", 6 * nots, "{not: {not: {not: ",
                             places[place], rows[row].asks, nots, "}}}");
                    applies = judge_condition(permit ? "permit" : "require_approval", condition,
                                              SPAN_LIT("{\"v\":[{\"x\":1},{}],\"a\":{\"b\":1}}"), &undecided) != VERDICT_DENY;
                    if (applies != wanted || undecided)
                        fail_msg("a %s with %s %s", permit ? "permit" : "require_approval", condition,
                                 applies ? "applies" : "does not apply");
                }
}

/* Meaning 6: in an opening leaf an element that lacks the member counts as an absent value. */
TEST_CASE(test_lacking_elements)
{
    for (size_t row = 0; row < ROWS; row++) {
        char condition[256], both, lacks;

        if (strncmp(rows[row].asks, "exists: ", 8) == 0 || strstr(rows[row].asks, "keys") != NULL ||
            strstr(rows[row].asks, "links") != NULL)
            continue;
        snprintf(condition, sizeof condition, "{arg: '$.v[*].s', %s}", rows[row].asks);
        both = judge_condition("permit", condition, SPAN_LIT("{\"v\":[{\"s\":\"s\"},{\"s\":\"s\"}]}"), NULL) == VERDICT_PERMIT;
        lacks = judge_condition("permit", condition, SPAN_LIT("{\"v\":[{\"s\":\"s\"},{\"t\":\"s\"}]}"), NULL) == VERDICT_PERMIT;
        assert_int_equal(both, rows[row].opening[9] == 'T'); /* the value `s` */
        assert_false(lacks);
    }
}

/* No operator of the language is left out. */
TEST_CASE(test_completeness)
{
    static const char *const words[] = {
#define X(word) #word ": ",
        OPERATOR_TABLE(X)
#undef X
        "not_matches: ", "not_equals: ", "decode: ", "keys: ", "links: ",
    };

    for (size_t word = 0; word < sizeof words / sizeof *words; word++) {
        bool found = false;

        for (size_t row = 0; row < ROWS; row++)
            found |= strstr(rows[row].asks, words[word]) != NULL;
        if (!found)
            fail_msg("no row asks `%s`", words[word]);
    }
}

/* 6.13: all of an operator stands in its struct: none of what the compiler, the evaluation and the tools for authors ask of it is
 * missing, whichever operator is added. */
TEST_CASE(test_structs)
{
    static const struct {
        const char *word;
        const struct operator *operator;
    } all[] = {
#define X(word) {#word, &operator__##word},
        OPERATOR_TABLE(X)
#undef X
    };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct operator *operator = all[i].operator;

        assert_string_equal(operator->word, all[i].word);
        assert_ptr_equal(policy_operator(span_text(all[i].word)), operator);
        assert_non_null(operator->compile);
        assert_true(operator->of_text != NULL || operator->of_value != NULL);
        assert_true(operator->types != 0 && (operator->types & ~TYPES_ALL) == 0);
        /* What costs is text that is read; what reads scalars as text is true of scalars, or of strings alone. */
        assert_true(operator->cost == NULL || operator->of_text != NULL);
        assert_true(operator->of_text == NULL || (operator->types & TYPES_SCALAR) == TYPES_SCALAR ||
                    operator->types == TYPE_BIT(JSON_STRING));
        assert_true(operator->of_value != NULL || (operator->types & ~TYPES_SCALAR) == 0);
        /* Every type of value is tried of itself, which is all that `is` and `exists` ask. Those of `words` has its guide. */
        if (operator->sample == NULL)
            assert_true(operator == &operator__is || operator == &operator__exists ||
                        (operator == &operator__words && form_guide.sample != NULL));
        if (operator->upper != NULL)
            assert_true(operator->upper->types == operator->types && operator->upper->compile == operator->compile);
        assert_false(operator->is_decided && operator->of_text != NULL);
    }
    assert_null(policy_operator(SPAN_LIT("not_matches")));
    assert_null(policy_operator(SPAN_LIT("")));
}

TEST_MAIN(NULL, NULL)
