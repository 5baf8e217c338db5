/* SPDX-License-Identifier: Apache-2.0 */
#include "author/explain.h"
#include "json/doc.h"
#include "judgement/judgement.h"
#include "unit/policy/judge.h"

#include <pthread.h>

#define POLICY                                                                                                  \
    "policy: p\n"                                                                                               \
    "rules:\n"                                                                                                  \
    "  - {id: f, effect: forbid, match: {tools: [t]}, when: [{arg: '$..*', matches: drop}]}\n"                  \
    "  - {id: m, effect: forbid, match: {tools: [t]}, mode: monitor}\n"                                         \
    "  - {id: p, effect: permit, match: {tools: [t]}, only_args: [a],\n"                                        \
    "     when: [{any: [{arg: a, max: 5}, {not: {arg: b, matches: 'x', optional: true}}]}]}\n"                  \
    "redact: [{args: [secret]}]\n"

static void holds(const char *words, const char *part)
{
    if (strstr(words, part) == NULL)
        fail_msg("no \"%s\" in:\n%s", part, words);
}

static char *explain(struct court *court, const char *arguments)
{
    static char words[16384];
    struct question question = plain_question();
    struct buf out;

    buf_init(&out, 1 << 20);
    question.root = court_tree(court, span_text(arguments));
    assert_int_equal(explain_verdict(court->policy, &question, court->scratch, &court->verdict,
                                     &(struct explain_to){.words = &out}), CODE_OK);
    snprintf(words, sizeof words, "%.*s", SPAN_ARG(buf_peek(&out)));
    buf_fini(&out);
    return words;
}

/* 1.22: the walk in words: candidates, each condition, the value it saw, polarity, quantifier, anchoring, what decided. */
TEST_CASE(test_words)
{
    struct court court;
    const char *words;

    court_open(&court, POLICY);
    words = explain(&court, "{\"a\":3,\"b\":\"xx\"}");
    holds(words, "bot of tenant acme asks tools/call t of shop");
    holds(words, "forbid f (p.yaml:3): its match holds");
    holds(words, "when[0] $..* matches (closing, any value, anywhere)");
    holds(words, "3: false");
    holds(words, "forbid m (p.yaml:4), monitored");
    holds(words, "but is only monitored");
    holds(words, "when[0].any[0] a max (opening, every value)");
    holds(words, "`b` is not listed");
    holds(words, "verdict: deny (no_rule)");
    holds(words, "were monitored rules active: deny by m");
    words = explain(&court, "{\"a\":[1],\"secret\":1}");
    holds(words, "[1]: undecided");
    holds(words, "when[0].any[1].not b matches (closing, any value, anywhere)");
    holds(words, "nothing there: false");
    holds(words, "redacted in the audit: 1 values");
    words = explain(&court, "{\"a\":1}");
    holds(words, "=> true: the rule applies\n"); /* 4.21: a line of its own */
    holds(words, "verdict: permit (permitted) by p");
    court_close(&court);
}

static char *gist_of(struct court *court, const char *arguments, const char *tool)
{
    static char said[4096];
    struct question question = plain_question();
    struct buf out;

    buf_init(&out, 1 << 20);
    question.tool = span_text(tool);
    question.root = court_tree(court, span_text(arguments));
    assert_int_equal(explain_verdict(court->policy, &question, court->scratch, &court->verdict,
                                     &(struct explain_to){.gist = &out}), CODE_OK);
    snprintf(said, sizeof said, "%.*s", SPAN_ARG(buf_peek(&out)));
    buf_fini(&out);
    return said;
}

/* What is too long to be said is cut, or left out. */
static void test_long_gist(void)
{
    struct court court;
    struct buf policy, arguments;

    buf_init(&policy, 1 << 20);
    buf_init(&arguments, 1 << 20);
    buf_add_text(&policy, "policy: p\nrules:\n  - {id: a, effect: permit, match: {tools: [t]}, when: [{arg: '$");
    for (int i = 0; i < 30; i++)
        buf_add_text(&policy, ".a_long_name");
    buf_add_text(&policy, "', in: [a");
    for (int i = 0; i < 100; i++)
        buf_addf(&policy, ", x%0900d", i);
    buf_add_text(&policy, "]}]}\n");
    assert_int_equal(buf_add(&policy, "", 1), CODE_OK);
    for (int i = 0; i < 30; i++)
        buf_add_text(&arguments, "{\"a_long_name\":");
    buf_addf(&arguments, "\"%05000d\"", 7);
    for (int i = 0; i < 30; i++)
        buf_add_byte(&arguments, '}');
    assert_int_equal(buf_add(&arguments, "", 1), CODE_OK);
    court_open(&court, buf_peek(&policy).at);
    holds(gist_of(&court, buf_peek(&arguments).at, "t"), "0... of `$.a_long_name.");
    court_close(&court);
    buf_fini(&arguments);
    buf_fini(&policy);
}

/* 12.13: one sentence: the verdict, the rule with its file and line, the value that decided. */
TEST_CASE(test_gist)
{
    struct court court;

    court_open(&court, POLICY);
    assert_string_equal(gist_of(&court, "{\"a\":1}", "t"), "permit (permitted) by rule p (p.yaml:5): 1 of `a` fits max 5");
    assert_string_equal(gist_of(&court, "{\"a\":1,\"b\":\"a drop\"}", "t"),
                        "deny (forbidden) by rule f (p.yaml:3): \"a drop\" of `$..*` fits matches drop");
    assert_string_equal(gist_of(&court, "{\"a\":1,\"b\":2}", "t"),
                        "deny (no_rule): no rule permits it; nearest is p (p.yaml:5), but b is none of the arguments that it lists");
    assert_string_equal(gist_of(&court, "{\"a\":[1]}", "t"),
                        "permit (permitted) by rule p (p.yaml:5): `b` is not there");
    assert_string_equal(gist_of(&court, "{}", "u"),
                        "deny (no_rule): no rule permits it; p (p.yaml:5) and its like are about other tools");
    court_close(&court);
    court_open(&court,
               "policy: p\nrules:\n"
               "  - {id: a, effect: require_approval, match: {tools: [t]},\n"
               "     when: [{arg: to, not_matches: '.*@us'}, {client: [10.0.0.0/8]}]}\n"
               "  - {id: b, effect: permit, match: {tools: [t]}, when: [{arg: to, exists: true}, {arg: n, max: 5}]}\n"
               "  - {id: c, effect: forbid, mode: monitor, match: {tools: [t]}}\n");
    assert_string_equal(gist_of(&court, "{\"to\":\"eve\"}", "t"),
                        "hold (approval_required) by rule a (p.yaml:3): client [\"10.0.0.0/8\"] is undecided "
                        "(the client's address is not known)");
    assert_string_equal(gist_of(&court, "{\"to\":\"ann@us\",\"n\":9}", "t"),
                        "deny (no_rule): no rule permits it; nearest is b (p.yaml:5), but 9 of `n` does not fit max 5");
    assert_string_equal(gist_of(&court, "{\"to\":\"ann@us\"}", "t"),
                        "deny (no_rule): no rule permits it; nearest is b (p.yaml:5), but `n` is not there");
    assert_string_equal(gist_of(&court, "{\"to\":\"ann@us\",\"n\":5}", "t"),
                        "permit (permitted) by rule b (p.yaml:5): \"ann@us\" of `to` fits exists true");
    court_close(&court);
    court_open(&court, "policy: p\nrules:\n"
                       "  - {id: a, effect: forbid, match: {tools: [t]}, when: [{not: {arg: to, matches: '.*@us'}}]}\n"
                       "  - {id: b, effect: permit, match: {tools: [t]}, limit: {calls: 1, per: minute, by: [session]}}\n");
    assert_string_equal(gist_of(&court, "{\"to\":\"eve\"}", "t"),
                        "deny (forbidden) by rule a (p.yaml:3): \"eve\" of `to` does not fit matches '.*@us'");
    assert_string_equal(gist_of(&court, "{\"to\":\"ann@us\"}", "t"), "permit (permitted) by rule b (p.yaml:4)");
    court_close(&court);
    test_long_gist();
    court_open(&court, "policy: p\nrules:\n  - {id: a, effect: permit, match: {tenants: [other], tools: [v]}}\n");
    assert_string_equal(gist_of(&court, "{}", "t"), "deny (no_rule): no rule is about it");
    court_close(&court);
}

/* 2.4: what is asked, what an absent value counts as, which operator decided, which rules are just missed, what else applies. */
TEST_CASE(test_more_words)
{
    struct court court;
    const char *words;

    court_open(&court,
               "policy: p\nrules:\n"
               "  - {id: a, effect: permit, match: {tools: [t]}, when: [{arg: n, is: integer, min: 1, max: 5, optional: true}]}\n"
               "  - {id: b, effect: permit, match: {tools: [t]}, only_args: [n], limit: {calls: 5, per: minute, by: [tenant, tool]}}\n"
               "  - {id: c, effect: permit, match: {tools: [t], tenants: [other, 'x*', {regex: 'it''s'}]}}\n"
               "  - {id: d, effect: permit, match: {tools: [u], tenants: [other]}}\n");
    words = explain(&court, "{\"n\":9}");
    holds(words, "  when[0] n is min max (opening, every value)\n"
                 "    asks: is integer, min 1, max 5; absent: true\n"
                 "    9: false by max 5\n");
    holds(words, "permit b (p.yaml:4): its match holds\n  limit of 5 calls in 60 s by tenant, tool\n");
    holds(words, "permit c (p.yaml:5): its match misses by tenants [other, 'x*', {regex: 'it''s', anchor: whole}]\n");
    assert_null(strstr(words, "permit d"));
    words = explain(&court, "{\"n\":\"9\"}");
    holds(words, "\"9\": false by is integer\n");
    words = explain(&court, "{}");
    holds(words, "nothing there: true");
    holds(words, "by a\nalso applying: permit b\n");
    words = explain(&court, "{\"n\":3,\"\\u001b[2J\":1}");
    holds(words, "`\"\\u001b[2J\"` is not listed");
    court_close(&court);
}

/* 2.4: what conditions ask beyond arguments, and what they saw; nothing of an agent's reaches the terminal as it is. */
TEST_CASE(test_facts)
{
    struct court court;
    struct question question = plain_question();
    struct buf out;
    char words[4096];

    court_open(&court,
               "policy: p\nrules:\n"
               "  - {id: a, effect: permit, match: {tools: [t]}, when: [{client: [10.0.0.0/8]},\n"
               "     {not: {session: {called: [secret], within: 1h}}},\n"
               "     {during: {days: [mon], hours: ['08:00-18:00'], zone: Europe/Berlin}}]}\n"
               "  - {id: b, effect: forbid, match: {tools: [t]}, when: [{arg: n, under: [/srv], absent: ignored}]}\n");
    question.client = SPAN_LIT("10.1.2.3");
    question.session = SPAN_LIT("s");
    question.time_us = INT64_C(1783330200000000); /* 2026-07-06T09:30:00Z, a Monday */
    question.principal = SPAN_LIT("\x1b[2J");
    question.root = court_tree(&court, SPAN_LIT("{\"n\":\"/srv/../etc\"}"));
    buf_init(&out, 1 << 20);
    assert_int_equal(explain_verdict(court.policy, &question, court.scratch, &court.verdict,
                                     &(struct explain_to){.words = &out}), CODE_OK);
    snprintf(words, sizeof words, "%.*s", SPAN_ARG(buf_peek(&out)));
    holds(words, "\"\\u001b[2J\" of tenant acme asks tools/call t of shop\n");
    holds(words, "when[0] client (opening)\n    asks: client [\"10.0.0.0/8\"]\n");
    holds(words, "when[1].not session (closing)\n      asks: session {\"called\":[\"secret\"],\"within\":\"1h\"}\n");
    holds(words, "when[2] during (opening)\n    asks: during {\"days\":[\"mon\"],\"hours\":[\"08:00-18:00\"]");
    holds(words, "    Monday 2026-07-06 11:30 in Europe/Berlin\n    = true\n");
    holds(words, "n under (closing, any value)\n    asks: under [\"/srv\"]; absent: false\n    \"/srv/../etc\": false\n");
    holds(words, "verdict: permit (permitted) by a");
    buf_fini(&out);
    court_close(&court);
}

/* 2.4: the same walk as a document. */
TEST_CASE(test_document)
{
    struct court court;
    struct question question = plain_question();
    struct doc *doc = doc_object();
    struct buf out;
    char text[8192];

    court_open(&court, POLICY);
    buf_init(&out, 1 << 20);
    question.root = court_tree(&court, SPAN_LIT("{\"a\":9,\"b\":\"y\"}"));
    assert_int_equal(explain_verdict(court.policy, &question, court.scratch, &court.verdict,
                                     &(struct explain_to){.rules = doc_add_array(doc, "rules")}),
                     CODE_OK);
    assert_int_equal(doc_print(doc, &out), CODE_OK);
    snprintf(text, sizeof text, "%.*s", SPAN_ARG(buf_peek(&out)));
    holds(text, "{\"rules\":[{\"rule\":\"f\",\"effect\":\"forbid\",\"monitor\":false,\"alert\":false,\"stop\":false,"
                "\"file\":\"p.yaml\",\"line\":3,"
                "\"match\":\"true\",\"parameters\":[],\"conditions\":[{\"condition\":\"when[0] $..* matches\",\"kind\":\"leaf\",\"line\":3,"
                "\"operators\":[{\"operator\":\"matches\",\"asks\":\"matches drop\",\"anchor\":\"anywhere\"}],"
                "\"path\":\"$..*\",\"polarity\":\"closing\",\"quantifier\":\"any\",\"absent\":\"false\","
                "\"values\":[{\"json\":\"9\",\"truth\":\"false\"},{\"json\":\"\\\"y\\\"\",\"truth\":\"false\"}],"
                "\"truth\":\"false\"}],\"truth\":\"false\",\"applies\":false}");
    holds(text, "\"kind\":\"any\",\"line\":6,\"members\":[{\"condition\":\"when[0].any[0] a max\"");
    holds(text, "\"members\":[{\"condition\":\"when[0].any[1].not b matches\"");
    holds(text, "\"kind\":\"only_args\",\"line\":5,\"values\":[{\"not_listed\":\"b\",\"json\":\"\\\"y\\\"\",\"truth\":\"false\"}]");
    doc_free(&doc);
    buf_fini(&out);
    court_close(&court);
}

/* One walk: whatever is explained is what policy_eval says. */
TEST_CASE(test_same_as_eval)
{
    static const char *const arguments[] = {"{}", "{\"a\":1}", "{\"a\":9}", "{\"a\":\"drop\"}",
                                            "{\"b\":\"y\"}", "{\"a\":[],\"b\":1}"};
    static struct verdict evaluated;
    struct court court;

    court_open(&court, POLICY);
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
        evaluated = *judge_args(&court, arguments[i]);
        explain(&court, arguments[i]);
        assert_int_equal(court.verdict.kind, evaluated.kind);
        assert_int_equal(court.verdict.reason, evaluated.reason);
        assert_true(span_equals(court.verdict.rule, evaluated.rule));
        assert_int_equal(court.verdict.rule_count, evaluated.rule_count);
        assert_int_equal(court.verdict.work, evaluated.work);
    }
    court_close(&court);
}

/* Long and many values are shortened, between code points. */
TEST_CASE(test_shortened)
{
    struct court court;
    char json[2048];
    size_t at = (size_t)snprintf(json, sizeof json, "{\"x\":\"a");
    const char *words;

    for (int i = 0; i < 100; i++)
        at += (size_t)snprintf(json + at, sizeof json - at, "\xc3\xa4");
    at += (size_t)snprintf(json + at, sizeof json - at, "\",\"y\":[0");
    for (int i = 0; i < 50; i++)
        at += (size_t)snprintf(json + at, sizeof json - at, ",%d", i);
    snprintf(json + at, sizeof json - at, "]}");
    court_open(&court, POLICY);
    words = explain(&court, json);
    holds(words, "\xc3\xa4...: false");
    holds(words, "and 32 values more");
    court_close(&court);
}

static void note(void *context, const struct policy_test_result *result)
{
    char *text = context;
    size_t len = strlen(text);

    snprintf(text + len, 1024 - len, "%.*s:%d %.*s %s: %.*s / %.*s / %.*s\n", SPAN_ARG(result->file), result->line,
             SPAN_ARG(result->name), result->passed ? "ok" : "FAILED", SPAN_ARG(result->expected), SPAN_ARG(result->got),
             SPAN_ARG(result->rule));
}

/* 1.22: `tests:` with their defaults; `rule: null` is default deny. */
TEST_CASE(test_cases)
{
    struct court court;
    char text[1024] = "";
    size_t passed, failed;

    court_open(&court,
               "policy: p\n"
               "rules:\n"
               "  - {id: p, effect: permit, match: {tenants: [test], principals: [test], upstreams: [test], tools: [t]},\n"
               "     when: [{arg: a, equals: 1}]}\n"
               "  - {id: q, effect: permit, match: {methods: [ping, resources/read]}, when: "
               "[{arg: uri, equals: u, optional: true}]}\n"
               "tests:\n"
               "  - {name: one, call: {tool: t, arguments: {a: 1.0}}, expect: {verdict: permit, rule: p}}\n"
               "  - {name: two, call: {tool: t}, expect: {verdict: deny, rule: null, reason: no_rule}}\n"
               "  - {name: three, call: {tool: t, tenant: other, arguments: {a: 1}}, expect: {verdict: permit}}\n"
               "  - {name: four, call: {method: resources/read, params: {uri: v}}, expect: {verdict: deny}}\n"
               "  - {name: five, call: {method: response, answers: ping}, expect: {verdict: permit, rule: p}}\n"
               "  - {name: six, call: {method: x}, expect: {verdict: deny, rule: null, reason: method_unknown}}\n");
    assert_int_equal(policy_test(court.policy, court.scratch, note, text, &passed, &failed), CODE_OK);
    assert_int_equal(passed, 4);
    assert_int_equal(failed, 2);
    assert_string_equal(text, "p.yaml:7 one ok: permit by p / permit by p (permitted) / p\n"
                              "p.yaml:8 two ok: deny by no rule (no_rule) / deny by no rule (no_rule) / \n"
                              "p.yaml:9 three FAILED: permit / deny by no rule (no_rule) / \n"
                              "p.yaml:10 four ok: deny / deny by no rule (no_rule) / \n"
                              "p.yaml:11 five FAILED: permit by p / permit by q (permitted) / q\n"
                              "p.yaml:12 six ok: deny by no rule (method_unknown) / deny by no rule (method_unknown) / \n");
    court_close(&court);
}

static void *take_and_give(void *context)
{
    struct policy *policy = context;

    for (int i = 0; i < 10000; i++) {
        struct policy *mine = policy_ref(policy);

        policy_unref(&mine);
    }
    policy_unref(&policy);
    return NULL;
}

/* References are counted from any thread; the last one frees. */
TEST_CASE(test_references)
{
    struct court court;
    pthread_t threads[2];

    court_open(&court, POLICY);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, policy_ref(court.policy)), 0);
    policy_unref(&court.policy);
    assert_null(court.policy);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    court_close(&court);
}

/* 4.19: which parts of the answer the audit leaves out is said before there is one. */
TEST_CASE(test_answers)
{
    static const struct { const char *tool, *said, *listed; } cases[] = {
        {"read", "\nredacted in the audit, of the answer: $.content[*].text, note\n", "[\"$.content[*].text\",\"note\"]"},
        {"whole", "\nredacted in the audit, of the answer: $\n", "[\"$\"]"}, {"login", NULL, "[]"}, {"other", NULL, "[]"},
    };
    struct question question = plain_question();
    struct court court;

    court_open(&court, "policy: p\n"
                       "rules: [{id: a, effect: permit}]\n"
                       "redact:\n"
                       "  - {match: {tools: [read]}, answer: ['$.content[*].text', note]}\n"
                       "  - {match: {tools: [login]}, args: [password]}\n"
                       "  - {match: {tools: [whole]}, args: [x], answer: ['$']}\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct doc *doc = doc_object(), *answer = doc_add_array(doc, "answer");
        struct buf out;

        buf_init(&out, 1 << 20);
        question.tool = span_text(cases[i].tool);
        assert_int_equal(explain_verdict(court.policy, &question, court.scratch, &court.verdict,
                                         &(struct explain_to){.words = &out}), CODE_OK);
        assert_int_equal(buf_add(&out, "", 1), CODE_OK);
        assert_non_null(strstr(buf_peek(&out).at, cases[i].said ? cases[i].said : "verdict: permit"));
        assert_true((strstr(buf_peek(&out).at, "of the answer") != NULL) == (cases[i].said != NULL));
        buf_clear(&out);
        assert_int_equal(explain_verdict(court.policy, &question, court.scratch, &court.verdict,
                                     &(struct explain_to){.rules = doc_add_array(doc, "rules"), .redacted = answer}),
                     CODE_OK);
        assert_int_equal(doc_print(answer, &out), CODE_OK);
        assert_true(span_is(buf_peek(&out), cases[i].listed));
        buf_fini(&out);
        doc_free(&doc);
    }
    court_close(&court);
}

#define SECRET "4111111111111111"
#define BACK                                                                                                    \
    "policy: p\n"                                                                                               \
    "rules: [{id: p, effect: permit, match: {tools: [t]}}]\n"                                                   \
    "answers:\n"                                                                                                \
    "  - {id: cards, effect: redact, match: {tools: [t]}, when: [{value: '$..*', matches: '4[0-9]{15}'}]}\n"    \
    "  - {id: words, effect: flag, match: {tools: [t]}, when: [{value: '$..*', contains: Hidden, decode: [base64]}]}\n" \
    "  - {id: names, effect: flag, mode: monitor, match: {tools: [t]}, when: [{value: '$..*', keys: true, matches: '4[0-9]{15}'}]}\n" \
    "  - {id: other, effect: withhold, match: {tools: [t], upstreams: [elsewhere]}}\n"

/* 9.2: which rule finds what where, in words and as a document; nothing of what the answer holds is in either, not even where it
 * stands in a member's name, in JSON inside a text or behind a decoder. */
TEST_CASE(test_what_comes_back)
{
    static const char answer_text[] =
        "{\"content\":[{\"text\":\"{\\\"card\\\":\\\"is " SECRET "\\\",\\\"" SECRET "\\\":{\\\"x\\\":\\\"" SECRET "\\\"}}\"},"
        "{\"text\":\"SGlkZGVu\"},{\"text\":\"plainly Hidden\"}],\"_meta\":{\"n\":" SECRET "}}";
    struct question question = plain_question();
    static struct answer_verdict verdict;
    struct doc *doc = doc_object();
    struct policy_answer answer = {.root = NULL};
    static char words[16384];
    struct court court;
    struct buf out, json;

    court_open(&court, BACK);
    buf_init(&out, 1 << 20);
    buf_init(&json, 1 << 20);
    answer.root = court_tree(&court, span_text(answer_text));
    assert_int_equal(explain_answer(court.policy, &question, &answer, court.scratch, &verdict,
                                    &(struct explain_to){.words = &out, .rules = doc_add_array(doc, "rules"),
                                                         .found = doc_add_array(doc, "found")}), CODE_OK);
    assert_int_equal(doc_print(doc, &json), CODE_OK);
    (void)snprintf(words, sizeof words, "%.*s", SPAN_ARG(buf_peek(&out)));
    holds(words, "redact cards (p.yaml:4): its match holds");
    holds(words, "found cards in $.content[0].text, in the JSON of that text in $.card, 16 bytes at byte 3\n");
    holds(words, "$.(a name that is not shown).x, 16 bytes at byte 0\n");
    holds(words, "found cards where nothing can be cut out");
    holds(words, "found words in $.content[2].text, 6 bytes at byte 8\n");
    holds(words, "withhold other (p.yaml:7): its match misses by upstreams [elsewhere]\n");
    holds(words, "answer: withhold by cards, because what was found is in no text that could be cut\n");
    holds(words, "\nfound: ");
    assert_null(strstr(words, SECRET));
    assert_null(strstr(words, "SGlkZGVu"));
    (void)snprintf(words, sizeof words, "%.*s", SPAN_ARG(buf_peek(&json)));
    holds(words, "\"found\":\"cards\",\"path\":\"$.content[0].text\",\"inside\":\"$.card\",\"at\":3,\"bytes\":16");
    assert_null(strstr(words, SECRET));
    assert_null(strstr(words, "SGlkZGVu"));
    assert_null(strstr(words, "plainly"));
    doc_free(&doc);
    buf_fini(&out);
    buf_fini(&json);
    court_close(&court);
}

TEST_MAIN(NULL, NULL)
