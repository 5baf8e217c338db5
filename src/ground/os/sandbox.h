/* SPDX-License-Identifier: Apache-2.0 */
/* The process confines itself: to the files and TCP ports that it was told of (Landlock), to the system calls that its kinds of
 * threads make (seccomp; any other kills the process), without new privileges and without dumps.
 *
 * The way: sandbox_harden; sandbox_may_* for all that is needed; sandbox_prove, in a forked child, that it holds; sandbox_enter
 * before the first thread; then each thread calls sandbox_narrow once. Nothing of it is ever taken back.
 *
 * Threads: all on main before others are started, but for sandbox_narrow (each thread for itself) and the questions at the end.
 * Owns: the rules of the process, as long as it lives.
 * Lifetime: none.
 * Errors: what the kernel does not know is left out, and sandbox_prove says so; what it knows and refuses is a CODE_IO. */
#ifndef OS_SANDBOX_H
#define OS_SANDBOX_H

#include "base/why.h"

#include <stdbool.h>
#include <stdint.h>

/* AddressSanitizer, ThreadSanitizer and builds that write profiles need calls and files of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(CALLGATE_UNCONFINED)
#define SANDBOX_IS_BUILT 0
#else
#define SANDBOX_IS_BUILT 1
#endif

/* What a thread, or a process of ours, is for. */
enum sandbox_part {
    SANDBOX_MAIN = 0,
    SANDBOX_WORKER,
    SANDBOX_JUDGE,    /* of large calls, beside a worker */
    SANDBOX_WRITER,   /* and what it starts beside itself in a rotation */
    SANDBOX_KEEPER,
    SANDBOX_NOTARY,
    SANDBOX_RESOLVER,
    SANDBOX_POSTER,
    SANDBOX_SIGNER,   /* a process of its own */
    SANDBOX_PARTS
};
#define SANDBOX_BIT(part) (1u << (part))

/* No new privileges, no dumps, no debugger of the same user. Before the first secret is read. */
enum code sandbox_harden(struct why *why) MUST_USE;

/* A file or a folder with all that is in it; one that is not there is no fault: nobody may read it later, either.
 * Takes: path: copied; `parts`: SANDBOX_BIT of each that may. */
enum code sandbox_may_read(const char *path, unsigned parts) MUST_USE;
enum code sandbox_may_change(const char *folder, unsigned parts) MUST_USE; /* files in it: made, written, renamed, removed */
enum code sandbox_may_connect(uint16_t port, unsigned parts) MUST_USE;

/* What holds, as forked children have tried it. */
struct sandbox_proof {
    bool files, ports, calls, memory; /* memory: none that is written can be made to run */
    int landlock;                     /* the kernel's version of it; 0: it has none */
};
/* Returns: CODE_IO where something that the kernel claims to do does not hold. */
enum code sandbox_prove(struct sandbox_proof *proof, struct why *why) MUST_USE;

enum code sandbox_enter(struct why *why) MUST_USE;
void sandbox_narrow(enum sandbox_part part); /* nothing where the process has not entered; aborts where the kernel refuses */

/* Whether a file was refused because of this, and not of its owner and mode, as the end of a sentence; "" where it was not. */
const char *sandbox_hint(const char *path, int error);
/* Whether connections to a port can be made at all. */
bool sandbox_knows_port(uint16_t port);

#endif
