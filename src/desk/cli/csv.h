/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of CSV (RFC 4180), made safe for spreadsheets.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: those of the buffer. */
#ifndef CLI_CSV_H
#define CLI_CSV_H

#include "base/buf.h"

/* One CSV value: quoted where it must be, control characters escaped, and with a ' before what a spreadsheet would take for a
 * formula. */
enum code csv_add(struct buf *to, struct span text, bool is_number);

#endif
