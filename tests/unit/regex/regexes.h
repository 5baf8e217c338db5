/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of regexes share: patterns that compile, long subjects, a clock that stands still. */
#ifndef TESTS_UNIT_REGEX_REGEXES_H
#define TESTS_UNIT_REGEX_REGEXES_H

#include "regex/regex_priv.h"
#include "fakes/cm.h"

#include <stdlib.h>

#define MIB ((size_t)1 << 20)

static inline struct regex *compile(const char *pattern)
{
    struct regex *regex;
    struct why why = {""};
    size_t offset;

    if (regex_compile(span_text(pattern), &regex, &offset, &why) != CODE_OK)
        fail_msg("%s: %s", pattern, why.text);
    return regex;
}

static inline char *pump(size_t bytes, const char *piece, const char *end)
{
    char *subject = malloc(bytes);
    size_t len = strlen(piece), tail = strlen(end);

    assert_non_null(subject);
    for (size_t i = 0; i < bytes - tail; i++)
        subject[i] = piece[i % len];
    memcpy(subject + bytes - tail, end, tail);
    return subject;
}

static inline int64_t stopped_us(void)
{
    return 1;
}

/* As with the gate's clock, but time stands still: `us` are left. */
static inline enum regex_result ask_within(const struct regex *regex, struct span subject, uint64_t us, struct regex_budget *budget)
{
    regex_budget_init_timed(budget);
    budget->now_us = stopped_us;
    budget->cpu_until_us = 1 + (int64_t)us;
    return regex_match(regex, subject, false, budget);
}

#endif
