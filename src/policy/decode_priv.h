/* SPDX-License-Identifier: Apache-2.0 */
/* What a string may be taken for: `decode`.
 *
 * Threads: any.
 * Owns: nothing; readings live in the walk's arena.
 * Lifetime: one value.
 * Errors: too many readings, or too large ones, are undecided. */
#ifndef POLICY_DECODE_PRIV_H
#define POLICY_DECODE_PRIV_H

#include "policy/walk.h"

/* All operators of a leaf with decoders, on all readings of a string. */
enum truth policy__decoded(struct rule_walk *walk, const struct condition *leaf, const struct json_node *string);

/* decode_text.c. Takes: out: room for text.len bytes, and policy__html_growth() more. Returns: how many were written. */
size_t policy__read_percent(struct span text, char *out);
size_t policy__read_html(struct span text, char *out);
size_t policy__html_growth(size_t len);

#endif
