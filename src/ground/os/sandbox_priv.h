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

/* From now on the calling thread, and those that it starts, make only the calls of these parts. */
bool sandbox__filters_calls(void); /* whether this processor and kernel can */
bool sandbox__restrict_calls(unsigned parts) MUST_USE;

#endif
