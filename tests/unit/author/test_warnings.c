/* SPDX-License-Identifier: Apache-2.0 */
/* 2.3: what is legal but hardly meant: each kind fires, and its near miss does not. */
#include "fakes/methods.h"
#include "language/language.h"
#include "unit/policy/judge.h"

/* The rules stand from line 4 on, one a line; all may begin a session; the last line's test decides `r`. */
#define HEAD "policy: p\nrules:\n  - {id: protocol, effect: permit, mode: enforce, match: {methods: [protocol]}}\n"
#define PERMIT(more) "  - {id: r, effect: permit, " more "}\n"
#define FORBID(more) "  - {id: r, effect: forbid, " more "}\n"
#define WHEN(more) PERMIT("match: {tools: [t]}, when: [" more "]")
#define AT 4

static struct faults warnings;

static void compile(const char *text)
{
    static struct faults faults;
    struct policy *policy;

    if (compile_text(text, &policy, &faults, &warnings) != CODE_OK) {
        print_faults(&faults);
        fail_msg("refused:\n%s", text);
    }
    policy_unref(&policy);
}

/* Takes: said NULL: nothing is warned of but of tests. */
static void expect_warning(const char *text, int line, const char *said)
{
    bool quiet = true;

    compile(text);
    for (size_t i = 0; i < warnings.count && i < FAULTS_MAX; i++) {
        quiet = quiet && strstr(warnings.fault[i].text, "no test is decided") != NULL;
        if (strchr(warnings.fault[i].text, ';') == NULL)
            fail_msg("no repair in: %s", warnings.fault[i].text);
        if (said != NULL && warnings.fault[i].line == line && strstr(warnings.fault[i].text, said) != NULL)
            return;
    }
    if (said != NULL || !quiet) {
        print_faults(&warnings);
        fail_msg("wanted a warning at line %d: %s in\n%s", line, said ? said : "none", text);
    }
}

static void expect_none(const char *text)
{
    expect_warning(text, 0, NULL);
}

#define NEVER "can never apply"

TEST_CASE(test_never)
{
    static const char *const fires[] = {
        PERMIT("match: {tools: [a], methods: [ping]}"),
        PERMIT("match: {tools: [a], methods: ['resources/*', protocol]}"),
        WHEN("{arg: a, min: 5, max: 4.9}"),
        WHEN("{arg: a, min_length: 5, max_length: 4}"),
        WHEN("{arg: a, min_items: 2, max_items: 1}"),
        WHEN("{arg: a, is: string, max: 5}"),
        WHEN("{arg: a, is: object, matches: x}"),
        WHEN("{arg: a, is: integer, min_items: 1}"),
        WHEN("{arg: a, equals: 5, is: string}"),
        WHEN("{arg: a, equals: ab, matches: 'a'}"),
        WHEN("{arg: a, in: [1, 2], min: 3}"),
        WHEN("{arg: a, in: [x, y], starts_with: z}"),
        WHEN("{arg: a, min: 5}, {arg: a, max: 4, optional: true}"),
        WHEN("{arg: '$.a.b', exists: false}, {arg: '$.a.b', is: string}"),
        WHEN("{all: [{arg: a, equals: 1}]}, {all: [{arg: a, equals: 2}]}"),
        WHEN("{any: [{arg: a, min: 5, max: 4}, {arg: b, min: 5, max: 4}]}"),
        WHEN("{arg: '$.a[*]', min: 5, max: 4}"),
        PERMIT("match: {tools: [t]}, when: [{arg: a, max: 5}], only_args: [b]"),
        PERMIT("match: {tools: [t]}, when: [{all: [{arg: '$.a.b', exists: true}]}], only_args: [b]"),
        FORBID("match: {tools: [t]}, when: [{arg: a, equals: 5, is: string, absent: ignored}]"),
        WHEN("{arg: a, equals: '/b%2f', under: /c}"),
        WHEN("{arg: a, equals: 'http://b', url: {hosts: [c]}, decode: [percent]}"),
        FORBID("match: {tools: [t]}, when: [{arg: a, in: [1, 2], equals: 3, absent: ignored}, {arg: b, exists: true}]"),
    };
    static const char *const quiet[] = {
        PERMIT("match: {tools: [a], methods: ['tools/*']}"),
        PERMIT("match: {tools: [a], methods: [ping, tools/call]}"),
        PERMIT("match: {tools: [a], methods: [{regex: 'tools/.*'}]}"),
        WHEN("{arg: a, min: 5, max: 5.0}"),
        WHEN("{arg: a, equals: '/b/%2f', under: /b}"),
        FORBID("match: {tools: [t]}, when: [{arg: a, equals: b, in: [c], decode: [percent], absent: ignored}]"),
        WHEN("{arg: a, keys: true, is: string}, {arg: a, is: object}"),
        FORBID("match: {tools: [t]}, when: [{arg: $, keys: true, equals: b}]"),
        WHEN("{arg: a, decode: [html], is: string, equals: b}"),
        WHEN("{arg: a, min_length: 5, max_length: 5}"),
        WHEN("{arg: a, is: array, contains: x}"),
        WHEN("{arg: a, is: array, min_items: 1}"),
        WHEN("{arg: a, is: number, matches: '[0-9]+'}"),
        WHEN("{arg: a, equals: 5, is: integer}"),
        WHEN("{arg: a, in: [1, 2], min: 2}"),
        WHEN("{arg: a, min: 5, max: 4, optional: true}"), /* where it is absent */
        WHEN("{arg: a, min: 5}, {arg: b, max: 4}"),
        WHEN("{arg: '$.a[*]', equals: 1, quantify: any}, {arg: '$.a[*]', equals: 2, quantify: any}"),
        WHEN("{any: [{arg: a, min: 5, max: 4}, {arg: b, exists: true}]}"),
        WHEN("{any: [{arg: a, equals: 1}, {arg: a, equals: 2}]}"),
        WHEN("{not: {arg: a, min: 5, max: 4}}"),
        WHEN("{arg: a, exists: false}"),
        PERMIT("match: {tools: [t]}, when: [{arg: a, max: 5, optional: true}], only_args: [b]"),
        PERMIT("match: {tools: [t]}, when: [{arg: a, max: 5}, {arg: '$..*', matches: x}], only_args: [a, b]"),
        PERMIT("match: {tools: [t]}, when: [{any: [{arg: a, max: 5}, {arg: b, max: 5}]}], only_args: [b]"),
        FORBID("match: {tools: [t]}, when: [{arg: a, min: 5, max: 4, absent: ignored}]"), /* undecided on a string */
        FORBID("match: {tools: [t]}, when: [{arg: a, equals: 5, is: string, absent: applies}]"),
        FORBID("match: {tools: [t]}, when: [{arg: a, equals: 5, is: integer, absent: ignored}]"),
    };
    char text[1024];

    for (size_t i = 0; i < sizeof fires / sizeof *fires; i++) {
        snprintf(text, sizeof text, HEAD "%s", fires[i]);
        expect_warning(text, AT, NEVER);
    }
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        snprintf(text, sizeof text, HEAD "%s", quiet[i]);
        expect_none(text);
    }
}

TEST_CASE(test_decode)
{
    expect_warning(HEAD WHEN("{arg: a, decode: [html], is: string}"), AT, "`decode` changes nothing");
    expect_warning(HEAD WHEN("{arg: a, decode: [html], max: 5, exists: true}"), AT, "`decode` changes nothing");
    expect_none(HEAD WHEN("{arg: a, decode: [html], not_matches: x}"));
    expect_none(HEAD WHEN("{arg: a, decode: [html], is: string, in: [b]}"));
}

/* 7.4: a rule that has ended says nothing any more; one that will end covers nothing for good. */
TEST_CASE(test_until)
{
    expect_warning(HEAD PERMIT("match: {tools: [t]}, until: 2001-01-01T00:00:00Z"), AT, "permits nothing any more");
    expect_warning(HEAD FORBID("match: {tools: [t]}, until: {zone: UTC, at: 2001-01-01}"), AT, "no longer stops a call");
    expect_none(HEAD PERMIT("match: {tools: [t]}, until: 2101-01-01T00:00:00Z"));
    expect_none(HEAD PERMIT("match: {tools: [t]}") "  - {id: f, effect: forbid, match: {tools: [t]}, until: 2101-01-01T00:00:00Z}\n");
}

/* 7.4: what looks like a variable and is none. */
TEST_CASE(test_braces)
{
    expect_warning(HEAD WHEN("{arg: a, starts_with: 'x{principle}'}"), AT, "did you mean `{principal}`?");
    expect_warning(HEAD WHEN("{arg: a, in: [x, '{user}']}"), AT, "variables are {principal}, {tenant}, {upstream} and {agent}");
    expect_warning(HEAD WHEN("{arg: a, under: '/{home}'}"), AT, "stands for itself");
    expect_none(HEAD WHEN("{arg: a, equals: '{principal}'}"));
    expect_warning(HEAD WHEN("{arg: a, equals: {principal}}"), AT, "a map in YAML, and no variable; quote it: '{principal}'");
    expect_warning(HEAD WHEN("{arg: a, in: [x, {tenant}]}"), AT, "{tenant} without quotes");
    expect_none(HEAD WHEN("{arg: a, equals: {principal: x}}"));
    expect_none(HEAD WHEN("{arg: a, equals: {principle}}"));
    expect_none(HEAD WHEN("{arg: a, equals: '{{principal}} {} {\"a\":1} {{user}} {A}'}"));
}

/* 12.6: what looks like the name of a value and is an object. */
TEST_CASE(test_names_no_value)
{
    expect_warning(HEAD WHEN("{arg: a, in: [{arg: b}, 7]}"), AT, "names no value");
    expect_warning(HEAD WHEN("{arg: a, equals: {arg: b, plus: 1d}}"), AT, "names no value");
    expect_warning(HEAD WHEN("{arg: a, not_equals: {meta: b}}"), AT, "names no value");
    expect_none(HEAD WHEN("{arg: a, equals: {arg: b}}"));
    expect_none(HEAD WHEN("{arg: a, in: [{arg: b, other: c}, {}, [arg]]}"));
}

TEST_CASE(test_ports)
{
    expect_warning(HEAD FORBID("match: {tools: [t]}, when: [{arg: a, url: {hosts: [b]}, absent: ignored}]"), AT, "`ports: any`");
    expect_warning(HEAD WHEN("{not: {arg: a, url: {schemes: [ftp]}}}"), AT, "`ports: any`");
    expect_none(HEAD FORBID("match: {tools: [t]}, when: [{arg: a, url: {hosts: [b], ports: any}, absent: ignored}]"));
    /* 7.7: a forbid of what is free of hidden characters was meant the other way round. */
    expect_warning(HEAD FORBID("match: {tools: [t]}, when: [{arg: '$..*', free_of: hidden}]"), AT, "write not: {");
    expect_none(HEAD FORBID("match: {tools: [t]}, when: [{not: {arg: '$..*', free_of: hidden}}]"));
    expect_none(HEAD FORBID("match: {tools: [t]}, when: [{arg: a, url: {hosts: [b], ports: [1]}, absent: ignored}]"));
    expect_none(HEAD FORBID("match: {tools: [t]}, when: [{not: {arg: a, url: {hosts: [b]}, absent: applies}}]"));
    expect_none(HEAD WHEN("{arg: a, url: {hosts: [b]}}"));
}

static void expect_covered(const char *permit, const char *forbid, bool covered)
{
    char text[1024];

    snprintf(text, sizeof text, HEAD PERMIT("match: {%s}") "  - {id: f, effect: forbid, %s}\n", permit, forbid);
    expect_warning(text, AT, covered ? "the forbid `f` covers all its calls" : NULL);
}

TEST_CASE(test_covered)
{
    expect_covered("tools: [x], tenants: [a]", "match: {tools: ['*', y]}", true);
    expect_covered("tools: [send_mail]", "match: {tools: ['send_*']}", true);
    expect_covered("tools: [send_mail]", "match: {tools: [{regex: mail}]}", true);
    expect_covered("tools: ['send_*']", "match: {tools: ['send_*', x]}", true);
    expect_covered("tools: [x]", "match: {}", true);
    expect_covered("methods: [ping]", "match: {methods: [protocol]}", true);
    expect_covered("tools: [send_mail, read_mail]", "match: {tools: ['send_*']}", false);
    expect_covered("tools: ['send_*']", "match: {tools: [send_mail]}", false);
    expect_covered("tools: [x]", "match: {tools: [x], tenants: [a]}", false);
    expect_covered("tools: [x]", "match: {tools: [x]}, mode: monitor", false);
    expect_covered("tools: [x]", "match: {tools: [x]}, when: [{arg: a, exists: true}]", false);
    expect_covered("tools: [mail]", "match: {tools: [{regex: send}]}", false);
    expect_covered("methods: [resources/read]", "match: {tools: ['*']}", false);
}

TEST_CASE(test_unused)
{
    expect_warning("policy: p\npatterns: {x: a}\n", 2, "pattern `x` is used by no rule");
    expect_warning("policy: p\nlists: {x: [a]}\n", 2, "list `x` is used by no rule");
    expect_none("policy: p\npatterns: {x: a}\nlists: {l: [a]}\nrules:\n"
                "  - {id: r, effect: permit, match: {methods: [protocol]}, "
                "when: [{arg: a, matches: {pattern: x}, in: {list: l}}]}\n");
}

TEST_CASE(test_absence)
{
    expect_warning(HEAD FORBID("when: [{arg: a, equals: 1}]"), AT, "where `a` is absent");
    expect_warning(HEAD FORBID("when: [{not: {arg: '$.a[*].b', matches: x}}]"), AT, "where `$.a[*].b` is absent");
    expect_none(HEAD FORBID("when: [{arg: a, equals: 1, absent: applies}]"));
    expect_none(HEAD FORBID("when: [{arg: a, equals: 1, absent: ignored}]"));
    expect_none(HEAD FORBID("when: [{arg: '$..*', equals: 1}]"));
    expect_none(HEAD FORBID("when: [{arg: a, exists: true}]"));
    expect_none(HEAD WHEN("{arg: a, equals: 1}"));
}

/* One policy whose rules name the two; takes: together: in one list as well. */
static void expect_alike(const char *dimension, const char *a, const char *b, bool together, const char *said)
{
    char text[1024];

    if (strcmp(dimension, "id") == 0)
        snprintf(text, sizeof text, HEAD "  - {id: '%s', effect: permit, match: {tools: [x]}}\n"
                 "  - {id: '%s', effect: permit, match: {tools: [x]}}\n", a, b);
    else
        snprintf(text, sizeof text, HEAD "  - {id: r, effect: permit, match: {tools: ['*'], %s: ['%s']}}\n"
                 "  - {id: guard, effect: forbid, match: {methods: [tools/call], %s: ['%s'%s%s%s]}, when: "
                 "[{arg: '$..*', contains: q}]}\n", dimension, a, dimension, b, together ? ", '" : "", together ? a : "",
                 together ? "'" : "");
    if (strcmp(dimension, "tools") == 0)
        snprintf(text, sizeof text, HEAD "  - {id: r, effect: permit, match: {tools: ['%s']}}\n"
                 "  - {id: guard, effect: forbid, match: {tools: ['%s'%s%s%s]}, when: [{arg: '$..*', contains: q}]}\n", a, b,
                 together ? ", '" : "", together ? a : "", together ? "'" : "");
    expect_warning(text, AT + 1, said);
}

TEST_CASE(test_look_alike)
{
    expect_alike("tools", "send_mail", "Send_mail", false, "differ in case only");
    expect_alike("tools", "send_mail", "send_mai1", false, "they read the same");
    expect_alike("tools", "delete_file", "delete_flie", false, "one slip apart");
    expect_alike("tools", "delete_file", "delete-file", false, "one slip apart");
    expect_alike("tools", "search_products", "search_prodcts", false, "one slip apart");
    expect_alike("tools", "search_products", "search_produkts", false, "one slip apart");
    expect_alike("tenants", "acme", "acne", false, "one slip apart");
    expect_alike("tenants", "acme", "\xd0\xb0\xd1\x81m\xd0\xb5", false, "several alphabets");
    expect_alike("tenants", "cope", "\xd1\x81\xd0\xbe\xd1\x80\xd0\xb5", false, "they read the same");
    expect_alike("id", "mail.outside", "mail.outsid", false, "rename one");
    expect_alike("id", "Shop.read", "shop.read", false, "differ in case only");
    /* Two things with two names, or one name written in two ways on purpose. */
    expect_alike("tools", "get_issue", "set_issue", false, NULL);
    expect_alike("tools", "list_table", "list_tables", false, NULL);
    expect_alike("tools", "update_page", "updated_page", false, NULL);
    expect_alike("tools", "query_v1", "query_v2", false, NULL);
    expect_alike("tools", "read_query", "run_query", false, NULL);
    expect_alike("tools", "delete_file", "delete-file", true, NULL);
    expect_alike("tools", "send_mail", "Send_mail", true, NULL);
    expect_alike("tenants", "team-a", "team-b", false, NULL);
    expect_alike("tenants", "acme", "acmeson", false, NULL);
    expect_alike("tenants", "\xd1\x87\xd1\x82\xd0\xb5\xd0\xbd", "abcd", false, NULL);
    expect_alike("id", "shop.read", "shop.write", false, NULL);
    expect_alike("id", "shop.1", "shop.2", false, NULL);
}

/* 5.5: every method can be named, and a slip in its name is told. */
TEST_CASE(test_methods)
{
    static const char *const names[] = {
#define X(name, agent, server, id) name,
        METHODS(X)
#undef X
    };
    char text[400], said[80];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(text, sizeof text, HEAD PERMIT("match: {methods: ['%s']}"), names[i]);
        expect_none(text);
        snprintf(text, sizeof text, HEAD PERMIT("match: {methods: ['%sx']}"), names[i]);
        snprintf(said, sizeof said, "did you mean `%s`?", names[i]);
        expect_warning(text, AT, said);
    }
    expect_warning(HEAD PERMIT("match: {methods: [tools/lists]}"), AT, "did you mean `tools/list`?");
    expect_warning(HEAD PERMIT("match: {methods: [ping, protocl]}"), AT, "did you mean `protocol`?");
    expect_none(HEAD PERMIT("match: {methods: [resources/read, resources/unsubscribe, vendor/own, 'tool*']}"));
}

#define TOOL(more) "  - {id: tool, effect: permit, match: {tools: [t], " more "}}\n"
#define BEGIN(more) "  - {id: begin, effect: permit, match: {" more "}}\n"

TEST_CASE(test_protocol)
{
    static const char said[] = "permits tools where no rule permits `initialize`";

    expect_warning("policy: p\nrules:\n" TOOL("upstreams: [shop]"), 3, said);
    expect_warning("policy: p\nrules:\n" TOOL("upstreams: [shop]") BEGIN("upstreams: [mail], methods: [protocol]"), 3, said);
    expect_warning("policy: p\nrules:\n" TOOL("tenants: [a]") BEGIN("tenants: ['b*'], methods: [protocol]"), 3, said);
    expect_warning("policy: p\nrules:\n" TOOL("upstreams: [shop]") BEGIN("methods: [ping]"), 3, said);
    expect_warning("policy: p\nrules:\n" TOOL("upstreams: [shop]")
                   "  - {id: begin, effect: permit, mode: monitor, match: {methods: [protocol]}}\n", 3, said);
    expect_none("policy: p\nrules:\n" TOOL("upstreams: [shop]") BEGIN("upstreams: ['s*'], methods: [initialize]"));
    expect_none("policy: p\nrules:\n" TOOL("upstreams: ['s*']") BEGIN("upstreams: ['*p'], methods: ['*']"));
    expect_none("policy: p\nrules:\n" TOOL("tenants: [a, b]") BEGIN("tenants: [b], methods: [protocol]"));
    expect_none("policy: p\nrules:\n" BEGIN("methods: [tools/list]"));
    expect_none("policy: p\nrules:\n  - {id: f, effect: forbid, match: {tools: [t]}}\n");
    /* Once for the same callers. */
    compile("policy: p\nrules:\n" TOOL("upstreams: [shop]") "  - {id: other, effect: permit, match: {upstreams: [shop]}}\n"
            "tests: [{name: t, call: {upstream: shop, tool: t}, expect: {verdict: permit}},\n"
            "  {name: u, call: {upstream: shop, tool: u}, expect: {verdict: permit}}]\n");
    assert_int_equal(warnings.count, 2);
}

#define TEST(tool, expect) "tests: [{name: t, call: {tool: " tool "}, expect: {verdict: " expect "}}]\n"

static void expect_untested(const char *text, bool untested)
{
    bool said = false;

    compile(text);
    for (size_t i = 0; i < warnings.count; i++)
        said = said || strstr(warnings.fault[i].text, "no test is decided by the rule `r`") != NULL;
    assert_true(said == untested);
}

TEST_CASE(test_untested)
{
    expect_untested(HEAD PERMIT("match: {tools: [t]}"), true);
    expect_untested(HEAD PERMIT("match: {tools: [t]}") TEST("u", "deny"), true);
    expect_untested(HEAD PERMIT("match: {tools: [t]}") "  - {id: f, effect: forbid, match: {tools: [t], tenants: [test]}}\n"
                    TEST("t", "deny, rule: f"), true);
    expect_untested(HEAD PERMIT("match: {tools: [t]}") TEST("t", "permit"), false); /* whether or not it is named */
    expect_untested(HEAD PERMIT("match: {tools: [t]}") TEST("t", "permit, rule: r"), false);
    expect_untested(HEAD PERMIT("match: {tools: [t]}, mode: monitor"), false);
    expect_warning("policy: p\ntests: [{name: t, call: {tool: t}, expect: {verdict: deny, rule: q}}]\n", 2, "does not exist; name one");
    expect_warning(HEAD PERMIT("match: {tools: [t]}") TEST("t", "permit, rule: protocl"), 5, "did you mean `protocol`?");
}

/* Those that need a look come before those that are many. */
TEST_CASE(test_order)
{
    char text[8192] = "policy: p\nrules:\n";
    size_t len = strlen(text);

    for (int i = 0; i < 30; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "  - {id: r.%d, effect: forbid, match: {tools: [t%d]}}\n", i, i);
    snprintf(text + len, sizeof text - len, "  - {id: z, effect: permit, match: {tools: [t1]}}\n");
    compile(text);
    assert_int_equal(warnings.count, 3); /* one line for all rules that no test decides */
    assert_non_null(strstr(warnings.fault[2].text, "and 30 more of this file"));
    assert_non_null(strstr(warnings.fault[0].text, "covers all its calls"));
    assert_non_null(strstr(warnings.fault[1].text, "`initialize`"));
}

/* Whichever allocation fails: CODE_NOMEM, never a policy that was not looked at. */
TEST_CASE(test_memory)
{
    static struct faults faults;
    enum code code = CODE_NOMEM;

    for (uint64_t nth = 1; code != CODE_OK; nth++) {
        struct policy *policy;

        assert_true(nth < 10000);
        mem_fail_at(nth, 0);
        code = compile_text(HEAD WHEN("{arg: a, equals: 1}") TEST("t", "deny"), &policy, &faults, &warnings);
        mem_fail_at(0, 0);
        assert_true(code == CODE_OK || code == CODE_NOMEM);
        assert_true((code == CODE_OK) == (policy != NULL));
        policy_unref(&policy);
    }
    assert_int_equal(warnings.count, 1);
}

/* 7.3: a permit that bounds nothing, since a wider one takes all its calls; one without a match; what looks like a variable. */
TEST_CASE(test_wide)
{
#define WIDE(more) "  - {id: w, effect: permit, " more "}\n"
    static const char *const swallowed[][2] = {
        {WHEN("{arg: a, max: 5}"), WIDE("match: {tools: [t, u]}")},
        {WHEN("{arg: a, max: 5}"), WIDE("match: {tools: ['*']}")},
        {PERMIT("match: {tools: [t]}, limit: {calls: 5, per: minute}"), WIDE("match: {tools: [t]}")},
        {PERMIT("match: {tools: [t]}, only_args: [a]"), WIDE("match: {tools: [t]}")},
        {PERMIT("match: {tools: [t]}, only_args: [a]"), WIDE("match: {tools: [t]}, only_args: [a, b]")},
        {PERMIT("match: {tools: [t]}, arguments: by_schema"), WIDE("match: {tools: [t]}")}, /* 9.3 */
        {PERMIT("match: {tools: [t], tenants: [x], upstreams: [up]}, only_args: [a], when: [{arg: a, max: 5}]"),
         WIDE("match: {tools: [t], upstreams: ['u*']}, only_args: [b, a]")},
    };
    static const char *const narrow[][2] = {
        {WHEN("{arg: a, max: 5}"), WIDE("match: {tools: [t]}, when: [{arg: b, max: 5}]")},
        {WHEN("{arg: a, max: 5}"), WIDE("match: {tools: [t], tenants: [x]}")},
        {WHEN("{arg: a, max: 5}"), WIDE("match: {tools: [t]}, mode: monitor")},
        {WHEN("{arg: a, max: 5}"), WIDE("match: {tools: [t]}, limit: {calls: 1, per: day}")},
        {WHEN("{arg: a, max: 5}"), WIDE("match: {tools: [t]}, only_args: [a]")},
        {PERMIT("match: {tools: [t]}, only_args: [a]"), WIDE("match: {tools: [t]}, only_args: [b]")},
        {PERMIT("match: {tools: [t]}, arguments: by_schema"), WIDE("match: {tools: ['*']}, arguments: by_schema")},
        {WHEN("{arg: a, max: 5}"), WIDE("match: {tools: ['*']}, arguments: by_schema")},
        {PERMIT("match: {tools: [t]}, only_args: [a]"), WIDE("match: {tools: [t]}, only_args: [a]")},
        {PERMIT("match: {tools: [{regex: t+}]}, only_args: [a]"), WIDE("match: {tools: [t, tt]}")},
        {PERMIT("match: {tools: [t]}"), WIDE("match: {tools: [t, u]}")}, /* says no bound */
        {FORBID("match: {tools: [t]}, when: [{arg: a, min: 5, absent: ignored}]"), WIDE("match: {tools: [t]}")},
    };
    char text[1024];

    for (size_t i = 0; i < sizeof swallowed / sizeof *swallowed; i++) {
        snprintf(text, sizeof text, HEAD "%s%s", swallowed[i][0], swallowed[i][1]);
        expect_warning(text, AT, "the permit `r` bounds nothing: `w` (p.yaml:5) permits all its calls");
    }
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++) {
        snprintf(text, sizeof text, HEAD "%s%s", narrow[i][0], narrow[i][1]);
        expect_none(text);
    }
    expect_warning(HEAD PERMIT("match: {}"), AT, "a permit without a `match` is for every tool of every server");
    expect_warning(HEAD PERMIT("when: [{arg: a, max: 5}]"), AT, "for everybody whose call meets its `when`");
    expect_none(HEAD FORBID("match: {}, when: [{arg: a, min: 5, absent: ignored}]") WIDE("match: {tools: [t]}"));
    expect_none(HEAD PERMIT("match: {methods: ['*']}"));
}

TEST_CASE(test_variables)
{
    static const char *const fires[] = {
        WHEN("{arg: a, equals: '${USER}'}"), WHEN("{arg: a, under: ['/home/${user.name}/']}"), WHEN("{any: [{arg: a, glob: 'x${A}*'}]}"),
        WHEN("{arg: a, contains: '${HOST:-x}'}"), PERMIT("match: {tools: [t], tenants: ['${T}']}"),
        WHEN("{arg: a, in: [b, '${c}']}"), FORBID("when: [{arg: a, starts_with: '${HOME}', absent: ignored}]"),
    };
    static const char *const passes[] = {
        WHEN("{arg: a, matches: 'a\\${b}'}"), WHEN("{arg: a, equals: '$USER'}"), WHEN("{arg: a, equals: '${'}"),
        WHEN("{arg: a, equals: '${}'}"), WHEN("{arg: a, equals: '${a b}'}"), WHEN("{arg: a, contains: '$ {'}"),
        PERMIT("match: {tools: [{regex: 'a\\${b}'}]}"),
    };

    for (size_t i = 0; i < sizeof fires / sizeof *fires; i++) {
        char text[512];

        snprintf(text, sizeof text, HEAD "%s", fires[i]);
        expect_warning(text, AT, "looks like a variable and stands for itself");
    }
    for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
        char text[512];

        snprintf(text, sizeof text, HEAD "%s", passes[i]);
        expect_none(text);
    }
    expect_warning("policy: p\nlists:\n  l: ['${X}']\nrules:\n  - {id: p, effect: permit, match: {methods: [protocol]}}\n"
                   "  - {id: r, effect: permit, match: {tools: [t]}, when: [{arg: a, in: {list: l}}]}\n", 3, "`${X}`");
}

/* Where a configuration has many routes, permits name theirs. */
TEST_CASE(test_everywhere)
{
    static const char text[] = HEAD PERMIT("match: {tools: [t]}") WIDE("match: {tools: [u], upstreams: ['*']}");
    struct policy_file file = {.path = SPAN_LIT("p.yaml"), .text = span_text(text)};
    struct policy *policy;
    struct faults faults;

    for (size_t routes = 0; routes < 3; routes++) {
        unsigned found = 0;

        faults_init(&faults);
        faults_init(&warnings);
        assert_int_equal(policy_compile(&file, 1, 0, &policy, &faults, &warnings), CODE_OK);
        assert_int_equal(warn_policy(policy, routes, &warnings), CODE_OK);
        for (size_t i = 0; i < warnings.count; i++)
            found += strstr(warnings.fault[i].text, "`r` names no upstreams, so that it holds on all 2 routes") != NULL;
        assert_int_equal(found, routes > 1);
        assert_int_equal(warnings.count, 1 + (routes > 1)); /* the rest: no tests, one line for a file (12.12) */
        policy_unref(&policy);
    }
}

/* 9.2 */
TEST_CASE(test_answers)
{
#define ANSWERS(rule) HEAD "answers:\n  - " rule "\n"
    expect_warning(ANSWERS("{id: r, effect: redact, when: [{value: '$..*', keys: true, matches: x}]}"), 5, "can only withhold");
    expect_warning(ANSWERS("{id: r, effect: redact, when: [{size: result, max: 5}]}"), 5, "can only withhold");
    expect_warning(ANSWERS("{id: r, effect: redact, when: [{value: x, is: number}]}"), 5, "can only withhold");
    expect_warning(ANSWERS("{id: r, effect: redact}"), 5, "can only withhold");
    expect_warning(ANSWERS("{id: r, effect: flag, match: {tools: [t], methods: [ping]}}"), 5, NEVER);
    expect_warning(ANSWERS("{id: r, effect: flag, when: [{value: x, equals: 3, is: string}]}"), 5, NEVER);
    expect_warning(ANSWERS("{id: r, effect: flag, until: 2001-01-01T00:00:00Z}"), 5, "no longer looks at answers");
    expect_warning(ANSWERS("{id: r, effect: flag, when: [{arg: x, equals: 3}]}"), 5, "this rule does not apply");
    expect_warning(ANSWERS("{id: r, effect: flag}") "tests:\n  - {name: t, call: {tool: t}, answer: {}, expect: {answer: flag, rule: s}}\n",
                   7, "the test expects the rule `s`, which does not exist");
    expect_warning(ANSWERS("{id: r, effect: flag}"), 5, "no test is decided by the rule `r`");
}

/* 12.12: a hole is told with a value that passes; nothing is told where something beside it stops that value. What fires stands
 * in tests/mistakes/holes.yaml, too. */
TEST_CASE(test_holes)
{
    static const struct { const char *rule, *said; } fires[] = {
        {WHEN("{arg: path, starts_with: /srv/data}"), "takes `/srv/data/../../etc/shadow`, by `starts_with` of `path`; write path: {under"},
        {WHEN("{arg: path, starts_with: /srv/data, not_matches: '.*[.][.].*'}"), "takes `/srv/database`"},
        {WHEN("{arg: path, starts_with: '/desk/{principal}/'}"), "write path: {under: '/desk/{principal}'}"},
        {WHEN("{any: [{arg: path, glob: '/srv/data/*'}, {arg: id, exists: true}]}"), "/srv/data/../../etc/shadow"},
        {WHEN("{arg: path, matches: '/srv/data/[a-z./]+', ignore_case: false}"), "/srv/data/../../etc/shadow"},
        {FORBID("match: {tools: [t]}, when: [{not: {arg: path, starts_with: /srv/data/, absent: applies}}]"),
         "this forbid lets `/srv/data/../../etc/shadow` pass"},
        {"  - {id: r, effect: require_approval, match: {tools: [t]}, when: [{not: {arg: to, ends_with: example.com, absent: applies}}]}\n",
         "without a person this lets `eve@evilexample.com` pass"},
        {WHEN("{arg: url, matches: '(?i)https://(www\\.)?.*example\\.com(/.*)?'}"), "https://www.evil.net/example.com/"},
        {WHEN("{arg: command, starts_with: 'git '}"), "takes `git ; rm -rf /`"},
        {WHEN("{arg: query, starts_with: SELECT, not_matches: '.*;.*'}"), "SELECT pg_read_file('/etc/passwd')"},
    };
    static const char *const quiet[] = {
        WHEN("{arg: path, starts_with: /srv/data/, not_matches: '.*\\.\\..*'}"),
        WHEN("{arg: path, starts_with: /srv/data, under: /srv/data}"),
        WHEN("{arg: path, starts_with: /srv/data, path: {under: /srv/data}}"),
        WHEN("{arg: path, starts_with: /srv/data/}, {not: {arg: path, contains: '..'}}"),
        WHEN("{arg: path, starts_with: /srv/data/}, {arg: '$..*', not_matches: '.*\\.\\..*'}"),
        WHEN("{arg: path, starts_with: /srv/data/}")
        "  - {id: no, effect: forbid, match: {tools: ['*']}, when: [{arg: '$..*', contains: ..}]}\n",
        WHEN("{arg: path, starts_with: /}"), WHEN("{arg: command, starts_with: /deploy}"), WHEN("{arg: name, starts_with: team-}"),
        WHEN("{arg: path, matches: '/srv/data/[a-z0-9_-]+\\.csv'}"), WHEN("{arg: path, glob: '{principal}-*'}"),
        WHEN("{arg: path, keys: true, starts_with: /srv/data/}"), WHEN("{arg: path, exists: true}, {arg: '$..*', free_of: hidden}"),
        FORBID("match: {tools: [t]}, when: [{arg: path, starts_with: /etc/x, absent: ignored}]"),
        WHEN("{arg: to, ends_with: '@example.com'}"), WHEN("{arg: host, ends_with: .example.com}"),
        WHEN("{arg: name, ends_with: README.md}"), WHEN("{arg: file, ends_with: report.pdf}"),
        WHEN("{arg: url, matches: 'https://[a-z]+\\.example\\.com/.*'}"), WHEN("{arg: url, matches: 'https://.*'}"),
        WHEN("{arg: url, starts_with: 'https://example.com/'}"), WHEN("{arg: url, glob: 'https://example.com/*'}"),
        WHEN("{arg: url, matches: 'https://.*\\.example\\.com/.*', url: {hosts: ['*.example.com']}}"),
        WHEN("{arg: title, starts_with: SELECT}"), WHEN("{arg: tags, contains: public}"),
        WHEN("{arg: sql, starts_with: SELECT, sql: {statements: [select], tables: [a]}}"),
    };
    char text[1024];

    for (size_t i = 0; i < sizeof fires / sizeof *fires; i++) {
        snprintf(text, sizeof text, HEAD "%s", fires[i].rule);
        expect_warning(text, AT, fires[i].said);
    }
    for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++) {
        snprintf(text, sizeof text, HEAD "%s", quiet[i]);
        expect_none(text);
    }
}

TEST_MAIN(NULL, NULL)
