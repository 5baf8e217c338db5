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

#include <stdatomic.h>

/* What PCRE2 takes at most for a byte of a stretch between two callouts, in units of work. */
#define REGEX__RATE_ONE 1u    /* an item that does not take all the rest by itself; the time for it is not asked for */
#define REGEX__RATE_SEARCH 2u /* looking for the next place where a match may begin; twice the measured time, for a shared
                               * core */
#define REGEX__RATE_ASCII 2u  /* an item that is repeated, in ASCII; likewise twice */
#define REGEX__RATE_PLAIN 3u  /* the same in UTF-8; more for properties (stretch.c) */

struct regex {
    pcre2_code *code;
    pcre2_code *ascii_code; /* the same without UTF, for subjects of ASCII alone: up to three times as fast; NULL: none */
    uint32_t options;       /* of both, added to the options of every pattern */
    struct span pattern;    /* our copy */
    _Atomic uint8_t *rates; /* regex__rate's, by place in the pattern; 0: not looked at yet */
    uint32_t search_rate;   /* of looking for where a match may begin */
    uint32_t item_work;     /* work of a callout and the item behind it */
    uint32_t least;      /* code points that every match has at least */
    uint32_t repeat;     /* the largest count in braces, past which one item may be tried without a callout */
    bool folds_case;
    bool looks_back;     /* has back references */
};

struct regex__limits {
    uint32_t match_limit; /* at one start offset */
    uint64_t max_work;    /* of this match */
};

/* Takes: the item of the pattern that a callout stands before. Returns: REGEX__RATE_ONE, or what a byte may cost where the item
 * takes all the rest. */
uint8_t regex__rate(const struct regex *regex, size_t position, size_t length);

enum regex_result regex__match(const struct regex *regex, struct span subject, bool whole,
                               const struct regex__limits *limits, struct regex_budget *budget);

#endif
