/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of policies share: a policy's text and a call in, a verdict out. */
#ifndef TESTS_UNIT_POLICY_JUDGE_H
#define TESTS_UNIT_POLICY_JUDGE_H

#include "author/warn.h"
#include "base/mem.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "policy/policy.h"
#include "fakes/cm.h"

#include <stdio.h>
#include <stdlib.h>

struct court {
    struct policy *policy;
    struct policy_scratch *scratch;
    struct arena arena;
    struct buf text; /* canonical arguments */
    struct verdict verdict;
};

static inline void print_faults(const struct faults *faults)
{
    for (size_t i = 0; i < faults->count && i < FAULTS_MAX; i++)
        fprintf(stderr, "%s:%d:%d: %s\n", faults->fault[i].file, faults->fault[i].line, faults->fault[i].column,
                faults->fault[i].text);
}

/* Compiles one file called p.yaml. */
static inline enum code compile_text(const char *text, struct policy **policy, struct faults *faults, struct faults *warnings)
{
    struct policy_file file = {.path = SPAN_LIT("p.yaml"), .text = span_text(text)};
    enum code code;

    faults_init(faults);
    if (warnings != NULL)
        faults_init(warnings);
    code = policy_compile(&file, 1, 0, policy, faults, warnings);
    if (code == CODE_OK && warnings != NULL)
        code = warn_policy(*policy, 0, warnings);
    if (code != CODE_OK)
        policy_unref(policy);
    return code;
}

static inline void court_open(struct court *court, const char *text)
{
    static struct faults faults;

    memset(court, 0, sizeof *court);
    if (compile_text(text, &court->policy, &faults, NULL) != CODE_OK) {
        print_faults(&faults);
        fail_msg("the policy does not compile:\n%s", text);
    }
    assert_int_equal(policy_scratch_new(&court->scratch), CODE_OK);
    arena_init(&court->arena, (size_t)256 << 20);
    buf_init(&court->text, (size_t)64 << 20);
}

static inline void court_close(struct court *court)
{
    policy_unref(&court->policy);
    policy_scratch_free(&court->scratch);
    arena_fini(&court->arena);
    buf_fini(&court->text);
}

/* The tree of a call's arguments; NULL gives NULL. Lives until the next. */
static inline const struct json_node *court_tree(struct court *court, struct span json)
{
    const struct json_node *root = NULL;
    struct json_fault fault = {0};

    if (json.at == NULL)
        return NULL;
    arena_reset(&court->arena);
    buf_clear(&court->text);
    if (json_read(json, &json_file_rules, &court->text, &court->arena, &root, &fault) != CODE_OK)
        fail_msg("not JSON (%s at %zu): %.*s", fault.text, fault.offset, SPAN_ARG(span_part(json, 0, 100)));
    return root;
}

static inline struct question plain_question(void)
{
    return (struct question){.tenant = SPAN_LIT("acme"),
                             .principal = SPAN_LIT("bot"),
                             .upstream = SPAN_LIT("shop"),
                             .method = SPAN_LIT("tools/call"),
                             .tool = SPAN_LIT("t")};
}

static inline const struct verdict *judge(struct court *court, struct question question, const char *arguments)
{
    question.root = court_tree(court, arguments ? span_text(arguments) : SPAN_NONE);
    policy_eval(court->policy, &question, false, court->scratch, &court->verdict);
    return &court->verdict;
}

/* A call of the tool `t`. */
static inline const struct verdict *judge_args(struct court *court, const char *arguments)
{
    return judge(court, plain_question(), arguments);
}

#define JUDGE_DETECTORS \
    "detectors:\n" \
    "  nul: {pattern: '(?i)S%00', literals: ['s%'], finds: ['s%00'], passes: ['s%0']}\n" \
    "  fifth: {pattern: '\\b\\d{2}(?!\\d)', literals: ['\\b\\d\\d'], finds: ['19']}\n" \
    "  card: {pattern: '\\b\\d{4}(?: ?\\d){9,18}', literals: ['\\b\\d\\d\\d\\d'], check: payment_card, finds: ['4111111111111111']}\n"

/* UNDER is undecided of texts that are no path. */
#define JUDGE_KINDS \
    "kinds:\n" \
    "  FILE: {matches: '[a-z][a-z0-9./]*'}\n" \
    "  N: {matches: '-?[0-9]{1,4}'}\n" \
    "  TEXT: {max_length: 100}\n" \
    "  HEAD: {equals: HEAD}\n" \
    "  UNDER: {under: /srv}\n"

/* One rule with the condition; what the verdict is for these arguments. */
static inline enum verdict_kind judge_condition(const char *effect, const char *condition, struct span arguments,
                                                bool *undecided)
{
    static struct court court;
    struct question question = plain_question();
    enum verdict_kind kind;
    char text[4096];

    snprintf(text, sizeof text,
             "policy: p\n%s%srules:\n  - {id: r, effect: %s, match: {tools: [t]}, slow_regex: allow, when: [%s]}\n",
             strstr(condition, "detect") != NULL || strstr(condition, "none_of") != NULL ? JUDGE_DETECTORS : "",
             strstr(condition, "words:") != NULL ? JUDGE_KINDS : "", effect, condition);
    court_open(&court, text);
    question.root = court_tree(&court, arguments);
    policy_eval(court.policy, &question, false, court.scratch, &court.verdict);
    kind = court.verdict.kind;
    if (undecided != NULL)
        *undecided = court.verdict.undecided.len > 0;
    court_close(&court);
    return kind;
}

/* The truth of a condition over `arguments`, T, F or U. A require_approval shows all three; behind a `not` its
 * conditions open. */
static inline char truth_of_condition(const char *condition, struct span arguments, bool opening)
{
    bool undecided = false, applies;
    char text[2048];

    snprintf(text, sizeof text, opening ? "{not: %s}" : "%s", condition);
    applies = judge_condition("require_approval", text, arguments, &undecided) == VERDICT_HOLD;
    return undecided ? 'U' : applies != opening ? 'T' : 'F';
}

static inline void print_failed_case(void *context, const struct policy_test_result *result)
{
    (void)context;
    if (!result->passed)
        print_message("%.*s: wanted %.*s, got %.*s\n", SPAN_ARG(result->name), SPAN_ARG(result->expected), SPAN_ARG(result->got));
}

/* Runs the tests of the policy; all of them pass. Returns: how many. */
static inline size_t court_run_tests(struct court *court)
{
    size_t passed, failed;

    assert_int_equal(policy_test(court->policy, court->scratch, print_failed_case, NULL, &passed, &failed), CODE_OK);
    assert_int_equal(failed, 0);
    return passed;
}

#endif
