/* SPDX-License-Identifier: Apache-2.0 */
/* A path of files, step by step: each as it is written, and as it may be held equal by who opens it, since file systems fold
 * case and normal forms, and people overlook what they do not see.
 *
 * Threads: any.
 * Owns: nothing; steps live in the arena, and point into the text.
 * Lifetime: the shorter of both.
 * Errors: CODE_INVALID: readers may take it in several ways; CODE_LIMIT: it is too long; CODE_NOMEM. Linear in the text. */
#ifndef TEXTS_FILE_PATH_H
#define TEXTS_FILE_PATH_H

#include "base/code.h"
#include "base/mem.h"
#include "base/span.h"

#define FILE_PATH_MAX 1000 /* characters */

/* PLAIN: NFKC, without what `free_of: hidden` names and what Unicode ignores. FOLDED: that, case aside. */
enum file_reading { FILE_WRITTEN = 0, FILE_PLAIN, FILE_FOLDED, FILE_READINGS };

struct file_text {
    struct span read[FILE_READINGS];
};

struct file_path {
    bool is_absolute;
    bool is_folder;      /* a `/` stands at its end, or it is `.` */
    uint32_t count;
    const struct file_text *steps; /* without `.` and `..` */
};

/* Takes: valid UTF-8. */
enum code file_text_read(struct span text, struct arena *arena, struct file_text *read) MUST_USE;

/* Refuses `%`, `\`, backquotes, controls and separators of lines; empty steps, `.` and `..`, but takes one `./` in front of a
 * relative path, and `.` alone; steps that begin or end with a blank or end with a quote; and a relative path that programs
 * take for something else: its first character is one of `-~+@=` or a quote, or a `:` stands in its first step. Each step is
 * looked at as it is written and in its plain reading.
 * Returns: CODE_INVALID with *doubt, which goes on after "it ". */
enum code file_path_read(struct span text, struct arena *arena, struct file_path *path, const char **doubt) MUST_USE;

#endif
