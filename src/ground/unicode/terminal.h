/* SPDX-License-Identifier: Apache-2.0 */
/* Makes text that agents and servers chose safe for a terminal: nothing in it may steer the terminal or deceive the reader.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: enum code of the buffer. */
#ifndef UNICODE_TERMINAL_H
#define UNICODE_TERMINAL_H

#include "base/buf.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

/* Appends the text. A character that is not visible is written as JSON would (\n, \u001b, \u202e), a byte that is no UTF-8
 * as \xff. A backslash stays one backslash. A JSON text stays the same JSON, because it has such characters in strings only. */
enum code terminal_add(struct buf *out, struct span text);

/* How many cells the text takes. Takes: what terminal_add has written. */
size_t terminal_cells(struct span text);

/* Appends what fits into `cells`, with U+2026 at its end where something was left out; `pad` fills up with blanks. The text
 * has been through terminal_add. */
enum code terminal_add_cell(struct buf *out, struct span text, size_t cells, bool pad);

/* Returns: the number of columns to write: what $COLUMNS says, or that of the terminal on stdout; 0: neither is known. */
size_t terminal_width(void);

#endif
