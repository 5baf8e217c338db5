/* SPDX-License-Identifier: Apache-2.0 */
/* Unicode over UTF-8: validation, code points, and the characters that deceive readers. utf8proc lives here.
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

/* Which readers pass over: format characters (general category Cf: bidi controls, zero width, tags, signs that need a font of
 * their own) and Default_Ignorable_Code_Point, those that are not assigned yet among them. */
bool unicode_is_ignorable(uint32_t point);

/* What must not be in a tool's definition: control characters other than tab, LF and CR, what is ignorable, other blanks that
 * are drawn as nothing, separators of lines, noncharacters. ZWJ and ZWNJ between letters of scripts that need them, and within
 * emoji sequences, are allowed, and so is one variation selector behind what has more than one look. */
bool unicode_is_deceptive(struct span text);

/* The same of one character in its place. Takes: before: what stands before it (0: nothing); after: the text behind it.
 * Where all are left out for which this is true, each asked with the last that was kept, what remains is not deceptive. */
bool unicode_deceives(uint32_t before, uint32_t point, struct span after);

/* How many cells of a terminal a code point takes: 0, 1 or 2; -1 for what must not reach one as it is: control, format and
 * other invisible characters, those that turn the direction of writing among them. */
int unicode_cells(uint32_t point);

/* Appends NFKC of the text without what is ignorable.
 * Takes: valid UTF-8. Returns: CODE_OK; CODE_LIMIT: 1 Mi code points without one of ASCII between; or past the cap of `out`;
 * CODE_NOMEM. Linear in the text, however marks are piled up. */
enum code unicode_plain(struct span text, struct buf *out) MUST_USE;

/* The library behind this room and its version, for people. Threads: main. */
const char *unicode_library(void);

#endif
