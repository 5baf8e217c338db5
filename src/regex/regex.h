/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: PCRE2 under budgets that hold on hostile patterns and subjects (strictness.md, "Regexes").
 *
 * Threads: a compiled regex is immutable and shared; a regex_budget and its scratch belong to one thread.
 * Owns: the compiled code.
 * Lifetime: regex_free.
 * Errors: compile: struct why with the offset; match: REGEX_UNDECIDED for anything but match and no-match. */
#ifndef REGEX_REGEX_H
#define REGEX_REGEX_H

#include "base/span.h"
#include "base/why.h"

#include <stdbool.h>
#include <stdint.h>

enum regex_result { REGEX_UNDECIDED = 0, REGEX_MATCH, REGEX_NO_MATCH };

struct regex;

/* UTF on, UCP off, DOTALL, DOLLAR_ENDONLY, NEVER_BACKSLASH_C; author callouts and (*VERBS) refused; compiled alone
 * first, then wrapped in the counting callout.
 * Takes: pattern text, valid UTF-8. *offset: where in the pattern the fault is. */
enum code regex_compile(struct span pattern, struct regex **regex, size_t *offset, struct why *why) MUST_USE;
void regex_free(struct regex **regex);

/* Whether (?i) is on anywhere in the pattern: an opening use of it is undecided on U+017F and U+212A. */
bool regex_folds_case(const struct regex *regex);

/* The budget of one call: work is counted over all its matches. */
struct regex_budget {
    uint64_t work;        /* counted so far */
    uint64_t max_work;    /* of the whole call; reached: spent */
    int64_t cpu_until_us; /* the thread's CPU time at which to stop; 0: work alone decides (tests, replay, explain) */
    bool spent;           /* the call is denied, too_costly */
};

void regex_budget_init(struct regex_budget *budget);              /* work alone */
void regex_budget_init_timed(struct regex_budget *budget, int64_t now_cpu_us); /* and 20 ms of CPU */

/* Matches the whole subject (whole = true: anchored at both ends by options, never by added text) or anywhere in it. */
enum regex_result regex_match(const struct regex *regex, struct span subject, bool whole, struct regex_budget *budget);

/* Pumps the pattern with hostile subjects of 8 KiB. Returns: false where its cost explodes; *example says on what. */
bool regex_is_affordable(const struct regex *regex, const char **example);

#endif
