/* SPDX-License-Identifier: Apache-2.0 */
/* Code points written as UTF-8.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Takes: out: room for 4 bytes; point: a scalar value. Returns: how many bytes were written. */
size_t utf8_put(char *out, uint32_t point);

#endif
