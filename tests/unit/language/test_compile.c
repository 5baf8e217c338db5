/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "os/file.h"
#include "judgement/judgement.h"
#include "language/language.h"
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
    {HEAD "  - {id: r, effect: allow}\n", 3, 21, "did you mean `permit`?"},
    {HEAD "  - {id: r, effect: permitt}\n", 3, 21, "did you mean `permit`?"},
    {HEAD "  - {id: r, effect: permit}\n  - {id: r, effect: permit}\n", 4, 5, "taken by p.yaml:3"},
    {RULE("mach: {}"), 3, 29, "did you mean `match`?"},
    {RULE("reason: \"a\\u200bb\""), 3, 37, "holds invisible or control characters; write plain text"},
    {RULE("limit: {calls: 1}"), 3, 36, "has no `per`"},
    {RULE("limit: {calls: 0, per: day}"), 3, 44, "from 1 to"},
    {RULE("limit: {calls: 1, per: week}"), 3, 52, "second, minute, hour, day"},
    {RULE("limit: {calls: 1, per: day, by: [correlation]}"), 3, 61, "limits nobody"},
    {RULE("limit: {calls: 1, per: day, by: []}"), 3, 61, "leave it out"},
    {HEAD "  - {id: r, effect: forbid, limit: {calls: 1, per: day}}\n", 3, 29, "is for permits"},
    /* 7.4 */
    {RULE("match: {tools: [t]}, limit: {sum: a, per: day}"), 3, 57, "`at_most`"},
    {RULE("match: {tools: [t]}, limit: {sum: a, at_most: 0, per: day}"), 3, 75, "above 0"},
    {RULE("match: {tools: [t]}, limit: {sum: a, at_most: -5, per: day}"), 3, 75, "above 0"},
    {RULE("match: {tools: [t]}, limit: {sum: a, at_most: 0.0000001, per: day}"), 3, 75, "six decimals"},
    {RULE("match: {tools: [t]}, limit: {sum: a, at_most: '500', per: day}"), 3, 75, "write a number"},
    {RULE("match: {tools: [t]}, limit: {sum: a, at_most: 1000000000001, per: day}"), 3, 75, "10^12"},
    {RULE("match: {tools: [t]}, limit: {sum: '$.a[?1]', at_most: 5, per: day}"), 3, 63, "filter"},
    {RULE("match: {tools: [t]}, limit: {sum: a, calls: 3, at_most: 5, per: day}"), 3, 58, "write two limits"},
    {RULE("match: {tools: [t]}, limit: {calls: 3, at_most: 5, per: day}"), 3, 68, "goes with `sum`"},
    {RULE("match: {tools: [t]}, limit: {sum: a, at_most: 5, per: day, by: [session]}"), 3, 92, "as many sessions"},
    {RULE("match: {tools: [t]}, limit: {sum: a, at_mos: 5, per: day}"), 3, 66, "did you mean `at_most`"},
    {RULE("match: {tools: [t]}, limit: {sum: a, at_most: 5, per: day, over: require_approvals}"), 3, 94, "did you mean"},
    {RULE("limit: {sum: a, at_most: 5, per: day}"), 3, 42, "name the `tools`"},
    {RULE("limit: []"), 3, 36, "1 to 8"},
    {RULE("limit: [{calls: 1, per: day}, {calls: 2, per: day}]"), 3, 59, "counts the same"},
    {RULE("match: {tools: [t]}, limit: [{sum: a, at_most: 1, per: day}, {sum: $.a, at_most: 2, per: day}]"), 3, 90, "counts the same"},
    {HEAD "  - {id: r, effect: require_approval, limit: [{calls: 1, per: day}]}\n", 3, 39, "is for permits"},
    {HEAD "  - {id: reading, effect: permit, when: [{session: {met: [readin], within: 1h}}]}\n", 3, 59, "did you mean `reading`"},
    {WHEN("{session: {met: [nothing.like], within: 1h}}"), 3, 53, "no rule of the version"},
    {FORBID("when: [{session: {met: [r], within: 1h}}]"), 3, 53, "which no call meets that passes"},
    {WHEN("{session: {met: [r], called: [t], within: 1h}}"), 3, 47, "`met` goes with"},
    {WHEN("{session: {met: [], within: 1h}}"), 3, 52, "never matches"},
    {RULE("during: {}"), 3, 29, "write it under `when`"},
    {RULE("match: {client: [10.0.0.0/8]}"), 3, 37, "write it under `when`"},
    {RULE("match: [a]"), 3, 36, "write a map"},
    {RULE("match: {tool: [a]}"), 3, 37, "did you mean `tools`?"},
    {RULE("match: {tools: [a], resources: [b]}"), 3, 36, "write two rules"},
    {RULE("match: {tools: a}"), 3, 44, "write a list"},
    {RULE("match: {tools: []}"), 3, 44, "never matches"},
    {RULE("match: {tools: [5]}"), 3, 45, "write a string"},
    {RULE("match: {tools: ['']}"), 3, 45, "never matches"},
    {RULE("match: {tools: [{regx: a}]}"), 3, 46, "did you mean `regex`?"},
    {RULE("match: {tools: [{regex: '['}]}"), 3, 53, "not usable at its byte"},
    {RULE("match: {tools: [{regex: 'a', anchor: al}]}"), 3, 66, "write `whole` or `anywhere`"},
    {RULE("match: {tools: [{regex: '(a+)+$'}]}"), 3, 53, "slow_regex: allow"},
    {WHEN(""), 3, 35, "write a condition, or leave `when` out"},
    {WHEN("5"), 3, 36, "write a map"},
    {WHEN("{}"), 3, 36, "begins with `arg`"},
    {WHEN("{arg: a}"), 3, 36, "asks nothing"},
    {WHEN("{arg: a, equal: 1}"), 3, 45, "did you mean `equals`?"},
    {WHEN("{arg: a.b, equals: 1}"), 3, 42, "begins with $"},
    {WHEN("{arg: '$.a[?@.b]', equals: 1}"), 3, 42, "filter"},
    {WHEN("{arg: a, decode: [htm], equals: b}"), 3, 54, "did you mean `html`?"},
    {WHEN("{arg: a, decode: [rot13], equals: b}"), 3, 54,
     "write `percent`, `base64`, `unicode`, `html`, `json`, `hex`, `base64_inside` or `homoglyph`"},
    {WHEN("{arg: a, decode: [base64_insid], equals: b}"), 3, 54, "did you mean `base64_inside`?"},
    {WHEN("{arg: '$..*', joined: 1, equals: b}"), 3, 58, "`joined` is true or false"},
    {WHEN("{arg: '$.a[0]', joined: true, equals: b}"), 3, 52, "selects one value"},
    {WHEN("{arg: '$..*', joined: true, max: 5, equals: b}"), 3, 50, "`max` asks nothing of a text"},
    {WHEN("{arg: '$..*', joind: true, equals: b}"), 3, 50, "did you mean `joined`?"},
    {WHEN("{arg: a, decode: html, equals: b}"), 3, 53, "write a list"},
    {WHEN("{arg: a, decode: [], equals: b}"), 3, 53, "leave it out"},
    {WHEN("{arg: a, decode: [html, json, html], equals: b}"), 3, 66, "stands here twice"},
    {WHEN("{arg: a, meta: b, equals: 1}"), 3, 45, "write two conditions"},
    {WHEN("{meta: a, not: {arg: b, exists: true}}"), 3, 36, "stands alone"},
    {WHEN("{meta: 5, equals: 1}"), 3, 43, "write a string"},
    {WHEN("{arg: a, keys: 1, equals: 1}"), 3, 51, "write true"},
    {WHEN("{arg: a, key: true, equals: 1}"), 3, 45, "did you mean `keys`?"},
    {WHEN("{arg: a, url: x}"), 3, 50, "write a map"},
    {WHEN("{arg: a, url: {}}"), 3, 50, "asks nothing"},
    {WHEN("{arg: a, url: {host: [x]}}"), 3, 51, "did you mean `hosts`?"},
    {WHEN("{arg: a, url: {hosts: x}}"), 3, 58, "write a list"},
    {WHEN("{arg: a, url: {hosts: []}}"), 3, 58, "empty list"},
    {WHEN("{arg: a, url: {hosts: [5]}}"), 3, 59, "write a string"},
    {WHEN("{arg: a, url: {hosts: ['a:80']}}"), 3, 59, "words of their own"},
    {WHEN("{arg: a, url: {hosts: ['https://a']}}"), 3, 59, "words of their own"},
    {WHEN("{arg: a, url: {hosts: ['a.']}}"), 3, 59, "is no host"},
    {WHEN("{arg: a, url: {hosts: ['a b']}}"), 3, 59, "is no host"},
    {WHEN("{arg: a, url: {hosts: ['Ã¤.de']}}"), 3, 59, "xn--"},
    {WHEN("{arg: a, url: {hosts: ['127.1']}}"), 3, 59, "four plain numbers"},
    {WHEN("{arg: a, url: {hosts: ['[::g]']}}"), 3, 59, "no IPv6 address"},
    {WHEN("{arg: a, url: {schemes: ['https:']}}"), 3, 61, "without `:`"},
    {WHEN("{arg: a, url: {ports: [0]}}"), 3, 59, "1 to 65535"},
    {WHEN("{arg: a, url: {ports: ['80']}}"), 3, 59, "1 to 65535"},
    {WHEN("{arg: a, url: {ports: []}}"), 3, 58, "empty list"},
    {WHEN("{arg: a, url: {ports: all}}"), 3, 58, "the word any"},
    {WHEN("{arg: a, url: {ports: 80}}"), 3, 58, "a list of numbers"},
    {WHEN("{arg: a, under: 5}"), 3, 52, "write a string"},
    {WHEN("{arg: a, under: []}"), 3, 52, "empty list"},
    {WHEN("{arg: a, under: [srv]}"), 3, 53, "begin it with /"},
    {WHEN("{arg: a, under: '/srv/../etc'}"), 3, 52, "write where it leads"},
    {WHEN("{arg: a, under: '/srv//x'}"), 3, 52, "write where it leads"},
    {WHEN("{arg: a, under: '/srv%2f'}"), 3, 52, "plain name"},
    {WHEN("{arg: a, under: \"/srv\\u200b\"}"), 3, 52, "invisible"},
    {WHEN("{arg: a, cidr: 10.0.0.1/8}"), 3, 51, "behind its prefix"},
    {WHEN("{arg: a, sql: {statements: [slect]}}"), 3, 64, "did you mean `select`"},
    {WHEN("{arg: a, sql: {statements: [drop]}}"), 3, 64, "write `select`, `select_into`"},
    {WHEN("{arg: a, sql: {tables: [a]}}"), 3, 50, "without `statements` allows nothing"},
    {WHEN("{arg: a, sql: {statements: []}}"), 3, 50, "without `statements` allows nothing"},
    {WHEN("{arg: a, sql: [select]}"), 3, 50, "is a list; write a map"},
    {WHEN("{arg: a, sql: {statements: [select], table: [a]}}"), 3, 73, "did you mean `tables`"},
    {WHEN("{arg: a, sql: {statements: [select], tables: [a.b.c]}}"), 3, 82, "no name of PostgreSQL's"},
    {WHEN("{arg: a, sql: {statements: [select], functions: [s.]}}"), 3, 85, "no name of PostgreSQL's"},
    {WHEN("{arg: a, sql: {statements: [select], functions: {list: no}}}"), 3, 91, "this file has no list `no`"},
    {WHEN("{arg: a, cidr: [10.0.0.0/33]}"), 3, 52, "prefix length"},
    {WHEN("{arg: a, cidr: [10.0.0.0/]}"), 3, 52, "prefix length"},
    {WHEN("{arg: a, cidr: [10.0.0]}"), 3, 52, "is no address"},
    {WHEN("{arg: a, cidr: ['::ffff:10.0.0.0/104']}"), 3, 52, "write it as IPv4"},
    {WHEN("{arg: a, format: guid}"), 3, 53, "did you mean `uuid`?"},
    {WHEN("{arg: a, format: phone}"), 3, 53, "write `uuid`, `email`"},
    {WHEN("{arg: a, in: x}"), 3, 49, "write a list"},
    {WHEN("{arg: a, in: []}"), 3, 49, "empty list"},
    {WHEN("{arg: a, in: {list: x}}"), 3, 56, "no list `x`"},
    {WHEN("{arg: a, in: {lst: x}}"), 3, 49, "{list: name}"},
    {WHEN("{arg: a, matches: {pattern: x}}"), 3, 64, "no pattern `x`"},
    {WHEN("{arg: a, matches: 5}"), 3, 54, "write a string"},
    {WHEN("{arg: a, matches: '(*ACCEPT)'}"), 3, 54, "not usable"},
    {WHEN("{arg: a, matches: '(\\w+\\s?)*;'}"), 3, 54, "slow_regex: allow"},
    {WHEN("{arg: a, glob: 5}"), 3, 51, "write a string"},
    {WHEN("{arg: a, is: int}"), 3, 49, "did you mean `integer`?"},
    {WHEN("{arg: a, min: '5'}"), 3, 50, "without quotes"},
    {WHEN("{arg: a, max_length: -1}"), 3, 57, "whole number from 0"},
    {WHEN("{arg: a, max_items: 1.5}"), 3, 56, "whole number from 0"},
    {WHEN("{arg: a, exists: yes}"), 3, 53, "true or false"},
    {WHEN("{arg: a, exists: true, optional: true}"), 3, 36, "alone decides absence"},
    {WHEN("{arg: a, equals: 1, optional: 5}"), 3, 66, "true or false"},
    {WHEN("{arg: a, equals: 1, absent: applies}"), 3, 56, "`optional: true`"},
    {FORBID("when: [{arg: a, equals: 1, optional: true}]"), 3, 56, "`absent: applies`"},
    {FORBID("when: [{arg: a, equals: 1, absent: aplies}]"), 3, 64, "did you mean `applies`?"},
    {WHEN("{arg: a, equals: 1, quantify: all}"), 3, 66, "did you mean `every`?"},
    {WHEN("{arg: a, equals: 1, anchor: whole}"), 3, 56, "belongs to `matches`"},
    {WHEN("{any: []}"), 3, 42, "empty `any`"},
    {WHEN("{any: {}}"), 3, 42, "write a list"},
    {WHEN("{not: {arg: a, equals: 1}, arg: b}"), 3, 36, "stands alone"},
    {WHEN("{arg: a, equals: {list: [\"\\ud800\"]}}"), 3, 0, ""},
    {FORBID("only_args: [a]"), 3, 29, "a forbid has no `only_args`"},
    {RULE("only_args: a"), 3, 40, "write a list"},
    {RULE("only_args: [5]"), 3, 41, "write a string"},
    {RULE("say: ''"), 3, 34, "says nothing"},
    {RULE("alert: true"), 3, 29, "a permit denies nothing"},
    {FORBID("alert: false"), 3, 36, "`alert` is true"},
    {FORBID("alert: 'yes'"), 3, 36, "`alert` is true"},
    {RULE("mode: on"), 3, 35, "did you mean `enforce`?"},
    {RULE("slow_regex: yes"), 3, 41, "write `allow`"},
    {"policy: p\nredact: [{args: []}]\n", 2, 17, "redacts nothing"},
    {"policy: p\nredact: [{match: {tools: [a]}}]\n", 2, 10, "no `args`"},
    {"policy: p\nredact: [{query: false}]\n", 2, 18, "`query` of a redaction is true"},
    {"policy: p\nredact: [{params: []}]\n", 2, 19, "redacts nothing"},
    {"policy: p\nredact: [{args: [a-b]}]\n", 2, 18, "begins with $"},
    {"policy: p\ntests: [{name: a, call: {tool: t}}]\n", 2, 9, "add `expect`, which is missing"},
    {"policy: p\ntests: [{name: a, call: {}, expect: {verdict: deny}}]\n", 2, 25, "`tool` goes with"},
    {"policy: p\ntests: [{name: a, call: {tool: t, params: {}}, expect: {verdict: deny}}]\n", 2, 35, "`arguments`"},
    {"policy: p\ntests: [{name: a, call: {method: ping, arguments: {}}, expect: {verdict: deny}}]\n", 2, 40, "`params`"},
    {"policy: p\ntests: [{name: a, call: {tool: t}, expect: {verdict: allow}}]\n", 2, 54, "did you mean `permit`?"},
    {"policy: p\ntests: [{name: a, call: {tool: t}, expect: {verdict: deny, reason: x}}]\n", 2, 68, "is no reason"},
    {"policy: p\nmode: &a enforce\n", 2, 7, "anchor"},
};

/* 1.22, 2.3: every refusal has a place, what is wrong, and what to write instead. */
TEST_CASE(test_faults)
{
    static struct faults faults;

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

/* 1.22, 2.3: up to 20 in one run, the rest counted. */
TEST_CASE(test_many_faults)
{
    static struct faults faults;
    char text[4096] = HEAD;
    size_t len = strlen(text);
    struct policy *policy;

    for (int i = 0; i < 30; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "  - {id: r%d, effect: permitt}\n", i);
    assert_int_equal(compile_text(text, &policy, &faults, NULL), CODE_INVALID);
    assert_int_equal(faults.count, 30);
    for (int i = 0; i < FAULTS_MAX; i++)
        assert_int_equal(faults.fault[i].line, 3 + i);
}

/* 2.3: wherever a regex may stand, one whose cost explodes is refused; `slow_regex` is the rule's alone. */
TEST_CASE(test_pumped_everywhere)
{
#define SLOW "'(a+)+$'"
    static const char *const places[] = {
        WHEN("{arg: a, matches: " SLOW "}"),
        WHEN("{arg: a, not_matches: " SLOW "}"),
        WHEN("{any: [{not: {arg: a, matches: " SLOW "}}]}"),
        WHEN("{arg: a, matches: " SLOW ", anchor: anywhere}"),
        WHEN("{arg: a, keys: true, matches: " SLOW "}"),
        WHEN("{meta: a, matches: " SLOW "}"),
        FORBID("when: [{arg: a, matches: " SLOW ", decode: [html], absent: ignored}]"),
        "policy: p\npatterns: {x: " SLOW "}\nrules:\n  - {id: r, effect: permit, when: [{arg: a, matches: {pattern: x}}]}\n",
        RULE("match: {tools: [{regex: " SLOW "}]}"),
        RULE("match: {tenants: [{regex: " SLOW "}]}"),
        RULE("match: {principals: [{regex: " SLOW "}]}"),
        RULE("match: {upstreams: [{regex: " SLOW "}]}"),
        RULE("match: {methods: [{regex: " SLOW "}]}"),
        RULE("match: {resources: [{regex: " SLOW "}]}"),
        RULE("match: {prompts: [{regex: " SLOW "}]}"),
        RULE("match: {tools: [{regex: " SLOW ", anchor: anywhere}]}"),
        "policy: p\nredact: [{match: {tools: [{regex: " SLOW "}]}, args: [a]}]\n",
        HEAD "  - {id: q, effect: permit, slow_regex: allow, when: [{arg: a, matches: " SLOW "}]}\n"
             "  - {id: r, effect: permit, when: [{arg: a, matches: " SLOW "}]}\n",
    };
    static struct faults faults;

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct policy *policy;

        if (compile_text(places[i], &policy, &faults, NULL) != CODE_INVALID || faults.count != 1 ||
            strstr(faults.fault[0].text, "cost explodes on") == NULL)
            fail_msg("not refused:\n%s", places[i]);
    }
}

/* 1.21, 2.3: `slow_regex: allow` accepts a costly pattern; a stored version is not pumped again. */
TEST_CASE(test_slow_regex)
{
    static struct faults faults;
    const char *text = RULE("slow_regex: allow, when: [{arg: a, matches: '(a+)+$'}]");
    struct policy_file file = {SPAN_LIT("p.yaml"), SPAN_LIT(RULE("when: [{arg: a, matches: '(a+)+$'}]"))};
    struct policy *policy;

    assert_int_equal(compile_text(text, &policy, &faults, NULL), CODE_OK);
    policy_unref(&policy);
    assert_int_equal(policy_compile(&file, 1, 0, &policy, &faults, NULL), CODE_INVALID);
    faults_init(&faults);
    assert_int_equal(policy_compile(&file, 1, 7, &policy, &faults, NULL), CODE_OK);
    assert_int_equal(policy_version(policy), 7);
    policy_unref(&policy);
}

/* The hash is of names and texts, length-prefixed, whatever the paths. */
TEST_CASE(test_hash)
{
    struct policy_file files[2] = {{SPAN_LIT("a.yaml"), SPAN_LIT("policy: p\n")},
                                   {SPAN_LIT("b.yaml"), SPAN_LIT("policy: p\n")}};
    struct policy *first, *second;
    struct faults faults;

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
    "policy: p\npatterns: {x: 'a+'}\nlists: {l: [a, 1]}\npaths: {f: {under: [/a, '/b/{tenant}'], hidden: [.a], none_of: '*b*'}}\nrules:\n" \
    "  - {id: a, effect: permit, match: {tools: [t, 'g*', {regex: 'r.'}]}, when: [{arg: '$.a[*].b', in: {list: l}},\n"  \
    "     {any: [{not: {arg: c, not_matches: {pattern: x}, max_length: 3}}, {arg: d, equals: {e: [1]}}]}],\n"           \
    "     only_args: [a, c, d], reason: why, say: so}\n"                                                                \
    "  - {id: b, effect: forbid, match: {tools: [{regex: '(?i)z'}]}, when: [{arg: '$..*', contains: q}]}\n"             \
    "  - {id: v, effect: forbid, match: {tools: [v]}, when: [{meta: a, keys: true, decode: [html], under: [/a, /b], path: f},\n"   \
    "     {arg: u, url: {schemes: [https], hosts: [a, '[::1]'], ports: [1]}, cidr: 10.0.0.0/8, format: uuid}]}\n"         \
    "redact: [{args: [a, '$..b']}]\n"                                                                                   \
    "tests: [{name: n, call: {tool: t, arguments: {a: 1}}, expect: {verdict: deny, rule: null}}]\n"

/* Whichever allocation fails: CODE_NOMEM and nothing kept, or a whole snapshot. */
TEST_CASE(test_compile_memory)
{
    static struct faults faults;
    enum code code = CODE_NOMEM;

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
TEST_CASE(test_eval_memory)
{
    static struct court court;
    bool done = false;

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

/* Whichever allocation fails, the compiler says so and nothing else, and keeps nothing; what was made before is not used. */
TEST_CASE(test_no_memory)
{
    struct policy_file file = {.path = SPAN_LIT("p.yaml")};
    struct buf text;
    bool done = false;

    buf_init(&text, 1 << 20);
    assert_int_equal(file_read("tests/fuzz/policy.in/everything.yaml", FILE_ANY, 1 << 20, &text, NULL), CODE_OK);
    file.text = buf_peek(&text);
    for (uint64_t nth = 1; !done; nth++) {
        struct faults faults;
        struct policy *policy;
        enum code code;

        faults_init(&faults);
        mem_fail_at(nth, 0);
        code = policy_compile(&file, 1, 1, &policy, &faults, NULL);
        done = mem_fail_count() < nth;
        mem_fail_at(0, 0);
        assert_int_equal(code, done ? CODE_OK : CODE_NOMEM);
        assert_int_equal(faults.count, 0);
        assert_true((policy != NULL) == done);
        policy_unref(&policy);
        assert_true(nth < 100000);
    }
    buf_fini(&text);
}

TEST_MAIN(NULL, NULL)
