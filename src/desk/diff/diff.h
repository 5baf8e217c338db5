/* SPDX-License-Identifier: Apache-2.0 */
/* What one set of policies does that another does not: in words, from what the authors wrote, and in calls whose verdict
 * flips, from the engine itself.
 *
 * The words come from the rules' own texts, so that nothing an author may write is passed over. The calls are those of all
 * tests of both sets, and for every rule that changed the neighbours of its conditions: at, below and above each bound, with
 * and without each argument. That no such call flips proves nothing; that one does proves the sentence.
 *
 * Threads: belongs to one thread.
 * Owns: its texts; holds references to both policies.
 * Lifetime: diff_free.
 * Errors: CODE_NOMEM; CODE_LIMIT is none: what is too much is counted. */
#ifndef DIFF_DIFF_H
#define DIFF_DIFF_H

#include "policy/answer.h"
#include "policy/policy.h"

enum diff_way { /* what a change does to verdicts */
    DIFF_EITHER = 0, /* cannot be told from the words */
    DIFF_PERMITS,    /* becomes permitted, where nothing else denies it */
    DIFF_DENIES,
    DIFF_HOLDS,      /* becomes held for approval */
    DIFF_RELEASES,   /* is no longer held */
    DIFF_KEEPS_BACK, /* of answers: more is withheld or left out */
    DIFF_LETS_BACK,  /* less is */
    DIFF_NOTHING,    /* changes no verdict */
    DIFF_WAYS
};

const char *diff_way_text(enum diff_way way); /* "becomes permitted" ... */

struct diff_site;

struct diff_change {
    enum diff_way way;
    struct span rule;   /* at == NULL: no rule's, but the file's */
    const char *effect; /* of the new one, or of the one that is gone; static */
    struct span file;   /* of the new one, or of the one that is gone */
    int line;
    struct span text;   /* a sentence without its end */
    struct diff_site *sites; /* the rules that it is in, of which `rule` is the first; see diff_also */
    uint64_t probes;    /* calls that flipped by this change */
};

/* The next rule of which the sentence is as true, since what changed is common to several; at == NULL: there is none.
 * Takes: after: the one before it: change->rule at first. */
struct span diff_also(const struct diff_change *change, struct span after);

struct diff_verdict {
    enum verdict_kind kind;
    enum reason reason;
    struct span rule; /* at == NULL: none */
};

/* Calls that flip alike: the same rule before, the same after. */
struct diff_flip {
    struct diff_verdict before, after;
    uint64_t calls;
    struct span example; /* one of them, as `call:` of a test would have it */
};

/* Answers with which is done alike: by the same rule before, by the same after. */
struct diff_back {
    enum answer_effect before, after;
    struct span before_rule, after_rule; /* at == NULL: none */
    uint64_t answers;
    struct span test; /* that has such an answer; at == NULL: it was made up. Answers are not told: they may hold secrets */
};

#define DIFF_BACKS_MAX 64
struct diff {
    struct policy *before, *after;
    struct arena arena;
    struct diff_change *changes; /* by way, then rule */
    size_t change_count, change_room;
    struct diff_flip *flips; /* by calls, the most first */
    size_t flip_count;
    uint64_t probes, test_probes, flipped; /* calls that were tried; of them those of tests */
    uint64_t left_out;                     /* calls that were not tried, there being too many */
    uint64_t tests_before, tests_after;
    struct diff_back backs[DIFF_BACKS_MAX]; /* further kinds are counted alone */
    size_t back_count;
    uint64_t answers, answers_of_tests, answers_changed; /* that were tried */
};

enum code diff_new(struct policy *before, struct policy *after, struct diff **diff) MUST_USE;
void diff_free(struct diff **diff);

/* Whether some verdict could differ, or a word that agents or auditors see. */
bool diff_is_empty(const struct diff *diff);

#endif
