/* SPDX-License-Identifier: Apache-2.0 */
/* What commands print: JSON, and lines whose words others chose.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: exit statuses, told on stderr. */
#ifndef APP_PRINT_H
#define APP_PRINT_H

#include "base/why.h"
#include "json/doc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

/* As printf, for files, messages and names that somebody else wrote: what is no visible character, line ends too, stands as
 * terminal.h says, so that it neither steers a terminal nor looks like a line of ours. A line end that ends the format
 * is one. */
void print_safely(FILE *out, const char *format, ...) PRINTF_LIKE(2, 3);

/* Whether from here on what is wrong is one JSON object a line, on stderr as ever: {"error": text, "status": the exit status}
 * or, of a place in a file, {"error" or "warning": text, "file":, "line":, "column":}. */
void print_failures_as_json(bool wanted);
/* One line on stderr, `callgate: text`. */
void print_failure(int status, const char *format, va_list args);

/* Up to 20 of them on stderr, each as `file:line:column: text`. Takes: before: what stands in front of the text. */
void print_faults(const struct faults *faults, const char *before);

/* Keeps what is printed on stdout in memory, up to 32 MiB, until it is flushed or the program ends: a terminal or a pager that
 * takes nothing is not to hold a lock. Where there is no memory it is printed at once. */
void print_hold(void);

/* One line on stdout; frees the document and wipes the text, which may hold a key. Returns: an exit status. */
int print_doc(struct doc **doc);

/* A member with a time as text; 0 is null. */
void print_time(struct doc *doc, const char *key, int64_t time_us);

#endif
