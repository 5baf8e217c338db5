/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text: strict decimal, sizes and times with units, hexadecimal.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_INVALID for anything but the form, CODE_LIMIT when it does not fit; *out is then untouched. */
#ifndef BASE_NUM_H
#define BASE_NUM_H

#include "base/code.h"
#include "base/span.h"

#include <stdint.h>

/* Decimal digits only; no sign, no leading zero but "0" itself. */
enum code num_u64(struct span text, uint64_t *out) MUST_USE;

/* As num_u64 with an optional '-'; "-0" is invalid. */
enum code num_i64(struct span text, int64_t *out) MUST_USE;

/* "64 KiB", "4MiB", "1 GiB", "123" (bytes). */
enum code num_size(struct span text, uint64_t *bytes) MUST_USE;

/* "250ms", "10s", "5min", "2h", "30d": to milliseconds. A unit is required. */
enum code num_duration(struct span text, uint64_t *ms) MUST_USE;

/* Returns: 0 to 15, or -1. */
int num_hex_digit(char c);

/* Decimal digits, no NUL; returns how many. For the data path, where printf(3) costs more than the rest of a line. */
#define NUM_TEXT_BYTES 20
size_t num_text(uint64_t value, char out[NUM_TEXT_BYTES]);

/* Lower-case hexadecimal; `out` takes 2 * len bytes, no NUL. */
void num_hex(const void *bytes, size_t len, char *out);

/* Exactly 2 * len hexadecimal digits of either case. */
enum code num_unhex(struct span text, void *bytes, size_t len) MUST_USE;

#endif
