/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps programs of others from the folders in which our own files stand (Landlock), though they run as our user.
 *
 * Of such a folder a program reads the files that its own words name, and no other: modes do not tell whose a file is, since
 * Landlock lets whoever owns it change them. Nothing is made or removed there, nor in the folders above, since Landlock permits
 * whole trees. What was in those above when the program began, and everywhere else, is as free as ever. Nor does the program
 * debug or, where the kernel knows that, signal processes that it has not started.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: cage_open's descriptor is the caller's. What is made in the folders above after that is not permitted.
 * Errors: CODE_IO with a sentence. */
#ifndef OS_CAGE_H
#define OS_CAGE_H

#include "base/why.h"

#include <stdbool.h>
#include <stddef.h>

struct cage_folder {
    const char *path;  /* real: absolute, and no part of it a link */
    bool with_folders; /* nothing of the folders in it, either */
    bool may_read;     /* its files are read and run, and not changed */
};

struct cage {
    const struct cage_folder *kept;
    size_t count;
};

bool cage_can(void); /* whether this kernel has Landlock */

/* Takes: argv: NULL-terminated; folder: in which the program begins, and which is its own where it is not kept; NULL: ours.
 * Returns: *fd for cage_enter; -1 where the kernel has no Landlock. */
enum code cage_open(const struct cage *cage, const char *const *argv, const char *folder, int *fd, struct why *why) MUST_USE;

/* The calling process, and all that it starts, for good. Returns: false, with errno. */
bool cage_enter(int fd) MUST_USE;

#endif
