/* SPDX-License-Identifier: Apache-2.0 */
/* What commands print: JSON, and lines whose words others chose.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: exit statuses, told on stderr. */
#ifndef ARGS_PRINT_H
#define ARGS_PRINT_H

#include "base/code.h"
#include "base/span.h"
#include "base/why.h"
#include "json/doc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

enum exit_status {
    STATUS_DONE = 0,
    STATUS_NEGATIVE = 1, /* denied, test failed, chain broken */
    STATUS_USAGE = 2,    /* wrong use or configuration */
    STATUS_CANNOT = 3,   /* file, network, memory */
    STATUS_UNPROVEN = 4  /* consistent, but not all of it is vouched for as it should be */
};

/* As printf, for files, messages and names that somebody else wrote. In them a character that is not visible, line ends too, is
 * written as terminal.h says, so that it neither steers a terminal nor looks like a line of the program. Line ends of the
 * format stay line ends. A text ends at a NUL, as in C; print_span shows it whole. `tools/lint` allows no other way to print a
 * string. */
void print_safely(FILE *out, const char *format, ...) PRINTF_LIKE(2, 3);
void print_span(FILE *out, struct span text);
/* Prints line by line, each as print_safely would. Line ends of the text stay line ends. */
void print_lines(FILE *out, struct span text);

/* Prints the bytes as they are: for lines that have been through terminal_add, or for what programs read. `tools/lint`
 * lists who may use it.
 * Returns: CODE_IO. */
enum code print_block(FILE *out, struct span bytes);
/* Prints a policy on stdout: byte for byte for programs and files, which load it again; on a terminal as print_lines does.
 * A last line without a line end gets one. Returns: CODE_IO. */
enum code print_source(struct span text);

/* Whether from here on each failure is printed as one JSON object on a line of stderr: {"error": text, "status": the exit
 * status}, or for a place in a file {"error" or "warning": text, "file":, "line":, "column":}. */
void print_failures_as_json(bool wanted);

/* Prints up to 20 of them on stderr, each as `file:line:column: text`. Takes: before: what to print in front of each text. */
void print_faults(const struct faults *faults, const char *before);

/* Keeps what is printed on stdout in memory, up to 32 MiB, until it is flushed or the program ends, so that a terminal or a
 * pager that takes nothing does not make the program hold a lock. Without memory for it, output is printed at once. */
void print_hold(void);

/* Prints the document as one line on stdout, frees it, and wipes the text, which may hold a key. Returns: an exit status. */
int print_doc(struct doc **doc);

/* Adds a number, or a time as text; 0 is null, for what is counted from 1 and has no number. */
void print_number(struct doc *doc, const char *key, int64_t number);
void print_time(struct doc *doc, const char *key, int64_t time_us);

/* Prints `callgate: ...` on stderr. Returns: status. */
int complain(enum exit_status status, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prints a struct why, or what the code means where it is empty. Returns: the status that fits the code: USAGE for
 * CODE_INVALID, CANNOT otherwise. */
int complain_why(enum code code, const struct why *why);

/* Of a command that prints and has no sentence. Returns: DONE for CODE_OK, and where whoever read the output has enough; else
 * CANNOT, with what the code means. */
int complain_code(enum code code);

/* Whether whoever read the output has enough, as `head` has. */
bool print_is_unread(void);
/* Writes out what stdout still holds, when a command is done. Returns: status, or CANNOT with a complaint where a part of its
 * answer reached nobody. */
int print_end(int status);

/* Prints up to 20 faults as `file:line:column: text`. Returns: STATUS_USAGE. */
int complain_faults(const struct faults *faults);

/* The first fault as a sentence with its place. Returns: code. */
enum code why_of_faults(struct why *why, enum code code, const struct faults *faults);

#endif
