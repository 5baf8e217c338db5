/* SPDX-License-Identifier: Apache-2.0 */
/* Globs, as policies, tenant claims and origins write them: `*` any run of characters, `/` included; `?` one code point;
 * `\` takes the next character as it is; nothing else is special. A glob always matches the whole text, byte for byte.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none; a `\` at the end stands for itself. Cost is at most pattern times text. */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include "base/span.h"

/* Takes: both valid UTF-8. */
bool glob_matches(struct span pattern, struct span text);

/* Whether some text matches both, as far as that can be told. Patterns over 128 bytes, or with a `\`, count as if some text
 * did; `?` is one byte here. */
bool glob_meets(struct span a, struct span b);

/* Whether the pattern has no `*`, `?` or `\`: then it is a name and matches itself alone. */
bool glob_is_literal(struct span pattern);

#endif
