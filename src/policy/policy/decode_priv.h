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

/* All operators of a leaf with decoders, on all readings of a string.
 * Takes: parts: of which it was joined, each is also read by itself; count 0: it was not. */
enum truth policy__decoded(struct rule_walk *walk, const struct condition *leaf, const struct json_node *string,
                           const struct span *parts, size_t count);

/* decode_text.c. Takes: out: room for text.len bytes, and policy__html_growth() more. Returns: how many were written. */
size_t policy__read_percent(struct span text, char *out); /* any bytes */
size_t policy__say_percent(struct span text, char *out);  /* UTF-8 */
int policy__escape_at(struct span text, size_t at);       /* the byte for which the escape there stands; -1: none is there */
size_t policy__read_html(struct span text, char *out);
size_t policy__html_growth(size_t len);

/* decode_inside.c. Appends the text with what is written in base64 or hexadecimal digits in it as what it stands for.
 * Returns: CODE_OK; CODE_INVALID: there is none; CODE_LIMIT; CODE_NOMEM. */
enum code policy__read_base64(struct span text, struct buf *out) MUST_USE;
enum code policy__read_hex(struct span text, struct buf *out) MUST_USE;

#endif
