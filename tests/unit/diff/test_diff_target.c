/* SPDX-License-Identifier: Apache-2.0 */
/* 2.4: calls of rules that mean every method about what they name are tried by one that has it. */
#include "diff/diff.h"
#include "language/language.h"
#include "unit/policy/judge.h"

#define READS "policy: p\nlabels: {l: [{resources: [a:b]}], m: [{prompts: [c]}]}\nrules:\n" \
    "  - {id: all, effect: permit, match: {resources: ['*'], methods: ['*']}}\n" \
    "  - {id: ask, effect: permit, match: {prompts: ['*']}}\n"

TEST_CASE(test_new_rules)
{
    static const char *const after[] = {
        READS "  - {id: r, effect: forbid, match: {resources: [a:b]}}\n", READS "  - {id: r, effect: forbid, match: {labels: [l]}}\n",
        READS "  - {id: r, effect: forbid, match: {prompts: [c]}}\n", READS "  - {id: r, effect: forbid, match: {labels: [l, m]}}\n",
    };
    static struct faults faults;

    for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
        struct policy *first, *second;
        struct diff *diff;

        assert_int_equal(compile_text(READS, &first, &faults, NULL), CODE_OK);
        assert_int_equal(compile_text(after[i], &second, &faults, NULL), CODE_OK);
        assert_int_equal(diff_new(first, second, &diff), CODE_OK);
        assert_int_equal(diff->change_count, 1);
        if (diff->changes[0].probes == 0 || diff->changes[0].way != DIFF_DENIES)
            fail_msg("no call shows it: %s", after[i]);
        diff_free(&diff);
        policy_unref(&first);
        policy_unref(&second);
    }
}

TEST_MAIN(NULL, NULL)
