/* SPDX-License-Identifier: Apache-2.0 */
/* Failures in words for a person: one sentence (struct why), or up to 20 places in files (struct faults).
 *
 * Threads: belongs to one thread.
 * Owns: its text, inline.
 * Lifetime: the holder's.
 * Errors: too long a text is cut; the 21st fault is counted only; one that was told already is not told again. */
#ifndef BASE_WHY_H
#define BASE_WHY_H

#include "base/code.h"

#include <stddef.h>

/* Place, fault, expectation, repair. Empty text: nothing was said. */
struct why {
    char text[512];
};

/* Sets the sentence and returns `code`, so that a caller can write `return why_set(why, CODE_INVALID, ...)`.
 * Takes: why may be NULL. */
enum code why_set(struct why *why, enum code code, const char *format, ...) PRINTF_LIKE(3, 4);

/* Puts a place before the sentence that a deeper floor has set, if it has, and returns `code`. */
enum code why_before(struct why *why, enum code code, const char *format, ...) PRINTF_LIKE(3, 4);

#define FAULTS_MAX 20

struct fault {
    char file[256];
    int line;   /* from 1; 0: the file as a whole */
    int column; /* from 1, in bytes */
    char text[1024]; /* "what is wrong; what to write instead" */
};

struct faults {
    struct fault fault[FAULTS_MAX];
    size_t count; /* all faults, also those past FAULTS_MAX */
    size_t added; /* every faults_add, also of a fault that was told before: a step in which it grew has failed */
};

void faults_init(struct faults *faults);
void faults_add(struct faults *faults, const char *file, int line, int column, const char *format, ...)
    PRINTF_LIKE(5, 6);

/* "did you mean": the nearest of `words` (NULL-terminated) within two edits, or NULL. */
const char *why_nearest(const char *word, size_t len, const char *const *words);

/* "`a`, `b` and `c`", as far as there is room. Takes: words: up to NULL or an empty one; last: the word before the last one:
 * "and", "or". */
void why_list(const char *const *words, const char *last, char *out, size_t size);

#endif
