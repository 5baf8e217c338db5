/* SPDX-License-Identifier: Apache-2.0 */
/* Where a file may lie: what `path:` says, and `url: {path: ...}` of the path in a URL.
 *
 * Threads: immutable once compiled.
 * Owns: nothing; all of it lives in the snapshot's arena.
 * Lifetime: the snapshot's.
 * Errors: faults in what an author wrote; a truth never fails, it is undecided. */
#ifndef WORDS_FILE_PLACE_H
#define WORDS_FILE_PLACE_H

#include "texts/detector.h"
#include "texts/file_path.h"
#include "words/compiler.h"
#include "policy/walk.h"

/* A folder as it was written: `under` or `not_under`. */
struct file_folder {
    struct span text;
    bool varies;
    struct file_path path; /* unless it varies */
};

struct file_folders {
    const struct file_folder *folder;
    uint32_t count;
};

/* Globs, endings or characters, one of which a step may fit. */
struct file_patterns {
    const struct file_text *pattern;
    uint32_t count;
};

/* One map: all of it must hold for one of its folders. */
struct file_place {
    struct file_folders under, not_under;
    uint64_t least, most; /* steps below the folder */
    bool any_hidden, says_hidden;
    struct file_patterns hidden, names, endings, bad_names, without;
    const struct detector_set *bad; /* NULL: none */
    bool is_plain;        /* letters: plain */
    uint64_t weight;      /* what a byte of a text costs, in visits */
};

/* A map, a name under `paths:`, or a list of them, of which any may hold. */
struct file_places {
    const struct file_place *const *place;
    uint32_t count;
    bool varies;
    uint64_t weight;
};

/* Returns: NULL: with a fault, or no memory. */
const struct file_places *compiler_file_places(struct compiler *c, const struct yaml_node *node);

/* Those under `paths:` of the file at hand, so that a fault in one that nobody uses is told, too. */
void compiler_file_paths(struct compiler *c);

/* Takes: opening: of the operator (struct op): what is too long, or relative where the folder is absolute or the reverse, is
 * false; where it closes it is undecided. */
enum truth file_places_truth(struct rule_walk *walk, const struct file_places *places, struct span text, bool opening);
uint64_t file_places_cost(const struct file_places *places, struct span text);

#endif
