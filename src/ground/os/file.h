/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are read or made whole: configuration, keys, policies, with the permissions they must have.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: results belong to the caller (mem_free; secrets are wiped first with mem_wipe).
 * Errors: CODE_NOT_FOUND, CODE_DENIED (permissions), CODE_LIMIT (size), CODE_IO, with a sentence. */
#ifndef OS_FILE_H
#define OS_FILE_H

#include "base/buf.h"
#include "base/why.h"

enum file_kind {
    FILE_SECRET = 0, /* not readable, not writable by group or others */
    FILE_TRUSTED,    /* not writable by group or others: configuration, certificates */
    FILE_ANY         /* no rule: policy files to be checked, calls to be explained */
};

/* Appends a regular file's bytes to `out`, at most max_bytes. */
enum code file_read(const char *path, enum file_kind kind, size_t max_bytes, struct buf *out, struct why *why) MUST_USE;

/* open(2), and makes what is not there. A symbolic link at the end of the path is refused (ELOOP): who may write the folder
 * would choose what is written to. Takes: flags: O_WRONLY or O_RDWR, O_EXCL, O_APPEND, O_TRUNC, O_NONBLOCK (opening a FIFO
 * waits for its reader otherwise). Returns: -1, with errno. */
int file_make(const char *path, int flags, unsigned mode) MUST_USE;

/* Makes a new file with this mode and content; fsyncs it. CODE_EXISTS when it is there already. */
enum code file_create(const char *path, unsigned mode, struct span content, struct why *why) MUST_USE;

/* Puts this content in the place of a file, or makes it, durably and in one step: by way of PATH.new, which nobody else may
 * be writing at the same time. */
enum code file_replace(const char *path, unsigned mode, struct span content, struct why *why) MUST_USE;

/* Makes what was renamed, linked or removed in the folder of `path` durable. Returns: false, with errno. */
bool file_sync_folder(const char *path) MUST_USE;

/* How many bytes an ordinary process may still write on the disk that holds `path`. */
enum code file_disk_room(const char *path, uint64_t *bytes) MUST_USE;

/* `path` seen from the folder of the file `base` (absolute paths stay). Returns: allocated, or NULL without memory. */
char *file_beside(const char *base, struct span path) MUST_USE;

#endif
