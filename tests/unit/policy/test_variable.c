/* SPDX-License-Identifier: Apache-2.0 */
/* 7.4: variables of the call in values: escaped for the operator that reads them, undecided where what they stand for cannot
 * stand there, and braces that are none. */
#include "language/language.h"
#include "policy/variable.h"
#include "unit/policy/judge.h"

/* T, F or U of a condition on the argument `v` when this principal of the tenant `acme` calls, closing and opening. */
struct row {
    const char *principal, *condition, *value;
    char closing, opening;
};

#define HOME "under: ['/h/{principal}/', /tmp]"
#define HOST "url: {schemes: [https], hosts: ['{principal}.example.com', 'www.{tenant}.test']}"

static const struct row rows[] = {
    {"ada", HOME, "\"/h/ada/x\"", 'T', 'T'},
    {"ada", HOME, "\"/h/ada\"", 'T', 'T'},
    {"ada", HOME, "\"/h/adam/x\"", 'F', 'F'},
    {"ada", HOME, "\"/h/bob/x\"", 'F', 'F'},
    {"ada", HOME, "\"/h/ada/../bob/x\"", 'F', 'F'},
    {"ada", HOME, "\"/h/{principal}/x\"", 'F', 'F'},
    {"Ada Lovelace", HOME, "\"/h/Ada Lovelace/%20x\"", 'T', 'T'},
    {"Ada Lovelace", HOME, "\"/h/Ada%20Lovelace/x\"", 'U', 'U'}, /* who does not decode finds another folder */
    {"x%2f..", "starts_with: '/h/{principal}/'", "\"/h/x%2f../bob\"", 'U', 'U'},
    {"..;x", "starts_with: '/h/{principal}/'", "\"/h/..;x/bob\"", 'U', 'U'},
    {"\xc3\xa4", HOME, "\"/h/\\u00e4/x\"", 'T', 'T'},
    /* who is called so gets no folder of others, nor none of their own, but what is theirs without a name they keep */
    {"..", HOME, "\"/h/../etc\"", 'U', 'U'},
    {"..", HOME, "\"/etc\"", 'U', 'U'},
    {"..", HOME, "\"/tmp/x\"", 'T', 'T'},
    {".", HOME, "\"/h/ada\"", 'U', 'U'},
    {"", HOME, "\"/h/ada\"", 'U', 'U'},
    {"a/b", HOME, "\"/h/a/b\"", 'U', 'U'},
    {"ada/", HOME, "\"/h/ada/x\"", 'U', 'U'},
    {"a\\b", HOME, "\"/h/a\"", 'U', 'U'},
    {"a%62", HOME, "\"/h/ab\"", 'U', 'U'},
    {"a\nb", HOME, "\"/h/a\"", 'U', 'U'},
    {"a\xe2\x80\x8b", HOME, "\"/h/a\\u200b\"", 'U', 'U'},
    {"\x7f", HOME, "\"/h/x\"", 'U', 'U'},
    {"b", "under: '/{tenant}/{principal}'", "\"/acme/b/c\"", 'T', 'T'},
    {"b", "under: '/{tenant}/{principal}'", "\"/acme/c\"", 'F', 'F'},
    {"b", "under: '/{{tenant}}/{principal}'", "\"/{tenant}/b\"", 'T', 'T'},
    /* a glob's letters in a name are letters */
    {"*", "glob: '{principal}-*'", "\"ada-1\"", 'F', 'F'},
    {"*", "glob: '{principal}-*'", "\"*-1\"", 'T', 'T'},
    {"a?", "glob: '{principal}'", "\"ab\"", 'F', 'F'},
    {"a\\", "glob: '{principal}*'", "\"a\\\\b\"", 'T', 'T'},
    {"..", "glob: '{principal}*'", "\"..\"", 'U', 'U'},
    {"ada", "glob: '\\{principal}'", "\"{principal}\"", 'T', 'T'},
    {"ada", "glob: '\\{principal}'", "\"ada\"", 'F', 'F'},
    {"*", "glob: '\\{principal}'", "\"x\"", 'F', 'F'},
    {"*", "glob: '\\\\{principal}'", "\"\\\\x\"", 'F', 'F'}, /* a backslash, then who is called `*` */
    {"*", "glob: '\\\\{principal}'", "\"\\\\*\"", 'T', 'T'},
    /* whole, at an end, inside */
    {"ada", "equals: '{principal}'", "\"ada\"", 'T', 'T'},
    {"ada", "equals: '{principal}'", "\"Ada\"", 'F', 'F'},
    {"5", "equals: '{principal}'", "5", 'F', 'F'},
    {"", "equals: '{principal}'", "\"\"", 'U', 'U'},
    {"a/b", "equals: '{principal}'", "\"a/b\"", 'T', 'T'},
    {"ada", "equals: {a: '{principal}'}", "{\"a\":\"ada\"}", 'F', 'F'}, /* inside a value braces are braces */
    {"ada", "in: [x, '{principal}@{tenant}.test', 5]", "\"ada@acme.test\"", 'T', 'T'},
    {"ada", "in: [x, '{principal}@{tenant}.test', 5]", "\"x\"", 'T', 'T'},
    {"ada", "in: [x, '{principal}@{tenant}.test', 5]", "5.0", 'T', 'T'},
    {"ada", "in: [x, '{principal}@{tenant}.test', 5]", "\"bob@acme.test\"", 'F', 'F'},
    {"", "in: [x, '{principal}', 5]", "5", 'T', 'T'},
    {"", "in: [x, '{principal}', 5]", "6", 'U', 'U'},
    {"ada", "starts_with: '{principal}/'", "\"ada/x\"", 'T', 'T'},
    {"ada", "starts_with: '{principal}/'", "\"adam/x\"", 'F', 'F'},
    {"ada", "ends_with: '#{principal}'", "\"x#ada\"", 'T', 'T'},
    {"ada", "contains: '<{principal}>'", "\"Ada <ada>\"", 'T', 'T'},
    {"ada", "contains: '{principal}'", "[\"bob\",\"ada\"]", 'T', 'T'},
    {"..", "contains: '{principal}'", "[\"bob\"]", 'U', 'U'},
    /* steps that lead out of where the name stands, in each spelling of which a server may walk them */
    {"ada/../bob", "starts_with: '/h/{principal}/'", "\"/h/ada/../bob/x\"", 'U', 'U'},
    {"../bob", "equals: '/h/{principal}/x'", "\"/h/../bob/x\"", 'U', 'U'},
    {"ada/%2E%2e/bob", "glob: '/h/{principal}/*'", "\"/h/ada/%2E%2e/bob/x\"", 'U', 'U'},
    {"ada\\.%2e", "in: ['/h/{principal}']", "\"/h/ada\\\\.%2e\"", 'U', 'U'},
    {"ada/.", "ends_with: '/{principal}'", "\"/h/ada/.\"", 'U', 'U'},
    {"spiffe://td/a..b/...", "equals: '{principal}'", "\"spiffe://td/a..b/...\"", 'T', 'T'},
    /* hosts: what a label may be, as it is written in lower case */
    {"ada", HOST, "\"https://ada.example.com/x\"", 'T', 'T'},
    {"ada", HOST, "\"https://ADA.EXAMPLE.com/x\"", 'T', 'T'},
    {"ada", HOST, "\"https://www.acme.test\"", 'T', 'T'},
    {"ada", HOST, "\"https://bob.example.com/\"", 'F', 'F'},
    {"evil.test/", HOST, "\"https://evil.test/.example.com/\"", 'U', 'U'},
    {"a.b", HOST, "\"https://a.b.example.com/\"", 'U', 'U'},
    {"Ada", HOST, "\"https://ada.example.com/\"", 'U', 'U'},
    {"*", HOST, "\"https://ada.example.com/\"", 'U', 'U'},
    {"*", HOST, "\"https://www.acme.test\"", 'T', 'T'},
    {"*", HOST, "\"http://ada.example.com\"", 'F', 'F'},
    {"10", "url: {hosts: ['{principal}.0.0.*']}", "\"https://10.0.0.1/\"", 'U', 'U'},
    /* braces that are none */
    {"ada", "equals: '{{principal}}'", "\"{principal}\"", 'T', 'T'},
    {"ada", "equals: '{{{principal}}}'", "\"{{principal}}\"", 'T', 'T'},
    {"ada", "equals: '{{principal}'", "\"{ada\"", 'T', 'T'},
    {"ada", "equals: '{user}{}{'", "\"{user}{}{\"", 'T', 'T'},
    {"ada", "contains: '{{'", "\"{{ 7*7 }}\"", 'T', 'T'},
    {"ada", "equals: '{Principal}'", "\"{Principal}\"", 'T', 'T'},
    {"{tenant}", "equals: '{principal}'", "\"{tenant}\"", 'T', 'T'}, /* read once */
};

static char truth_for(const struct row *row, bool opening)
{
    struct question question = plain_question();
    struct court court;
    const struct verdict *verdict;
    char text[1024], value[256];
    char truth;

    snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, effect: require_approval, when: [%s{arg: v, %s}%s]}\n",
             opening ? "{not: " : "", row->condition, opening ? "}" : "");
    snprintf(value, sizeof value, "{\"v\":%s}", row->value);
    court_open(&court, text);
    question.principal = span_text(row->principal);
    verdict = judge(&court, question, value);
    truth = verdict->undecided.len > 0 ? 'U' : (verdict->kind == VERDICT_HOLD) != opening ? 'T' : 'F';
    court_close(&court);
    return truth;
}

TEST_CASE(test_rows)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char closing = truth_for(&rows[i], false), opening = truth_for(&rows[i], true);

        if (closing != rows[i].closing || opening != rows[i].opening)
            fail_msg("%s on %s for `%s`: closing %c, wanted %c; opening %c, wanted %c", rows[i].condition, rows[i].value,
                     rows[i].principal, closing, rows[i].closing, opening, rows[i].opening);
    }
}

/* One snapshot says each call its own. */
TEST_CASE(test_calls_in_turn)
{
    static const char *const people[] = {"ada", "bob", "..", "ada"};
    struct court court;

    court_open(&court, "policy: p\nlists: {l: ['{principal}', x]}\nrules:\n"
                       "  - {id: r, effect: permit, when: [{arg: v, in: {list: l}}, {arg: w, under: '/h/{principal}'}]}\n");
    for (size_t i = 0; i < sizeof people / sizeof *people; i++) {
        struct question question = plain_question();

        question.principal = span_text(people[i]);
        assert_int_equal(judge(&court, question, "{\"v\":\"ada\",\"w\":\"/h/ada\"}")->kind,
                         strcmp(people[i], "ada") == 0 ? VERDICT_PERMIT : VERDICT_DENY);
    }
    court_close(&court);
}

static void expect_fault(const char *text, uint64_t version, bool is_refused)
{
    static struct faults faults;
    struct policy_file file = {.path = SPAN_LIT("p.yaml"), .text = span_text(text)};
    struct policy *policy = NULL;

    faults_init(&faults);
    assert_int_equal(policy_compile(&file, 1, version, &policy, &faults, NULL) == CODE_OK, !is_refused);
    if (is_refused)
        assert_non_null(strstr(faults.fault[0].text, "a regex has no variables"));
    policy_unref(&policy);
}

/* A regex has none: refused where it is written, read as ever where it was stored before there were variables. */
TEST_CASE(test_regexes)
{
    static const char of_value[] = "policy: p\nrules:\n  - {id: r, effect: permit, when: [{arg: v, matches: '/{principal}/'}]}\n";
    static const char of_name[] = "policy: p\npatterns: {x: '/{tenant}/'}\nrules:\n"
                                  "  - {id: r, effect: permit, when: [{arg: v, not_matches: {pattern: x}}]}\n";
    static const char plain[] = "policy: p\nrules:\n  - {id: r, effect: permit, when: [{arg: v, matches: '\\{principal\\}x{2}'}]}\n";

    expect_fault(of_value, 0, true);
    expect_fault(of_name, 0, true);
    expect_fault(of_value, 1, false);
    expect_fault(plain, 0, false);
}

/* What is quoted says what it was. */
TEST_CASE(test_quoting)
{
    static const char *const texts[] = {"", "x", "{principal}", "{{tenant}}", "a{upstream", "{{{principal}}}}{tenant}{", "{user}", "}{"};
    const struct question question = plain_question();
    struct arena arena;

    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct span said;
        struct buf out;

        buf_init(&out, 1 << 20);
        variable_quote(span_text(texts[i]), &out);
        assert_int_equal(variable_say(&question, buf_peek(&out), VARIABLE_TEXT, &arena, &said), CODE_OK);
        assert_true(span_is(said, texts[i]));
        buf_fini(&out);
    }
    arena_fini(&arena);
}

TEST_MAIN(NULL, NULL)
