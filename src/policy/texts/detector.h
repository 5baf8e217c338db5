/* SPDX-License-Identifier: Apache-2.0 */
/* Detectors: words for what can be found in a text, such as the number of a payment card. Each is a pattern of PCRE2 that
 * decides, literals one of which stands in every match, so that a text without them costs one search for bytes, and a
 * check that looks at what was matched: its digits' sum, its structure.
 *
 * Threads: compiled detectors and sets are immutable and shared.
 * Owns: nothing; they live in the snapshot's arena.
 * Lifetime: the snapshot's.
 * Errors: what cannot be decided, the budget's end and want of memory among it, is undecided. */
#ifndef TEXTS_DETECTOR_H
#define TEXTS_DETECTOR_H

#include "base/buf.h"
#include "texts/truth.h"
#include "regex/regex.h"

#include <stdint.h>

/* Looks at what a pattern matched. Returns: how many of its bytes are found, 0: none. */
typedef size_t (*detector_check)(struct span text, size_t at, size_t len);

/* A literal: for each of its bytes which ones may stand there. Case is not looked at in ASCII; the pattern decides. */
#define DETECTOR_LITERAL_MAX 24
struct detector_literal {
    unsigned char bytes[DETECTOR_LITERAL_MAX]; /* in lower case; of a class 'd' (digits), 'l' (letters) or 'w' (either) */
    bool is_class[DETECTOR_LITERAL_MAX];
    unsigned char len;
    unsigned char pair;   /* where the two bytes stand that are looked for */
    bool begins_word;     /* no letter or digit stands before it */
};

struct detector {
    struct span name;
    const struct regex *regex;
    const struct detector_literal *literals;
    uint32_t literal_count;
    uint32_t before;      /* how many bytes of a match may stand before its literal; 0: matches begin with it */
    detector_check check; /* NULL: the pattern alone decides */
    struct span example;  /* a text in which it finds something */
};

/* Reads a literal as it is written: `\b` at its front, `\d`, `\l`, `\w` for a digit, a letter, either; `\xf0` for a byte; `\\`.
 * Returns: false: it has fewer than two bytes or too many, or another escape stands in it. */
bool detector_literal_read(struct span text, struct detector_literal *literal);

/* What `check:` may name, NULL behind the last, and what each does, in the same order. */
extern const char *const detector_check_names[];
extern const detector_check detector_checks[];

/* As many as one list may name. */
#define DETECTORS_MAX 128

/* What `detect:` names, with one table for the literals of all. */
struct detector_set;
struct arena;

/* Takes: detectors: the list and what it names live as long as the set. Returns: CODE_NOMEM; CODE_LIMIT: more than
 * DETECTORS_MAX, or more literals than the table takes. */
enum code detector_set_make(const struct detector *const *detectors, uint32_t count, struct arena *arena,
                            const struct detector_set **set) MUST_USE;

/* Those of a set, in the order in which they were named. */
const struct detector *const *detector_list(const struct detector_set *set, uint32_t *count);

/* One that was found: text.at + at, len bytes of it. */
struct finding {
    size_t at, len;
    const struct detector *detector;
};

/* Whether something of the set is in the text.
 * Takes: text: valid UTF-8; found: NULL: the first one ends the search; else one struct finding is appended for each that was
 * found, in order. They may overlap where several detectors are asked. Where it is undecided, they are not all. */
enum truth detector_find(const struct detector_set *set, struct span text, struct regex_budget *budget, struct buf *found);

#endif
