/* SPDX-License-Identifier: Apache-2.0 */
/* 2.4: what a change does, in words and in calls that flip. */
#include "diff/diff.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "unit/policy/judge.h"

#define HEAD "policy: p\npatterns: {dot: 'a.c'}\nlists: {l: [x, y]}\nrules:\n"
#define RULE(effect, more) HEAD "  - {id: r, effect: " effect ", " more "}\n"
#define PERMIT(more) RULE("permit", "match: {tools: [t]}, " more)
#define FORBID(more) "policy: p\nrules:\n  - {id: all, effect: permit, match: {tools: ['*']}}\n  - {id: r, effect: forbid, " more "}\n"
#define LEAK(more) FORBID("match: {tools: [t]}, when: [{arg: '$..*', contains: abcdefgh" more "}]")
#define HOLD(more) "policy: p\nrules:\n  - {id: all, effect: permit, match: {tools: ['*']}}\n" \
    "  - {id: r, effect: require_approval, " more "}\n"

static struct policy *compile(const char *text)
{
    static struct faults faults;
    struct policy *policy;

    if (compile_text(text, &policy, &faults, NULL) != CODE_OK) {
        print_faults(&faults);
        fail_msg("refused:\n%s", text);
    }
    return policy;
}

static struct diff *compare(const char *before, const char *after)
{
    struct policy *first = compile(before), *second = compile(after);
    struct diff *diff;

    assert_int_equal(diff_new(first, second, &diff), CODE_OK);
    policy_unref(&first);
    policy_unref(&second);
    return diff;
}

static void show(const struct diff *diff)
{
    for (size_t i = 0; i < diff->change_count; i++)
        print_error("%s: %.*s %.*s [%d]\n", diff_way_text(diff->changes[i].way), SPAN_ARG(diff->changes[i].rule),
                    SPAN_ARG(diff->changes[i].text), (int)diff->changes[i].probes);
    for (size_t i = 0; i < diff->flip_count; i++)
        print_error("%d: %s by %.*s -> %s by %.*s: %.*s\n", (int)diff->flips[i].calls, verdict_text(diff->flips[i].before.kind),
                    SPAN_ARG(diff->flips[i].before.rule), verdict_text(diff->flips[i].after.kind),
                    SPAN_ARG(diff->flips[i].after.rule), SPAN_ARG(diff->flips[i].example));
}

#define SQL(functions) PERMIT("when: [{arg: n, sql: {statements: [select], functions: " functions "}}]")
#define PATH(more) PERMIT("when: [{arg: n, path: {under: /srv" more "}}]")

struct row {
    const char *before, *after;
    enum diff_way way;
    const char *text;
    bool flips; /* some call shows it */
};

static const struct row rows[] = {
    /* 7.4: the calls that are tried are of somebody */
    {PERMIT("when: [{arg: n, under: '/h/{principal}'}]"), PERMIT("when: [{arg: n, under: '/srv/{principal}'}]"),
     DIFF_EITHER, "under '/srv/{principal}'", true},
    {PERMIT("when: [{arg: n, equals: '{tenant}'}]"), PERMIT("when: [{arg: n, in: ['{tenant}', '{principal}-1']}]"),
     DIFF_EITHER, "{principal}-1", true},
    /* 12.3, 12.2: each word of a path keeps some call out; a text in two */
    {PATH(""), PATH(", not_under: /srv/keys"), DIFF_EITHER, "not_under", true},
    {PATH(", below: 1+"), PATH(""), DIFF_EITHER, "below", true},
    {PATH(", hidden: any"), PATH(", hidden: [.a]"), DIFF_EITHER, "hidden", true},
    {PATH(""), PATH(", endings: .c"), DIFF_EITHER, "endings", true},
    {PATH(", names: [a, b]"), PATH(", names: [a]"), DIFF_EITHER, "names", true}, {SQL("[a]"), SQL("[a, b]"), DIFF_EITHER, "b]", true},
    {PATH(", none_of: '*b*'"), PATH(""), DIFF_EITHER, "none_of", true},
    {PATH(""), PATH(", letters: plain"), DIFF_EITHER, "letters", true}, {PATH(""), PATH(", without: ':'"), DIFF_EITHER, "without", true},
    {PERMIT("when: [{arg: n, url: {hosts: [h], path: {under: /a}}}]"), PERMIT("when: [{arg: n, url: {hosts: [h], path: {under: /b}}}]"),
     DIFF_EITHER, "/b", true},
    {PERMIT("when: [{arg: n, url: {hosts: [h]}}]"), PERMIT("when: [{arg: n, url: {hosts: [h], query: none}}]"), DIFF_EITHER, "query", true},
    {PERMIT("when: [{arg: n, cut: ':', front: {max_length: 1}}]"), PERMIT("when: [{arg: n, cut: ':', front: {equals: b}}]"),
     DIFF_EITHER, "front", true},
    /* 9.1: what only a reading has, or two values together */
    {LEAK(""), LEAK(", decode: [base64_inside]"), DIFF_EITHER, "decode", true},
    {LEAK(", decode: [hex]"), LEAK(""), DIFF_EITHER, "decode", true},
    {LEAK(""), LEAK(", joined: true"), DIFF_EITHER, "joined", true},
    /* 7.4: a rule that ends later, earlier, or at all, and other dates */
    {PERMIT("until: 2026-12-31T18:00:00Z"), PERMIT("until: {zone: UTC, at: 2026-12-31}"), DIFF_PERMITS, "`until` is now ", true},
    {PERMIT("until: 2026-12-31T18:00:00Z"), PERMIT("until: 2026-12-31T17:00:00Z"), DIFF_DENIES, "it was ", true},
    {FORBID("until: 2026-12-31T18:00:00Z"), FORBID("until: 2026-12-31T17:00:00Z"), DIFF_PERMITS, "`until` is now ", true},
    {PERMIT("when: [{arg: n, max: 5}]"), PERMIT("when: [{arg: n, max: 5}], until: 2027-01-01T00:00:00Z"), DIFF_DENIES, "`until`", true},
    {PERMIT("when: [{during: {zone: UTC, dates: [2026-12-24]}}]"), PERMIT("when: [{during: {zone: UTC, dates: [2026-12-25]}}]"),
     DIFF_EITHER, "2026-12-25", true},
    /* bounds and conditions */
    {PERMIT("when: [{arg: n, max: 5}]"), PERMIT("when: [{arg: n, max: 7}]"), DIFF_PERMITS, "asks `n`: max 7; it asked `n`: max 5", true},
    {PERMIT("when: [{arg: n, max: 7}]"), PERMIT("when: [{arg: n, max: 5}]"), DIFF_DENIES, "asks `n`: max 5; it asked `n`: max 7", true},
    {PERMIT("when: [{arg: n, min: 5}]"), PERMIT("when: [{arg: n, min: 4.5}]"), DIFF_PERMITS, "min 4.5", true},
    {PERMIT("when: [{arg: n, max_length: 5}]"), PERMIT("when: [{max_length: 4, arg: n}]"), DIFF_DENIES, "max_length 4", true},
    {PERMIT("when: [{arg: n, max: 5}]"), PERMIT("when: [{arg: n, max: 5}, {arg: m, is: string}]"),
     DIFF_DENIES, "also asks `m`: is string", true},
    {PERMIT("when: [{arg: n, max: 5}]"), RULE("permit", "match: {tools: [t]}"), DIFF_PERMITS, "no longer asks `n`: max 5", true},
    {PERMIT("when: [{arg: n, in: [a, b]}]"), PERMIT("when: [{arg: n, in: [b, c]}]"), DIFF_EITHER, "asks `n`: in [b, c]; it asked", true},
    {PERMIT("when: [{arg: n, matches: {pattern: dot}}]"), "policy: p\npatterns: {dot: 'a\\.c'}\nrules:\n  - {id: r, effect: permit, "
     "match: {tools: [t]}, when: [{arg: n, matches: {pattern: dot}}]}\n",
     DIFF_EITHER, "by the pattern `dot`, which is 'a\\.c' and was a.c", true},
    {PERMIT("when: [{arg: n, in: {list: l}}]"), "policy: p\nlists: {l: [x, y, z]}\nrules:\n  - {id: r, effect: permit, "
     "match: {tools: [t]}, when: [{arg: n, in: {list: l}}]}\n", DIFF_PERMITS, "by the list `l`, which is [x, y, z] and was [x, y]", true},
    {PERMIT("when: [{any: [{arg: a, equals: 1}, {not: {arg: b, exists: true}}]}]"), PERMIT("when: [{any: [{arg: a, equals: 1}]}]"),
     DIFF_DENIES, "asks any of (`a`: equals 1); it asked any of (`a`: equals 1; not `b`: exists true)", true}, /* 7.5 */
    {PERMIT("when: [{arg: n, in: [a, b, c]}]"), PERMIT("when: [{arg: n, in: [c, a]}]"), DIFF_DENIES, "asks `n`: in [c, a]; it asked", true},
    {PERMIT("when: [{any: [{arg: n, in: {list: l}}]}]"), "policy: p\nlists: {l: [x, y, z]}\nrules:\n  - {id: r, effect: permit, "
     "match: {tools: [t]}, when: [{any: [{arg: n, in: {list: l}}]}]}\n", DIFF_EITHER, "by the list `l`", true},
    /* names */
    {RULE("permit", "match: {tools: [t]}"), RULE("permit", "match: {tools: [t, u, v]}"), DIFF_PERMITS, "match.tools also takes u, v", true},
    {RULE("permit", "match: {tools: [t]}"), RULE("permit", "match: {tools: [t, {regex: 'l_[a-z]'}]}"), DIFF_PERMITS, "l_[a-z]", true},
    {RULE("permit", "match: {tools: [t, u]}"), RULE("permit", "match: {tools: [u]}"), DIFF_DENIES, "match.tools no longer takes t", true},
    {RULE("permit", "match: {tools: [t]}"), RULE("permit", "match: {tools: [t], tenants: [acme]}"),
     DIFF_DENIES, "match.tenants is now [acme]", true},
    {RULE("permit", "match: {tools: [t], tenants: [acme]}"), RULE("permit", "match: {tools: [t]}"),
     DIFF_PERMITS, "match.tenants is left out; it was [acme]", true},
    {PERMIT("only_args: [a]"), PERMIT("only_args: [a, b]"), DIFF_PERMITS, "only_args also takes b", true},
    {RULE("permit", "match: {tools: [t]}"), PERMIT("arguments: by_schema"), DIFF_DENIES, "`arguments` is now by_schema", true}, /* 9.3 */
    {PERMIT("arguments: by_schema"), RULE("permit", "match: {tools: [t]}"), DIFF_PERMITS, "`arguments` is left out; it was by_schema",
     true},
    {PERMIT("only_args: [a]"), RULE("permit", "match: {tools: [t]}"), DIFF_PERMITS, "only_args is left out; it was [a]", true},
    /* 8.4: who asks */
    {RULE("permit", "match: {tools: [t], groups: [a]}"), RULE("permit", "match: {tools: [t], groups: [a, 'b*']}"), DIFF_PERMITS,
     "match.groups also takes 'b*'", true},
    {RULE("permit", "match: {tools: [t]}"), RULE("permit", "match: {tools: [t], scopes: [a]}"), DIFF_DENIES,
     "match.scopes is now [a]", true},
    {RULE("permit", "match: {tools: [t], scopes: [a]}"), RULE("permit", "match: {tools: [t], groups: [a]}"), DIFF_DENIES,
     "match.groups is now [a]", true},
    {FORBID("match: {groups: ['*']}"), FORBID("match: {groups: [x]}"), DIFF_PERMITS, "no longer takes '*'", true},
    {PERMIT("when: [{claim: n, max: 5}]"), PERMIT("when: [{claim: n, max: 7}]"), DIFF_PERMITS, "claim n, max 7", true},
    {PERMIT("when: [{claim: '$.a.b[*]', in: [x, y]}, {claim: c, equals: 1}]"),
     PERMIT("when: [{claim: '$.a.b[*]', in: [x]}, {claim: c, equals: 1}]"), DIFF_DENIES, "in [x]", true},
    {PERMIT("when: [{arg: n, max: 5}]"), PERMIT("when: [{claim: n, max: 5}]"), DIFF_DENIES, "also asks {claim n, max 5}", true},
    /* nature */
    {RULE("permit", "match: {tools: [t]}"), RULE("forbid", "match: {tools: [t]}"), DIFF_DENIES, "is a forbid, was a permit", true},
    {RULE("permit", "match: {tools: [t]}"), RULE("permit", "match: {tools: [t]}, mode: monitor"),
     DIFF_DENIES, "is only monitored, was enforced", true},
    {RULE("permit", "match: {tools: [t]}"), RULE("permit", "match: {tools: [t]}, limit: {calls: 5, per: minute, by: [tenant]}"),
     DIFF_DENIES, "`limit` is now {calls 5, per minute, by [tenant]}", false},
    {RULE("permit", "limit: {calls: 5, per: minute}"), RULE("permit", "limit: {calls: 9, per: minute}"), DIFF_PERMITS,
     "`limit` is now {calls 9, per minute}; it was {calls 5, per minute}", false},
    {RULE("permit", "limit: {calls: 5, per: minute}"), RULE("permit", "limit: {calls: 9, per: hour}"), DIFF_EITHER, "per hour", false},
    /* 12.7 */
    {RULE("permit", "match: {tools: [t]}, limit: {distinct: {arg: a, most: 5}, per: hour}"),
     RULE("permit", "match: {tools: [t]}, limit: {distinct: {arg: a, most: 9}, per: hour}"), DIFF_PERMITS, "most 9", false},
    {RULE("permit", "match: {tools: [t]}, limit: {distinct: {arg: a, most: 9}, per: hour}"),
     RULE("permit", "match: {tools: [t]}, limit: {distinct: {arg: a, most: 5}, per: hour}"), DIFF_DENIES, "most 5", false},
    {RULE("permit", "match: {tools: [t]}, limit: {distinct: {arg: a, most: 5}, per: hour}"),
     RULE("permit", "match: {tools: [t]}, limit: {distinct: {arg: b, most: 5}, per: hour}"), DIFF_EITHER, "distinct `b`", false},
    {RULE("permit", "match: {tools: [t]}, say: a"), RULE("permit", "match: {tools: [t]}, say: b"),
     DIFF_NOTHING, "`say` is now b; it was a", false},
    /* what closes goes the other way */
    {FORBID("when: [{arg: n, min: 5, absent: ignored}]"), FORBID("when: [{arg: n, min: 4, absent: ignored}]"), DIFF_DENIES, "min 4", true},
    {FORBID("when: [{arg: n, min: 5, absent: ignored}]"),
     FORBID("when: [{arg: n, min: 5, absent: ignored}, {arg: m, equals: 1, absent: ignored}]"),
     DIFF_PERMITS, "also asks `m`: equals 1", true},
    {FORBID("match: {tools: [a]}"), FORBID("match: {tools: [a, b]}"), DIFF_DENIES, "also takes b", true},
    {FORBID("match: {tools: [a]}"), FORBID("match: {tools: [a]}, mode: monitor"), DIFF_PERMITS, "only monitored", true},
    {HOLD("approvers: self"), HOLD("approvers: {groups: [x]}"), DIFF_EITHER, "`approvers` is now", false}, /* 12.8 */
    {HOLD("match: {tools: [a]}"), HOLD("match: {tools: [a, b]}"), DIFF_HOLDS, "also takes b", true},
    {HOLD("match: {tools: [a, b]}"), HOLD("match: {tools: [a]}"), DIFF_RELEASES, "no longer takes b", true},
    {HOLD("match: {tools: [a]}"), "policy: p\nrules:\n  - {id: all, effect: permit, match: {tools: ['*']}}\n"
     "  - {id: r, effect: permit, match: {tools: [a]}}\n", DIFF_RELEASES, "is a permit, was a require_approval", true},
    {RULE("permit", "match: {tenants: [a]}"), RULE("permit", "match: {tenants: [a], prompts: [b]}"), DIFF_EITHER,
     "match.prompts is now [b]", true},
    {FORBID("when: [{arg: a, exists: true}]"), HOLD("when: [{arg: a, exists: true}]"),
     DIFF_HOLDS, "is a require_approval, was a forbid", true},
    /* whole rules */
    {"policy: p\n", RULE("permit", "match: {tools: [t]}, when: [{arg: n, max: 5}], only_args: [n]"), DIFF_PERMITS,
     "is new: for tools [t] where `n`: max 5, only_args [n]", true},
    {RULE("permit", ""), "policy: p\n", DIFF_DENIES, "is gone: for all calls", true},
    {"policy: p\n", RULE("forbid", "match: {tools: [t]}, mode: monitor"), DIFF_NOTHING, "is new (only monitored)", false},
    {"policy: p\n", "policy: p\nredact: [{match: {tools: [login]}, args: [password]}]\n", DIFF_NOTHING,
     "also redacts in the audit: match tools [login], args [password]", false},
};

static void check_row(const struct row *row)
{
    struct diff *diff = compare(row->before, row->after);
    const struct diff_change *found = NULL;
    char text[512];

    for (size_t i = 0; i < diff->change_count && found == NULL; i++) {
        snprintf(text, sizeof text, "%.*s", SPAN_ARG(diff->changes[i].text));
        if (diff->changes[i].way == row->way && strstr(text, row->text) != NULL)
            found = &diff->changes[i];
    }
    if (found == NULL || (row->flips && found->probes == 0) || (!row->flips && diff->flipped > 0)) {
        show(diff);
        fail_msg("wanted %s: %s%s from\n%s\nto\n%s", diff_way_text(row->way), row->text, row->flips ? " [flips]" : "", row->before,
                 row->after);
    }
    diff_free(&diff);
}

TEST_CASE(test_words)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_row(&rows[i]);
}

/* 4.21: of the names in one condition those are told that stand for something else now, and no others. */
TEST_CASE(test_definitions)
{
#define BOTH "rules: [{id: r, effect: permit, when: [{any: [{arg: a, in: {list: l}}, {arg: b, matches: {pattern: dot}}]}]}]\n"
    struct diff *diff = compare("policy: p\npatterns: {dot: 'a.c'}\nlists: {l: [x, y]}\n" BOTH,
                                "policy: p\npatterns: {dot: 'a.c'}\nlists: {l: [x, y, z]}\n" BOTH);

    if (diff->change_count != 1)
        show(diff);
    assert_int_equal(diff->change_count, 1);
    assert_true(span_starts_with(diff->changes[0].text, SPAN_LIT("asks by the list `l`, which is [x, y, z] and was [x, y]")));
    diff_free(&diff);
#undef BOTH
}

/* 9.4: what a label stands for, in `match` and of the calls before; calls of the label are tried. */
TEST_CASE(test_labels)
{
#define LABELLED "rules:\n  - {id: all, effect: permit, match: {tools: ['*']}}\n" \
    "  - {id: r, effect: forbid, match: {labels: [out]}}\n" \
    "  - {id: s, effect: require_approval, match: {tools: [pay]}, when: [{session: {label: [in, out]}}]}\n"
    struct diff *diff = compare("policy: p\nlabels: {in: [read], out: [send]}\n" LABELLED,
                                "policy: p\nlabels: {in: [read], out: [send, {upstreams: [web], tools: [post]}]}\n" LABELLED);

    if (diff->change_count != 2 || diff->flip_count != 1)
        show(diff);
    assert_int_equal(diff->change_count, 2);
    for (size_t i = 0; i < 2; i++)
        assert_true(span_starts_with(diff->changes[i].text, SPAN_LIT("asks by the label `out`, which is [send, {upstreams [web], "
                                                                     "tools [post]}] and was [send]")));
    assert_int_equal(diff->flip_count, 1); /* post of web, permitted before */
    diff_free(&diff);
    diff = compare("policy: p\nlabels: {in: [read], out: [send]}\n" LABELLED, "policy: p\nlabels: {out: [send], in: [read]}\n" LABELLED);
    assert_int_equal(diff->change_count + diff->flip_count, 0);
    diff_free(&diff);
#undef LABELLED
}

/* 7.5: what changed is said once, each change with the calls that it alone, or it too, made flip. */
struct counted {
    const char *text;
    enum diff_way way;
    bool flips, alone; /* alone: fewer calls than all that flip */
};

static void expect_changes(const char *before, const char *after, const struct counted *wanted, size_t count)
{
    struct diff *diff = compare(before, after);

    for (size_t i = 0; i < count; i++) {
        const struct diff_change *found = NULL;
        char text[512];

        for (size_t j = 0; j < diff->change_count; j++) {
            snprintf(text, sizeof text, "%.*s", SPAN_ARG(diff->changes[j].text));
            if (strcmp(text, wanted[i].text) == 0 && diff->changes[j].way == wanted[i].way)
                found = &diff->changes[j];
        }
        if (found == NULL || (found->probes > 0) != wanted[i].flips || (wanted[i].alone && found->probes >= diff->flipped)) {
            show(diff);
            fail_msg("wanted %s: %s from\n%s\nto\n%s", diff_way_text(wanted[i].way), wanted[i].text, before, after);
        }
    }
    if (diff->change_count != count) {
        show(diff);
        fail_msg("more than %zu changes from\n%s\nto\n%s", count, before, after);
    }
    diff_free(&diff);
}

#define EXPECT(before, after, ...) \
    expect_changes(before, after, (const struct counted[]){__VA_ARGS__}, \
                   sizeof (const struct counted[]){__VA_ARGS__} / sizeof(struct counted))
#define TESTS(...) "tests:\n  - {name: t, call: {tool: t, arguments: {n: 6}}, expect: {verdict: permit}" __VA_ARGS__ "}\n"

TEST_CASE(test_several)
{
    /* two bounds of one argument, in entries of their own */
    EXPECT(PERMIT("when: [{arg: n, min: 2}, {arg: n, max: 5}]"), PERMIT("when: [{arg: n, min: 1}, {arg: n, max: 6}]"),
           {"asks `n`: min 1; it asked `n`: min 2", DIFF_PERMITS, true, true},
           {"asks `n`: max 6; it asked `n`: max 5", DIFF_PERMITS, true, true});
    /* an end, which made no call flip that comes before it */
    EXPECT(RULE("permit", "match: {tools: [t]}, until: 2101-01-01T00:00:00Z"),
           RULE("permit", "match: {tools: [t, u]}, until: 2101-02-01T00:00:00Z"),
           {"`until` is now '2101-02-01T00:00:00Z'; it was '2101-01-01T00:00:00Z'", DIFF_PERMITS, true, true},
           {"match.tools also takes u", DIFF_PERMITS, true, true});
    /* in one entry, all one way; or both ways */
    EXPECT(PERMIT("when: [{arg: n, min: 2, max: 5}]"), PERMIT("when: [{arg: n, min: 1, max: 6}]"),
           {"asks `n`: min 1, max 6; it asked `n`: min 2, max 5", DIFF_PERMITS, true, false});
    EXPECT(PERMIT("when: [{arg: n, min: 2, max: 5}]"), PERMIT("when: [{arg: n, min: 1, max: 4}]"),
           {"asks `n`: min 1, max 4; it asked `n`: min 2, max 5", DIFF_EITHER, true, false});
    EXPECT(PERMIT("when: [{arg: n, is: integer, max: 5}]"), PERMIT("when: [{arg: n, max: 5}]"),
           {"asks `n`: max 5; it asked `n`: is integer, max 5", DIFF_PERMITS, true, false});
    /* one is gone, another of the same argument changed */
    EXPECT(PERMIT("when: [{arg: n, is: integer}, {arg: n, max: 5}]"), PERMIT("when: [{arg: n, max: 7}]"),
           {"no longer asks `n`: is integer", DIFF_PERMITS, true, true},
           {"asks `n`: max 7; it asked `n`: max 5", DIFF_PERMITS, true, true});
    /* each of several changes has its own calls: a bound that widens, a tool that is gone, one that came */
    EXPECT(RULE("permit", "match: {tools: [t, u]}, when: [{arg: n, max: 5}]"),
           RULE("permit", "match: {tools: [t, v]}, when: [{arg: n, max: 7}]"),
           {"asks `n`: max 7; it asked `n`: max 5", DIFF_PERMITS, true, true},
           {"match.tools also takes v", DIFF_PERMITS, true, true}, {"match.tools no longer takes u", DIFF_DENIES, true, true});
    EXPECT(RULE("permit", "match: {tools: [t]}, only_args: [n], when: [{arg: n, max: 5}]"),
           RULE("permit", "match: {tools: [t]}, only_args: [n, m], when: [{arg: n, max: 4}]"),
           {"asks `n`: max 4; it asked `n`: max 5", DIFF_DENIES, true, true}, {"only_args also takes m", DIFF_PERMITS, true, true});
    /* what a new forbid denies is not counted with a permit that says something else in other places */
    EXPECT("policy: p\nrules:\n  - {id: a, effect: permit, match: {tools: [t, u]}, when: [{arg: n, max: 5}]}\n",
           "policy: p\nrules:\n  - {id: a, effect: permit, match: {tools: [t, u]}, when: [{arg: n, max: 7}]}\n"
           "  - {id: f, effect: forbid, match: {tools: [u]}}\n",
           {"asks `n`: max 7; it asked `n`: max 5", DIFF_PERMITS, true, true}, {"is new: for tools [u]", DIFF_DENIES, true, true});
    /* a member of a group */
    EXPECT(PERMIT("when: [{any: [{arg: a, equals: 1}, {arg: b, equals: 2}]}]"),
           PERMIT("when: [{any: [{arg: a, equals: 1}, {arg: b, equals: 3}]}]"),
           {"asks any of (`a`: equals 1; `b`: equals 3); it asked any of (`a`: equals 1; `b`: equals 2)", DIFF_EITHER, true, false});
    EXPECT(PERMIT("when: [{during: {days: [mon], zone: UTC}}]"), PERMIT("when: [{during: {days: [mon, wed], zone: UTC}}]"),
           {"asks during {days [mon, wed], zone UTC}; it asked during {days [mon], zone UTC}", DIFF_EITHER, true, false});
}

/* What several rules have in common is told once, and what has another name only is no new rule. */
TEST_CASE(test_shared)
{
#define FORMS "rules:\n  - {id: a, effect: permit, match: {tools: [t]}, when: [{arg: x, words: {forms: ['ls [-{l}] F']}}]}\n"
#define NAMED "rules:\n  - {id: a, effect: permit, match: {tools: [t]}, when: [{arg: x, path: src}]}\n"
#define KEPT_OUT "rules:\n  - {id: a, effect: permit, match: {tools: [t]}, when: [{arg: x, path: {under: /srv, none_of: bad}}]}\n"
#define TWO "rules:\n  - {id: a, effect: permit, match: {tools: [a]}, when: [{arg: x, matches: {pattern: w}}, " \
    "{arg: y, matches: {pattern: w}}]}\n" \
    "  - {id: b, effect: permit, match: {tools: [b]}, when: [{arg: x, matches: {pattern: w}}]}\n" \
    "  - {id: f, effect: forbid, match: {tools: [f]}, when: [{arg: x, matches: {pattern: w}, absent: ignored}]}\n"
    struct diff *diff = compare("policy: p\npatterns: {w: 'aa'}\n" TWO, "policy: p\npatterns: {w: 'ab'}\n" TWO);
    struct span also;

    if (diff->change_count != 2)
        show(diff);
    assert_int_equal(diff->change_count, 2); /* of the permits, and of the forbid */
    assert_true(span_is(diff->changes[0].rule, "a"));
    also = diff_also(&diff->changes[0], diff->changes[0].rule);
    assert_true(span_is(also, "b"));
    assert_null(diff_also(&diff->changes[0], also).at);
    assert_true(diff->changes[0].probes > 0);
    diff_free(&diff);
    /* 12.4: what the capital words of forms stand for, of which the rule says nothing but in texts */
    diff = compare("policy: p\nkinds: {F: {glob: 'a*'}}\n" FORMS, "policy: p\nkinds: {F: {glob: '*'}}\n" FORMS);
    assert_int_equal(diff->change_count, 1);
    assert_true(diff->changes[0].probes > 0);
    diff_free(&diff);
    /* a value of that name is none, wherever it stands */
    diff = compare("policy: p\nkinds: {F: {equals: {words: {a: 1}}}}\n" FORMS, "policy: p\nkinds: {F: {equals: {words: {a: 2}}}}\n" FORMS);
    assert_int_equal(diff->change_count, 1);
    diff_free(&diff);
    /* 12.3: where files may lie, and what keeps them out, by name */
    EXPECT("policy: p\npaths: {src: {under: /srv/data}}\n" NAMED, "policy: p\npaths: {src: {under: /srv}}\n" NAMED,
           {"asks by the path `src`, which is under /srv and was under /srv/data", DIFF_EITHER, true, false});
    EXPECT("policy: p\ndetectors: {bad: {pattern: 'key', finds: [key]}}\n" KEPT_OUT,
           "policy: p\ndetectors: {bad: {pattern: 'ke', finds: [key]}}\n" KEPT_OUT,
           {"asks by the detector `bad`, which is {pattern ke, finds [key]} and was {pattern key, finds [key]}", DIFF_EITHER,
            false, false});
    EXPECT(RULE("permit", "match: {tools: [t]}"), HEAD "  - {id: s, effect: permit, match: {tools: [t]}}\n",
           {"was named `r`", DIFF_NOTHING, false, false});
    EXPECT("policy: p\nrules:\n  - {id: a, effect: permit, match: {tools: [a]}}\n  - {id: b, effect: permit, match: {tools: [b]}}\n",
           "policy: q\nrules:\n  - {id: a, effect: permit, match: {tools: [a]}}\n  - {id: b, effect: permit, match: {tools: [b]}}\n",
           {"stands in the policy `q`, stood in `p`", DIFF_NOTHING, false, false});
    EXPECT("policy: p\nredact: [{match: {tools: [login]}, args: [password]}]\n",
           "policy: p\nredact: [{match: {tools: [login]}, args: [password, pin]}]\n",
           {"the policy `p` now redacts in the audit: match tools [login], args [password, pin]; it was args [password]",
            DIFF_NOTHING, false, false});
}

/* Tests of one call with another past are different calls. */
TEST_CASE(test_past)
{
#define LIMIT(calls) RULE("permit", "match: {tools: [t]}, limit: {calls: " calls ", per: minute}") \
    "tests:\n  - {name: first, call: {tool: t}, expect: {verdict: permit}}\n" \
    "  - {name: sixth, call: {tool: t, spent: {r: 5}}, expect: {verdict: permit}}\n"
    EXPECT(LIMIT("5"), LIMIT("9"), {"`limit` is now {calls 9, per minute}; it was {calls 5, per minute}", DIFF_PERMITS, true, false});
    EXPECT(RULE("permit", "match: {tools: [t]}, when: [{arg: n, max: 5}], limit: {calls: 5, per: minute}") TESTS(),
           RULE("permit", "match: {tools: [t]}, when: [{arg: n, max: 7}], limit: {calls: 6, per: minute}") TESTS(),
           {"asks `n`: max 7; it asked `n`: max 5", DIFF_PERMITS, true, false},
           {"`limit` is now {calls 6, per minute}; it was {calls 5, per minute}", DIFF_PERMITS, false, false});
}

/* Blanks, comments, quotes, the order of members, of rules and of names, names of patterns, tests: none is a difference. */
TEST_CASE(test_same)
{
    static const char *const pairs[][2] = {
        {PERMIT("when: [{arg: n, max: 5}]"), PERMIT("when: [{arg: n, max: 5}]")},
        {PERMIT("when: [{arg: n, max: 5}]"), "# other\n" PERMIT("when: [  {max: 5, 'arg': \"n\"} ]")},
        {"policy: p\nrules:\n  - {id: a, effect: permit, match: {tools: [x, y]}}\n  - {id: b, effect: permit}\n",
         "policy: p\nrules:\n  - {id: b, effect: permit}\n  - {id: a, effect: permit, match: {tools: [y, x]}}\n"},
        {"policy: p\nmode: monitor\nrules: [{id: a, effect: permit}]\n", "policy: p\nrules: [{id: a, effect: permit, mode: monitor}]\n"},
        {PERMIT("when: [{arg: n, in: {list: l}}]"), PERMIT("when: [{arg: n, in: {list: l}}]") "tests: [{name: t, call: {tool: t}, "
         "expect: {verdict: deny}}]\n"},
    };

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct diff *diff = compare(pairs[i][0], pairs[i][1]);

        if (!diff_is_empty(diff)) {
            show(diff);
            fail_msg("differs:\n%s\n%s", pairs[i][0], pairs[i][1]);
        }
        assert_int_equal(diff->flipped, 0);
        diff_free(&diff);
    }
}

#define BIG_BEFORE                                                                                                     \
    "policy: p\nrules:\n"                                                                                              \
    "  - {id: a, effect: permit, match: {tools: [search, 'list_*'], tenants: [acme, 'team-*']}, only_args: [q, n, to],\n" \
    "     when: [{arg: q, matches: '[a-z]{2,9}(?:-x|y)?'}, {arg: n, is: integer, max: 10, optional: true},\n"           \
    "            {arg: '$.to[*]', ends_with: '@example.com', optional: true}]}\n"                                      \
    "  - {id: b, effect: permit, match: {tools: [pay], groups: [staff], scopes: [pay]}, when: [{claim: level, min: 2}]}\n" \
    "  - {id: f, effect: forbid, match: {tools: ['*']}, when: [{arg: '$..*', contains: drop}]}\n"                      \
    "tests:\n"                                                                                                         \
    "  - {name: one, call: {tenant: acme, tool: search, arguments: {q: abc, n: 3}}, expect: {verdict: permit}}\n"
#define BIG_AFTER                                                                                                      \
    "policy: p\nrules:\n"                                                                                              \
    "  - {id: a, effect: permit, match: {tools: [search], tenants: ['team-*']}, only_args: [q, n],\n"                  \
    "     when: [{arg: q, matches: '[a-z]{2,9}'}, {arg: n, is: integer, max: 5, optional: true}]}\n"                   \
    "  - {id: g, effect: forbid, match: {methods: [resources/read]}, when: [{arg: uri, starts_with: 'file:', absent: ignored}]}\n" \
    "  - {id: r, effect: permit, match: {resources: ['file:*', 'https:*']}}\n"                                         \
    "  - {id: b, effect: permit, match: {tools: [pay], groups: [staff, admin]}, when: [{claim: level, min: 3}]}\n"        \
    "  - {id: h, effect: require_approval, match: {tools: [search], methods: [tools/call]}, " \
    "when: [{arg: n, equals: 4, absent: ignored}]}\n" \
    "tests:\n"                                                                                                         \
    "  - {name: two, call: {tenant: team-a, tool: search, arguments: {q: abc, n: 4}}, expect: {verdict: hold}}\n"

static enum verdict_kind judge_call(struct policy *policy, const struct question *question, struct span *rule)
{
    static struct verdict verdict;
    struct policy_scratch *scratch;

    assert_int_equal(policy_scratch_new(&scratch), CODE_OK);
    policy_eval(policy, question, false, scratch, &verdict);
    *rule = verdict.rule;
    policy_scratch_free(&scratch);
    return verdict.kind;
}

/* Each flip's example is a call that `policy explain --call` takes, and both sides say of it what the flip says. */
TEST_CASE(test_examples)
{
    struct diff *diff = compare(BIG_BEFORE, BIG_AFTER);
    static struct faults faults;

    assert_true(diff->flip_count >= 4);
    assert_int_equal(diff->test_probes, 2);
    assert_int_equal(diff->left_out, 0);
    for (size_t i = 0; i < diff->flip_count; i++) {
        const struct diff_flip *flip = &diff->flips[i];
        struct policy_file file = {SPAN_LIT("example"), flip->example};
        struct question question;
        struct policy *holder;
        struct span rule;

        faults_init(&faults);
        if (policy_call_read(&file, &holder, &faults) != CODE_OK) {
            print_faults(&faults);
            fail_msg("no call: %.*s", SPAN_ARG(flip->example));
        }
        assert_int_equal(policy_case_question(holder, SPAN_NONE, &question), CODE_OK);
        assert_int_equal(judge_call(diff->before, &question, &rule), flip->before.kind);
        assert_true(span_equals(rule, flip->before.rule));
        assert_int_equal(judge_call(diff->after, &question, &rule), flip->after.kind);
        assert_true(span_equals(rule, flip->after.rule));
        assert_true(flip->before.kind != flip->after.kind);
        policy_unref(&holder);
    }
    diff_free(&diff);
}

/* A call is YAML or JSON: with all that JSON may hold, and places where it is plain. */
TEST_CASE(test_call_text)
{
    static const struct {
        const char *text, *value; /* as canonical JSON; NULL: refused */
    } rows_of_calls[] = {
        {"tool: t\narguments: {a: x}\n", "\"x\""},
        {"{\"tool\":\"t\",\"arguments\":{\"a\":\"\\ud83d\\ude00\"}}", "\"\xf0\x9f\x98\x80\""},
        {"{\"tool\":\"t\",\"arguments\":{\"a\":\"\xe2\x80\xae\xc2\x9b\"}}", "\"\xe2\x80\xae\xc2\x9b\""},
        {"{\"tool\":\"t\",\"arguments\":{\"a\":\"\xf3\xa0\x80\x81\\\\ \\\"\\/\"}}", "\"\xf3\xa0\x80\x81\\\\ \\\"/\""},
        {"{\"tool\":\"t\",\"arguments\":{\"a\":\"\xef\xbf\xbe\xef\xbb\xbf\x7f\"}}", "\"\xef\xbf\xbe\xef\xbb\xbf\x7f\""},
        {"{\"tool\":\"t\",\"arguments\":{\"a\":1e400}}", NULL},
        {"tool: t\narguments: {a: \xe2\x80\xae}\n", NULL},
        {"tool: t\nargs: {}\n", NULL},
    };
    static struct faults faults;

    for (size_t i = 0; i < sizeof rows_of_calls / sizeof *rows_of_calls; i++) {
        struct policy_file file = {SPAN_LIT("call"), span_text(rows_of_calls[i].text)};
        struct policy *holder;
        struct question question;

        faults_init(&faults);
        if (policy_call_read(&file, &holder, &faults) != CODE_OK) {
            assert_null(rows_of_calls[i].value);
            assert_true(faults.count > 0 && faults.fault[0].line > 0);
            continue;
        }
        assert_non_null(rows_of_calls[i].value);
        assert_int_equal(policy_case_question(holder, SPAN_NONE, &question), CODE_OK);
        assert_true(span_is(json_member(question.root, SPAN_LIT("a"))->raw, rows_of_calls[i].value));
        policy_unref(&holder);
    }
}

/* Whichever allocation fails: CODE_NOMEM and nothing kept, or the whole answer. */
#define ANSWERS(rules) \
    "policy: p\nrules: [{id: all, effect: permit, match: {tools: ['*']}}]\n" rules

/* 9.2: rules for answers are compared as others are; what they do is shown by tests' answers, and by some that are made, none of
 * which is told. */
TEST_CASE(test_answers)
{
#define CARDS(effect, more) \
    "  - {id: cards, effect: " effect ", match: {tools: [t" more "]}, when: [{value: '$..*', matches: '4[0-9]{15}'}]}\n"
#define ONE "tests: [{name: one, call: {tool: t}, answer: {a: '4111111111111111'}, expect: {answer: pass}}]\n"
    static const struct {
        const char *before, *after;
        enum diff_way way;
        const char *text;
        enum answer_effect was, is;
    } changes[] = {
        {ANSWERS(""), ANSWERS("answers:\n" CARDS("redact", "")), DIFF_KEEPS_BACK,
         "is new: for tools [t] where {value '$..*', matches '4[0-9]{15}'}", ANSWER_NONE, ANSWER_REDACT},
        {ANSWERS("answers:\n" CARDS("redact", "")), ANSWERS(""), DIFF_LETS_BACK, "is gone: for", ANSWER_REDACT, ANSWER_NONE},
        {ANSWERS("answers:\n" CARDS("redact", "")), ANSWERS("answers:\n" CARDS("withhold", "")), DIFF_KEEPS_BACK,
         "is a withhold, was a redact", ANSWER_REDACT, ANSWER_WITHHOLD},
        {ANSWERS("answers:\n" CARDS("redact", "")), ANSWERS("answers:\n" CARDS("flag", "")), DIFF_LETS_BACK,
         "is a flag, was a redact", ANSWER_REDACT, ANSWER_FLAG},
        {ANSWERS("answers:\n" CARDS("redact", ", u")), ANSWERS("answers:\n" CARDS("redact", "")), DIFF_LETS_BACK,
         "match.tools no longer takes u", ANSWER_REDACT, ANSWER_NONE},
        {ANSWERS(""), ANSWERS("answers:\n" CARDS("flag", "") ONE), DIFF_NOTHING, "is new", ANSWER_NONE, ANSWER_FLAG},
    };

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct diff *diff = compare(changes[i].before, changes[i].after);
        bool found = false;

        if (diff->change_count != 1 || diff->changes[0].way != changes[i].way ||
            !strstr(diff->changes[0].text.at, changes[i].text)) {
            show(diff);
            fail_msg("%zu: \"%s\"", i, changes[i].text);
        }
        assert_true(span_is(diff->changes[0].rule, "cards"));
        assert_true(diff->answers > 5 && diff->answers_changed > 0 && diff->flipped == 0);
        for (size_t b = 0; b < diff->back_count; b++)
            found |= diff->backs[b].before == changes[i].was && diff->backs[b].after == changes[i].is;
        if (!found)
            fail_msg("%zu: no answer shows \"%s\"", i, changes[i].text);
        assert_int_equal(diff->answers_of_tests, i == 5);
        assert_true((diff->backs[0].test.at != NULL) == (i == 5));
        diff_free(&diff);
    }
}

TEST_CASE(test_memory)
{
    struct policy *before = compile(BIG_BEFORE), *after = compile(BIG_AFTER);
    struct diff *whole = compare(BIG_BEFORE, BIG_AFTER);
    enum code code = CODE_NOMEM;

    for (uint64_t nth = 1; code != CODE_OK; nth += 1 + nth / 16) {
        struct diff *diff;

        assert_true(nth < 10000000);
        mem_fail_at(nth, 0);
        code = diff_new(before, after, &diff);
        mem_fail_at(0, 0);
        assert_true((code == CODE_OK) == (diff != NULL));
        assert_true(code == CODE_OK ? diff->change_count == whole->change_count && diff->flipped == whole->flipped : code == CODE_NOMEM);
        diff_free(&diff);
    }
    diff_free(&whole);
    policy_unref(&before);
    policy_unref(&after);
}

TEST_MAIN(NULL, NULL)
