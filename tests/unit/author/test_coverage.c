/* SPDX-License-Identifier: Apache-2.0 */
#include "author/coverage.h"
#include "judgement/judgement.h"
#include "unit/policy/judge.h"

struct told {
    char text[2048];
};

static void note(struct told *told, const char *line)
{
    size_t len = strlen(told->text);

    snprintf(told->text + len, sizeof told->text - len, "%s", line);
}

static void tell_rule(void *context, const struct coverage_rule *rule)
{
    char line[256];

    snprintf(line, sizeof line, "%.*s:%d %.*s %s%s decided %d applied %d\n", SPAN_ARG(rule->file), rule->line,
             SPAN_ARG(rule->id), rule->effect, rule->monitor ? " monitored" : "", (int)rule->decided,
             (int)rule->applied);
    note(context, line);
}

static void tell_condition(void *context, const struct coverage_condition *condition)
{
    char line[256];

    snprintf(line, sizeof line, "  %.*s %d/%d/%d\n", SPAN_ARG(condition->label), (int)condition->is_true,
             (int)condition->is_false, (int)condition->undecided);
    note(context, line);
}

static void count(void *context, const struct policy_test_result *result)
{
    (void)result;
    ++*(size_t *)context;
}

static const char *cover(const char *text, const char *filter, size_t wanted)
{
    static struct told told;
    struct coverage *coverage;
    struct court court;
    size_t passed, failed, reported = 0;

    told.text[0] = '\0';
    court_open(&court, text);
    assert_int_equal(coverage_new(court.policy, &coverage), CODE_OK);
    assert_int_equal(coverage_test(court.policy, filter, coverage, court.scratch, count, &reported, &passed, &failed), CODE_OK);
    assert_int_equal(reported, wanted);
    assert_int_equal(passed + failed, wanted);
    assert_int_equal(coverage_each(coverage, tell_rule, tell_condition, &told), CODE_OK);
    coverage_free(&coverage);
    court_close(&court);
    return told.text;
}

#define TEXT                                                                                                          \
    "policy: p\n"                                                                                                     \
    "rules:\n"                                                                                                        \
    "  - {id: z, effect: permit, match: {tools: [t]}, only_args: [a, b],\n"                                           \
    "     when: [{arg: a, max: 5}, {any: [{arg: b, equals: 1, optional: true}, {not: {arg: b, equals: 2}}]}]}\n"      \
    "  - {id: f, effect: forbid, match: {tools: [t]}, when: [{arg: c, exists: true}]}\n"                              \
    "  - {id: m, effect: forbid, match: {tools: [t]}, mode: monitor}\n"                                               \
    "  - {id: n, effect: permit, match: {tools: [u]}}\n"                                                              \
    "tests:\n"                                                                                                        \
    "  - {name: one, call: {tool: t, arguments: {a: 1, b: 3}}, expect: {verdict: permit}}\n"                          \
    "  - {name: two, call: {tool: t, arguments: {a: 9}}, expect: {verdict: deny}}\n"                                  \
    "  - {name: three, call: {tool: t, arguments: {a: x}}, expect: {verdict: deny}}\n"                                \
    "  - {name: c, call: {tool: t, arguments: {a: 2, c: 1}}, expect: {verdict: permit}}\n"

/* 2.4: each test counts for the rules and conditions that it got to. A false one ends the walk, an undecided one does not. */
TEST_CASE(test_counts)
{
    assert_string_equal(cover(TEXT, NULL, 4),
                        "p.yaml:3 z permit decided 1 applied 1\n"
                        "  when[0] a max 2/1/1\n"
                        "  when[1].any[0] b equals 2/1/0\n"
                        "  when[1].any[1].not b equals 0/1/0\n"
                        "  only_args 2/1/0\n"
                        "p.yaml:5 f forbid decided 1 applied 1\n"
                        "  when[0] c exists 1/3/0\n"
                        "p.yaml:6 m forbid monitored decided 0 applied 4\n"
                        "p.yaml:7 n permit decided 0 applied 0\n");
}

/* 9.2: rules for answers are counted as others are, and tests of answers for them. */
TEST_CASE(test_counts_answers)
{
    assert_string_equal(cover("policy: p\n"
                              "rules: [{id: p, effect: permit, match: {tools: [t]}}]\n"
                              "answers:\n"
                              "  - {id: b, effect: withhold, match: {tools: [t]}, when: [{size: result, max: 90}]}\n"
                              "  - {id: c, effect: redact, match: {tools: [t]}, when: [{value: '$..*', matches: 'x+'}]}\n"
                              "tests:\n"
                              "  - {name: one, call: {tool: t}, answer: {a: xx}, expect: redact}\n"
                              "  - {name: two, call: {tool: t}, answer: {a: b}, expect: pass}\n"
                              "  - {name: three, call: {tool: t}, expect: {verdict: permit}}\n", NULL, 3),
                        "p.yaml:2 p permit decided 1 applied 1\n"
                        "p.yaml:4 b withhold decided 0 applied 0\n"
                        "  when[0] size 0/2/0\n"
                        "p.yaml:5 c redact decided 1 applied 1\n"
                        "  when[0] value $..* matches 1/1/0\n");
}

/* 2.4: what the filter leaves out is not seen. */
TEST_CASE(test_filter)
{
    const char *told;

    told = cover(TEXT, "t*", 2);
    assert_non_null(strstr(told, "when[0] a max 0/1/1\n"));
    assert_non_null(strstr(told, "z permit decided 0 applied 0\n"));
    assert_non_null(strstr(cover(TEXT, "none", 0), "when[0] c exists 0/0/0\n"));
    assert_string_equal(cover("policy: p\n", NULL, 0), "");
}

/* Whichever allocation fails: CODE_NOMEM and nothing kept. */
TEST_CASE(test_memory)
{
    struct court court;
    enum code code = CODE_NOMEM;

    court_open(&court, TEXT);
    for (uint64_t nth = 1; code != CODE_OK; nth++) {
        struct coverage *coverage;

        assert_true(nth < 100);
        mem_fail_at(nth, 0);
        code = coverage_new(court.policy, &coverage);
        mem_fail_at(0, 0);
        assert_true((code == CODE_OK) == (coverage != NULL));
        assert_true(code == CODE_OK || code == CODE_NOMEM);
        coverage_free(&coverage);
    }
    court_close(&court);
}

TEST_MAIN(NULL, NULL)
