/* SPDX-License-Identifier: Apache-2.0 */
/* 2.4, 2.10: two policies, parted by a line of `=`: compared without a crash or a hang; what is said to be the same flips
 * nothing, a policy is the same as itself, and every flip's example is a call. */
#include "base/bug.h"
#include "diff/diff.h"
#include "language/language.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define INPUT_MAX_BYTES 16384 /* larger ones find nothing more, slower */

static struct faults faults;

static struct policy *compile(struct span text)
{
    struct policy_file file = {SPAN_LIT("fuzz.yaml"), text};
    struct policy *policy;

    faults_init(&faults);
    return policy_compile(&file, 1, 1, &policy, &faults, NULL) == CODE_OK ? policy : NULL;
}

static void check_examples(const struct diff *diff)
{
    for (size_t i = 0; i < diff->flip_count; i++) {
        struct policy_file file = {SPAN_LIT("example"), diff->flips[i].example};
        struct policy *holder = NULL;

        BUG_ON(diff->flips[i].before.kind == diff->flips[i].after.kind || diff->flips[i].calls == 0);
        if (file.text.at == NULL)
            continue;
        faults_init(&faults);
        BUG_ON(policy_call_read(&file, &holder, &faults) == CODE_INVALID);
        policy_unref(&holder);
    }
}

static void compare(struct policy *before, struct policy *after)
{
    struct diff *diff;

    if (diff_new(before, after, &diff) != CODE_OK)
        return;
    BUG_ON(diff_is_empty(diff) && diff->flipped > 0);
    BUG_ON(before == after && !diff_is_empty(diff));
    for (size_t i = 0; i < diff->change_count; i++)
        BUG_ON(diff->changes[i].text.len == 0);
    check_examples(diff);
    diff_free(&diff);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static const char parting[] = "\n====\n";
    const char *text = (const char *)bytes, *middle;
    struct policy *before, *after;

    if (len > INPUT_MAX_BYTES)
        return 0;
    middle = memmem(text, len, parting, sizeof parting - 1);
    if (middle == NULL)
        return 0;
    before = compile(span_of(text, (size_t)(middle - text) + 1));
    after = compile(span_of(middle + sizeof parting - 1, len - (size_t)(middle - text) - (sizeof parting - 1)));
    if (before != NULL && after != NULL)
        compare(before, after);
    if (before != NULL)
        compare(before, before);
    policy_unref(&before);
    policy_unref(&after);
    return 0;
}
