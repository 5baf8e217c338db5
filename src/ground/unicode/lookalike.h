/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader takes for letters of ASCII: names that are read for one another, and texts written in letters of other scripts.
 * The data are Unicode's confusables (UTS 39), of which tools/make-lookalikes makes a table while we are built.
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

/* What a reader sees, so that names that look alike have equal skeletons. Returns: its bytes; 0 where it does not fit. */
size_t lookalike_skeleton(struct span name, char *out, size_t size);

/* Whether letters of different alphabets stand in one name. */
bool lookalike_mixes_scripts(struct span name);

/* Appends what unicode_plain says, with each character that looks like some of ASCII as those. ASCII stays as it is.
 * Takes: valid UTF-8. Returns: as unicode_plain. */
enum code lookalike_plain(struct span text, struct buf *out) MUST_USE;

#endif
