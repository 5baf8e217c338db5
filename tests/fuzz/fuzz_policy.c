/* SPDX-License-Identifier: Apache-2.0 */
/* 2.10: any bytes as a policy file: compiled, or refused with a place for every fault; every warning has one, too; what
 * compiles judges, the same twice. */
#include "author/explain.h"
#include "author/warn.h"
#include "base/bug.h"
#include "judgement/judgement.h"
#include "language/language.h"
#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct verdict first, second;

static void check_faults(const struct faults *faults, int lines)
{
    for (size_t i = 0; i < faults->count && i < FAULTS_MAX; i++) {
        const struct fault *fault = &faults->fault[i];

        BUG_ON(fault->line < 1 || fault->column < 1 || fault->line > lines || fault->text[0] == '\0');
        BUG_ON(strcmp(fault->file, "fuzz.yaml") != 0);
    }
}

static void ignore_result(void *context, const struct policy_test_result *result)
{
    (void)context;
    BUG_ON(result->expected.len == 0 || result->got.len == 0);
}

static void judge(const struct policy *policy, const struct question *question, struct policy_scratch *scratch)
{
    struct buf words;

    buf_init(&words, 16 << 20);
    policy_eval(policy, question, false, scratch, &first);
    if (explain_verdict(policy, question, scratch, &second, &(struct explain_to){.words = &words}) == CODE_OK)
        BUG_ON(first.kind != second.kind || first.reason != second.reason || !span_equals(first.rule, second.rule) ||
               first.rule_count != second.rule_count || first.redact_count != second.redact_count);
    BUG_ON((first.kind == VERDICT_PERMIT) != (first.reason == REASON_PERMITTED));
    BUG_ON(first.kind != VERDICT_DENY && first.rule.at == NULL);
    buf_fini(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static struct faults faults, warnings;
    struct policy_file file = {SPAN_LIT("fuzz.yaml"), span_of(bytes, len)};
    struct question question = {.tenant = SPAN_LIT("test"), .principal = SPAN_LIT("test"), .upstream = SPAN_LIT("test"),
                                .method = SPAN_LIT("tools/call"), .tool = SPAN_LIT("t")};
    struct policy_scratch *scratch = NULL;
    struct policy *policy;
    size_t passed, failed;
    enum code code;
    int lines = 1;

    for (size_t i = 0; i < len; i++)
        lines += bytes[i] == '\n' || bytes[i] == '\r';
    faults_init(&faults);
    faults_init(&warnings);
    /* Mostly as a stored version: the regexes are not pumped, which costs milliseconds each. */
    code = policy_compile(&file, 1, len <= 256 && len % 16 == 3 ? 0 : 1, &policy, &faults, &warnings);
    BUG_ON((code == CODE_OK) != (policy != NULL) || (code == CODE_INVALID) != (faults.count > 0));
    check_faults(&faults, lines);
    BUG_ON(policy != NULL && warn_policy(policy, 2, &warnings) == CODE_INVALID);
    check_faults(&warnings, lines);
    if (policy == NULL || policy_scratch_new(&scratch) != CODE_OK)
        return 0;
    judge(policy, &question, scratch);
    question.method = SPAN_LIT("response");
    question.answers = SPAN_LIT("ping");
    question.tool = SPAN_NONE;
    judge(policy, &question, scratch);
    BUG_ON(policy_test(policy, scratch, ignore_result, NULL, &passed, &failed) == CODE_INVALID);
    policy_scratch_free(&scratch);
    policy_unref(&policy);
    return 0;
}
