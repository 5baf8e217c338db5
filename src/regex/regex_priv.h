/* SPDX-License-Identifier: Apache-2.0 */
/* What matching and pumping share: the compiled pattern, and a match under any limits.
 *
 * Threads: as regex.h.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: as regex.h. */
#ifndef REGEX_REGEX_PRIV_H
#define REGEX_REGEX_PRIV_H

#include "regex/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

struct regex {
    pcre2_code *code;
    struct span pattern; /* our copy */
    uint32_t least;      /* code points that every match has at least */
    uint32_t repeat;     /* the largest count in braces, past which one item may be tried without a callout */
    bool folds_case;
    bool looks_back;     /* has back references */
};

struct regex__limits {
    uint32_t match_limit; /* at one start offset */
    uint64_t max_work;    /* of this match */
};

enum regex_result regex__match(const struct regex *regex, struct span subject, bool whole,
                               const struct regex__limits *limits, struct regex_budget *budget);

#endif
