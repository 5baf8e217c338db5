/* SPDX-License-Identifier: Apache-2.0 */
/* Names that a reader takes for one another: case, digits that stand for letters, letters of other scripts.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none; invalid UTF-8 ends a name. Covers Greek, Cyrillic, full-width and ASCII, where tools are named; it is no list
 * of everything that Unicode can draw alike. */
#ifndef UNICODE_LOOKALIKE_H
#define UNICODE_LOOKALIKE_H

#include "base/span.h"

/* What a reader sees, so that names that look alike have equal skeletons. Returns: its bytes; 0 where it does not fit. */
size_t lookalike_skeleton(struct span name, char *out, size_t size);

/* Whether letters of different alphabets stand in one name. */
bool lookalike_mixes_scripts(struct span name);

#endif
