/* SPDX-License-Identifier: Apache-2.0 */
/* What a text stands for that was written with escapes, or in base64 or hexadecimal digits.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: those of the functions that append. */
#ifndef TEXTS_DECODE_TEXT_H
#define TEXTS_DECODE_TEXT_H

#include "base/buf.h"

/* Takes: out: room for text.len bytes; decode_html: for decode_html_growth() more. Returns: how many bytes were written. */
size_t decode_percent(struct span text, char *out); /* any bytes */
size_t decode_percent_utf8(struct span text, char *out);  /* UTF-8 */
int decode_escape_at(struct span text, size_t at);        /* the byte for which the escape there stands; -1: none is there */
size_t decode_html(struct span text, char *out);
size_t decode_html_growth(size_t len);

/* Appends the text, in which what its runs of base64, or of hexadecimal digits, stand for takes their place.
 * Returns: CODE_OK; CODE_INVALID: no run stands for a text; CODE_LIMIT; CODE_NOMEM. */
enum code decode_base64(struct span text, struct buf *out) MUST_USE;
enum code decode_hex(struct span text, struct buf *out) MUST_USE;

#endif
