/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of the sandbox: files and ports (Landlock), calls (seccomp).
 *
 * Threads: as os/sandbox.h.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: false, with errno. */
#ifndef OS_SANDBOX_PRIV_H
#define OS_SANDBOX_PRIV_H

#include "os/sandbox.h"

#include <stddef.h>

struct sandbox_rule {
    const char *path; /* NULL: a port */
    uint16_t port;
    bool changes;
    unsigned parts;
};

int sandbox__landlock_version(void); /* 0: none */

/* A ruleset with what `parts` may. Returns: its descriptor; -1 with errno. */
int sandbox__ruleset(const struct sandbox_rule *rules, size_t count, unsigned parts);
bool sandbox__restrict_files(int ruleset) MUST_USE;

/* Some of the rights that Landlock knows, by its numbers. */
#define LANDLOCK_EXECUTE (UINT64_C(1) << 0)
#define LANDLOCK_WRITE_FILE (UINT64_C(1) << 1)
#define LANDLOCK_READ_FILE (UINT64_C(1) << 2)
#define LANDLOCK_READ_DIR (UINT64_C(1) << 3)
#define LANDLOCK_TRUNCATE (UINT64_C(1) << 14)
#define LANDLOCK_IOCTL (UINT64_C(1) << 15)
/* the rights that apply to a file that is no folder */
#define LANDLOCK_FILE (LANDLOCK_EXECUTE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_FILE | LANDLOCK_TRUNCATE | LANDLOCK_IOCTL)

/* A ruleset that permits no file, and no signal to other processes where the kernel can forbid that; ports are free. Sets
 * *rights: all that it can refuse. Returns: -1 with errno. */
int sandbox__ruleset_of_files(uint64_t *rights);
/* Permits the rights on a path. One that is not there, or cannot be entered, is no fault. */
bool sandbox__allow(int ruleset, int at, const char *path, uint64_t rights) MUST_USE;

/* From now on the calling thread, and those that it starts, make only the calls of these parts. */
bool sandbox__filters_calls(void); /* whether this processor and kernel can */
bool sandbox__restrict_calls(unsigned parts) MUST_USE;

#endif
