/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/policy/judge.h"
#include "judgement/judgement.h"
#include "language/language.h"

#define POLICY                                                                                \
    "policy: p\n"                                                                             \
    "rules: [{id: a, effect: permit, match: {methods: ['*']}}]\n"                             \
    "redact:\n"                                                                               \
    "  - {match: {tools: [login]}, args: [password, '$.auth.token', '$.list[*].pin']}\n"      \
    "  - {match: {tools: [{regex: 'deep'}]}, args: ['$..secret', '$.a']}\n"                   \
    "  - {match: {tools: [all]}, args: ['$']}\n"                                              \
    "  - {match: {principals: [spy]}, args: [x]}\n"

/* The redacted values, in the order of the verdict. */
static const char *redacted(struct court *court, const char *tool, const char *arguments)
{
    static char text[512];
    struct question question = plain_question();
    size_t at = 0;

    question.tool = span_text(tool);
    judge(court, question, arguments);
    if (court->verdict.redact_all)
        return "all";
    text[0] = '\0';
    for (uint32_t i = 0; i < court->verdict.redact_count; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s", i ? " " : "", SPAN_ARG(court->verdict.redact[i]->raw));
    return text;
}

/* 1.20: redact names values by path, in document order, the outermost only; `$` and the undecided redact everything. */
TEST_CASE(test_redact)
{
    struct court court;
    struct question question = plain_question();

    court_open(&court, POLICY);
    assert_string_equal(redacted(&court, "login", "{\"user\":\"u\",\"password\":\"p\"}"), "\"p\"");
    assert_string_equal(redacted(&court, "login",
                                 "{\"auth\":{\"token\":[1,2]},\"list\":[{\"pin\":1},{\"pin\":2}],\"password\":null}"),
                        "[1,2] 1 2 null");
    assert_string_equal(redacted(&court, "other", "{\"password\":\"p\"}"), "");
    assert_string_equal(redacted(&court, "xdeepx", "{\"b\":{\"secret\":1},\"a\":{\"secret\":2}}"), "1 {\"secret\":2}");
    assert_string_equal(redacted(&court, "xdeepx",
                                 "{\"a\":1,\"secret\":{\"secret\":{\"secret\":3}}}"), "1 {\"secret\":{\"secret\":3}}");
    assert_string_equal(redacted(&court, "all", "{}"), "all");
    assert_string_equal(redacted(&court, "login", NULL), "");
    question.principal = SPAN_LIT("spy");
    judge(&court, question, "{\"x\":1}");
    assert_int_equal(court.verdict.redact_count, 1);
    /* Without tools every method is meant. */
    question.method = SPAN_LIT("resources/read");
    question.tool = SPAN_NONE;
    judge(&court, question, "{\"x\":1}");
    assert_int_equal(court.verdict.redact_count, 1);
    court_close(&court);
}

/* 4.10: `params` has paths of its own, which lead into all of params where a method has no arguments; `query` has none. */
TEST_CASE(test_params)
{
    static const char *const params = "{\"note\":1,\"_meta\":{\"t\":2}}";
    static const struct { const char *method, *tool; bool all, query; uint32_t args, params; } cases[] = {
        {"tools/call", "a", false, false, 0, 2}, {"tools/call", "b", false, false, 0, 1}, {"tools/call", "c", true, false, 0, 0},
        {"tools/call", "q", false, true, 0, 0}, {"tools/call", "o", false, false, 0, 0},
        {"tools/list", "", false, true, 2, 0},
    };
    struct court court;
    struct arena arena;
    struct buf text;
    struct question question = plain_question();
    struct json_fault fault;

    arena_init(&arena, 1 << 20);
    buf_init(&text, 1 << 20);
    assert_int_equal(json_read(span_text(params), &json_request_rules, &text, &arena, &question.params, &fault), CODE_OK);
    court_open(&court, "policy: p\n"
                       "redact:\n"
                       "  - {match: {tools: [a]}, params: [note, '$._meta.t']}\n"
                       "  - {match: {tools: [b]}, params: ['$', note]}\n"
                       "  - {match: {tools: [c]}, args: ['$']}\n"
                       "  - {match: {tools: [q]}, query: true}\n"
                       "  - {match: {methods: [tools/list]}, args: [note], params: ['$._meta'], query: true}\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        question.method = span_text(cases[i].method);
        question.tool = span_text(cases[i].tool);
        judge(&court, question, params);
        assert_int_equal(court.verdict.redact_all, cases[i].all);
        assert_int_equal(court.verdict.redact_query, cases[i].query);
        if (!cases[i].all) {
            assert_int_equal(court.verdict.redact_count, cases[i].args);
            assert_int_equal(court.verdict.redact_param_count, cases[i].params);
        }
    }
    court_close(&court);
    buf_fini(&text);
    arena_fini(&arena);
}

/* 4.19: parts of the answer by their own paths; what cannot be looked at is redacted whole, if anything would be. */
TEST_CASE(test_answers)
{
    static const struct { const char *tool, *answer; bool all; uint32_t count; } cases[] = {
        {"read", "{\"content\":[{\"text\":\"a\"},{\"text\":[1]},{\"data\":1}],\"note\":2}", false, 3},
        {"read", NULL, true, 0}, {"read", "[]", false, 0}, {"whole", "5", true, 0}, {"whole", NULL, true, 0},
        {"login", "{\"password\":1}", false, 0}, {"login", NULL, false, 0}, {"other", NULL, false, 0},
    };
    struct court court;

    court_open(&court, "policy: p\n"
                       "rules: [{id: a, effect: permit, match: {methods: ['*']}}]\n"
                       "redact:\n"
                       "  - {match: {tools: [read]}, answer: ['$.content[*].text', note]}\n"
                       "  - {match: {tools: [login]}, args: [password]}\n"
                       "  - {match: {tools: [whole]}, args: [x], answer: ['$']}\n");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct question question = plain_question();
        const struct json_node *root = NULL;
        struct json_fault fault;
        struct verdict verdict;
        struct arena arena;
        struct buf text;

        question.tool = span_text(cases[i].tool);
        arena_init(&arena, 1 << 20);
        buf_init(&text, 1 << 20);
        if (cases[i].answer != NULL)
            assert_int_equal(json_read(span_text(cases[i].answer), &json_reply_rules, &text, &arena, &root, &fault), CODE_OK);
        policy_redact_answer(court.policy, &question, root, court.scratch, &verdict);
        assert_int_equal(verdict.redact_all, cases[i].all);
        assert_int_equal(verdict.redact_count, cases[i].count);
        policy_redact_answer(NULL, &question, root, court.scratch, &verdict);
        assert_true(verdict.redact_all);
        buf_fini(&text);
        arena_fini(&arena);
        judge(&court, question, "{\"x\":1}"); /* arguments have paths of their own */
        assert_int_equal(court.verdict.redact_count, span_is(question.tool, "whole"));
    }
    court_close(&court);
}

/* 2.1: slices and places counted from the end; what is selected twice is redacted once. */
TEST_CASE(test_slices)
{
    struct court court;

    court_open(&court, "policy: p\nrules: [{id: a, effect: permit}]\n"
                       "redact:\n"
                       "  - {match: {tools: [ends]}, args: ['$.l[-1]', '$.l[1:3]', '$.l[-2]']}\n"
                       "  - {match: {tools: [steps]}, args: ['$.l[::-2]', '$.m[0,-1].x', '$.m[0:1].x']}\n"
                       "  - {match: {tools: [none]}, args: ['$.l[3:1]', '$.l[::0]', '$.l[-9]']}\n");
    assert_string_equal(redacted(&court, "ends", "{\"l\":[0,1,2,3,4]}"), "1 2 3 4");
    assert_string_equal(redacted(&court, "ends", "{\"l\":[0]}"), "0");
    assert_string_equal(redacted(&court, "ends", "{\"l\":{\"-1\":1}}"), "");
    assert_string_equal(redacted(&court, "steps", "{\"l\":[0,1,2,3,4],\"m\":[{\"x\":7},{\"x\":8},{\"x\":9}]}"), "0 2 4 7 9");
    assert_string_equal(redacted(&court, "none", "{\"l\":[0,1,2,3,4]}"), "");
    court_close(&court);
}

/* A6: a redaction that cannot be decided redacts all. */
TEST_CASE(test_undecided)
{
    static struct faults faults;
    struct policy_file file = {SPAN_LIT("p.yaml"),
                               SPAN_LIT("policy: p\nredact: [{match: {tools: [{regex: 'a*a*a*a*c|b'}]}, params: [x], query: true}]\n")};
    size_t len = 1 << 16;
    char *tool = malloc(len);
    struct question question = plain_question();
    struct court court;

    assert_non_null(tool);
    memset(tool, 'a', len);
    tool[len - 1] = 'c';
    tool[len - 2] = 'd';
    /* As if it were stored: such a regex would not get there. */
    court_open(&court, "policy: p\n");
    policy_unref(&court.policy);
    assert_int_equal(policy_compile(&file, 1, 1, &court.policy, &faults, NULL), CODE_OK);
    question.tool = span_of(tool, len);
    judge(&court, question, "{\"x\":1}");
    assert_true(court.verdict.redact_all && court.verdict.redact_query);
    court_close(&court);
    free(tool);
}

/* Many values: none is lost, and denials are redacted too. */
TEST_CASE(test_many)
{
    struct court court;
    char *json = malloc(200000);
    size_t at = (size_t)snprintf(json, 32, "{\"v\":[0");

    for (int i = 1; i < 10000; i++)
        at += (size_t)snprintf(json + at, 16, ",%d", i);
    snprintf(json + at, 16, "]}");
    court_open(&court, "policy: p\nredact: [{args: ['$.v[*]', '$.v[1:5]']}]\n");
    judge_args(&court, json);
    assert_int_equal(court.verdict.kind, VERDICT_DENY);
    assert_int_equal(court.verdict.redact_count, 10000);
    for (uint32_t i = 1; i < court.verdict.redact_count; i++)
        assert_true(court.verdict.redact[i - 1]->raw.at < court.verdict.redact[i]->raw.at);
    court_close(&court);
    free(json);
}

/* A path that selects the same values over and over does not choose how much memory that takes. */
TEST_CASE(test_too_many)
{
    struct court court;
    char *json = malloc(400000);
    size_t at = (size_t)snprintf(json, 32, "{\"v\":[0");

    for (int i = 0; i < 2000; i++, at += 121) {
        memset(json + at + 1, '[', 60);
        memset(json + at + 61, ']', 60);
        json[at] = ',';
    }
    snprintf(json + at, 16, "]}");
    court_open(&court, "policy: p\nredact: [{args: ['$.v[*]..*..*']}]\n");
    judge_args(&court, json);
    assert_true(court.verdict.redact_all);
    assert_int_equal(court.verdict.redact_count, 0);
    court_close(&court);
    free(json);
}

TEST_MAIN(NULL, NULL)
