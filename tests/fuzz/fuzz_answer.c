/* SPDX-License-Identifier: Apache-2.0 */
/* Any JSON as what came back, under rules for answers: what a redaction lets through is JSON of the same shape in which its
 * condition no longer finds anything, and a flag of the same condition applies exactly where it does. */
#include "base/bug.h"
#include "policy/answer.h"
#include "judgement/judgement.h"
#include "language/language.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const char *const conditions[] = {
    "{value: '$..*', contains: drop}", "{value: '$..*', matches: 'a+b'}", "{value: '$.content[*].text', matches: '[0-9]{3,}'}",
    "{value: '$..*', contains: drop, decode: [percent, base64, json]}", "{value: '$..*', keys: true, contains: drop}",
    "{value: '$.content[*].text..a', equals: drop}", "{any: [{value: '$.a', contains: b}, {value: '$..*', matches: 'x.y'}]}",
    "{value: '$.structuredContent..*', matches: '(?i)key=.'}", "{media: [image/*]}", "{size: result, max: 100}",
};

#define CONDITIONS (sizeof conditions / sizeof *conditions)

static struct policy *redacting[CONDITIONS], *flagging[CONDITIONS];
static struct policy_scratch *scratch;

static struct policy *make_policy(const char *effect, const char *condition)
{
    static struct faults faults;
    char text[512];
    struct policy_file file = {.path = SPAN_LIT("fuzz.yaml")};
    struct policy *policy = NULL;
    int size = snprintf(text, sizeof text, "policy: p\nanswers:\n  - {id: _, effect: %s, when: [%s]}\n", effect, condition);

    BUG_ON(size < 0 || size >= (int)sizeof text);
    file.text = span_of(text, (size_t)size);
    faults_init(&faults);
    BUG_ON(policy_compile(&file, 1, 1, &policy, &faults, NULL) != CODE_OK);
    return policy;
}

static void judge(const struct policy *policy, const struct json_node *root, struct answer_verdict *verdict)
{
    struct question question = {.tenant = SPAN_LIT("t"), .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("x")};
    struct policy_answer answer = {.root = root};

    policy_judge_answer(policy, &question, &answer, false, scratch, verdict);
    BUG_ON(verdict->why == ANSWER_NO_MEMORY);
}

/* The same members in the same places, and nothing but strings is another value. */
static bool is_like(const struct json_node *a, const struct json_node *b)
{
    const struct json_node *left = a->child, *right = b->child;

    if (a->type != b->type || !span_equals(a->key, b->key) || a->count != b->count)
        return false;
    for (; left != NULL && right != NULL; left = left->next, right = right->next)
        if (!is_like(left, right))
            return false;
    return a->child != NULL || a->type == JSON_STRING || span_equals(a->raw, b->raw);
}

/* 11.3: the tree over a document follows what is left out of it. */
static void edit_in_place(const struct answer_verdict *verdict, struct span document, const struct json_node *wanted)
{
    const struct json_node *root;
    struct json_edits edits;
    struct json_fault fault;
    struct arena arena;
    struct buf bytes;

    buf_init(&bytes, 8 << 20);
    arena_init(&arena, 64 << 20);
    json_edits_init(&edits);
    BUG_ON(json_read(document, &json_reply_rules, &bytes, &arena, &root, &fault) != CODE_OK);
    BUG_ON(policy_answer_edits(verdict, document, &edits) != CODE_OK);
    BUG_ON(json_edits_apply(&edits, &bytes, &arena, root) != CODE_OK || !json_equal(root, wanted));
    BUG_ON(!span_equals(root->raw, wanted->raw) || !span_equals(root->raw, buf_peek(&bytes)));
    json_edits_fini(&edits);
    buf_fini(&bytes);
    arena_fini(&arena);
}

static void check(size_t at, struct span document, const struct json_node *root)
{
    static struct answer_verdict verdict, again;
    const struct json_node *left;
    struct json_fault fault;
    struct arena arena;
    struct buf out;

    judge(flagging[at], root, &again);
    judge(redacting[at], root, &verdict);
    BUG_ON((verdict.effect == ANSWER_NONE) != (again.effect == ANSWER_NONE) && verdict.why != ANSWER_TOO_COSTLY);
    if (verdict.effect != ANSWER_REDACT)
        return;
    arena_init(&arena, 64 << 20);
    buf_init(&out, 8 << 20);
    BUG_ON(policy_answer_write(&verdict, document, &out) != CODE_OK);
    BUG_ON(json_read(buf_peek(&out), &json_reply_rules, &out, &arena, &left, &fault) != CODE_OK || !is_like(root, left));
    edit_in_place(&verdict, document, left);
    judge(flagging[at], left, &again);
    BUG_ON(again.effect != ANSWER_NONE);
    buf_fini(&out);
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const struct json_node *root = NULL;
    struct json_fault fault;
    struct arena arena;
    struct buf out;

    if (scratch == NULL) {
        BUG_ON(policy_scratch_new(&scratch) != CODE_OK);
        for (size_t i = 0; i < CONDITIONS; i++) {
            redacting[i] = make_policy("redact", conditions[i]);
            flagging[i] = make_policy("flag", conditions[i]);
        }
    }
    if (len > 65536)
        return 0;
    arena_init(&arena, 64 << 20);
    buf_init(&out, 1 << 20);
    if (json_read(span_of(bytes, len), &json_reply_rules, &out, &arena, &root, &fault) == CODE_OK)
        for (size_t i = 0; i < CONDITIONS; i++)
            check(i, buf_peek(&out), root);
    buf_fini(&out);
    arena_fini(&arena);
    return 0;
}
