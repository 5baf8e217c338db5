/* SPDX-License-Identifier: Apache-2.0 */
/* 12.1, 12.2: what a file leaves open, and what is put there: values of parameters, lists, and the name of a copy. */
#include "diff/diff.h"
#include "language/stray.h"
#include "os/clock.h"
#include "policy/rule.h"
#include "policy/snapshot.h"
#include "unit/policy/judge.h"

static struct faults faults, warnings;

static enum code compile_two(const char *first, const char *second, struct policy **policy)
{
    struct policy_file files[] = {{SPAN_LIT("one.yaml"), span_text(first)}, {SPAN_LIT("two.yaml"), span_text(second)}};

    faults_init(&faults);
    faults_init(&warnings);
    return policy_compile(files, second[0] != '\0' ? 2 : 1, 0, policy, &faults, &warnings);
}

static struct policy *compiled(const char *first, const char *second)
{
    struct policy *policy;

    if (compile_two(first, second, &policy) != CODE_OK) {
        print_faults(&faults);
        fail_msg("the policy does not compile:\n%s", first);
    }
    return policy;
}

/* Whether the call of the tool is permitted. */
static bool permits(const struct policy *policy, const char *tool, const char *arguments)
{
    struct question question = plain_question();
    struct court court = {.policy = NULL};
    bool is_permitted;

    question.tool = span_text(tool);
    assert_int_equal(policy_scratch_new(&court.scratch), CODE_OK);
    arena_init(&court.arena, 1 << 20);
    buf_init(&court.text, 1 << 20);
    question.root = court_tree(&court, span_text(arguments));
    policy_eval(policy, &question, false, court.scratch, &court.verdict);
    is_permitted = court.verdict.kind == VERDICT_PERMIT;
    court_close(&court);
    return is_permitted;
}

/* ---- 12.1: values ---- */

#define SET "policy: p\nparameters:\n  root: {is: folder, default: /srv/a, means: where all lies}\n" \
    "  who: {is: text, default: 'x*'}\n  most: {is: number, default: 5}\n  names: {is: list, of: tool, default: [t, 'u?']}\n"
#define PERMIT(more) "rules:\n  - {id: r, effect: permit, " more "}\n"

struct call {
    const char *text, *tool, *arguments;
    bool is_permitted;
};

static const struct call calls[] = {
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, under: '{root}/b'}]"), "t", "{\"a\":\"/srv/a/b/c\"}", true},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, under: '{root}/b'}]"), "t", "{\"a\":\"/srv/a/c\"}", false},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, under: '{root}/b'}]") "set: {root: /data}\n", "t", "{\"a\":\"/data/b/c\"}", true},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, under: '{root}/b'}]") "set: {root: /data}\n", "t", "{\"a\":\"/srv/a/b/c\"}", false},
    /* a text is escaped in globs, and is itself elsewhere */
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, glob: '{who}-*'}]"), "t", "{\"a\":\"x*-1\"}", true},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, glob: '{who}-*'}]"), "t", "{\"a\":\"xy-1\"}", false},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, glob: '\\{who}-*'}]"), "t", "{\"a\":\"{who}-1\"}", true},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, equals: '{who}'}]"), "t", "{\"a\":\"x*\"}", true},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, equals: '{{who}}'}]"), "t", "{\"a\":\"{who}\"}", true},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, equals: '{nobody} {who}'}]"), "t", "{\"a\":\"{nobody} x*\"}", true},
    {SET PERMIT("match: {tools: [t], principals: ['{who}', bot]}, when: [{arg: a, starts_with: '{principal}-{who}'}]"), "t",
     "{\"a\":\"bot-x*-1\"}", true},
    /* a number is one where it stands alone, and its digits within a text */
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, max: '{most}'}]"), "t", "{\"a\":5}", true},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, max: '{most}'}]"), "t", "{\"a\":6}", false},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, equals: 'n{most}'}]"), "t", "{\"a\":\"n5\"}", true},
    /* a list is spliced in, alone or as an entry, and each of its entries escaped */
    {SET PERMIT("match: {tools: ['{names}']}"), "t", "{}", true},
    {SET PERMIT("match: {tools: '{names}'}"), "u?", "{}", true},
    {SET PERMIT("match: {tools: [v, '{names}', w]}"), "ux", "{}", false},
    {SET PERMIT("match: {tools: [v, '{names}', w]}"), "w", "{}", true},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, in: ['{names}', 7]}]"), "t", "{\"a\":\"u?\"}", true},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, in: '{names}'}]"), "t", "{\"a\":\"ux\"}", false},
    {SET "lists: {l: ['{names}', '{who}']}\n" PERMIT("match: {tools: {list: l}}"), "x*", "{}", true},
    {SET "lists: {l: ['{names}', '{who}']}\n" PERMIT("match: {tools: {list: l}}"), "xy", "{}", false},
    {SET "lists: {l: '{names}'}\n" PERMIT("match: {tools: {list: l}}"), "u?", "{}", true},
    {SET "lists: {l: '{names}'}\n" PERMIT("match: {tools: {list: l}}"), "ux", "{}", false},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: 'x{most}', equals: 1}]"), "t", "{\"x5\":1}", true},
    /* 12.2: lists of lists, and entries beside them */
    {"policy: p\nlists: {a: [x, {list: b}], b: [y, {list: c}, z], c: [w]}\n" PERMIT("match: {tools: [v, {list: a}]}"), "w", "{}", true},
    {"policy: p\nlists: {a: [x, {list: b}], b: [y]}\n" PERMIT("match: {tools: [t]}, when: [{arg: a, in: [1, {list: a}]}]"), "t",
     "{\"a\":\"y\"}", true},
    {"policy: p\nlists: {a: [x]}\n"
     PERMIT("match: {tools: [t]}, when: [{arg: a, in: [{list: a}]}]"), "t", "{\"a\":{\"list\":\"a\"}}", false},
    {"policy: p\nlists: {a: [x]}\n"
     PERMIT("match: {tools: [t]}, when: [{arg: a, equals: {list: a}}]"), "t", "{\"a\":{\"list\":\"a\"}}", true},
    {"policy: p\nlists: {a: [x]}\n"
     PERMIT("match: {tools: [t]}, when: [{arg: a, equals: [{list: a}]}]"), "t", "{\"a\":[{\"list\":\"a\"}]}", true},
    {"policy: p\nlists: {a: [x]}\n" PERMIT("match: {tools: [t]}, when: [{arg: a, in: [{b: {list: a}}]}]"), "t",
     "{\"a\":{\"b\":{\"list\":\"a\"}}}", true},
    {"policy: p\nlists: {a: [string, 'null']}\n" PERMIT("match: {tools: [t]}, when: [{arg: a, is: {list: a}}]"), "t", "{\"a\":null}", true},
    {"policy: p\nlists: {a: [/srv, /data]}\n"
     PERMIT("match: {tools: [t]}, when: [{arg: a, under: {list: a}}]"), "t", "{\"a\":\"/data/x\"}", true},
    {"policy: p\nlists: {a: [example.com]}\n" PERMIT("match: {tools: [t]}, when: [{arg: a, url: {hosts: [{list: a}]}}]"), "t",
     "{\"a\":\"https://example.com/\"}", true},
    {"policy: p\nlists: {a: [{arg: a, equals: 1}]}\n" PERMIT("match: {tools: [t]}, when: [{list: a}, {arg: b, equals: 2}]"), "t",
     "{\"a\":1,\"b\":2}", true},
    {"policy: p\nlists: {a: [{arg: a, equals: 1}]}\n" PERMIT("match: {tools: [t]}, when: [{list: a}, {arg: b, equals: 2}]"), "t",
     "{\"a\":3,\"b\":2}", false},
    {"policy: p\nlists: {a: [x]}\n" PERMIT("match: {tools: [t]}, only_args: [{list: a}, y]"), "t", "{\"x\":1,\"y\":1}", true},
    {"policy: p\nlists: {a: [x]}\n" PERMIT("match: {tools: [t]}, only_args: [{list: a}, y]"), "t", "{\"z\":1}", false},
    {"policy: p\npatterns: {list: 'x+'}\n"
     PERMIT("match: {tools: [t]}, when: [{arg: a, matches: {pattern: list}}]"), "t", "{\"a\":\"xx\"}", true},
};

TEST_CASE(test_values)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct policy *policy = compiled(calls[i].text, "");

        if (permits(policy, calls[i].tool, calls[i].arguments) != calls[i].is_permitted)
            fail_msg("%s with %s is judged otherwise by:\n%s", calls[i].tool, calls[i].arguments, calls[i].text);
        policy_unref(&policy);
    }
}

/* ---- what is refused ---- */

struct row {
    const char *text;
    int line, column;
    const char *said;
};

#define OF(parameter) "policy: p\nparameters: {a: {" parameter "}}\n"
#define FOLDER(value) OF("is: folder, default: " value)
#define CLOSING(more) "rules:\n  - {id: r, effect: forbid, " more "}\n"

static const struct row rows[] = {
    {"policy: p\nparameters: {A: {is: text, default: x}}\n", 2, 14, "is no name of a parameter"},
    {"policy: p\nparameters: {tenant: {is: text, default: x}}\n", 2, 14, "is a variable of each call"},
    {"policy: p\nparameters: {a: x}\n", 2, 17, "write a map"},
    {OF("default: x"), 2, 17, "says what it is"},
    {OF("is: txt, default: x"), 2, 22, "did you mean `text`?"},
    {OF("is: text"), 2, 17, "a `default`, or it is `required: true`"},
    {OF("is: text, default: x, required: true"), 2, 17, "one of the two"},
    {OF("is: text, of: host, default: x"), 2, 32, "what the entries of a list are"},
    {OF("is: list, default: [x]"), 2, 17, "what the entries of a list are"},
    {OF("is: list, of: list, default: [x]"), 2, 32, "a list of lists"},
    {OF("is: list, of: host, default: []"), 2, 47, "an empty list"},
    {OF("is: list, of: host, default: [a.example, 'b c']"), 2, 47, "is no host"},
    {OF("is: list, of: number, default: ['1']"), 2, 49, "is no number"},
    {OF("is: list, of: text, default: x"), 2, 47, "is no list"},
    {OF("is: number, default: '1'"), 2, 39, "is no number"},
    {OF("is: text, default: 1"), 2, 37, "is no text"},
    {OF("is: text, default: ''"), 2, 37, "is empty"},
    {OF("is: text, default: 'a{b'"), 2, 37, "holds braces"},
    {OF("is: text, default: '{principal}'"), 2, 37, "holds braces"},
    {OF("is: text, default: \"a\\nb\""), 2, 37, "holds controls"},
    {OF("is: text, default: \"a\\u200bb\""), 2, 37, "holds controls"},
    {OF("is: upstream, default: 'a*'"), 2, 41, "is no route's name"},
    {OF("is: host, default: 'EXAMPLE.com'"), 2, 37, "capital letters"},
    {OF("is: host, default: '*.example.com'"), 2, 37, "is no host"},
    {OF("is: tool, default: 'a b'"), 2, 37, "holds a blank"},
    {FOLDER("srv"), 2, 39, "is no folder"}, {FOLDER("/"), 2, 39, "is no folder"}, {FOLDER("/srv/"), 2, 39, "ends in `/`"},
    {FOLDER("/srv/../etc"), 2, 39, "read in several ways"}, {FOLDER("/srv/./a"), 2, 39, "read in several ways"},
    {FOLDER("/srv//a"), 2, 39, "read in several ways"}, {FOLDER("'/srv/%2e'"), 2, 39, "read in several ways"},
    {FOLDER("'/srv\\a'"), 2, 39, "read in several ways"},
    {SET "set: {rot: /data}\n", 7, 7, "did you mean `root`?"},
    {SET "set: {root: data}\n", 7, 13, "is no folder"},
    {SET "set: {names: t}\n", 7, 14, "is no list"},
    {"policy: p\nset: {root: data}\n", 2, 7, "it has none"},
    {"policy: p\nparameters: {a: {is: upstream, required: true}}\n" CLOSING("match: {upstreams: ['{a}']}"), 2, 14, "has no value"},
    /* a default that is not there would make the rule silent */
    {OF("is: upstream, default: x") CLOSING("match: {upstreams: ['{a}']}"), 4, 49, "write `required: true`"},
    {OF("is: text, default: x") CLOSING("match: {tools: ['{a}_*']}"), 4, 45, "write `required: true`"},
    {OF("is: upstream, default: x") "answers:\n  - {id: r, effect: flag, match: {upstreams: ['{a}']}}\n", 4, 47, "write `required: true`"},
    {OF("is: upstream, default: x") "redact:\n  - {match: {upstreams: ['{a}']}, args: [b]}\n", 4, 26, "write `required: true`"},
    {OF("is: upstream, default: x") "lists: {l: ['{a}']}\n" CLOSING("match: {upstreams: {list: l}}"), 5, 48, "write `required: true`"},
    {OF("is: upstream, default: x") "deny: {'{a}': {everyone: [b]}}\n", 3, 8, "which calls are closed here, so it has no default"},
    {OF("is: tool, default: x") "labels: {l: ['{a}']}\n", 3, 14, "write `required: true`"},
    /* where nothing is put */
    {SET PERMIT("match: {tools: [{regex: '{who}'}]}"), 8, 53, "stands in a pattern"},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, matches: 'a{who}'}]"), 8, 75, "stands in a pattern"},
    {SET "patterns: {x: '{who}'}\n", 7, 15, "stands in a pattern"},
    {SET "rules:\n  - {id: 'r.{who}', effect: permit}\n", 8, 10, "stands in an id"},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: '{root}', equals: 1}]"), 8, 63, "a value is a plain name"},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, equals: 'x{names}'}]"), 8, 74, "is a list and stands inside of a text"},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, equals: '{names}'}]"), 8, 74, "asks of one value"},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, equals: '{prin{who}}'}]"), 8, 74, "stands inside of braces"},
    {SET PERMIT("match: {tools: [t]}, when: [{arg: a, in: ['ls [-{who}]']}]"), 8, 71, "may be letters of a form"},
    {"policy: p\n" PERMIT("match: {upstreams: ['{upstream}']}"), 3, 49, "would be every upstream"},
    {"policy: p\n" PERMIT("match: {tenants: ['a{tenant}']}"), 3, 47, "no variables of the call"},
    /* 12.2 */
    {"policy: p\nlists: {a: [{list: b}], b: [x, {list: a}]}\n" PERMIT("match: {tools: {list: a}}"), 2, 13, "holds itself"},
    {"policy: p\nlists: {a: [{list: a}]}\n", 2, 20, "holds itself"},
    {"policy: p\nlists: {a: []}\n" PERMIT("match: {tools: {list: a}}"), 4, 44, "nothing is in the list `a`"},
    {"policy: p\nlists: {a: [], b: [{list: a}]}\n", 2, 20, "nothing is in the list `a`"},
    {"policy: p\nlists: {abc: [x]}\n" PERMIT("match: {tools: [{list: abd}]}"), 4, 52, "did you mean `abc`?"},
    {"policy: p\nlists: {a: [x]}\n" PERMIT("match: {tools: [t]}, when: [{arg: a, contains: {list: a}}]"), 4, 76, "asks of one value"},
    {"policy: p\nlists: {a: [x]}\n" PERMIT("match: {tools: [t]}, when: [{arg: a, glob: {list: a}}]"), 4, 72, "write one string"},
    {"policy: p\nlists: {a: [x]}\n" PERMIT("match: {tools: [t]}, when: [{arg: a, in: {lst: a}}]"), 4, 70, "write {list: name}"},
    /* copies */
    {"policy: p\nas: 'a b'\n", 2, 5, "is a name"},
    {"policy: p\nas: q\nshared: true\n", 2, 1, "has no copies"},
    {"policy: p\nas: q\n" PERMIT("match: {tools: [t]}"), 4, 10, "has no dot"},
};

TEST_CASE(test_faults)
{
    unsigned wrong = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct policy *policy;

        if (compile_two(rows[i].text, "", &policy) == CODE_OK) {
            print_error("it compiles:\n%s", rows[i].text);
            policy_unref(&policy);
            wrong++;
        } else if (strstr(faults.fault[0].text, rows[i].said) == NULL || faults.fault[0].line != rows[i].line ||
            faults.fault[0].column != rows[i].column) {
            print_faults(&faults);
            print_error("not \"%s\" at %d:%d of:\n%s", rows[i].said, rows[i].line, rows[i].column, rows[i].text);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* A list that names lists twice each would be larger than memory. */
TEST_CASE(test_many)
{
    char text[4096] = "policy: p\nlists:\n  l0: [x, y]\n";
    struct policy *policy;
    size_t len = strlen(text);

    for (int i = 1; i < 15; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "  l%d: [{list: l%d}, {list: l%d}, {list: l%d}, {list: l%d}]\n", i, i - 1,
                                i - 1, i - 1, i - 1);
    assert_int_equal(compile_two(text, "", &policy), CODE_INVALID);
    assert_non_null(strstr(faults.fault[0].text, "more than 1,000,000 values"));
}

/* Nor may one whose lists bring nothing, being no lists or wrong, take years to look through. */
TEST_CASE(test_many_of_nothing)
{
    static const char *const ends[] = {"{list: nope}", "{list: l0}", "{list: l1}"};

    for (size_t end = 0; end < sizeof ends / sizeof *ends; end++) {
        char text[4096];
        size_t len = (size_t)snprintf(text, sizeof text, "policy: p\nlists:\n  l0: [%s]\n", ends[end]);
        int64_t work_us = clock_thread_cpu_us();
        struct policy *policy;

        for (int i = 1; i < 15; i++)
            len += (size_t)snprintf(text + len, sizeof text - len, "  l%d: [{list: l%d}, {list: l%d}, {list: l%d}, {list: l%d}]\n", i,
                                    i - 1, i - 1, i - 1, i - 1);
        assert_int_equal(compile_two(text, "", &policy), CODE_INVALID);
        work_us = clock_thread_cpu_us() - work_us;
        if (work_us > 20000000) /* it was minutes, and is a tenth of a second */
            fail_msg("%s: %.1f seconds of CPU", ends[end], (double)work_us / 1e6);
    }
}

TEST_CASE(test_warnings)
{
    struct policy *policy = compiled(SET "lists: {a: [x], b: [{list: a}], c: [y]}\n" PERMIT("match: {tools: {list: b}}"), "");

    policy_unref(&policy);
    assert_int_equal(warnings.count, 5); /* four parameters and a list that stand nowhere */
    assert_non_null(strstr(warnings.fault[0].text, "the parameter `root` stands nowhere"));
    assert_non_null(strstr(warnings.fault[4].text, "the list `c` is used by no rule"));
    policy = compiled("policy: p\nparameters: {tenants: {is: text, default: x}}\n"
                      PERMIT("match: {tools: ['{tenants}', '{tenant_s}']}, when: [{arg: a, equals: '{tenant}'}]"), "");
    policy_unref(&policy);
    assert_int_equal(warnings.count, 1); /* a variable of the call is none of a parameter misspelt */
    assert_non_null(strstr(warnings.fault[0].text, "`{tenant_s}` is no parameter and stands for itself; did you mean `{tenants}`?"));
}

/* ---- lists that another file shares ---- */

TEST_CASE(test_shared)
{
    struct policy *policy = compiled("policy: words\nshared: true\nparameters: {who: {is: text, default: 'a*'}}\n"
                                     "lists: {l: ['{who}', {list: m}], m: [z]}\n",
                                     "policy: p\nparameters: {who: {is: text, default: b}}\n"
                                     PERMIT("match: {tools: [{list: l}, '{who}']}"));

    assert_true(permits(policy, "a*", "{}")); /* its own file's value, escaped where it is used */
    assert_false(permits(policy, "ax", "{}"));
    assert_true(permits(policy, "z", "{}"));
    assert_true(permits(policy, "b", "{}"));
    policy_unref(&policy);
}

/* ---- copies ---- */

#define BASE "policy: git\nparameters: {server: {is: upstream, required: true}, root: {is: folder, default: /srv}}\nrules:\n" \
    "  - {id: git.read, effect: permit, match: {upstreams: ['{server}'], tools: [t]}, when: [{arg: a, under: '{root}'}]}\n" \
    "  - {id: git.else, effect: forbid, match: {upstreams: ['{server}'], tools: ['*']}, when: [{not: {arg: a, under: '{root}', " \
    "absent: applies}}]}\n" \
    "  - {id: git.after, effect: forbid, match: {upstreams: ['{server}'], tools: [u]}, " \
    "when: [{session: {met: [git.read], within: 1h}}]}\n" \
    "tests:\n  - {name: a, call: {upstream: '{server}', tool: t, arguments: {a: '{root}/x'}, after: [{met: git.read}]}, " \
    "expect: {verdict: permit, rule: git.read}}\n"

static void note(void *context, const struct policy_stray *stray)
{
    unsigned *lost = context;
    bool is_parameter = strstr(stray->text, "the parameter `server` is the upstream `shpo`, which no route has") != NULL;

    *lost += stray->is_lost && is_parameter && stray->line == 9 && stray->column == 15;
}

static void take(void *context, const struct policy_test_result *result)
{
    unsigned *passed = context;

    *passed += result->passed;
}

TEST_CASE(test_copies)
{
    static const struct policy_route routes[] = {{.name = "shop"}, {.name = "other"}};
    struct policy *policy = compiled(BASE "set: {server: shop}\n", BASE "set: {server: other, root: /data}\nas: git-b\n");
    struct policy_scratch *scratch;
    unsigned passed = 0, lost = 0;
    size_t good, bad;

    assert_int_equal(policy->rule_count, 6);
    assert_non_null(policy_rule_by_id(policy, SPAN_LIT("git-b.else")));
    assert_non_null(policy_rule_by_id(policy, SPAN_LIT("git.else")));
    assert_int_equal(policy_scratch_new(&scratch), CODE_OK);
    assert_int_equal(policy_test(policy, scratch, take, &passed, &good, &bad), CODE_OK);
    assert_int_equal(passed, 2);
    policy_scratch_free(&scratch);
    assert_true(permits(policy, "t", "{\"a\":\"/srv/x\"}"));
    assert_false(permits(policy, "t", "{\"a\":\"/data/x\"}"));
    policy_unref(&policy);
    assert_int_equal(compile_two(BASE "set: {server: shop}\n", BASE "set: {server: shop, root: /data}\nas: git-b\n", &policy),
                     CODE_INVALID);
    assert_non_null(strstr(faults.fault[0].text, "git and git-b are copies of git"));
    policy = compiled(BASE "set: {server: shpo}\n", "");
    policy_strays(policy, routes, 2, note, &lost);
    policy_unref(&policy);
    assert_int_equal(lost, 1);
}

/* What tests say of rules in short has the value in the id, and the copy's name. */
TEST_CASE(test_short)
{
    struct policy *policy = compiled("policy: s\nparameters: {a: {is: upstream, default: shop}}\nallow: {'{a}': {everyone: [t]}}\n"
                                     "tests: [{name: a, call: {upstream: '{a}', tool: t}, expect: {verdict: permit, rule: "
                                     "'s.allow.{a}.everyone'}}]\nset: {a: kiosk}\nas: z\n", "");
    struct policy_scratch *scratch;
    unsigned passed = 0;
    size_t good, bad;

    assert_non_null(policy_rule_by_id(policy, SPAN_LIT("z.allow.kiosk.everyone")));
    assert_int_equal(policy_scratch_new(&scratch), CODE_OK);
    assert_int_equal(policy_test(policy, scratch, take, &passed, &good, &bad), CODE_OK);
    assert_int_equal(passed, 1);
    policy_scratch_free(&scratch);
    policy_unref(&policy);
}

/* ---- what people are shown ---- */

TEST_CASE(test_diff)
{
    struct policy *before = compiled(BASE "set: {server: shop}\n", ""), *after = compiled(BASE "set: {server: shop, root: /data}\n", "");
    struct diff *diff;
    bool told = false;

    assert_int_equal(before->sources[0].parameter_count, 2);
    assert_true(span_is(before->sources[0].parameters[1].json, "\"/srv\"") && !before->sources[0].parameters[1].is_set);
    assert_true(after->sources[0].parameters[1].is_set);
    assert_int_equal(diff_new(before, after, &diff), CODE_OK);
    for (size_t i = 0; i < diff->change_count; i++)
        told |= span_is(diff->changes[i].rule, "git.read") &&
                memmem(diff->changes[i].text.at, diff->changes[i].text.len, "/data", 5) != NULL;
    assert_true(told);
    diff_free(&diff);
    policy_unref(&before);
    policy_unref(&after);
}

TEST_CASE(test_memory)
{
    uint64_t allocations;

    for (uint64_t n = 1;; n++) {
        struct policy *policy = NULL;
        enum code code;

        mem_fail_at(n, 0);
        code = compile_two(BASE "lists: {l: [x, '{root}', {list: m}], m: [y]}\nset: {server: shop}\nas: git-b\n", "", &policy);
        allocations = mem_fail_count();
        mem_fail_at(0, 0);
        assert_true(code == CODE_OK || code == CODE_NOMEM);
        policy_unref(&policy);
        if (allocations < n)
            break;
    }
}

/* Copies of one file have the same faults at the same place, which are told once: what comes of the second is as unusable. */
TEST_CASE(test_faults_of_copies)
{
#define BAD "policy: p\ndetectors: {d: {pattern: '('}}\n" \
            "rules: [{id: p.r, effect: forbid, match: {tools: [t]}, when: [{arg: a, detect: [d], absent: applies}]}]\n"
    static const char *const texts[] = {BAD "as: a\n", BAD "as: b\n"};
    struct policy_file files[2];
    struct policy *policy;
    size_t told = 0;

    for (size_t i = 0; i < 2; i++)
        files[i] = (struct policy_file){SPAN_LIT("base.yaml"), span_text(texts[i])};
    faults_init(&faults);
    faults_init(&warnings);
    assert_int_equal(policy_compile(files, 2, 0, &policy, &faults, &warnings), CODE_INVALID);
    for (size_t i = 0; i < faults.count; i++)
        told += strstr(faults.fault[i].text, "the regex is not usable") != NULL;
    assert_int_equal(told, 1);
}

TEST_MAIN(NULL, NULL)
