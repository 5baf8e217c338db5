/* SPDX-License-Identifier: Apache-2.0 */
/* Unicode over UTF-8: validation, code points, and the characters that deceive readers. This room uses utf8proc.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: false or SIZE_MAX for invalid UTF-8. */
#ifndef UNICODE_UNICODE_H
#define UNICODE_UNICODE_H

#include "base/buf.h"
#include "base/code.h"
#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

bool unicode_is_utf8(struct span text);

/* Code points in valid UTF-8. */
size_t unicode_count(struct span text);

/* One code point from the front; returns its bytes (1-4), 0 at the end or on invalid UTF-8. */
size_t unicode_next(struct span text, uint32_t *point);

/* Whether readers pass over it: format characters (general category Cf: bidi controls, zero width, tags, signs that need a
 * font of their own) and Default_Ignorable_Code_Point, also code points that are not assigned yet. */
bool unicode_is_ignorable(uint32_t point);

/* Whether the text holds what must not be in a tool's definition: control characters other than tab, LF and CR, ignorable ones,
 * blanks that are drawn as nothing, separators of lines, noncharacters. Allowed are ZWJ and ZWNJ between letters of scripts
 * that need them and within emoji sequences, and one variation selector behind a character that has more than one look. */
bool unicode_is_deceptive(struct span text);

/* The same for one character in its place. Takes: before: the character before it (0: none); after: the text behind it.
 * Whoever leaves out each character for which this is true, and passes the last one that he kept as `before`, keeps a text
 * that is not deceptive. */
bool unicode_deceives(uint32_t before, uint32_t point, struct span after);

/* How many cells of a terminal a code point takes: 0, 1 or 2; -1: it must not reach a terminal as it is, because it is a
 * control, format or other invisible character, such as those that turn the direction of writing. */
int unicode_cells(uint32_t point);

/* Appends the text in NFKC, without ignorable characters.
 * Takes: valid UTF-8. Returns: CODE_OK; CODE_LIMIT: past 1 Mi code points without one of ASCII between, or past the cap of
 * `out`; CODE_NOMEM. The time is linear in the text, however many marks stand on one letter. */
enum code unicode_plain(struct span text, struct buf *out) MUST_USE;

/* Appends the text in NFKC after full case folding, so that texts which differ in case or in what NFKC makes equal are the
 * same. Takes, returns: as unicode_plain; ignorable characters stay. */
enum code unicode_fold(struct span text, struct buf *out) MUST_USE;

/* Of a word: a letter, a digit (category Nd) or a mark on one, which readers see. */
bool unicode_is_of_word(uint32_t point);

/* White space within a line (category Zs), and what some readers take for it and cut off: U+180E, U+FEFF. */
bool unicode_is_blank(uint32_t point);

/* The library behind this room and its version, for people. Threads: main. */
const char *unicode_library(void);

#endif
