/* SPDX-License-Identifier: Apache-2.0 */
/* Code points written as UTF-8, and texts cut between them.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/span.h"

#include <stddef.h>
#include <stdint.h>

/* Takes: out: room for 4 bytes; point: a scalar value. Returns: how many bytes were written. */
size_t utf8_put(char *out, uint32_t point);

/* The first `max` bytes, less where that would cut a code point. */
struct span utf8_cut(struct span text, size_t max);

#endif
