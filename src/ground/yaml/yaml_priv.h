/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of yaml/ share: the types of plain scalars, canonical JSON, and words for what is no YAML.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: what it makes lives in the arena that is handed in.
 * Errors: CODE_NOMEM; CODE_INVALID with a static sentence. */
#ifndef YAML_YAML_PRIV_H
#define YAML_YAML_PRIV_H

#include "base/mem.h"
#include "yaml/yaml.h"

/* Fills type, truth, text and json of a scalar. `text` must live in the arena already.
 * Returns: CODE_INVALID with *fault for a number that has no JSON form or that readers disagree on. */
enum code yaml__scalar(struct arena *arena, struct span text, bool plain, struct yaml_node *node,
                       const char **fault) MUST_USE;

/* Writes `text` as a JSON string; `out` has room for yaml__quoted_bytes(text). Returns: the bytes written. */
size_t yaml__quoted_bytes(struct span text);
size_t yaml__quote(struct span text, char *out);
void yaml__write_quoted(struct buf *out, struct span text);

/* Where libyaml cannot go on, for yaml__slip to guess what the author meant. */
struct yaml_slip {
    struct span text;
    const char *problem, *about; /* libyaml's words; "" where it has none */
    size_t at, context;          /* offsets: of the problem, and of what was begun before it */
    bool in_brackets;            /* between [ and ] or { and } */
    char words[256];
};

/* Fills in the words of the message and moves `at` to the place to mend. Returns: false: nothing better than
 * libyaml's words is known. */
bool yaml__slip(struct yaml_slip *slip);

#endif
