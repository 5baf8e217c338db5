/* SPDX-License-Identifier: Apache-2.0 */
/* 7.2: names of upstreams and tools, held against routes and what servers listed. */
#include "language/stray.h"
#include "unit/policy/judge.h"

struct told {
    char text[4096];
    unsigned lost, count;
};

static void note(void *context, const struct policy_stray *stray)
{
    struct told *told = context;
    size_t len = strlen(told->text);

    assert_true(stray->line > 1 && stray->column > 0);
    assert_string_equal(stray->path_text, "p.yaml");
    snprintf(told->text + len, sizeof told->text - len, "%s%s\n", stray->is_lost ? "LOST " : "", stray->text);
    told->lost += stray->is_lost;
    told->count++;
}

static void look(const char *text, const struct policy_route *routes, size_t count, struct told *told)
{
    static struct faults faults;
    struct policy *policy;

    *told = (struct told){.count = 0};
    if (compile_text(text, &policy, &faults, NULL) != CODE_OK) {
        print_faults(&faults);
        fail_msg("refused:\n%s", text);
    }
    policy_strays(policy, routes, count, note, told);
    policy_unref(&policy);
}

#define RULE(effect, match) "policy: p\nrules:\n  - {id: r, effect: " effect ", match: {" match "}}\n"

TEST_CASE(test_upstreams)
{
    static const struct policy_route routes[] = {{.name = "shop"}, {.name = "dojo-a*"}, {.name = "mail"}};
    static const struct {
        const char *text, *said; /* NULL: nothing */
        bool is_lost;
    } rows[] = {
        {RULE("forbid", "upstreams: [shop, dojo-a, dojo-abc, 's*', '*', 'dojo-*', '*a*', {regex: sho}, {regex: anything}]"), NULL, false},
        {RULE("forbid", "upstreams: [shpo]"), "the forbid `r` names the upstream `shpo`, which no route has, and does nothing there; "
         "did you mean `shop`?", true},
        {RULE("require_approval", "upstreams: [shop, zzz]"), "there are `shop`, `dojo-a*` and `mail`", true},
        {RULE("permit", "upstreams: [Shop]"), "the permit `r` names the upstream `Shop`", false},
        {RULE("forbid", "upstreams: ['mail-*']"), "names upstreams by the glob `mail-*`, which no route has", true},
        {RULE("forbid", "upstreams: [dojo-b]"), "the upstream `dojo-b`", true},
        {RULE("forbid", "upstreams: [dojo]"), "the upstream `dojo`", true},
        {RULE("forbid", "upstreams: ['{slug}']"), "the upstream `{slug}`", true},
        {"policy: p\nmode: monitor\nrules:\n  - {id: r, effect: forbid, match: {upstreams: [x]}}\n", "the upstream `x`", false},
        {"policy: p\nredact:\n  - {match: {upstreams: [x]}, args: [password]}\n", "a redaction names the upstream `x`", true},
        {"policy: p\nrules:\n  - {id: r, effect: permit, when: [{not: {session: {called: [a], upstreams: [shpo], within: 1min}}}]}\n",
         "the permit `r` names the upstream `shpo`", true},
        {"policy: p\nanswers:\n  - {id: a, effect: withhold, match: {upstreams: [shpo]}}\n", "the withhold `a` names the "
         "upstream `shpo`, which no route has, and does nothing there; did you mean `shop`?", true},
        {"policy: p\nanswers:\n  - {id: a, effect: flag, match: {upstreams: [shop]}, when: [{session: {called: [b], upstreams: [mali], "
         "within: 1min}}]}\n", "the flag `a` names the upstream `mali`", true},
    };
    struct told told;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        look(rows[i].text, routes, 3, &told);
        if (rows[i].said == NULL ? told.count > 0 : told.count != 1 || strstr(told.text, rows[i].said) == NULL ||
                                                        (told.lost > 0) != rows[i].is_lost)
            fail_msg("%s\nsaid:\n%s", rows[i].text, told.text);
        look(rows[i].text, NULL, 0, &told); /* nothing is known */
        assert_int_equal(told.count, 0);
    }
    look(RULE("forbid", "upstreams: [{regex: '^zzz$'}, {regex: 'dojo', anchor: whole}, {regex: 'dojo-b.*', anchor: whole}, "
              "{regex: '^dojob'}]"), routes, 3, &told); /* slugs begin otherwise; `dojo` is the beginning of some */
    assert_int_equal(told.lost, 3);
    look(RULE("forbid", "upstreams: [{regex: 'dojo-ab', anchor: whole}, {regex: '^dojo-a[b-z]$'}, {regex: zzz}, {regex: 'zzz$'}]"),
         routes, 3, &told);
    assert_int_equal(told.lost, 0);
    look(RULE("forbid", "upstreams: [{regex: zzz}]"), routes, 1, &told); /* of names alone a regex is asked */
    assert_true(told.lost == 1 && strstr(told.text, "; there is `shop`") != NULL);
    assert_true(policy_route_exists(routes, 3, SPAN_LIT("dojo-abc")) && !policy_route_exists(routes, 3, SPAN_LIT("dojo")));
}

TEST_CASE(test_tools)
{
    static const char *const of_shop[] = {"search_products", "get_product", NULL}, *const of_mail[] = {"send_mail", NULL};
    static const struct policy_route routes[] = {
        {.name = "shop", .tools = of_shop}, {.name = "mail", .tools = of_mail}, {.name = "new"}};
    static const struct {
        const char *text, *said;
    } rows[] = {
        {RULE("forbid", "upstreams: [shop], tools: [search_products, 'get_*', {regex: product}]"), NULL},
        {RULE("forbid", "upstreams: [shop], tools: [search_product]"), "the forbid `r` names the tool `search_product`, which no server "
         "of its upstreams has listed lately; did you mean `search_products`?"},
        {RULE("permit", "upstreams: [mail], tools: [search_products]"), "listed were `send_mail`"},
        {RULE("permit", "upstreams: [shop, mail], tools: [send_mail, get_product, 'x*']"), "the tool `x*`"},
        {RULE("forbid", "upstreams: [shop, new], tools: [nope]"), NULL}, /* what `new` has is not known */
        {RULE("forbid", "tools: [nope]"), NULL},
    };
    struct told told;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        look(rows[i].text, routes, 3, &told);
        if (rows[i].said == NULL ? told.count > 0 : told.count != 1 || strstr(told.text, rows[i].said) == NULL || told.lost > 0)
            fail_msg("%s\nsaid:\n%s", rows[i].text, told.text);
    }
}

/* 12.12: arguments, held against the definitions of all tools that a rule names. */
TEST_CASE(test_arguments)
{
    static const char *const tools[] = {"search", "get", "other", NULL}, *const of_search[] = {"query", "limit", NULL},
                      *const of_get[] = {"id", NULL}, *const *const args[] = {of_search, of_get, NULL};
    static const struct policy_route routes[] = {{.name = "shop", .tools = tools, .args = args}, {.name = "new"}};
#define ASKS(match, when) "policy: p\nrules:\n  - {id: r, effect: forbid, match: {" match "}, when: [" when "]}\n"
    static const struct {
        const char *text, *said;
    } rows[] = {
        {ASKS("upstreams: [shop], tools: [search]", "{arg: query, contains: a}, {not: {arg: [limit, '$..*'], max: 5}}"), NULL},
        {ASKS("upstreams: [shop], tools: [search]", "{any: [{arg: qeury, contains: a}, {arg: $.limit.x, max: 5}]}"), "the forbid `r` asks "
         "about the argument `qeury`, which no stored definition of its tools has; did you mean `query`?"},
        {ASKS("upstreams: [shop], tools: [search, 'g*']", "{arg: id, contains: a}"), NULL},
        {ASKS("upstreams: [shop], tools: [get]", "{arg: query, contains: a}"), "; they have `id`"},
        {ASKS("upstreams: [shop], tools: ['*']", "{arg: nope, contains: a}"), NULL}, /* of `other` nothing is known */
        {ASKS("upstreams: [shop, new], tools: [get]", "{arg: nope, contains: a}"), NULL},
        {ASKS("upstreams: [shop]", "{arg: nope, contains: a}"), NULL},
        {ASKS("upstreams: [shop], tools: [get]", "{meta: nope, contains: a}, {param: nope, contains: a}"), NULL},
    };
    struct told told;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        look(rows[i].text, routes, 2, &told);
        if (rows[i].said == NULL ? told.count > 0 : told.count != 1 || strstr(told.text, rows[i].said) == NULL || told.lost > 0)
            fail_msg("%s\nsaid:\n%s", rows[i].text, told.text);
    }
}

TEST_MAIN(NULL, NULL)
