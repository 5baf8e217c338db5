/* SPDX-License-Identifier: Apache-2.0 */
/* 7.4: patterns and lists that one file of a version shares with the others. */
#include "diff/diff.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "policy/rule.h"
#include "policy/snapshot.h"
#include "unit/policy/judge.h"

#define SHARING(name, patterns, lists) "policy: " name "\nshared: true\npatterns: {" patterns "}\nlists: {" lists "}\n"
#define SHARED SHARING("words", "id: '[a-z]{3}'", "fields: [name, price]")
#define USER "policy: user\nlists: {own: [x]}\nrules:\n" \
    "  - {id: r, effect: require_approval, match: {tools: [t]}, when: [{arg: a, in: {list: fields}, absent: ignored}, " \
    "{arg: b, matches: {pattern: id}, absent: ignored}, {arg: c, in: {list: own}, absent: ignored}]}\n"

static struct faults faults, warnings;

static enum code compile_two(const char *first, const char *second, struct policy **policy)
{
    struct policy_file files[] = {{SPAN_LIT("one.yaml"), span_text(first)}, {SPAN_LIT("two.yaml"), span_text(second)}};

    faults_init(&faults);
    faults_init(&warnings);
    return policy_compile(files, second[0] != '\0' ? 2 : 1, 0, policy, &faults, &warnings);
}

static enum verdict_kind judge_with(const struct policy *policy, const char *arguments)
{
    struct question question = plain_question();
    struct court court = {.policy = NULL};
    enum verdict_kind kind;

    assert_int_equal(policy_scratch_new(&court.scratch), CODE_OK);
    arena_init(&court.arena, 1 << 20);
    buf_init(&court.text, 1 << 20);
    question.root = court_tree(&court, span_text(arguments));
    policy_eval(policy, &question, false, court.scratch, &court.verdict);
    kind = court.verdict.kind;
    court_close(&court);
    return kind;
}

/* In whichever order the files come and sort, the meaning is that of a file that had all of it. */
TEST_CASE(test_meaning)
{
    static const char *const pairs[][2] = {{SHARED, USER}, {USER, SHARED},
                                           {SHARING("zz", "id: '[a-z]{3}'", "fields: [name, price]"), USER}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct policy *policy;

        assert_int_equal(compile_two(pairs[i][0], pairs[i][1], &policy), CODE_OK);
        assert_int_equal(judge_with(policy, "{\"a\":\"name\",\"b\":\"abc\",\"c\":\"x\"}"), VERDICT_HOLD);
        assert_int_equal(judge_with(policy, "{\"a\":\"other\",\"b\":\"abc\",\"c\":\"x\"}"), VERDICT_DENY);
        assert_int_equal(judge_with(policy, "{\"a\":\"name\",\"b\":\"1\",\"c\":\"x\"}"), VERDICT_DENY);
        policy_unref(&policy);
    }
}

/* What an approval is bound to: the words that the rule names, wherever they stand. */
TEST_CASE(test_hash)
{
    struct policy *first, *second, *third;

    assert_int_equal(compile_two(SHARED, USER, &first), CODE_OK);
    assert_int_equal(compile_two(SHARING("words", "id: '[a-z]{4}'", "fields: [name, price]"), USER, &second),
                     CODE_OK);
    assert_int_equal(compile_two(SHARING("words", "id: '[a-z]{3}', more: x", "fields: [name, price]"), USER,
                                 &third), CODE_OK);
    assert_false(span_equals(first->rules[0].people.rule_hash, second->rules[0].people.rule_hash));
    assert_true(span_equals(first->rules[0].people.rule_hash, third->rules[0].people.rule_hash));
    policy_unref(&first);
    policy_unref(&second);
    policy_unref(&third);
}

TEST_CASE(test_diff)
{
    struct policy *first, *second;
    struct diff *diff;
    bool told = false;

    assert_int_equal(compile_two(SHARED, USER, &first), CODE_OK);
    assert_int_equal(compile_two("policy: words\nshared: true\npatterns: {id: '[a-z]{3}'}\nlists: {fields: [name, price, color]}\n", USER,
                                 &second), CODE_OK);
    assert_int_equal(diff_new(first, second, &diff), CODE_OK);
    for (size_t i = 0; i < diff->change_count; i++)
        told |= span_is(diff->changes[i].rule, "r") && diff->changes[i].way == DIFF_HOLDS;
    assert_true(told);
    diff_free(&diff);
    policy_unref(&first);
    policy_unref(&second);
}

TEST_CASE(test_faults)
{
    static const struct {
        const char *first, *second, *file, *words;
        int line;
    } rows[] = {
        {USER, "", "one.yaml", "this file has no list `fields`, and none that says `shared: true`", 4},
        {USER, "policy: words\nshared: false\npatterns: {id: x}\nlists: {fields: [a]}\n", "one.yaml", "no list `fields`", 4},
        {USER, "policy: words\npatterns: {id: x}\nlists: {fields: [a]}\n", "one.yaml", "no list `fields`", 4},
        {USER, "policy: words\nshared: true\npatterns: {id: x}\nlists: {field: [a]}\n", "one.yaml", "did you mean `field`?", 4},
        {USER, "policy: words\nshared: true\npatterns: {id: x}\nlists: {fields: [a], own: [y]}\n", "one.yaml",
         "the list `own` is also shared by two.yaml:4; give one of them another name", 2},
        {SHARED, "policy: more\nshared: true\npatterns: {id: x}\n", "two.yaml", "the pattern `id` is also shared by one.yaml:3", 3},
        {"policy: words\nshared: yes\nlists: {a: [b]}\n", "", "one.yaml", "`shared` is true where", 2},
        {"policy: words\nshared: true\nlists: {a: b}\n", "", "one.yaml", "write a list", 3},
        {"policy: words\nshared: true\npatterns: {a: '('}\n", "", "one.yaml", "not usable", 3},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct policy *policy;
        bool found = false;

        assert_int_equal(compile_two(rows[i].first, rows[i].second, &policy), CODE_INVALID);
        for (size_t k = 0; k < faults.count; k++)
            found |= strstr(faults.fault[k].text, rows[i].words) != NULL && faults.fault[k].line == rows[i].line &&
                     strcmp(faults.fault[k].file, rows[i].file) == 0;
        if (!found) {
            print_faults(&faults);
            fail_msg("row %zu: wanted %s:%d %s", i, rows[i].file, rows[i].line, rows[i].words);
        }
    }
}

/* Who uses what is shared may stand in files that are not at hand. */
TEST_CASE(test_unused)
{
    struct policy *policy;

    assert_int_equal(compile_two(SHARED, "", &policy), CODE_OK);
    assert_int_equal(warnings.count, 0);
    policy_unref(&policy);
    assert_int_equal(compile_two("policy: words\nlists: {fields: [name]}\n", "", &policy), CODE_OK);
    assert_int_equal(warnings.count, 1);
    policy_unref(&policy);
}

TEST_MAIN(NULL, NULL)
