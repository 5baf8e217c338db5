/* SPDX-License-Identifier: Apache-2.0 */
/* What a string may be taken for: `decode`.
 *
 * Threads: any.
 * Owns: nothing; readings live in the walk's arena.
 * Lifetime: one value.
 * Errors: too many readings, or too large ones, are undecided. */
#ifndef JUDGEMENT_DECODE_PRIV_H
#define JUDGEMENT_DECODE_PRIV_H

#include "policy/walk.h"

/* All operators of a leaf with decoders, on all readings of a string.
 * Takes: parts: the texts of which the string was joined; each is also decoded by itself. count 0: it was not joined. */
enum truth eval__decoded(struct rule_walk *walk, const struct condition *leaf, const struct json_node *string,
                         const struct span *parts, size_t count);

/* Calls `take` with the text and with each reading that the decoders make of it. Returns: false: there are too many, and `take`
 * was called with none. */
bool eval__each_reading(struct rule_walk *walk, unsigned decoders, struct span text, void (*take)(void *context, struct span),
                        void *context);

#endif
