/* SPDX-License-Identifier: Apache-2.0 */
/* 2.6: recorded calls, one a line: the arguments as JSON, or [TOOL, ARGUMENTS]. Whatever they are, the draft that is learned from
 * them compiles, its tests pass and it permits each of them. */
#include "base/bug.h"
#include "past/learn.h"
#include "judgement/judgement.h"
#include "language/language.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define LINES_MAX 64
#define LINE_BYTES_MAX 8192

static const struct json_rules rules = {.max_depth = 64, .max_nodes = 200000, .max_keys = 4096};

/* One call as recorded_read would give it. Returns: false for a line that is none. */
static bool read_line(struct span line, struct recorded *recorded)
{
    static const struct question_hidden nothing = {.meta = true};
    struct question *question = &recorded->question;
    const struct json_node *root;
    struct json_fault fault;

    recorded_init(recorded);
    if (line.len > LINE_BYTES_MAX ||
        json_read(line, &rules, &recorded->canonical, &recorded->arena, &root, &fault) != CODE_OK)
        return false;
    *question = (struct question){.tenant = SPAN_LIT("acme"), .principal = SPAN_LIT("bot"), .upstream = SPAN_LIT("shop"),
                                  .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("t"), .hidden = &nothing};
    if (root->type == JSON_ARRAY && root->count == 2 && root->child->type == JSON_STRING && root->child->text.len > 0) {
        question->tool = root->child->text;
        root = root->child->next;
    }
    question->root = root->type == JSON_OBJECT ? root : NULL;
    recorded->target = question->tool;
    recorded->kind = RECORDED_JUDGED;
    recorded->verdict = VERDICT_PERMIT;
    recorded->arguments = question->root != NULL ? root->raw : SPAN_NONE;
    return true;
}

static struct span next_line(struct span *rest)
{
    return span_cut(*rest, '\n', rest);
}

static enum code learn_lines(struct learn *learn, struct span text)
{
    enum code code = CODE_OK;

    for (int i = 0; i < LINES_MAX && text.len > 0 && code == CODE_OK; i++) {
        struct recorded recorded;

        if (read_line(next_line(&text), &recorded))
            code = learn_add(learn, &recorded);
        recorded_fini(&recorded);
    }
    return code;
}

static void note_test(void *context, const struct policy_test_result *result)
{
    (void)context;
    BUG_ON(!result->passed);
}

static void ask_lines(const struct policy *policy, struct policy_scratch *scratch, struct span text)
{
    static struct verdict verdict;

    for (int i = 0; i < LINES_MAX && text.len > 0; i++) {
        struct recorded recorded;

        if (read_line(next_line(&text), &recorded)) {
            policy_eval(policy, &recorded.question, false, scratch, &verdict);
            BUG_ON(verdict.kind != VERDICT_PERMIT && verdict.reason != REASON_MEMORY && verdict.reason != REASON_TOO_COSTLY);
        }
        recorded_fini(&recorded);
    }
}

static void judge(struct span draft, struct span text)
{
    const struct policy_file file = {.path = SPAN_LIT("draft"), .text = draft};
    struct policy_scratch *scratch;
    struct policy *policy;
    struct faults faults;
    size_t passed, failed;
    enum code code;

    faults_init(&faults);
    code = policy_compile(&file, 1, 0, &policy, &faults, NULL);
    BUG_ON(code != CODE_OK && code != CODE_NOMEM);
    if (code != CODE_OK)
        return;
    if (policy_scratch_new(&scratch) == CODE_OK) {
        ask_lines(policy, scratch, text);
        BUG_ON(policy_test(policy, scratch, note_test, NULL, &passed, &failed) == CODE_INVALID);
        policy_scratch_free(&scratch);
    }
    policy_unref(&policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span text = span_of(bytes, len);
    struct learn_sum sum;
    struct learn *learn;
    struct buf draft;

    if (learn_new(&learn) != CODE_OK)
        return 0;
    buf_init(&draft, (size_t)64 << 20);
    if (learn_lines(learn, text) == CODE_OK && learn_write(learn, SPAN_LIT("learned"), 1, &draft, &sum) == CODE_OK)
        judge(buf_peek(&draft), text);
    buf_fini(&draft);
    learn_free(&learn);
    return 0;
}
