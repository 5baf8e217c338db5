/* SPDX-License-Identifier: Apache-2.0 */
/* The indices of a sealed file: schema/indices.sql. The live file has none, so that each row goes to the end of its table and
 * nowhere else.
 *
 * Threads: any; one at a time for a file.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: enum code with a sentence; what was made of the indices stays, and the next call goes on there. */
#ifndef ROWS_INDICES_H
#define ROWS_INDICES_H

#include "base/why.h"

#include <stdatomic.h>

/* Makes the indices that a file lacks. Nothing else may write the file; readers are not held up, and the
 * file is in WAL mode afterwards.
 * Takes: stop: NULL, or a flag that ends it early when it is set.
 * Returns: CODE_OK when all are there, or the file lacks a table that they are of; CODE_BUSY where somebody has it open, or it
 * was stopped. */
enum code indices_build(const char *path, const atomic_bool *stop, struct why *why) MUST_USE;

#endif
