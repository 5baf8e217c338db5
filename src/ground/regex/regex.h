/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: PCRE2 under budgets that hold on hostile patterns and subjects (http/README.md, "Regexes and time").
 *
 * Work is counted in units of about a nanosecond: PCRE2 makes a callout before every item of the pattern (PCRE2_AUTO_CALLOUT),
 * and each callout costs 16 units and one for each byte that the match went forward since. A cheaper way would count only the
 * start offsets, by one callout in front of the wrapped pattern. Both measured on 1 MiB (PCRE2 10.42, interpreted, thread CPU
 * time), bounded by the same match limit:
 *
 *     pattern, subject                              one callout a start     one callout an item
 *     \s+$                blanks, then !            0.6 ms, undecided       0.6 ms, undecided
 *     .*.*=.*x            =====                     0.5 ms, undecided       0.5 ms, undecided
 *     \s++\d              blanks                    minutes, unseen         13 ms, undecided
 *     (?i)\b(drop|truncate|delete)\b\s+...          5.6 ms                  8.5 ms  (93,813 candidates)
 *     (?i)union\s+(all\s+)?select                   1.6 ms                  1.9 ms
 *     (?:\d[ -]*?){13,16}                           2.3 ms                  3.5 ms
 *     password                                      0.9 ms                  1.0 ms
 *
 * So the finer count costs at most half as much again, and with it work alone ends every match. It also wraps no pattern, so
 * there is nothing that a pattern could escape from.
 *
 * Between two callouts PCRE2 cannot be stopped: one item that is repeated may take in all the rest of the subject (`\s++`, 12
 * ms on 4 MiB of UTF-8), and the next start may be far. Where the clock counts, such a stretch does not begin when it might not
 * end in time. To keep stretches short, subjects of ASCII are matched without UTF: 4 ms.
 *
 * No JIT: it is 1.3 to 2.6 times as fast on these, but counts the match limit otherwise ([^x]*[^x]*= on 1 MiB is no match
 * interpreted and over the limit with JIT), ignores depth and heap limits, and needs pages that are writable and executable,
 * which a hardened system refuses: the verdict would depend on the machine.
 *
 * Threads: a compiled regex is immutable and shared; a regex_budget belongs to one thread. Scratch is kept by thread.
 * Owns: the compiled code.
 * Lifetime: regex_free; a thread's scratch goes with the thread.
 * Errors: compile: struct why with the offset; match: REGEX_UNDECIDED for anything but match and no-match. */
#ifndef REGEX_REGEX_H
#define REGEX_REGEX_H

#include "base/span.h"
#include "base/why.h"

#include <stdbool.h>
#include <stdint.h>

enum regex_result { REGEX_UNDECIDED = 0, REGEX_MATCH, REGEX_NO_MATCH };

struct regex;

/* Compiles with UTF on, UCP off, DOTALL, DOLLAR_ENDONLY, NEVER_BACKSLASH_C; callouts and (*VERBS) of the author are refused.
 * Takes: pattern text, valid UTF-8, at most 16 KiB. *offset: where in the pattern the fault is. */
enum code regex_compile(struct span pattern, struct regex **regex, size_t *offset, struct why *why) MUST_USE;
void regex_free(struct regex **regex);

/* Whether (?i) is on anywhere in the pattern: an opening use of it is undecided on U+017F and U+212A. */
bool regex_folds_case(const struct regex *regex);

/* The budget of one call: work is counted over all its matches, and what regex_budget_spend adds. One match may use
 * 8,000,000 + 16 * length of it. */
struct regex_budget {
    uint64_t work;        /* counted so far */
    uint64_t max_work;    /* of the whole call; once it is reached the budget is spent */
    int64_t (*now_us)(void); /* the thread's CPU time; NULL: work alone decides (tests, replay, explain) */
    int64_t cpu_until_us;    /* timed: the thread's CPU time at which to stop; 0 until the first look at the clock */
    uint64_t look_at;     /* the work at which the clock is read next */
    uint64_t work_until;  /* timed: the work at which time will be up, as estimated at the last look; a stretch past it does
                           * not begin */
    int64_t more_us;      /* time that regex_budget_widen added */
    bool spent;           /* then the call is denied as too_costly */
};

void regex_budget_init(struct regex_budget *budget); /* of work alone, without a clock */
/* A budget of work and of 18 ms of CPU time, so that judging a call ends within 20. The time counts from the first look at
 * the clock, after about 0.2 ms of work: asking for a thread's CPU time costs as much as judging an ordinary call, so
 * ordinary calls never ask. */
void regex_budget_init_timed(struct regex_budget *budget);
/* No more work than goes without a look at the clock: whoever needs more asks again under one that is timed. */
void regex_budget_init_brief(struct regex_budget *budget);

/* Adds so much work, and time for it. For an answer, which may be large and is judged where no other call waits. */
void regex_budget_widen(struct regex_budget *budget, uint64_t work);

/* Counts what the call did besides matching, in the same units. Returns: whether the call may go on. */
bool regex_budget_spend(struct regex_budget *budget, uint64_t work);

/* Matches the whole subject (whole = true: anchored at both ends by options, never by added text) or anywhere in it.
 * Takes: a subject that is checked for valid UTF-8; others are undecided. */
enum regex_result regex_match(const struct regex *regex, struct span subject, bool whole, struct regex_budget *budget);

/* Finds the first match that begins from `from` up to `last`, both on a code point, and where it is; a match with `\K`
 * begins behind that.
 * Takes: a subject that is known to be valid UTF-8, and whether all of it is ASCII; it may be looked at before `from`. */
enum regex_result regex_find(const struct regex *regex, struct span subject, bool is_ascii, size_t from, size_t last,
                             struct regex_budget *budget, struct span *found);

/* As regex_match, but asks for any subject that begins so. Returns: no match only where no continuation could match. */
enum regex_result regex_may_begin(const struct regex *regex, struct span beginning, bool whole, struct regex_budget *budget);

/* Matches the whole subject under a budget of its own, and finds what a named group took: one of the first nine, as
 * regex_has_group says. Undecided where the group took no part. */
#define REGEX_GROUPS_MAX 9
bool regex_has_group(const struct regex *regex, const char *name);
enum regex_result regex_match_group(const struct regex *regex, struct span subject, const char *name, struct span *found);

/* Pumps the pattern with hostile subjects of 8 KiB, used as a whole or anywhere. Returns: false where its cost grows
 * faster than the subject; *example says on what, and is static. Takes some milliseconds. */
bool regex_is_affordable(const struct regex *regex, bool whole, const char **example);

/* The same for who uses the pattern in a way of his own: `ask` matches the subject in that way under the budget. */
typedef void (*regex_ask_fn)(const void *context, struct span subject, struct regex_budget *budget);
bool regex_is_affordable_to(regex_ask_fn ask, const void *context, const struct regex *regex, const char **example);

/* The library behind this room and its version, for people. Threads: main. */
const char *regex_library(void);

#endif
