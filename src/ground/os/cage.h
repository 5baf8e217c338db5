/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps programs of others away from the folders with the gate's own files (Landlock), though these programs run as the gate's
 * user.
 *
 * In such a folder a program can read the files that its own arguments name, and no others; modes are no help, since the
 * program runs as the files' owner and could change them. It can make or remove nothing there, nor in the folders above, since
 * Landlock permits whole trees or nothing. What was in the folders above when the program began, and all other places, stay
 * free. The program can also not debug, or signal where the kernel can forbid that, any process that it has not started.
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
    const char *path;  /* absolute, and no part of it is a link */
    bool with_folders; /* the folders in it are kept from programs, too */
    bool may_read;     /* its files are read and run, and not changed */
};

struct cage {
    const struct cage_folder *kept;
    size_t count;
};

bool cage_can(void); /* whether this kernel has Landlock */

/* Takes: argv: NULL-terminated; folder: in which the program begins, and in which it may do anything unless it is a kept
 * one; NULL: the gate's.
 * Returns: *fd for cage_enter; -1 where the kernel has no Landlock. */
enum code cage_open(const struct cage *cage, const char *const *argv, const char *folder, int *fd, struct why *why) MUST_USE;

/* Puts the calling process, and all that it starts, into the cage for good. Returns: false, with errno. */
bool cage_enter(int fd) MUST_USE;

#endif
