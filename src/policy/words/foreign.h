/* SPDX-License-Identifier: Apache-2.0 */
/* Words of other languages, and what we say in their place. Without them an author would be told that a word is unknown, and
 * would guess: a condition that is left out opens.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef WORDS_FOREIGN_H
#define WORDS_FOREIGN_H

#include "base/span.h"

/* That of `words` which says what the foreign one does, whatever its case; NULL: none of them. */
const char *foreign_word(struct span word, const char *const *words);

/* What to write in place of a key, in words, where no word of ours alone says it; NULL: nothing is known of it.
 * Takes: what: the map in which it stands, as faults name it. */
const char *foreign_key(struct span key, const char *what);

/* Whether a glob was meant to be a regex, by what stands in it. Takes: is_name: of a tool, or of who calls. */
bool foreign_regex(struct span glob, bool is_name);

#endif
