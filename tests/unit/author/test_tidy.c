/* SPDX-License-Identifier: Apache-2.0 */
/* 12.16: the one manner of policy files: whatever is written anew says the same, to the hashes that approvals are bound to. */
#include "author/tidy.h"
#include "os/file.h"
#include "policy/snapshot.h"
#include "unit/policy/judge.h"
#include "fakes/cm.h"

#include <glob.h>

static const char *tidy(const char *text)
{
    static struct buf out;
    static struct faults faults;

    buf_fini(&out);
    buf_init(&out, 1 << 24);
    faults_init(&faults);
    if (tidy_write(span_text(text), "x.yaml", &out, &faults) != CODE_OK)
        fail_msg("%s: %s", text, faults.fault[0].text);
    buf_add_byte(&out, '\0');
    return buf_peek(&out).at;
}

TEST_CASE(test_order)
{
    static const char *const text =
        "tests:\n- {expect: {rule: r, verdict: hold}, call: {arguments: {z: 1, a: 2}, tool: t, tenant: x}, name: n}\n"
        "rules:\n"
        "- when: [{in: [1], arg: z, optional: true}, {any: [{max: 2, arg: z}, {not: {is: string, arg: z}}]}]\n"
        "  match: {tools: [t], tenants: [x]}\n  effect: require_approval\n  id: r\n  only_args: [z, a]\n"
        "lists: {z: [1], a: [2]}\npolicy: p\n";

    assert_string_equal(tidy(text),
        "policy: p\nlists: {z: [1], a: [2]}\nrules:\n  - id: r\n    effect: require_approval\n"
        "    match: {tenants: [x], tools: [t]}\n"
        "    when: [{arg: z, in: [1], optional: true}, {any: [{arg: z, max: 2}, {not: {arg: z, is: string}}]}]\n"
        "    only_args: [z, a]\n"
        "tests:\n  - {name: n, call: {tenant: x, tool: t, arguments: {z: 1, a: 2}}, expect: {verdict: hold, rule: r}}\n");
}

static void expect_same_hashes(const char *text, const char *written)
{
    struct court a, b;

    court_open(&a, text);
    court_open(&b, written);
    assert_int_equal(policy_rule_count(a.policy), policy_rule_count(b.policy));
    for (size_t i = 0; i < policy_rule_count(a.policy); i++)
        assert_true(span_equals(a.policy->rules[i].people.rule_hash, b.policy->rules[i].people.rule_hash));
    court_close(&a);
    court_close(&b);
}

/* An approval that was given before goes on after the file was written anew. */
TEST_CASE(test_hashes)
{
    static const char *const head = "policy: p\nlists: {few: [b, a]}\npatterns: {x: 'a+'}\nrules:\n  - ";
    static const char *const texts[] = {
        "{effect: require_approval, id: r, when: [{in: {list: few}, arg: z}, "
        "{matches: {pattern: x}, arg: y}], match: {tools: [t]}}\n",
        "{id: r, effect: require_approval, match: {tools: [t]}, when: [{max: 3, \"arg\": 'z', min: 1}], only_args: [z]}   # c\n",
        "{id: r, only_args: ['z'], effect: permit, match: {tools: [t]}, "
        "limit: {over: require_approval, per: hour, calls: 3, by: [tenant]}}\n",
    };
    char text[1024];

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        snprintf(text, sizeof text, "%s%s", head, texts[i]);
        assert_string_not_equal(tidy(text), text);
        expect_same_hashes(text, tidy(text));
    }
}

/* Another order of values is another rule. */
TEST_CASE(test_other_hashes)
{
    struct court a, b;

    court_open(&a, "policy: p\nrules: [{id: r, effect: require_approval, match: {tools: [t, u]}}]\n");
    court_open(&b, "policy: p\nrules: [{id: r, effect: require_approval, match: {tools: [t, v]}}]\n");
    assert_false(span_equals(a.policy->rules[0].people.rule_hash, b.policy->rules[0].people.rule_hash));
    court_close(&a);
    court_close(&b);
}

TEST_CASE(test_refused)
{
    static const char *const texts[] = {"policy: [a\n", "- a\n", "", "a: &x 1\n", "a: 1\na: 2\n"};
    struct faults faults;
    struct buf out;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        buf_init(&out, 1 << 20);
        faults_init(&faults);
        assert_int_equal(tidy_write(span_text(texts[i]), "x.yaml", &out, &faults), CODE_INVALID);
        assert_true(faults.count > 0 && buf_is_empty(&out));
        buf_fini(&out);
    }
}

/* Written once, the sets that are handed out stay. */
TEST_CASE(test_shipped)
{
    glob_t found;

    assert_int_equal(glob("policies/*/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct buf text;
        char *once;

        buf_init(&text, 1 << 24);
        assert_ok(file_read(found.gl_pathv[i], FILE_ANY, 1 << 24, &text, NULL));
        buf_add_byte(&text, '\0');
        once = strdup(tidy(buf_peek(&text).at));
        assert_string_equal(tidy(once), once);
        free(once);
        buf_fini(&text);
    }
    globfree(&found);
}

/* Each allocation that fails is told, and no half of a text is taken for the whole. */
TEST_CASE(test_no_memory)
{
    static const char *const text = "# c\npolicy: p   # d\n"
                                    "lists: {z: ['a', \"b c\"]}\nrules:\n- {effect: permit, id: r, match: {tools: [t]}}\n";
    enum code code = CODE_NOMEM;

    for (uint64_t nth = 1; code != CODE_OK; nth++) {
        struct faults faults;
        struct buf out;

        faults_init(&faults);
        buf_init(&out, 1 << 20);
        mem_fail_at(nth, 0);
        code = tidy_write(span_text(text), "x.yaml", &out, &faults);
        mem_fail_at(0, 0);
        assert_true(code == CODE_OK || code == CODE_NOMEM);
        if (code == CODE_OK)
            assert_string_equal((buf_add_byte(&out, '\0'), buf_peek(&out).at), tidy(text));
        buf_fini(&out);
        assert_true(nth < 10000);
    }
}

TEST_MAIN(NULL, NULL)
