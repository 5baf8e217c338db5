/* SPDX-License-Identifier: Apache-2.0 */
/* Words of other languages, and what we say in their place. Without them an author would be told that a word is unknown, and
 * would guess: a condition that is left out opens. A part of struct authoring (words/compiler.h).
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef WORDS_FOREIGN_H
#define WORDS_FOREIGN_H

#include "yaml/yaml.h"

#include <stdbool.h>
#include <stddef.h>

struct foreign_words {
    /* Which of `words` says what the foreign word does, whatever its case; NULL: none. */
    const char *(*word)(struct span word, const char *const *words);
    /* What to write in place of a key, where no single word of ours says it; NULL: nothing is known of the key.
     * Takes: what: the map in which it stands, as faults name it. */
    const char *(*key)(struct span key, const char *what);
    /* Whether a glob was meant to be a regex, by what stands in it. Takes: is_name: of a tool, or of who calls. */
    bool (*regex)(struct span glob, bool is_name);
    /* Writes what is expected in place of a node of another type. Takes: what: the map's name, where one is; or NULL. */
    void (*expected)(const struct yaml_node *node, enum yaml_type type, const char *what, char *out, size_t size);
};

extern const struct foreign_words foreign_words;

#endif
