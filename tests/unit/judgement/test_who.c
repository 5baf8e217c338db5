/* SPDX-License-Identifier: Apache-2.0 */
/* 8.4: groups, scopes and claims of who asks, and principals that are SPIFFE ids. */
#include "author/explain.h"
#include "judgement/judgement.h"
#include "policy/match.h"
#include "unit/policy/judge.h"

#include <stdint.h>
#include <string.h>

#define RULES(text) "policy: p\nrules:\n" text
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static struct question asks(const struct span *groups, uint32_t group_count, const struct span *scopes, uint32_t scope_count)
{
    struct question question = plain_question();

    question.groups = groups;
    question.group_count = group_count;
    question.scopes = scopes;
    question.scope_count = scope_count;
    return question;
}

static enum verdict_kind by_group(const char *text, struct span group)
{
    struct court court;
    enum verdict_kind kind;

    court_open(&court, text);
    kind = judge(&court, asks(&group, group.at != NULL, NULL, 0), NULL)->kind;
    court_close(&court);
    return kind;
}

static enum verdict_kind by_scope(const char *text, struct span scope)
{
    struct court court;
    enum verdict_kind kind;

    court_open(&court, text);
    kind = judge(&court, asks(NULL, 0, &scope, scope.at != NULL), NULL)->kind;
    court_close(&court);
    return kind;
}

#define OF_GROUPS(list) RULES("  - {id: r, effect: permit, match: {tools: [t], groups: [" list "]}}\n")
#define OF_SCOPES(list) RULES("  - {id: r, effect: permit, match: {tools: [t], scopes: [" list "]}}\n")

/* Byte for byte: no case, no look-alike, no separator but the list's own. */
TEST_CASE(test_names)
{
    static const struct { const char *list, *group; bool permits; } rows[] = {
        {"finance", "finance", true},       {"finance", "Finance", false},        {"finance", "finance ", false},
        {"finance", "financeX", false},     {"finance", "", false},               {"finance", "finance,admin", false},
        {"'finance,admin'", "finance,admin", true}, {"'finance,admin'", "finance", false},
        {"'*'", "finance", true},           {"'*'", "", false},                   {"'fin*'", "finance", true},
        {"'/org/*/admin'", "/org/a/b/admin", true}, {"'/org/*/admin'", "/org/a/b", false},
        {"{regex: 'fin[a-z]+'}", "finance", true},  {"{regex: 'fin[a-z]+'}", "xfinance", false},
        {"sales, finance", "finance", true},
        {"finance", "f\xd1\x96nance", false}, /* a Ukrainian letter */
        {"'{regex: x}'", "x", false},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        char groups[256], scopes[256];

        snprintf(groups, sizeof groups, OF_GROUPS("%s"), rows[i].list);
        snprintf(scopes, sizeof scopes, OF_SCOPES("%s"), rows[i].list);
        if (by_group(groups, span_text(rows[i].group)) != (rows[i].permits ? VERDICT_PERMIT : VERDICT_DENY) ||
            by_scope(scopes, span_text(rows[i].group)) != (rows[i].permits ? VERDICT_PERMIT : VERDICT_DENY))
            fail_msg("%s for %s", rows[i].list, rows[i].group);
    }
}

/* Who has none meets no rule that names some, whatever it names and does; not even under `*`. */
TEST_CASE(test_absent)
{
    assert_int_equal(by_group(OF_GROUPS("'*'"), SPAN_NONE), VERDICT_DENY);
    assert_int_equal(by_scope(OF_SCOPES("'*', {regex: '.*'}"), SPAN_NONE), VERDICT_DENY);
    assert_int_equal(by_group(RULES("  - {id: a, effect: permit, match: {tools: [t]}}\n"
                                    "  - {id: b, effect: forbid, match: {groups: ['*']}}\n"), SPAN_NONE), VERDICT_PERMIT);
    assert_int_equal(by_group(RULES("  - {id: a, effect: permit, match: {tools: [t]}}\n"
                                    "  - {id: b, effect: forbid, match: {groups: ['*']}}\n"), SPAN_LIT("x")), VERDICT_DENY);
    /* A group is no scope, and a scope no group. */
    assert_int_equal(by_group(OF_SCOPES("x"), SPAN_LIT("x")), VERDICT_DENY);
    assert_int_equal(by_scope(OF_GROUPS("x"), SPAN_LIT("x")), VERDICT_DENY);
}

/* Any of those that are held will do; both lists must hold. */
TEST_CASE(test_many)
{
    const struct span groups[] = {SPAN_LIT("a"), SPAN_LIT("b"), SPAN_LIT("finance")}, scopes[] = {SPAN_LIT("read")};
    struct court court;

    court_open(&court, RULES("  - {id: r, effect: permit, match: {tools: [t], groups: [finance], scopes: [read]}}\n"));
    assert_int_equal(judge(&court, asks(groups, 3, scopes, 1), NULL)->kind, VERDICT_PERMIT);
    assert_int_equal(judge(&court, asks(groups, 2, scopes, 1), NULL)->kind, VERDICT_DENY);
    assert_int_equal(judge(&court, asks(groups, 3, scopes, 0), NULL)->kind, VERDICT_DENY);
    assert_int_equal(judge(&court, asks(groups, 3, scopes, 1), NULL)->kind, VERDICT_PERMIT); /* nothing of it is remembered */
    court_close(&court);
}

/* An undecided name closes and does not open, and the record says which. */
TEST_CASE(test_undecided)
{
    const struct span odd = SPAN_LIT("kelvin\xe2\x84\xaa");
    const struct verdict *verdict;
    struct question question;
    struct court court;
    struct buf out;

    court_open(&court, OF_GROUPS("{regex: '(?i)kelvink'}"));
    question = asks(&odd, 1, NULL, 0);
    assert_int_equal(judge(&court, question, NULL)->kind, VERDICT_DENY);
    buf_init(&out, 65536);
    assert_int_equal(explain_verdict(court.policy, &question, court.scratch, &court.verdict,
                                     &(struct explain_to){.words = &out}), CODE_OK);
    assert_int_equal(buf_add_byte(&out, '\0'), CODE_OK);
    assert_non_null(strstr(buf_peek(&out).at, "its match holds or not: groups is undecided"));
    buf_fini(&out);
    court_close(&court);
    court_open(&court, RULES("  - {id: r, effect: require_approval, match: {tools: [t], groups: [{regex: '(?:a|aa)+$'}]}, "
                             "slow_regex: allow}\n"));
    {
        char long_name[4096];
        struct span name = span_of(long_name, sizeof long_name);

        memset(long_name, 'a', sizeof long_name - 1);
        long_name[sizeof long_name - 1] = '!';
        verdict = judge(&court, asks(&name, 1, NULL, 0), NULL);
        assert_true(verdict->kind != VERDICT_PERMIT); /* held or too costly, as the regex's budget has it */
    }
    court_close(&court);
}

/* What who asks holds times what rules name is paid for. */
TEST_CASE(test_cost)
{
    enum { GROUPS = 10000, NAMES = 2000 };
    struct span *groups = calloc(GROUPS, sizeof *groups);
    char *names = malloc((size_t)GROUPS * 16);
    struct court court;
    struct buf text;

    for (size_t i = 0; i < GROUPS; i++) {
        groups[i] = span_of(names + i * 16, (size_t)snprintf(names + i * 16, 16, "g%zu", i));
    }
    buf_init(&text, (size_t)1 << 20);
    buf_add_text(&text, RULES("  - {id: r, effect: permit, match: {tools: [t], groups: [last"));
    for (size_t i = 0; i < NAMES; i++)
        buf_addf(&text, ", '*x%zu*y'", i);
    assert_int_equal(buf_add(&text, "]}}\n", 5), CODE_OK);
    court_open(&court, buf_peek(&text).at);
    assert_int_equal(judge(&court, asks(groups, GROUPS, NULL, 0), NULL)->reason, REASON_TOO_COSTLY);
    assert_int_equal(judge(&court, asks(groups, 300, NULL, 0), NULL)->reason, REASON_NO_RULE); /* a large token is not */
    groups[GROUPS - 1] = SPAN_LIT("last");
    assert_int_equal(judge(&court, asks(groups, GROUPS, NULL, 0), NULL)->kind, VERDICT_PERMIT);
    court_close(&court);
    buf_fini(&text);
    free(names);
    free(groups);
}

/* Lists, and what needs no judgement, ask them too. */
TEST_CASE(test_lists)
{
    const struct span group = SPAN_LIT("finance");
    struct question question = asks(&group, 1, NULL, 0), none = asks(NULL, 0, NULL, 0);
    struct court court;

    court_open(&court, OF_GROUPS("finance"));
    assert_true(policy_could_permit(court.policy, &question, court.scratch));
    assert_false(policy_could_permit(court.policy, &none, court.scratch));
    court_close(&court);
    court_open(&court, RULES("  - {id: r, effect: permit, match: {methods: ['notifications/*'], groups: [finance]}}\n"));
    question.method = none.method = SPAN_LIT("notifications/message");
    question.tool = none.tool = SPAN_NONE;
    assert_true(policy_permits_all(court.policy, &question, court.scratch));
    assert_false(policy_permits_all(court.policy, &none, court.scratch));
    court_close(&court);
}

/* Redactions of the audit go by them, too. */
TEST_CASE(test_redactions)
{
    const struct span group = SPAN_LIT("staff");
    struct court court;

    court_open(&court, RULES("  - {id: r, effect: permit, match: {tools: [t]}}\n"
                             "redact:\n  - {match: {tools: [t], groups: [staff]}, args: [password]}\n"));
    assert_int_equal(judge(&court, asks(&group, 1, NULL, 0), "{\"password\":1}")->redact_count, 1);
    assert_int_equal(judge(&court, asks(NULL, 0, NULL, 0), "{\"password\":1}")->redact_count, 0);
    court_close(&court);
}

static struct question with_claims(struct court *court, const char *claims)
{
    struct question question = plain_question();

    question.claims = court_tree(court, span_text(claims));
    return question;
}

static char claim_truth(const char *effect, const char *condition, const char *claims)
{
    struct question question;
    struct court court;
    char text[1024];
    char truth;

    snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, effect: %s, match: {tools: [t]}, when: [%s]}\n", effect, condition);
    court_open(&court, text);
    question = claims != NULL ? with_claims(&court, claims) : plain_question();
    policy_eval(court.policy, &question, false, court.scratch, &court.verdict);
    truth = court.verdict.undecided.len > 0 ? 'U' : court.verdict.rule.at != NULL ? 'T' : 'F';
    court_close(&court);
    return truth;
}

/* Claims are asked as arguments are: types, absence, polarity, quantifiers, decoders. */
TEST_CASE(test_claims)
{
    static const struct { const char *effect, *condition, *claims; char truth; } rows[] = {
        {"permit", "{claim: $.department, equals: finance}", "{\"department\":\"finance\"}", 'T'},
        {"permit", "{claim: department, equals: finance}", "{\"department\":\"finance\"}", 'T'},
        {"permit", "{claim: department, equals: finance}", "{\"department\":\"Finance\"}", 'F'},
        {"permit", "{claim: department, equals: finance}", "{\"department\":[\"finance\"]}", 'F'},
        {"permit", "{claim: department, equals: finance}", "{}", 'F'},
        {"permit", "{claim: department, equals: finance}", NULL, 'F'},
        {"permit", "{claim: department, equals: finance, optional: true}", NULL, 'T'},
        {"permit", "{not: {claim: department, equals: finance}}", NULL, 'F'},
        {"forbid", "{claim: department, equals: finance, absent: ignored}", NULL, 'F'},
        {"forbid", "{claim: department, equals: finance, absent: applies}", NULL, 'T'},
        {"permit", "{claim: level, min: 3}", "{\"level\":3}", 'T'},
        {"permit", "{claim: level, min: 3}", "{\"level\":\"3\"}", 'F'},
        {"require_approval", "{claim: level, min: 3, absent: ignored}", "{\"level\":9007199254740993}", 'U'},
        {"permit", "{claim: '$.roles[*]', in: [a, b]}", "{\"roles\":[\"a\",\"b\"]}", 'T'},
        {"permit", "{claim: '$.roles[*]', in: [a, b]}", "{\"roles\":[\"a\",\"c\"]}", 'F'},
        {"permit", "{claim: '$.roles[*]', in: [a, b], quantify: any}", "{\"roles\":[\"a\",\"c\"]}", 'T'},
        {"permit", "{claim: \"$['https://acme.com/dept']\", equals: x}", "{\"https://acme.com/dept\":\"x\"}", 'T'},
        {"permit", "{claim: email_verified, equals: true}", "{\"email_verified\":true}", 'T'},
        {"permit", "{claim: email_verified, equals: true}", "{\"email_verified\":\"true\"}", 'F'},
        {"permit", "{claim: sub, matches: '[a-z]+'}", "{\"sub\":\"abc!\"}", 'F'},
        {"forbid", "{claim: note, contains: secret, decode: [base64], absent: ignored}", "{\"note\":\"c2VjcmV0\"}", 'T'},
        {"permit", "{claim: department, exists: false}", NULL, 'T'},
        {"permit", "{claim: tenant, equals: '{tenant}'}", "{\"tenant\":\"acme\"}", 'T'},
    };

    for (size_t i = 0; i < COUNT(rows); i++)
        if (claim_truth(rows[i].effect, rows[i].condition, rows[i].claims) != rows[i].truth)
            fail_msg("%s: %s of %s is %c", rows[i].effect, rows[i].condition, rows[i].claims,
                     claim_truth(rows[i].effect, rows[i].condition, rows[i].claims));
}

/* A claim is no argument, and an argument no claim. */
TEST_CASE(test_claims_stand_apart)
{
    struct question question;
    struct court court;

    court_open(&court, RULES("  - {id: r, effect: permit, match: {tools: [t]}, when: [{claim: a, equals: 1}]}\n"));
    assert_int_equal(judge_args(&court, "{\"a\":1}")->kind, VERDICT_DENY);
    court_close(&court);
    court_open(&court, RULES("  - {id: r, effect: permit, match: {tools: [t]}, only_args: [], when: [{claim: a, equals: 1}]}\n"));
    question = with_claims(&court, "{\"a\":1}");
    policy_eval(court.policy, &question, false, court.scratch, &court.verdict);
    assert_int_equal(court.verdict.kind, VERDICT_PERMIT);
    court_close(&court);
}

static void expect_record(const char *conditions, const char *claims, const char *want)
{
    const struct json_node *root;
    struct court court;
    struct buf out;
    char text[1024];

    snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, effect: permit, match: {tools: [t]}, when: [%s]}\n", conditions);
    court_open(&court, text);
    buf_init(&out, 4096);
    root = court_tree(&court, span_text(claims));
    assert_int_equal(policy_claims_write(court.policy, root, &out), CODE_OK);
    if (!span_is(buf_peek(&out), want))
        fail_msg("%s is recorded as %.*s", conditions, SPAN_ARG(buf_peek(&out)));
    buf_fini(&out);
    court_close(&court);
}

/* Those that rules ask for are recorded, and no others. */
TEST_CASE(test_recorded)
{
    static const char claims[] = "{\"a\":{\"b\":[1,2],\"c\":3},\"secret\":\"x\",\"it's\":4}";

    expect_record("{arg: x, exists: true}", claims, "{}");
    expect_record("{claim: a, exists: true}", claims, "{\"$['a']\":[{\"b\":[1,2],\"c\":3}]}");
    expect_record("{claim: '$.a.c', equals: 3}, {claim: '$.none', exists: false}", claims, "{\"$['none']\":[],\"$['a']['c']\":[3]}");
    expect_record("{claim: '$.a.b[*]', equals: 3}, {claim: '$.a.b[0]', equals: 3}", claims, "{\"$['a']['b']\":[[1,2]]}");
    expect_record("{claim: '$.a.b', exists: true}, {claim: a, exists: true}", claims, "{\"$['a']\":[{\"b\":[1,2],\"c\":3}]}");
    expect_record("{claim: \"$['it\\\\'s']\", equals: 4}", claims, "{\"$['it\\\\'s']\":[4]}");
    expect_record("{claim: '$.secret.x', exists: true}", claims, "{\"$['secret']['x']\":[]}");
}

/* And asked again: what was recorded is as it was, what was not is guessed both ways. */
TEST_CASE(test_asked_again)
{
    static const struct { const char *condition, *recorded; bool permits, guessed; } rows[] = {
        {"{claim: '$.a.c', equals: 3}", "{\"$['a']\":[{\"c\":3}]}", true, false},
        {"{claim: '$.a.c', equals: 3}", "{\"$['a']['c']\":[3]}", true, false},
        {"{claim: '$.a.c', equals: 3}", "{\"$['a']['c']\":[]}", false, false},
        {"{claim: '$.a.c..*', equals: 3}", "{\"$['a']['c']\":[3]}", false, false},
        {"{claim: '$.a.c..*', equals: 3}", "{\"$['a']['c']\":[[3]]}", true, false},
        {"{claim: '$.a.c', equals: 3}", "{\"$['a']['cc']\":[3]}", true, true},
        {"{claim: '$.a.c', equals: 3}", "{\"$['a']['c']['d']\":[3]}", true, true},
        {"{claim: '$.a.b[*]', equals: 1}", "{\"$['a']['b']\":[[1,1]]}", true, false},
        {"{claim: '$.a.b[*]', equals: 1}", "{\"$['a']['b']\":[[1,2]]}", false, false},
        {"{claim: '$..c', equals: 3}", "{\"$['a']\":[{\"c\":3}]}", true, true},
        {"{claim: '$..c', equals: 3}", "{\"$\":[{\"a\":{\"c\":3}}]}", true, false},
        {"{claim: '$.a', equals: 3}", "{}", true, true},
        {"{claim: '$.a', equals: 3}", "{\"$['a']\":3}", true, true}, /* somebody changed the row */
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct question_hidden hidden = {.claims = true, .favours_permit = true};
        struct question question;
        struct court court;
        char text[512];

        snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, effect: permit, match: {tools: [t]}, when: [%s]}\n",
                 rows[i].condition);
        court_open(&court, text);
        question = with_claims(&court, rows[i].recorded);
        question.hidden = &hidden;
        policy_eval(court.policy, &question, false, court.scratch, &court.verdict);
        if ((court.verdict.kind == VERDICT_PERMIT) != rows[i].permits || court.verdict.guessed != rows[i].guessed)
            fail_msg("%s of %s", rows[i].condition, rows[i].recorded);
        hidden.favours_permit = false;
        policy_eval(court.policy, &question, false, court.scratch, &court.verdict);
        assert_true(court.verdict.kind == (rows[i].permits && !rows[i].guessed ? VERDICT_PERMIT : VERDICT_DENY));
        court_close(&court);
    }
}

/* Groups of which a record has cut some: what is known decides, the rest is guessed. */
TEST_CASE(test_cut_groups)
{
    const struct span known = SPAN_LIT("a");
    struct question_hidden hidden = {.names = 1U << DIM_GROUP};
    struct question question = asks(&known, 1, NULL, 0);
    struct court court;

    question.hidden = &hidden;
    for (int favours = 0; favours <= 1; favours++) {
        hidden.favours_permit = favours;
        court_open(&court, OF_GROUPS("a"));
        assert_true(judge(&court, question, NULL)->kind == VERDICT_PERMIT && !court.verdict.guessed);
        court_close(&court);
        court_open(&court, OF_GROUPS("b"));
        assert_true((judge(&court, question, NULL)->kind == VERDICT_PERMIT) == favours && court.verdict.guessed);
        court_close(&court);
        court_open(&court, OF_SCOPES("b"));
        assert_true(judge(&court, question, NULL)->kind == VERDICT_DENY && !court.verdict.guessed);
        court_close(&court);
        court_open(&court, RULES("  - {id: a, effect: permit, match: {tools: [t]}}\n"
                                 "  - {id: b, effect: forbid, match: {groups: [b]}}\n"));
        assert_true((judge(&court, question, NULL)->kind == VERDICT_PERMIT) == favours && court.verdict.guessed);
        court_close(&court);
    }
}

static struct span lacking(const char *text, struct question question)
{
    static char found[64];
    struct court court;
    struct span scope;

    court_open(&court, text);
    scope = policy_lacking_scope(court.policy, &question, court.scratch);
    snprintf(found, sizeof found, "%.*s", SPAN_ARG(scope));
    scope = scope.at != NULL ? span_text(found) : SPAN_NONE;
    court_close(&court);
    return scope;
}

#define WRITES "  - {id: w, effect: permit, match: {tools: [t], scopes: ['tools:*', 'tools:write']}}\n"

/* The scope for want of which a call is denied: of a permit that would decide, and nothing else about rules. */
TEST_CASE(test_lacking_scope)
{
    const struct span other = SPAN_LIT("openid"), has = SPAN_LIT("tools:write");

    assert_true(span_is(lacking(RULES(WRITES), asks(NULL, 0, &other, 1)), "tools:write"));
    assert_true(span_is(lacking(RULES(WRITES), asks(NULL, 0, NULL, 0)), "tools:write"));
    assert_null(lacking(RULES(WRITES), asks(NULL, 0, &has, 1)).at);
    assert_null(lacking(OF_SCOPES("'x*', {regex: y}"), asks(NULL, 0, &other, 1)).at);
    /* A forbid, a group that is lacking too, a condition: no scope would help. */
    assert_null(lacking(RULES(WRITES "  - {id: f, effect: forbid, match: {tools: [t]}}\n"), asks(NULL, 0, &other, 1)).at);
    assert_null(lacking(RULES("  - {id: w, effect: permit, match: {tools: [t], scopes: [s], groups: [g]}}\n"),
                        asks(NULL, 0, &other, 1)).at);
    assert_null(lacking(RULES("  - {id: w, effect: permit, match: {tools: [t], scopes: [s]}, when: [{arg: a, exists: true}]}\n"),
                        asks(NULL, 0, &other, 1)).at);
    assert_null(lacking(RULES("  - {id: w, effect: permit, mode: monitor, match: {tools: [t], scopes: [s]}}\n"),
                        asks(NULL, 0, &other, 1)).at);
    /* A forbid that asks for a scope that is not there does not hide it. */
    assert_true(span_is(lacking(RULES(WRITES "  - {id: f, effect: forbid, match: {tools: [t], scopes: [bad]}}\n"),
                                asks(NULL, 0, &other, 1)), "tools:write"));
    /* One that asks for that very scope, or holds a call that has it, leaves nothing to be had by it. */
    assert_null(lacking(RULES(WRITES "  - {id: f, effect: forbid, match: {tools: [t], scopes: ['tools:w*']}}\n"),
                        asks(NULL, 0, &other, 1)).at);
    assert_null(lacking(RULES(WRITES "  - {id: f, effect: require_approval, match: {tools: [t], scopes: ['tools:write']}}\n"),
                        asks(NULL, 0, &other, 1)).at);
}

/* Principals that are SPIFFE ids: `*` goes over `/`, and nothing in them is special. */
TEST_CASE(test_spiffe)
{
    static const struct { const char *name, *principal; bool permits; } rows[] = {
        {"spiffe://acme.org/ns/shop/sa/agent", "spiffe://acme.org/ns/shop/sa/agent", true},
        {"spiffe://acme.org/ns/*", "spiffe://acme.org/ns/shop/sa/agent", true},
        {"spiffe://acme.org/*/sa/agent", "spiffe://acme.org/ns/shop/sa/agent", true},
        {"spiffe://acme.org/ns/*", "spiffe://acme.org.evil.com/ns/x", false},
        {"spiffe://acme.org/ns/*", "spiffe://acme.org/NS/x", false},
        {"spiffe://acme.org/ns/*", "spiffe://acme.org/ns", false},
        {"spiffe://acme.org/ns/sh?p/*", "spiffe://acme.org/ns/shop/sa/x", true},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct question question = plain_question();
        struct court court;
        char text[256];

        snprintf(text, sizeof text, RULES("  - {id: r, effect: permit, match: {tools: [t], principals: ['%s']}}\n"), rows[i].name);
        court_open(&court, text);
        question.principal = span_text(rows[i].principal);
        if ((judge(&court, question, NULL)->kind == VERDICT_PERMIT) != rows[i].permits)
            fail_msg("%s for %s", rows[i].name, rows[i].principal);
        court_close(&court);
    }
}

/* `{principal}` in a value stays one value: no step of a path, no wildcard, no other variable. */
TEST_CASE(test_spiffe_in_values)
{
    static const struct { const char *condition, *principal, *argument; bool permits; } rows[] = {
        {"{arg: p, equals: '{principal}'}", "spiffe://a.org/x", "spiffe://a.org/x", true},
        {"{arg: p, glob: '{principal}/*'}", "spiffe://a.org/*", "spiffe://a.org/*/y", true},
        {"{arg: p, glob: '{principal}/*'}", "spiffe://a.org/*", "spiffe://a.org/x/y", false},
        {"{arg: p, under: ['/srv/{principal}']}", "spiffe://a.org/x", "/srv/spiffe://a.org/x/f", false},
        {"{arg: p, starts_with: '{principal}'}", "spiffe://a.org/../x", "spiffe://a.org/../x", false},
        {"{arg: p, equals: '{principal}'}", "{tenant}", "acme", false},
    };

    for (size_t i = 0; i < COUNT(rows); i++) {
        struct question question = plain_question();
        char text[256], arguments[128];
        struct court court;

        snprintf(text, sizeof text, RULES("  - {id: r, effect: permit, match: {tools: [t]}, when: [%s]}\n"), rows[i].condition);
        snprintf(arguments, sizeof arguments, "{\"p\":\"%s\"}", rows[i].argument);
        court_open(&court, text);
        question.principal = span_text(rows[i].principal);
        if ((judge(&court, question, arguments)->kind == VERDICT_PERMIT) != rows[i].permits)
            fail_msg("%s for %s with %s", rows[i].condition, rows[i].principal, rows[i].argument);
        court_close(&court);
    }
}

static void tell_failed(void *context, const struct policy_test_result *result)
{
    (void)context;
    if (!result->passed)
        print_message("%.*s: expected %.*s, got %.*s\n", SPAN_ARG(result->name), SPAN_ARG(result->expected), SPAN_ARG(result->got));
}

/* Tests of a policy say who asks. */
TEST_CASE(test_cases)
{
    size_t passed, failed;
    struct court court;

    court_open(&court, RULES("  - {id: r, effect: permit, match: {tools: [t], groups: [finance], scopes: ['pay:*']},\n"
                             "     when: [{claim: level, min: 3}]}\n"
                             "tests:\n"
                             "  - {name: one, call: {tool: t, groups: [x, finance], scopes: ['pay:write'], claims: {level: 3}},\n"
                             "     expect: {verdict: permit, rule: r}}\n"
                             "  - {name: two, call: {tool: t, groups: finance, scopes: 'pay:write', claims: {level: 2}},\n"
                             "     expect: {verdict: deny, rule: null}}\n"
                             "  - {name: three, call: {tool: t, scopes: ['pay:write'], claims: {level: 3}},\n"
                             "     expect: {verdict: deny, reason: no_rule}}\n"));
    assert_int_equal(policy_test(court.policy, court.scratch, tell_failed, NULL, &passed, &failed), CODE_OK);
    assert_int_equal(passed, 3);
    assert_int_equal(failed, 0);
    court_close(&court);
}

static void expect_fault(const char *text, const char *words)
{
    static struct faults faults, warnings;
    struct policy *policy = NULL;
    enum code code = compile_text(text, &policy, &faults, &warnings);
    const struct faults *found = code == CODE_OK ? &warnings : &faults;

    for (size_t i = 0; i < found->count && i < FAULTS_MAX; i++)
        if (strstr(found->fault[i].text, words) != NULL) {
            policy_unref(&policy);
            return;
        }
    print_faults(found);
    fail_msg("nothing says `%s` of\n%s", words, text);
}

/* What is wrong is told with its repair, what is hardly meant is doubted. */
TEST_CASE(test_faults)
{
    expect_fault(RULES("  - {id: r, effect: permit, match: {group: [a]}}\n"), "did you mean `groups`?");
    expect_fault(RULES("  - {id: r, effect: permit, match: {groups: a}}\n"), "write a list");
    expect_fault(RULES("  - {id: r, effect: permit, match: {groups: []}}\n"), "an empty list of groups never matches");
    expect_fault(RULES("  - {id: r, effect: permit, match: {scopes: ['']}}\n"), "an empty name never matches");
    expect_fault(RULES("  - {id: r, effect: permit, match: {tools: [t]}, when: [{claims: a, equals: 1}]}\n"), "did you mean `claim`?");
    expect_fault(RULES("  - {id: r, effect: permit, match: {tools: [t]}, when: [{claim: a, arg: b, equals: 1}]}\n"),
                 "one of `arg`, `meta`, `param` and `claim`");
    expect_fault(RULES("  - {id: r, effect: permit, match: {tools: [t]}, when: [{claim: a}]}\n"), "asks nothing");
    expect_fault(RULES("  - {id: r, effect: permit, match: {tools: [t], scopes: ['a b']}}\n"), "no token has this scope");
    expect_fault(RULES("  - {id: r, effect: permit, match: {tools: [t], groups: [\"a\\u200bb\"]}}\n"), "nobody is in this group");
    expect_fault(RULES("  - {id: r, effect: permit, match: {tools: [t]}, when: [{claim: a, equals: 1, optional: true}]}\n"),
                 "absent for who comes without a token");
    expect_fault(RULES("  - {id: r, effect: forbid, match: {tools: [t]}, when: [{claim: a, equals: 1}]}\n"), "where `a` is absent");
    expect_fault(RULES("  - {id: r, effect: permit, match: {tools: [t], principals: ['spiffe://*.acme.org/x']}}\n"), "trust domain");
    expect_fault(RULES("  - {id: r, effect: permit, match: {tools: [t], groups: [accounting]}}\n"
                       "  - {id: s, effect: permit, match: {tools: [t], groups: [Accounting]}}\n"), "differ in case only");
}

/* An explanation names what is held, and by which list a rule misses the call. */
TEST_CASE(test_explained)
{
    const struct span groups[] = {SPAN_LIT("sales"), SPAN_LIT("e\x1b[31mvil")};
    struct question question = asks(groups, 2, NULL, 0);
    struct court court;
    struct buf out;

    court_open(&court, RULES("  - {id: r, effect: permit, match: {tools: [t], groups: [finance]}}\n"
                             "  - {id: both, effect: permit, match: {tools: [t], groups: [finance], scopes: [pay]}}\n"
                             "  - {id: s, effect: permit, match: {tools: [t], groups: [sales]}, when: [{claim: level, min: 3}]}\n"));
    buf_init(&out, 65536);
    question.claims = court_tree(&court, SPAN_LIT("{\"level\":2}"));
    assert_int_equal(explain_verdict(court.policy, &question, court.scratch, &court.verdict,
                                     &(struct explain_to){.words = &out}), CODE_OK);
    assert_int_equal(buf_add_byte(&out, '\0'), CODE_OK);
    assert_non_null(strstr(buf_peek(&out).at, "in the groups sales, \"e"));
    assert_null(strchr(buf_peek(&out).at, '\x1b'));
    assert_non_null(strstr(buf_peek(&out).at, "its match misses by groups"));
    assert_non_null(strstr(buf_peek(&out).at, "permit both (")); /* nobody without a token is told of no rule */
    assert_non_null(strstr(buf_peek(&out).at, "claim level min"));
    assert_non_null(strstr(buf_peek(&out).at, "2: false"));
    buf_fini(&out);
    court_close(&court);
}

TEST_MAIN(NULL, NULL)
