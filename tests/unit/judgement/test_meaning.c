/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/policy/judge.h"
#include "judgement/judgement.h"
#include "language/language.h"

static void says(struct court *court, const char *arguments, enum verdict_kind kind, const char *rule)
{
    const struct verdict *verdict = judge_args(court, arguments);

    if (verdict->kind != kind || !span_is(verdict->rule, rule))
        fail_msg("%s: %s by %.*s, wanted %s by %s", arguments ? arguments : "nothing", verdict_text(verdict->kind),
                 SPAN_ARG(verdict->rule), verdict_text(kind), rule);
}

/* Short for what is written a hundred times below. */
#define is(got, wanted) assert_int_equal(got, wanted)

#define TRUE_LEAF "{arg: t, equals: 1}"
#define FALSE_LEAF "{arg: t, equals: 2}"
#define UNDECIDED_LEAF "{arg: s, max: 5}"
#define LEAF_ARGUMENTS SPAN_LIT("{\"t\":1,\"s\":\"x\"}")

/* 1.20 (Meaning 1): deny is the ground state; forbid beats require_approval beats permit. */
TEST_CASE(test_effects)
{
    struct court court;

    court_open(&court, "policy: p\n"
                       "rules:\n"
                       "  - {id: p, effect: permit, match: {tools: [t]}, when: [{arg: p, equals: 1}]}\n"
                       "  - {id: a, effect: require_approval, match: {tools: [t]}, when: [{arg: a, equals: 1}]}\n"
                       "  - {id: f, effect: forbid, match: {tools: [t]}, when: [{arg: f, equals: 1}]}\n");
    says(&court, "{}", VERDICT_DENY, "");
    assert_int_equal(court.verdict.reason, REASON_NO_RULE);
    assert_null(court.verdict.rule.at);
    assert_int_equal(court.verdict.rule_count, 0);
    says(&court, "{\"p\":1}", VERDICT_PERMIT, "p");
    assert_int_equal(court.verdict.reason, REASON_PERMITTED);
    says(&court, "{\"a\":1}", VERDICT_HOLD, "a");
    assert_int_equal(court.verdict.reason, REASON_APPROVAL_REQUIRED);
    says(&court, "{\"f\":1}", VERDICT_DENY, "f");
    assert_int_equal(court.verdict.reason, REASON_FORBIDDEN);
    says(&court, "{\"p\":1,\"a\":1}", VERDICT_HOLD, "a");
    says(&court, "{\"p\":1,\"a\":1,\"f\":1}", VERDICT_DENY, "f");
    assert_int_equal(court.verdict.rule_count, 3);
    assert_true(span_is(court.verdict.rules[0].id, "f"));
    assert_true(span_is(court.verdict.rules[1].id, "a"));
    assert_true(span_is(court.verdict.rules[2].id, "p"));
    court_close(&court);
}

/* 1.20 (Meaning 2): order never matters, of files or rules; the smallest id in byte order is named. */
TEST_CASE(test_order)
{
    static const char *const rules[] = {"  - {id: b, effect: forbid, match: {tools: [t]}}\n",
                                        "  - {id: B, effect: forbid, match: {tools: ['*']}}\n",
                                        "  - {id: a, effect: forbid}\n", "  - {id: A0, effect: permit}\n"};
    char hash[64] = "";

    for (size_t first = 0; first < 4; first++) {
        struct court court;
        char text[512] = "policy: p\nrules:\n";
        size_t len = strlen(text);

        for (size_t i = 0; i < 4; i++)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s", rules[(first + i) % 4]);
        court_open(&court, text);
        says(&court, "{}", VERDICT_DENY, "B");
        assert_int_equal(court.verdict.rule_count, 4);
        assert_memory_not_equal(hash, court.verdict.policy_hash.at, 64); /* the texts differ */
        memcpy(hash, court.verdict.policy_hash.at, 64);
        court_close(&court);
    }
    for (int swapped = 0; swapped < 2; swapped++) {
        struct policy_file files[2] = {
            {SPAN_LIT("a.yaml"), SPAN_LIT("policy: a\nrules: [{id: z, effect: permit}]\n")},
            {SPAN_LIT("b.yaml"), SPAN_LIT("policy: b\nrules: [{id: y, effect: permit}]\n")},
        };
        struct policy_file swap = files[0];
        struct court court = {NULL};
        struct faults faults;

        if (swapped) {
            files[0] = files[1];
            files[1] = swap;
        }
        faults_init(&faults);
        assert_int_equal(policy_compile(files, 2, 0, &court.policy, &faults, NULL), CODE_OK);
        assert_int_equal(policy_scratch_new(&court.scratch), CODE_OK);
        says(&court, NULL, VERDICT_PERMIT, "y");
        if (swapped)
            assert_memory_equal(hash, court.verdict.policy_hash.at, 64); /* the set is the same */
        memcpy(hash, court.verdict.policy_hash.at, 64);
        court_close(&court);
    }
}

/* 1.20 (Meaning 3): Kleene's tables for and, or, not. */
TEST_CASE(test_kleene)
{
    static const char *const leaves[3] = {FALSE_LEAF, UNDECIDED_LEAF, TRUE_LEAF};
    static const char letters[] = "FUT";

    for (int a = 0; a < 3; a++) {
        char text[512];

        snprintf(text, sizeof text, "{not: %s}", leaves[a]);
        assert_int_equal(truth_of_condition(text, LEAF_ARGUMENTS, false), letters[2 - a]);
        for (int b = 0; b < 3; b++) {
            snprintf(text, sizeof text, "{all: [%s, %s]}", leaves[a], leaves[b]);
            assert_int_equal(truth_of_condition(text, LEAF_ARGUMENTS, false), letters[a < b ? a : b]);
            snprintf(text, sizeof text, "{any: [%s, %s]}", leaves[a], leaves[b]);
            assert_int_equal(truth_of_condition(text, LEAF_ARGUMENTS, false), letters[a > b ? a : b]);
            snprintf(text, sizeof text, "%s, %s", leaves[a], leaves[b]); /* entries of `when` */
            is(judge_condition("forbid", text, LEAF_ARGUMENTS, NULL) == VERDICT_DENY, true);
        }
    }
    /* An undecided rule applies if it closes, and does not if it permits. */
    is(judge_condition("permit", UNDECIDED_LEAF, LEAF_ARGUMENTS, NULL), VERDICT_DENY);
    is(judge_condition("permit", TRUE_LEAF, LEAF_ARGUMENTS, NULL), VERDICT_PERMIT);
    is(judge_condition("permit", TRUE_LEAF ", " UNDECIDED_LEAF, LEAF_ARGUMENTS, NULL), VERDICT_DENY);
    is(judge_condition("permit", "{any: [" UNDECIDED_LEAF "," TRUE_LEAF "]}", LEAF_ARGUMENTS, NULL), VERDICT_PERMIT);
    is(judge_condition("permit", "{not: " UNDECIDED_LEAF "}", LEAF_ARGUMENTS, NULL), VERDICT_DENY);
    is(judge_condition("require_approval", UNDECIDED_LEAF, LEAF_ARGUMENTS, NULL), VERDICT_HOLD);
    is(judge_condition("require_approval", "{not: " UNDECIDED_LEAF "}", LEAF_ARGUMENTS, NULL), VERDICT_HOLD);
    is(judge_condition("require_approval", UNDECIDED_LEAF ", " FALSE_LEAF, LEAF_ARGUMENTS, NULL), VERDICT_DENY);
}

/* 1.20 (Meaning 3): the verdict names the first undecided condition. */
TEST_CASE(test_undecided_is_named)
{
    struct court court;

    court_open(&court, "policy: p\n"
                       "rules:\n"
                       "  - id: f\n"
                       "    effect: forbid\n"
                       "    when:\n"
                       "      - {any: [{arg: u, max: 1}, {arg: t, equals: 1}]}\n" /* true in the end: not named */
                       "      - {arg: t, equals: 1}\n"
                       "      - {not: {arg: u, min: 3}}\n"
                       "      - {arg: u, max: 4}\n");
    says(&court, "{\"t\":1,\"u\":\"x\"}", VERDICT_DENY, "f");
    assert_true(span_is(court.verdict.undecided, "f: when[2].not u min"));
    says(&court, "{\"t\":1,\"u\":2}", VERDICT_DENY, "f");
    assert_int_equal(court.verdict.undecided.len, 0);
    court_close(&court);
}

/* 1.20 (Meaning 6): an opening leaf holds for every value, a closing one for any; quantify says otherwise. */
TEST_CASE(test_quantifiers)
{
    static const struct {
        const char *condition, *arguments;
        char closing, opening;
    } rows[] = {
        {"{arg: '$.v[*]', max: 5}", "{\"v\":[1,2]}", 'T', 'T'},
        {"{arg: '$.v[*]', max: 5}", "{\"v\":[1,9]}", 'T', 'F'},
        {"{arg: '$.v[*]', max: 5}", "{\"v\":[9]}", 'F', 'F'},
        {"{arg: '$.v[*]', max: 5}", "{\"v\":[1,\"x\"]}", 'T', 'U'},
        {"{arg: '$.v[*]', max: 5}", "{\"v\":[9,\"x\"]}", 'U', 'F'},
        {"{arg: '$.v[*]', max: 5, quantify: every}", "{\"v\":[1,9]}", 'F', 'F'},
        {"{arg: '$.v[*]', max: 5, quantify: any}", "{\"v\":[1,9]}", 'T', 'T'},
        {"{arg: '$.v[*]', min: 2, max: 5}", "{\"v\":[1,9]}", 'F', 'F'}, /* one value must hold for all operators */
        {"{arg: '$.v[*]', min: 2, max: 5}", "{\"v\":[1,3,9]}", 'T', 'F'},
        {"{arg: '$.v[*]', not_matches: 'ok'}", "{\"v\":[\"ok\",\"ok\"]}", 'F', 'F'},
        {"{arg: '$.v[*]', not_matches: 'ok'}", "{\"v\":[\"ok\",\"no\"]}", 'T', 'F'},
        {"{arg: '$.v[*]', not_matches: 'ok'}", "{\"v\":[\"no\",\"no\"]}", 'T', 'T'},
        {"{arg: '$.v[*]', not_matches: 'ok', quantify: any}", "{\"v\":[\"ok\",\"no\"]}", 'F', 'F'},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char closing = truth_of_condition(rows[i].condition, span_text(rows[i].arguments), false);
        char opening = truth_of_condition(rows[i].condition, span_text(rows[i].arguments), true);

        if (closing != rows[i].closing || opening != rows[i].opening)
            fail_msg("%s on %s: %c and %c", rows[i].condition, rows[i].arguments, closing, opening);
    }
}

/* 1.20 (Meaning 6): `$.to[*].iban` fails if one `to` has no iban, in an opening leaf only. */
TEST_CASE(test_elements_that_lack)
{
    const struct span one_lacks = SPAN_LIT("{\"to\":[{\"iban\":\"DE1\"},{}]}"),
        all_have = SPAN_LIT("{\"to\":[{\"iban\":\"DE1\"}]}");

    is(judge_condition("permit", "{arg: '$.to[*].iban', starts_with: DE}", all_have, NULL), VERDICT_PERMIT);
    is(judge_condition("permit", "{arg: '$.to[*].iban', starts_with: DE}", one_lacks, NULL), VERDICT_DENY);
    is(judge_condition("permit", "{arg: '$.to[*].iban', starts_with: DE, optional: true}", one_lacks, NULL),
        VERDICT_PERMIT);
    is(judge_condition("permit", "{arg: '$.to[*].iban', exists: true}", one_lacks, NULL), VERDICT_DENY);
    is(judge_condition("permit", "{arg: '$.to[*].iban', exists: true}", all_have, NULL), VERDICT_PERMIT);
    /* Closing: an element that lacks it is no value at all. */
    is(judge_condition("require_approval", "{arg: '$.to[*].iban', starts_with: FR, absent: applies}", one_lacks,
        NULL), VERDICT_DENY);
    is(judge_condition("require_approval", "{arg: '$.to[*].iban', exists: true}", one_lacks, NULL), VERDICT_HOLD);
    /* not_matches in a forbid holds an opening leaf, which counts it; absent: applies lets the rule apply. */
    is(judge_condition("require_approval", "{arg: '$.to[*].iban', not_matches: 'DE.*'}", one_lacks, NULL),
        VERDICT_DENY);
    is(judge_condition("require_approval", "{arg: '$.to[*].iban', not_matches: 'DE.*', absent: applies}", one_lacks,
        NULL), VERDICT_HOLD);
}

/* 1.20 (Meaning 7): absence makes the rule not apply at whatever depth of not; optional and absent turn it round. */
TEST_CASE(test_absence)
{
    static const struct span empty = {"{}", 2};
    static const char *const operators[] = {"equals: 1", "in: [1]", "matches: 'a'", "not_matches: 'a'",
        "is: string", "max: 5",
                                            "min_length: 0", "max_items: 3", "glob: '*'", "contains: ''"};

    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        for (int depth = 0; depth < 4; depth++) {
            for (int lets = 0; lets < 2; lets++) {
                char text[256], closing[300];
                int len = 0;

                for (int d = 0; d < depth; d++)
                    len += snprintf(text + len, sizeof text - (size_t)len, "{not: ");
                memcpy(closing, text, sizeof text);
                snprintf(closing + len, sizeof closing - (size_t)len, "{arg: v, %s%s}%.*s", operators[i],
                         lets ? ", absent: applies" : "", depth, "}}}}");
                snprintf(text + len, sizeof text - (size_t)len, "{arg: v, %s%s}%.*s", operators[i],
                         lets ? ", optional: true" : "", depth, "}}}}");
                is(judge_condition("permit", text, empty, NULL), lets ? VERDICT_PERMIT : VERDICT_DENY);
                is(judge_condition("permit", text, SPAN_NONE, NULL), lets ? VERDICT_PERMIT : VERDICT_DENY);
                is(judge_condition("require_approval", closing, empty, NULL), lets ? VERDICT_HOLD : VERDICT_DENY);
            }
        }
    }
    /* An empty list selects nothing either. */
    is(judge_condition("permit", "{arg: '$.v[*]', max: 5}", SPAN_LIT("{\"v\":[]}"), NULL), VERDICT_DENY);
    is(judge_condition("permit", "{arg: '$.v[*]', max: 5, optional: true}", SPAN_LIT("{\"v\":[]}"), NULL),
        VERDICT_PERMIT);
    /* null is a value. */
    is(judge_condition("permit", "{arg: v, max: 5, optional: true}", SPAN_LIT("{\"v\":null}"), NULL), VERDICT_DENY);
    /* exists decides absence itself, at whatever depth. */
    is(judge_condition("permit", "{arg: v, exists: false}", empty, NULL), VERDICT_PERMIT);
    is(judge_condition("permit", "{not: {arg: v, exists: true}}", empty, NULL), VERDICT_PERMIT);
    is(judge_condition("permit", "{not: {arg: v, exists: false}}", empty, NULL), VERDICT_DENY);
    is(judge_condition("require_approval", "{not: {arg: v, exists: true}}", empty, NULL), VERDICT_HOLD);
}

/* 1.20 (Meaning 4): at the end of `..*` containers are skipped for string operators; their members are selected too. */
TEST_CASE(test_everywhere)
{
    const struct span deep = SPAN_LIT("{\"a\":{\"b\":[\"x\",{\"c\":\"drop\"}]},\"n\":5}");

    assert_int_equal(truth_of_condition("{arg: '$..*', matches: drop}", deep, false), 'T');
    assert_int_equal(truth_of_condition("{arg: '$..*', matches: nope}", deep, false), 'F');
    assert_int_equal(truth_of_condition("{arg: '$..*', max_length: 4}", deep, true), 'T');
    assert_int_equal(truth_of_condition("{arg: '$.*', matches: nope}", deep, false), 'U'); /* no `..`: undecided */
    assert_int_equal(truth_of_condition("{arg: '$..*', is: object}", deep, false),
        'T'); /* no string operator: not skipped */
    assert_int_equal(truth_of_condition("{arg: '$..*', contains: x}", deep, false), 'T');
    /* Nothing is left: the leaf selects nothing. */
    is(judge_condition("permit", "{arg: '$..*', max_length: 4}", SPAN_LIT("{\"a\":[{}]}"), NULL), VERDICT_DENY);
    is(judge_condition("permit", "{arg: '$..*', max_length: 4, optional: true}", SPAN_LIT("{\"a\":[{}]}"), NULL),
        VERDICT_PERMIT);
    is(judge_condition("require_approval", "{arg: '$..*', matches: x}", SPAN_LIT("{\"a\":[{}]}"), NULL),
        VERDICT_DENY);
}

static const struct verdict *ask(struct court *court, const char *tenant, const char *principal, const char *upstream,
                                 const char *method, const char *tool)
{
    struct question question = {.tenant = span_text(tenant), .principal = span_text(principal),
                                .upstream = span_text(upstream), .method = span_text(method),
                                    .tool = span_text(tool)};

    return judge(court, question, NULL);
}

/* 1.20 (Meaning 8, 9, 16): lists take names, globs and regexes, byte for byte; a regex is whole where it opens. */
TEST_CASE(test_match)
{
    struct court court;

    court_open(&court,
               "policy: p\n"
               "rules:\n"
               "  - id: p\n"
               "    effect: permit\n"
               "    match:\n"
               "      tenants: [acme, 'team-*']\n"
               "      principals: [{regex: 'bot[0-9]'}]\n"
               "      upstreams: [shop]\n"
               "      tools: ['search_*', filter, {regex: 'list_[a-z]+'}, {regex: 'any', anchor: anywhere}, 'lit\\*']\n"
               "  - {id: f, effect: forbid, match: {tools: [{regex: 'evil'}, {regex: 'bad', anchor: whole}]}}\n"
               "  - {id: k, effect: permit, match: {principals: [k], tools: [{regex: '(?i)k'}]}}\n");
    assert_int_equal(ask(&court, "acme", "bot1", "shop", "tools/call", "filter")->kind, VERDICT_PERMIT);
    assert_int_equal(ask(&court, "team-", "bot1", "shop", "tools/call", "search_x")->kind, VERDICT_PERMIT);
    assert_int_equal(ask(&court, "Acme", "bot1", "shop", "tools/call", "filter")->kind, VERDICT_DENY);
    assert_int_equal(ask(&court, "acme", "bot12", "shop", "tools/call", "filter")->kind, VERDICT_DENY);
    assert_int_equal(ask(&court, "acme", "bot1", "shop2", "tools/call", "filter")->kind, VERDICT_DENY);
    assert_int_equal(ask(&court, "acme", "bot1", "shop", "tools/call", "list_x")->kind, VERDICT_PERMIT);
    assert_int_equal(ask(&court, "acme", "bot1", "shop", "tools/call", "list_x1")->kind, VERDICT_DENY);
    assert_int_equal(ask(&court, "acme", "bot1", "shop", "tools/call", "list_x\n")->kind, VERDICT_DENY);
    assert_int_equal(ask(&court, "acme", "bot1", "shop", "tools/call", "xanyx")->kind, VERDICT_PERMIT);
    assert_int_equal(ask(&court, "acme", "bot1", "shop", "tools/call", "lit*")->kind, VERDICT_PERMIT);
    assert_int_equal(ask(&court, "acme", "bot1", "shop", "tools/call", "lity")->kind, VERDICT_DENY);
    assert_int_equal(ask(&court, "acme", "bot1", "shop", "tools/call", "search_evil_x")->reason, REASON_FORBIDDEN);
    assert_int_equal(ask(&court, "acme", "bot1", "shop", "tools/call", "search_bad")->kind, VERDICT_PERMIT);
    assert_int_equal(ask(&court, "x", "y", "z", "tools/call", "bad")->reason, REASON_FORBIDDEN);
    assert_int_equal(ask(&court, "x", "k", "z", "tools/call", "K")->kind, VERDICT_PERMIT);
    assert_int_equal(ask(&court, "x", "k", "z", "tools/call", "\xe2\x84\xaa")->kind, VERDICT_DENY); /* undecided */
    court_close(&court);
    court_open(&court, "policy: p\nrules:\n  - {id: p, effect: permit}\n"
                       "  - {id: f, effect: forbid, match: {tools: [{regex: '(?i)k'}]}}\n");
    assert_int_equal(ask(&court, "x", "k", "z", "tools/call", "\xff")->kind, VERDICT_DENY);
    assert_true(span_is(court.verdict.undecided, "f: match.tools")); /* 4.21: and no byte more */
    court_close(&court);
}

/* 1.20 (Meaning 10): omitted methods, and the word `protocol`. */
TEST_CASE(test_methods)
{
    static const char *const protocol[] = {"initialize", "server/discover", "ping", "notifications/initialized",
                                           "notifications/x/y", "tools/list", "stream/open", "session/end"};
    static const char *const others[] = {"resources/read", "stream/message", "prompts/get", "protocol",
        "notifications"};
    struct court court;

    court_open(&court, "policy: p\n"
                       "rules:\n"
                       "  - {id: p, effect: permit, match: {tenants: [t1]}}\n"
                       "  - {id: q, effect: permit, match: {tenants: [t2, t3, t4, t5], methods: ['*']}}\n"
                       "  - {id: f3, effect: forbid, match: {tenants: [t3]}}\n"
                       "  - {id: f4, effect: forbid, match: {tenants: [t4], tools: ['*']}}\n"
                       "  - {id: a5, effect: require_approval, match: {tenants: [t5]}}\n"
                       "  - {id: proto, effect: permit, match: {tenants: [t6], methods: [protocol]}}\n");
    assert_int_equal(ask(&court, "t1", "a", "u", "tools/call", "x")->kind, VERDICT_PERMIT);
    assert_int_equal(ask(&court, "t1", "a", "u", "tools/list", "")->kind,
        VERDICT_DENY); /* a permit: tools/call alone */
    assert_int_equal(ask(&court, "t2", "a", "u", "tools/list", "")->kind, VERDICT_PERMIT);
    assert_int_equal(ask(&court, "t3", "a", "u", "resources/read", "")->reason,
        REASON_FORBIDDEN); /* a forbid: every method */
    assert_int_equal(ask(&court, "t4", "a", "u", "resources/read", "")->kind, VERDICT_PERMIT); /* it names tools */
    assert_int_equal(ask(&court, "t4", "a", "u", "tools/call", "x")->reason, REASON_FORBIDDEN);
    assert_int_equal(ask(&court, "t5", "a", "u", "resources/read", "")->kind, VERDICT_HOLD);
    for (size_t i = 0; i < sizeof protocol / sizeof *protocol; i++)
        assert_int_equal(ask(&court, "t6", "a", "u", protocol[i], "")->kind, VERDICT_PERMIT);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(ask(&court, "t6", "a", "u", others[i], "")->kind, VERDICT_DENY);
    assert_int_equal(ask(&court, "t6", "a", "u", "tools/call", "x")->kind, VERDICT_DENY);
    court_close(&court);
}

/* 1.20 (Meaning 10): a response is permitted where the method that it answers is; a tool's name needs a tool. */
TEST_CASE(test_responses)
{
    struct court court;
    struct question question = {.tenant = SPAN_LIT("t"), .principal = SPAN_LIT("p"), .upstream = SPAN_LIT("u"),
                                .method = SPAN_LIT("response")};

    court_open(&court, "policy: p\n"
                       "rules:\n"
                       "  - {id: p, effect: permit, match: {upstreams: [u], methods: [sampling/createMessage, protocol]}}\n"
                       "  - {id: f, effect: forbid, match: {upstreams: [v], methods: [response]}}\n"
                       "  - {id: q, effect: permit, match: {upstreams: [v, w], methods: ['*']}}\n"
                       "  - {id: r, effect: permit, match: {upstreams: [x], methods: ['*'], tools: ['*']}}\n");
    question.answers = SPAN_LIT("sampling/createMessage");
    assert_int_equal(judge(&court, question, NULL)->kind, VERDICT_PERMIT);
    question.answers = SPAN_LIT("ping");
    assert_int_equal(judge(&court, question, NULL)->kind, VERDICT_PERMIT);
    question.answers = SPAN_LIT("elicitation/create");
    assert_int_equal(judge(&court, question, NULL)->kind, VERDICT_DENY);
    question.upstream = SPAN_LIT("w");
    assert_int_equal(judge(&court, question, NULL)->kind, VERDICT_PERMIT);
    question.upstream = SPAN_LIT("v");
    assert_int_equal(judge(&court, question, NULL)->reason, REASON_FORBIDDEN);
    assert_int_equal(ask(&court, "t", "p", "x", "tools/call", "z")->kind, VERDICT_PERMIT);
    assert_int_equal(ask(&court, "t", "p", "x", "resources/read", "")->kind, VERDICT_DENY);
    court_close(&court);
}

/* 1.20: a method that no rule names for this upstream is unknown; one that rules name is merely not permitted. */
TEST_CASE(test_unknown_methods)
{
    struct court court;

    court_open(&court, "policy: p\n"
                       "rules:\n"
                       "  - id: p\n"
                       "    effect: permit\n"
                       "    match: {tenants: [x], upstreams: [u], methods: [resources/read, 'tasks/*', protocol]}\n"
                       "  - {id: r, effect: permit, match: {tenants: [x], methods: [{regex: 'prompts/.*'}]}}\n"
                       "  - {id: m, effect: permit, mode: monitor, match: {methods: [logging/setLevel]}}\n"
                       "  - {id: f, effect: forbid, match: {tenants: [y]}}\n");
    assert_int_equal(ask(&court, "t", "a", "u", "resources/read", "")->reason, REASON_NO_RULE);
    assert_int_equal(ask(&court, "t", "a", "u", "tasks/get", "")->reason, REASON_NO_RULE);
    assert_int_equal(ask(&court, "t", "a", "u", "ping", "")->reason, REASON_NO_RULE);
    assert_int_equal(ask(&court, "t", "a", "v", "resources/read", "")->reason, REASON_METHOD_UNKNOWN);
    assert_int_equal(ask(&court, "t", "a", "u", "resources/list", "")->reason, REASON_METHOD_UNKNOWN);
    assert_int_equal(ask(&court, "t", "a", "u", "prompts/get", "")->reason,
        REASON_METHOD_UNKNOWN); /* a regex names nothing */
    assert_int_equal(ask(&court, "t", "a", "u", "logging/setLevel", "")->reason,
        REASON_METHOD_UNKNOWN); /* nor a monitored rule: 2.9 */
    assert_int_equal(ask(&court, "t", "a", "v", "tools/call", "x")->reason, REASON_NO_RULE);
    assert_int_equal(ask(&court, "y", "a", "v", "resources/list", "")->reason, REASON_FORBIDDEN);
    court_close(&court);
}

/* 1.20: any other argument, and the permit does not apply. */
TEST_CASE(test_only_args)
{
    struct court court;

    court_open(&court,
        "policy: p\nrules:\n  - {id: p, effect: permit, match: {tools: [t]}, only_args: [query, 'a b', '']}\n"
                       "  - {id: q, effect: permit, match: {tools: [none]}, only_args: []}\n");
    says(&court, "{}", VERDICT_PERMIT, "p");
    says(&court, NULL, VERDICT_PERMIT, "p");
    says(&court, "{\"query\":{\"deep\":1},\"a b\":2,\"\":3}", VERDICT_PERMIT, "p");
    says(&court, "{\"query\":1,\"Query\":1}", VERDICT_DENY, "");
    says(&court, "{\"quer\":1}", VERDICT_DENY, "");
    says(&court, "[\"query\"]", VERDICT_DENY, "");
    court_close(&court);
}

/* 1.20 (Meaning 13): a monitored rule is recorded and changes nothing. */
TEST_CASE(test_monitor)
{
    struct court court;

    court_open(&court, "policy: p\n"
                       "rules:\n"
                       "  - {id: a.forbid, effect: forbid, mode: monitor, when: [{arg: f, equals: 1}]}\n"
                       "  - {id: b.permit, effect: permit, when: [{arg: p, equals: 1}]}\n"
                       "  - {id: c.permit, effect: permit, mode: monitor}\n");
    says(&court, "{\"p\":1,\"f\":1}", VERDICT_PERMIT, "b.permit");
    assert_true(court.verdict.has_monitor);
    assert_int_equal(court.verdict.monitor_kind, VERDICT_DENY);
    assert_true(span_is(court.verdict.monitor_rule, "a.forbid"));
    assert_int_equal(court.verdict.rule_count, 3);
    assert_true(court.verdict.rules[0].monitor);
    assert_false(court.verdict.rules[1].monitor);
    says(&court, "{}", VERDICT_DENY, "");
    assert_int_equal(court.verdict.reason, REASON_NO_RULE);
    assert_int_equal(court.verdict.monitor_kind, VERDICT_PERMIT);
    assert_true(span_is(court.verdict.monitor_rule, "c.permit"));
    court_close(&court);
    court_open(&court,
        "policy: p\nmode: monitor\nrules:\n  - {id: f, effect: forbid}\n  - {id: g, effect: permit, mode: enforce}\n");
    says(&court, "{}", VERDICT_PERMIT, "g");
    assert_int_equal(court.verdict.monitor_kind, VERDICT_DENY);
    court_close(&court);
}

/* 1.20: what the author says goes with the deciding rule. */
TEST_CASE(test_sentences)
{
    struct court court;

    court_open(&court, "policy: p\nrules:\n  - {id: f, effect: forbid, reason: Not here., say: Ask the owner.}\n"
                       "  - {id: g, effect: forbid, reason: Other., say: Else.}\n");
    says(&court, "{}", VERDICT_DENY, "f");
    assert_true(span_is(court.verdict.rule_reason, "Not here."));
    assert_true(span_is(court.verdict.say, "Ask the owner."));
    court_close(&court);
}

/* 1.20 (Meaning 15): the same question and snapshot give the same verdict, also from another scratch,
    warm or cold. */
TEST_CASE(test_same_question_same_verdict)
{
    struct court court;
    struct policy_scratch *cold;
    struct verdict first = {0};

    court_open(&court,
        "policy: p\nrules:\n  - {id: f, effect: forbid, match: {tools: [{regex: 'x.*y'}, t]}, when: [{arg: v, max: 3}]}\n"
                       "  - {id: p, effect: permit, match: {principals: ['b*']}}\n");
    assert_int_equal(policy_scratch_new(&cold), CODE_OK);
    for (int i = 0; i < 3; i++) {
        struct question question = plain_question();

        question.root = court_tree(&court, SPAN_LIT("{\"v\":\"x\"}"));
        policy_eval(court.policy, &question, false, i == 1 ? cold : court.scratch, &court.verdict);
        if (i == 0)
            first = court.verdict;
        assert_int_equal(court.verdict.kind, first.kind);
        assert_int_equal(court.verdict.work, first.work);
        assert_true(span_equals(court.verdict.rule, first.rule));
        assert_true(span_equals(court.verdict.undecided, first.undecided));
    }
    policy_scratch_free(&cold);
    court_close(&court);
}

TEST_CASE(test_no_policy)
{
    struct court court = {NULL};

    assert_int_equal(policy_scratch_new(&court.scratch), CODE_OK);
    judge_args(&court, NULL);
    assert_int_equal(court.verdict.kind, VERDICT_DENY);
    assert_int_equal(court.verdict.reason, REASON_NO_POLICY);
    assert_true(court.verdict.redact_all);
    assert_int_equal(court.verdict.policy_version, 0);
    court_close(&court);
}

TEST_MAIN(NULL, NULL)
