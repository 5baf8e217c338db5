/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy_priv.h"

static enum code say(struct buf *out, enum verdict_kind kind, bool has_rule, struct span rule, bool has_reason,
                     enum reason reason)
{
    enum code code = buf_add_text(out, verdict_text(kind));

    if (code == CODE_OK && has_rule)
        code = rule.at != NULL ? buf_addf(out, " by %.*s", SPAN_ARG(rule)) : buf_add_text(out, " by no rule");
    if (code == CODE_OK && has_reason)
        code = buf_addf(out, " (%s)", reason_name(reason));
    return code;
}

static bool is_as_expected(const struct policy_case *kase, const struct verdict *verdict)
{
    if (kase->verdict != verdict->kind)
        return false;
    if (kase->has_rule && ((kase->rule.at == NULL) != (verdict->rule.at == NULL) || !span_equals(kase->rule, verdict->rule)))
        return false;
    return !kase->has_reason || kase->reason == verdict->reason;
}

/* The gate's own judgement, bounded by work alone, so that a test says the same everywhere. */
static enum code run_case(const struct policy *policy, const struct policy_case *kase, struct policy_scratch *scratch,
                          struct verdict *verdict, struct buf *words, struct policy_test_result *result)
{
    size_t middle;
    enum code code;

    policy_eval(policy, &kase->question, false, scratch, verdict);
    if (verdict->reason == REASON_MEMORY)
        return CODE_NOMEM;
    *result = (struct policy_test_result){.file = kase->source->path, .name = kase->name, .line = kase->line};
    result->passed = is_as_expected(kase, verdict);
    result->rule = verdict->rule;
    buf_clear(words);
    code = say(words, kase->verdict, kase->has_rule, kase->rule, kase->has_reason, kase->reason);
    middle = buf_len(words);
    if (code == CODE_OK)
        code = say(words, verdict->kind, true, verdict->rule, true, verdict->reason);
    result->expected = span_part(buf_peek(words), 0, middle);
    result->got = span_part(buf_peek(words), middle, SIZE_MAX);
    return code;
}

enum code policy_test(const struct policy *policy, struct policy_scratch *scratch, policy_test_fn report, void *context,
                      size_t *passed, size_t *failed)
{
    struct verdict *verdict = mem_zalloc(sizeof *verdict);
    enum code code = verdict ? CODE_OK : CODE_NOMEM;
    struct buf words;

    buf_init(&words, 4096);
    *passed = *failed = 0;
    for (uint32_t i = 0; i < policy->case_count && code == CODE_OK; i++) {
        struct policy_test_result result;

        code = run_case(policy, &policy->cases[i], scratch, verdict, &words, &result);
        if (code != CODE_OK)
            break;
        *passed += result.passed;
        *failed += !result.passed;
        report(context, &result);
    }
    buf_fini(&words);
    mem_free(verdict);
    return code;
}
