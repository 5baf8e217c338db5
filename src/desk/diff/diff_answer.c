/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to try on both sides of a change: those of all tests, and some around what the conditions of changed rules ask. */
#include "diff/diff_priv.h"
#include "base/hash.h"
#include "policy/case.h"
#include "judgement/judgement.h"

#define BASE "{\"content\":[{\"type\":\"text\",\"text\":\"probe\"}],\"isError\":false}"
#define ASKED_MAX 12 /* calls that are answered for one rule, each with other names */
#define MADE_MAX_BYTES ((size_t)64 << 20)

struct trying {
    struct diff *diff;
    struct policy_scratch *scratch;
    struct answer_verdict verdict[2];
    struct buf left[2];     /* what goes on, before and after */
    struct arena arena;
    const struct rule *rule; /* answers are made for it */
    const struct question *question; /* of the answers that are made */
    uint64_t asked[ASKED_MAX];       /* hashes of the names in questions for the rule */
    size_t asked_count;
    enum code code;          /* sticks */
};

static bool same_rule(struct span a, struct span b)
{
    return (a.at == NULL) == (b.at == NULL) && span_equals(a, b);
}

/* Takes: test: whose answer it is; at == NULL: nobody's. */
static void note(struct trying *t, struct span test)
{
    const struct answer_verdict *before = &t->verdict[0], *after = &t->verdict[1];
    struct diff *diff = t->diff;
    struct diff_back *back = diff->backs;

    diff->answers_changed++;
    for (size_t i = 0; i < diff->back_count; i++, back++)
        if (back->before == before->effect && back->after == after->effect && same_rule(back->before_rule, before->rule) &&
            same_rule(back->after_rule, after->rule))
            break;
    if (back == diff->backs + DIFF_BACKS_MAX)
        return;
    if (back == diff->backs + diff->back_count) {
        *back = (struct diff_back){before->effect, after->effect, before->rule, after->rule, 0, SPAN_NONE};
        diff->back_count++;
    }
    back->answers++;
    if (back->test.at == NULL)
        back->test = test;
}

/* What went on before is written before the scratch is used again. */
static void judge(struct trying *t, int side, const struct policy_case *kase, const struct policy_answer *answer)
{
    const struct policy *policy = side == 0 ? t->diff->before : t->diff->after;
    struct answer_verdict *verdict = &t->verdict[side];

    if (kase != NULL)
        policy_judge_case_answer(policy, kase, t->scratch, NULL, verdict);
    else
        policy_judge_answer(policy, t->question, answer, false, t->scratch, verdict);
    buf_clear(&t->left[side]);
    if (verdict->effect == ANSWER_REDACT && answer->root != NULL &&
        policy_answer_write(verdict, answer->root->raw, &t->left[side]) == CODE_NOMEM)
        t->code = CODE_NOMEM;
    if (verdict->why == ANSWER_NO_MEMORY)
        t->code = CODE_NOMEM;
}

static void try_answer(struct trying *t, const struct policy_case *kase, const struct policy_answer *answer)
{
    for (int side = 0; side < 2; side++)
        judge(t, side, kase, answer);
    t->diff->answers++;
    t->diff->answers_of_tests += kase != NULL;
    if (t->code == CODE_OK && (t->verdict[0].effect != t->verdict[1].effect ||
                               !span_equals(buf_peek(&t->left[0]), buf_peek(&t->left[1]))))
        note(t, kase != NULL ? kase->name : SPAN_NONE);
}

/* Whether the policy has the same test. */
static bool has_test(const struct policy *policy, const struct policy_case *kase)
{
    for (uint32_t i = 0; i < policy->case_count; i++) {
        const struct policy_case *other = &policy->cases[i];

        if (other->has_answer && span_equals(other->name, kase->name) &&
            span_equals(other->answer.root->raw, kase->answer.root->raw))
            return true;
    }
    return false;
}

static void try_tests(struct trying *t, const struct policy *policy, const struct policy *tried)
{
    for (uint32_t i = 0; i < policy->case_count && t->code == CODE_OK; i++)
        if (policy->cases[i].has_answer && (tried == NULL || !has_test(tried, &policy->cases[i])))
            try_answer(t, &policy->cases[i], &policy->cases[i].answer);
}

/* ---- answers that are made ---- */

static void try_value(struct trying *t, const struct condition *leaf, struct span json)
{
    struct policy_answer answer = {.root = NULL};
    struct buf base, text, canonical;
    struct diff_tree *tree;
    enum code code = CODE_NOMEM;

    buf_init(&text, DIFF_VALUE_MAX_BYTES);
    tree = diff__tree_new(&t->arena, diff__read_json(SPAN_LIT(BASE), &base, &t->arena, &t->code));
    if (tree != NULL)
        code = diff__tree_set(&t->arena, tree, &leaf->path, json);
    if (code == CODE_OK)
        diff__tree_write(tree, &text);
    if (code == CODE_NOMEM || buf_code(&text) == CODE_NOMEM)
        t->code = CODE_NOMEM;
    if (code == CODE_OK && buf_code(&text) == CODE_OK && t->code == CODE_OK) {
        answer.root = diff__read_json(buf_peek(&text), &canonical, &t->arena, &t->code);
        if (answer.root != NULL)
            try_answer(t, NULL, &answer);
        buf_fini(&canonical);
    }
    buf_fini(&base);
    buf_fini(&text);
}

static void try_values(struct trying *t, const struct condition *condition)
{
    struct diff_values values;

    if (condition->kind == CONDITION_LEAF && condition->from == FROM_VALUE && !condition->asks_keys &&
        condition->path.count > 0) {
        diff__collect(&values, &t->arena, t->question, condition);
        for (size_t i = 0; i < values.count && t->code == CODE_OK; i++)
            try_value(t, condition, values.json[i]);
        if (values.code != CODE_OK)
            t->code = values.code;
    }
    for (uint32_t i = 0; i < condition->count && t->code == CODE_OK; i++)
        try_values(t, &condition->members[i]);
}

/* Whether no call with these names was answered, and there is room for one more. */
static bool is_new(struct trying *t, const struct question *q)
{
    const struct span names[] = {q->tenant, q->principal, q->agent, q->upstream, q->method, q->tool, q->resource, q->prompt,
                                 q->path};
    uint64_t hash = 1;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        hash = hash_mix(hash, hash_span(names[i]));
    for (size_t i = 0; i < t->asked_count; i++)
        if (t->asked[i] == hash)
            return false;
    if (t->asked_count == ASKED_MAX)
        return false;
    t->asked[t->asked_count++] = hash;
    return true;
}

/* Calls that the rule concerns are answered. */
static enum code answer_call(void *context, const struct question *question)
{
    struct trying *t = context;
    struct regex_budget budget;
    enum dimension undecided;

    regex_budget_init(&budget);
    if (policy_match(&t->rule->match, DIM_TENANT, DIM_COUNT, question, &budget, &undecided) != TRUTH_TRUE ||
        !is_new(t, question))
        return CODE_OK;
    t->question = question;
    arena_reset(&t->arena);
    try_values(t, t->rule->when);
    return t->code;
}

static void try_made(struct trying *t, const struct rule *rule)
{
    enum code code = CODE_OK;

    t->rule = rule;
    t->asked_count = 0;
    if (rule != NULL && rule->when != NULL)
        code = diff__calls_of(rule, t->diff->before, t->diff->after, answer_call, t);
    if (code != CODE_OK)
        t->code = code;
}

enum code diff__probe_answers(struct diff *diff, const struct diff_pair *pairs, size_t count)
{
    struct trying *t = mem_zalloc(sizeof *t);
    enum code code = t != NULL ? policy_scratch_new(&t->scratch) : CODE_NOMEM;

    if (code == CODE_OK) {
        t->diff = diff;
        arena_init(&t->arena, MADE_MAX_BYTES);
        buf_init(&t->left[0], MADE_MAX_BYTES);
        buf_init(&t->left[1], MADE_MAX_BYTES);
        try_tests(t, diff->before, NULL);
        try_tests(t, diff->after, diff->before);
        for (size_t i = 0; i < count && t->code == CODE_OK; i++)
            if (pairs[i].differs) {
                try_made(t, pairs[i].before.rule);
                try_made(t, pairs[i].after.rule);
            }
        code = t->code;
        buf_fini(&t->left[0]);
        buf_fini(&t->left[1]);
        arena_fini(&t->arena);
        policy_scratch_free(&t->scratch);
    }
    mem_free(t);
    return code;
}
