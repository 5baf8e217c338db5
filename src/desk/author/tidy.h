/* SPDX-License-Identifier: Apache-2.0 */
/* A policy file written in the one manner: order of keys, quotes, how far things are indented. Comments stay.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_INVALID with faults where the text is no YAML, or could not be written so that it says the same. */
#ifndef AUTHOR_TIDY_H
#define AUTHOR_TIDY_H

#include "base/buf.h"
#include "base/why.h"

/* Appends the text. Takes: file: for messages. */
enum code tidy_write(struct span text, const char *file, struct buf *out, struct faults *faults) MUST_USE;

#endif
