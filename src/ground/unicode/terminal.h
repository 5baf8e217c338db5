/* SPDX-License-Identifier: Apache-2.0 */
/* Text that agents and servers chose, on its way to somebody's terminal: nothing in it may steer that, or deceive the reader.
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

/* Appends the text; what is no visible character stands as JSON would write it (\n, \u001b, \u202e), bytes that are no UTF-8
 * as \xff. A backslash stays one. A JSON text stays the same JSON: such characters are in its strings only. */
enum code terminal_add(struct buf *out, struct span text);

/* How many cells the text takes once it went through terminal_add. */
size_t terminal_cells(struct span text);

/* Appends what fits into `cells`, with U+2026 at its end where something was left out; `pad` fills up with blanks. The text
 * has been through terminal_add. */
enum code terminal_add_cell(struct buf *out, struct span text, size_t cells, bool pad);

/* Columns to write to: of the terminal on stdout, or what $COLUMNS says. Returns: 0 where it is neither. */
size_t terminal_width(void);

#endif
