/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/policy/judge.h"

/* What is wrong, where, and a part of what is said. */
struct row {
    const char *text;
    int line, column;
    const char *said;
};

#define HEAD "policy: p\nrules:\n"
#define RULE(more) HEAD "  - {id: r, effect: permit, " more "}\n"
#define FORBID(more) HEAD "  - {id: r, effect: forbid, " more "}\n"
#define WHEN(more) RULE("when: [" more "]")

static const struct row rows[] = {
    {"", 1, 1, "begin it with `policy: NAME`"},
    {"[]", 1, 1, "begin it with `policy: NAME`"},
    {"rules: []\n", 1, 1, "begin it with `policy: NAME`"},
    {"policy: 'a b'\n", 1, 9, "letters, digits"},
    {"policy: [a]\n", 1, 9, "letters, digits"},
    {"policy: p\nrule: []\n", 2, 1, "did you mean `rules`?"},
    {"policy: p\nrules: {}\n", 2, 8, "write a list"},
    {"policy: p\nrules: [x]\n", 2, 9, "write a map"},
    {"policy: p\nmode: monitr\n", 2, 7, "did you mean `monitor`?"},
    {"policy: p\npatterns: {a: '('}\n", 2, 15, "not usable"},
    {"policy: p\nlists: {a: x}\n", 2, 12, "write a list"},
    {HEAD "  - {effect: permit}\n", 3, 5, "has no `id`"},
    {HEAD "  - {id: 'a b', effect: permit}\n", 3, 10, "is no id"},
    {HEAD "  - {id: r}\n", 3, 5, "has no `effect`"},
    {HEAD "  - {id: r, effect: allow}\n", 3, 21, "write one of: forbid, require_approval, permit"},
    {HEAD "  - {id: r, effect: permitt}\n", 3, 21, "did you mean `permit`?"},
    {HEAD "  - {id: r, effect: permit}\n  - {id: r, effect: permit}\n", 4, 5, "taken by p.yaml:3"},
    {RULE("mach: {}"), 3, 29, "did you mean `match`?"},
    {RULE("limit: {calls: 1}"), 3, 29, "not yet"},
    {RULE("during: {}"), 3, 29, "not yet"},
    {RULE("match: [a]"), 3, 36, "write a map"},
    {RULE("match: {tool: [a]}"), 3, 37, "did you mean `tools`?"},
    {RULE("match: {resources: [a]}"), 3, 37, "not yet"},
    {RULE("match: {tools: a}"), 3, 44, "write a list"},
    {RULE("match: {tools: []}"), 3, 44, "never matches"},
    {RULE("match: {tools: [5]}"), 3, 45, "write a string"},
    {RULE("match: {tools: ['']}"), 3, 45, "never matches"},
    {RULE("match: {tools: [{regx: a}]}"), 3, 46, "did you mean `regex`?"},
    {RULE("match: {tools: [{regex: '['}]}"), 3, 53, "not usable at its byte"},
    {RULE("match: {tools: [{regex: 'a', anchor: al}]}"), 3, 66, "write one of: whole, anywhere"},
    {RULE("match: {tools: [{regex: '(a+)+$'}]}"), 3, 53, "slow_regex: allow"},
    {WHEN(""), 3, 35, "leave it out"},
    {WHEN("5"), 3, 36, "write a map"},
    {WHEN("{}"), 3, 36, "begins with `arg`"},
    {WHEN("{arg: a}"), 3, 36, "asks nothing"},
    {WHEN("{arg: a, equal: 1}"), 3, 45, "did you mean `equals`?"},
    {WHEN("{arg: a.b, equals: 1}"), 3, 42, "begins with $"},
    {WHEN("{arg: '$.a[?@.b]', equals: 1}"), 3, 42, "filter"},
    {WHEN("{arg: a, decode: [html], equals: 1}"), 3, 45, "not yet"},
    {WHEN("{arg: a, url: {}}"), 3, 45, "not yet"},
    {WHEN("{arg: a, keys: true, equals: 1}"), 3, 45, "not yet"},
    {WHEN("{meta: a, equals: 1}"), 3, 37, "not yet"},
    {WHEN("{arg: a, in: x}"), 3, 49, "write a list"},
    {WHEN("{arg: a, in: []}"), 3, 49, "empty list"},
    {WHEN("{arg: a, in: {list: x}}"), 3, 56, "no list `x`"},
    {WHEN("{arg: a, in: {lst: x}}"), 3, 49, "{list: name}"},
    {WHEN("{arg: a, matches: {pattern: x}}"), 3, 64, "no pattern `x`"},
    {WHEN("{arg: a, matches: 5}"), 3, 54, "write a string"},
    {WHEN("{arg: a, matches: '(*ACCEPT)'}"), 3, 54, "not usable"},
    {WHEN("{arg: a, matches: '(\\w+\\s?)*;'}"), 3, 54, "slow_regex: allow"},
    {WHEN("{arg: a, glob: 5}"), 3, 51, "write a string"},
    {WHEN("{arg: a, is: int}"), 3, 49, "write one of: integer"},
    {WHEN("{arg: a, min: '5'}"), 3, 50, "without quotes"},
    {WHEN("{arg: a, max_length: -1}"), 3, 57, "whole number from 0"},
    {WHEN("{arg: a, max_items: 1.5}"), 3, 56, "whole number from 0"},
    {WHEN("{arg: a, exists: yes}"), 3, 53, "true or false"},
    {WHEN("{arg: a, exists: true, optional: true}"), 3, 36, "alone decides absence"},
    {WHEN("{arg: a, equals: 1, optional: 5}"), 3, 66, "true or false"},
    {WHEN("{arg: a, equals: 1, absent: applies}"), 3, 56, "`optional: true`"},
    {FORBID("when: [{arg: a, equals: 1, optional: true}]"), 3, 56, "`absent: applies`"},
    {FORBID("when: [{arg: a, equals: 1, absent: aplies}]"), 3, 64, "did you mean `applies`?"},
    {WHEN("{arg: a, equals: 1, quantify: all}"), 3, 66, "did you mean `any`?"},
    {WHEN("{arg: a, equals: 1, anchor: whole}"), 3, 56, "belongs to `matches`"},
    {WHEN("{any: []}"), 3, 42, "empty `any`"},
    {WHEN("{any: {}}"), 3, 42, "write a list"},
    {WHEN("{not: {arg: a, equals: 1}, arg: b}"), 3, 36, "stand alone"},
    {WHEN("{arg: a, equals: {list: [\"\\ud800\"]}}"), 3, 0, ""},
    {FORBID("only_args: [a]"), 3, 29, "`only_args` is for permits"},
    {RULE("only_args: a"), 3, 40, "write a list"},
    {RULE("only_args: [5]"), 3, 41, "write a string"},
    {RULE("say: ''"), 3, 34, "says nothing"},
    {RULE("mode: on"), 3, 35, "write one of: enforce, monitor"},
    {RULE("slow_regex: yes"), 3, 41, "write one of: allow"},
    {"policy: p\nredact: [{args: []}]\n", 2, 17, "redacts nothing"},
    {"policy: p\nredact: [{match: {tools: [a]}}]\n", 2, 10, "no `args`"},
    {"policy: p\nredact: [{args: [a-b]}]\n", 2, 18, "begins with $"},
    {"policy: p\ntests: [{name: a, call: {tool: t}}]\n", 2, 9, "`expect` is missing"},
    {"policy: p\ntests: [{name: a, call: {}, expect: {verdict: deny}}]\n", 2, 25, "`tool` goes with"},
    {"policy: p\ntests: [{name: a, call: {tool: t, params: {}}, expect: {verdict: deny}}]\n", 2, 35, "`arguments`"},
    {"policy: p\ntests: [{name: a, call: {method: ping, arguments: {}}, expect: {verdict: deny}}]\n", 2, 40, "`params`"},
    {"policy: p\ntests: [{name: a, call: {tool: t}, expect: {verdict: allow}}]\n", 2, 54, "write one of: deny, hold, permit"},
    {"policy: p\ntests: [{name: a, call: {tool: t}, expect: {verdict: deny, reason: x}}]\n", 2, 68, "is no reason"},
    {"policy: p\nmode: &a enforce\n", 2, 7, "anchor"},
};

/* 1.22: every refusal has a place, what is wrong, and what to write instead. */
static void test_faults(void **state)
{
    static struct faults faults;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct policy *policy;
        const struct fault *fault = &faults.fault[0];

        if (compile_text(rows[i].text, &policy, &faults, NULL) != CODE_INVALID || policy != NULL)
            fail_msg("accepted:\n%s", rows[i].text);
        if (strchr(fault->text, ';') == NULL && strstr(fault->text, "did you mean") == NULL)
            fail_msg("no repair in: %s", fault->text);
        if (fault->line != rows[i].line || (rows[i].column > 0 && fault->column != rows[i].column) ||
            strstr(fault->text, rows[i].said) == NULL)
            fail_msg("%s\n%d:%d: %s\nwanted %d:%d: %s", rows[i].text, fault->line, fault->column, fault->text, rows[i].line,
                     rows[i].column, rows[i].said);
        assert_string_equal(fault->file, "p.yaml");
    }
}

/* 1.22: up to 20 in one run, the rest counted. */
static void test_many_faults(void **state)
{
    static struct faults faults;
    char text[4096] = HEAD;
    size_t len = strlen(text);
    struct policy *policy;

    (void)state;
    for (int i = 0; i < 30; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "  - {id: r%d, effect: permitt}\n", i);
    assert_int_equal(compile_text(text, &policy, &faults, NULL), CODE_INVALID);
    assert_int_equal(faults.count, 30);
    for (int i = 0; i < FAULTS_MAX; i++)
        assert_int_equal(faults.fault[i].line, 3 + i);
}

static void expect_warning(const char *text, int line, const char *said)
{
    static struct faults faults, warnings;
    struct policy *policy;

    if (compile_text(text, &policy, &faults, &warnings) != CODE_OK) {
        print_faults(&faults);
        fail_msg("refused:\n%s", text);
    }
    policy_unref(&policy);
    for (size_t i = 0; said != NULL && i < warnings.count; i++)
        if (warnings.fault[i].line == line && strstr(warnings.fault[i].text, said) != NULL)
            return;
    if (said != NULL || warnings.count > 0) {
        print_faults(&warnings);
        fail_msg("wanted a warning at line %d: %s in\n%s", line, said ? said : "none", text);
    }
}

#define TESTS(id) "tests: [{name: t, call: {tool: t}, expect: {verdict: deny, rule: " id "}}]\n"

/* 1.22: what is legal but hardly meant. */
static void test_warnings(void **state)
{
    (void)state;
    expect_warning(RULE("match: {tools: [a]}") TESTS("r"), 0, NULL);
    expect_warning(RULE("match: {tools: [a]}"), 3, "no test expects");
    expect_warning(RULE("mode: monitor"), 0, NULL);
    expect_warning("policy: p\npatterns: {x: a}\n", 2, "pattern `x` is used by no rule");
    expect_warning("policy: p\nlists: {x: [a]}\n", 2, "list `x` is used by no rule");
    expect_warning(RULE("match: {tools: [a], methods: [ping]}") TESTS("r"), 3, "can never apply");
    expect_warning(RULE("match: {tools: [a], methods: ['tools/*']}") TESTS("r"), 0, NULL);
    expect_warning(FORBID("when: [{arg: a, equals: 1}]") TESTS("r"), 3, "where `a` is absent");
    expect_warning(FORBID("when: [{arg: a, equals: 1, absent: applies}]") TESTS("r"), 0, NULL);
    expect_warning(FORBID("when: [{arg: a, equals: 1, absent: ignored}]") TESTS("r"), 0, NULL);
    expect_warning(FORBID("when: [{arg: '$..*', equals: 1}]") TESTS("r"), 0, NULL);
    expect_warning(FORBID("when: [{arg: a, exists: true}]") TESTS("r"), 0, NULL);
    expect_warning(TESTS("q") "policy: p\n", 1, "does not exist");
    expect_warning(HEAD "  - {id: a, effect: permit, match: {tools: [x], tenants: [t]}}\n"
                        "  - {id: b, effect: forbid, match: {tools: ['*', y]}}\n", 3, "never decides");
    expect_warning(HEAD "  - {id: a, effect: permit, match: {tools: [x]}, mode: monitor}\n"
                        "  - {id: b, effect: forbid, match: {tools: [x], tenants: [t]}, mode: monitor}\n", 0, NULL);
}

/* 1.21: `slow_regex: allow` accepts a costly pattern; a stored version is not pumped again. */
static void test_slow_regex(void **state)
{
    static struct faults faults;
    const char *text = RULE("slow_regex: allow, when: [{arg: a, matches: '(a+)+$'}]");
    struct policy_file file = {SPAN_LIT("p.yaml"), SPAN_LIT(RULE("when: [{arg: a, matches: '(a+)+$'}]"))};
    struct policy *policy;

    (void)state;
    assert_int_equal(compile_text(text, &policy, &faults, NULL), CODE_OK);
    policy_unref(&policy);
    assert_int_equal(policy_compile(&file, 1, 0, &policy, &faults, NULL), CODE_INVALID);
    faults_init(&faults);
    assert_int_equal(policy_compile(&file, 1, 7, &policy, &faults, NULL), CODE_OK);
    assert_int_equal(policy_version(policy), 7);
    policy_unref(&policy);
}

/* The hash is of names and texts, length-prefixed, whatever the paths. */
static void test_hash(void **state)
{
    struct policy_file files[2] = {{SPAN_LIT("a.yaml"), SPAN_LIT("policy: p\n")},
                                   {SPAN_LIT("b.yaml"), SPAN_LIT("policy: p\n")}};
    struct policy *first, *second;
    struct faults faults;

    (void)state;
    faults_init(&faults);
    assert_int_equal(policy_compile(&files[0], 1, 0, &first, &faults, NULL), CODE_OK);
    assert_int_equal(policy_compile(&files[1], 1, 0, &second, &faults, NULL), CODE_OK);
    /* printf '\0\0\0\0\0\0\0\001p\0\0\0\0\0\0\0\012policy: p\n' | sha256sum */
    assert_memory_equal(policy_hash(first).at, "8ddc971d14bf8c476e548b5e3682c6016a28cdb6d09d0ff49f10c5e27ce467d0", 64);
    assert_memory_equal(policy_hash(first).at, policy_hash(second).at, 64);
    policy_unref(&first);
    policy_unref(&second);
}

#define EVERYTHING                                                                                                      \
    "policy: p\npatterns: {x: 'a+'}\nlists: {l: [a, 1]}\nrules:\n"                                                      \
    "  - {id: a, effect: permit, match: {tools: [t, 'g*', {regex: 'r.'}]}, when: [{arg: '$.a[*].b', in: {list: l}},\n"  \
    "     {any: [{not: {arg: c, not_matches: {pattern: x}, max_length: 3}}, {arg: d, equals: {e: [1]}}]}],\n"           \
    "     only_args: [a, c, d], reason: why, say: so}\n"                                                                \
    "  - {id: b, effect: forbid, match: {tools: [{regex: '(?i)z'}]}, when: [{arg: '$..*', contains: q}]}\n"             \
    "redact: [{args: [a, '$..b']}]\n"                                                                                   \
    "tests: [{name: n, call: {tool: t, arguments: {a: 1}}, expect: {verdict: deny, rule: null}}]\n"

/* Whichever allocation fails: CODE_NOMEM and nothing kept, or a whole snapshot. */
static void test_compile_memory(void **state)
{
    static struct faults faults;
    enum code code = CODE_NOMEM;

    (void)state;
    for (uint64_t nth = 1; code != CODE_OK; nth++) {
        struct policy *policy;

        assert_true(nth < 10000);
        mem_fail_at(nth, 0);
        code = compile_text(EVERYTHING, &policy, &faults, NULL);
        mem_fail_at(0, 0);
        /* A regex that could not be tried on hostile input is refused in words. */
        if (code == CODE_INVALID)
            assert_non_null(strstr(faults.fault[0].text, "no memory"));
        else
            assert_true(code == CODE_OK || code == CODE_NOMEM);
        assert_true((code == CODE_OK) == (policy != NULL));
        policy_unref(&policy);
    }
}

/* Whichever allocation fails: the same verdict, or a denial for want of memory; never a permit that was none. */
static void test_eval_memory(void **state)
{
    static struct court court;
    bool done = false;

    (void)state;
    court_open(&court, EVERYTHING);
    for (uint64_t nth = 1; !done; nth++) {
        struct question question = plain_question();

        assert_true(nth < 1000);
        policy_scratch_free(&court.scratch);
        assert_int_equal(policy_scratch_new(&court.scratch), CODE_OK);
        question.root = court_tree(&court, SPAN_LIT("{\"a\":[{\"b\":\"a\"}],\"d\":{\"e\":[1]},\"c\":\"q\"}"));
        mem_fail_at(nth, 1);
        policy_eval(court.policy, &question, false, court.scratch, &court.verdict);
        done = mem_fail_count() < nth;
        mem_fail_at(0, 0);
        if (court.verdict.reason == REASON_MEMORY) {
            assert_int_equal(court.verdict.kind, VERDICT_DENY);
            assert_true(court.verdict.redact_all);
            assert_false(done);
        } else {
            assert_int_equal(court.verdict.kind, VERDICT_PERMIT);
            assert_int_equal(court.verdict.redact_count, 1);
        }
    }
    court_close(&court);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults),     cmocka_unit_test(test_many_faults), cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_slow_regex), cmocka_unit_test(test_hash),        cmocka_unit_test(test_compile_memory),
        cmocka_unit_test(test_eval_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
