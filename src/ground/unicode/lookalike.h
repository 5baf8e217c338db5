/* SPDX-License-Identifier: Apache-2.0 */
/* Characters that a reader takes for letters of ASCII: finds names that look alike, and texts written in letters of other
 * scripts. The data are Unicode's confusables (UTS 39), from which tools/make-lookalikes makes a table at build time.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none; invalid UTF-8 ends a name. */
#ifndef UNICODE_LOOKALIKE_H
#define UNICODE_LOOKALIKE_H

#include "base/buf.h"
#include "base/code.h"
#include "base/span.h"

/* Writes the skeleton of a name: names that look alike have equal skeletons. Returns: its length; 0: it does not fit. */
size_t lookalike_skeleton(struct span name, char *out, size_t size);

/* Whether letters of different alphabets stand in one name. */
bool lookalike_mixes_scripts(struct span name);

/* Appends what unicode_plain makes of the text, and writes each character that looks like some of ASCII as those.
 * ASCII stays as it is.
 * Takes: valid UTF-8. Returns: as unicode_plain. */
enum code lookalike_plain(struct span text, struct buf *out) MUST_USE;

#endif
