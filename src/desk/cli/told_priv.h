/* SPDX-License-Identifier: Apache-2.0 */
/* Forms in which a member is told (told.h).
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: of the buffer. */
#ifndef CLI_TOLD_PRIV_H
#define CLI_TOLD_PRIV_H

#include "json/json.h"

/* What is told, the object whose member it is, and what stands before that in its list; each may be NULL. */
struct told_member {
    const struct json_node *value, *around, *before;
};

/* What a value says: a string's own characters, anything else as JSON has it; nothing of null. */
struct span told__span(const struct json_node *value);

/* Appends the member in the form of that name. Takes: with: what stands behind the form's name. */
void told__form(struct buf *out, const struct told_member *member, struct span form, struct span with);

#endif
