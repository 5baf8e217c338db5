/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of conditions, values and truths. */
#ifndef TESTS_UNIT_POLICY_ROWS_H
#define TESTS_UNIT_POLICY_ROWS_H

#include "unit/policy/judge.h"

/* T, F or U of a condition on the argument `v`, in a closing place and in an opening one. */
struct row {
    const char *condition; /* what stands behind `arg: v` */
    const char *value;     /* JSON */
    char closing, opening;
};

static inline void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char condition[1024], arguments[1024];
        char closing, opening;

        snprintf(condition, sizeof condition, "{arg: v, %s}", rows[i].condition);
        snprintf(arguments, sizeof arguments, "{\"v\":%s}", rows[i].value);
        closing = truth_of_condition(condition, span_text(arguments), false);
        opening = truth_of_condition(condition, span_text(arguments), true);
        if (closing != rows[i].closing || opening != rows[i].opening)
            fail_msg("%s on %s: closing %c, wanted %c; opening %c, wanted %c", condition, rows[i].value, closing,
                     rows[i].closing, opening, rows[i].opening);
    }
}

#define CHECK(rows) check_rows(rows, sizeof rows / sizeof *rows)

/* A permit or another rule with these conditions does not compile, and some fault says so. */
static inline void expect_fault(const char *effect, const char *conditions, const char *said)
{
    static struct faults faults;
    struct policy *policy = NULL;
    char text[1024];
    bool found = false;

    (void)snprintf(text, sizeof text, "policy: p\nrules:\n  - {id: r, effect: %s, when: [%s]}\n", effect, conditions);
    assert_int_equal(compile_text(text, &policy, &faults, NULL), CODE_INVALID);
    for (size_t i = 0; i < faults.count && i < FAULTS_MAX; i++)
        found |= strstr(faults.fault[i].text, said) != NULL;
    if (!found) {
        print_faults(&faults);
        fail_msg("%s does not say `%s`", conditions, said);
    }
}

#endif
