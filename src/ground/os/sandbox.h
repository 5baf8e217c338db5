/* SPDX-License-Identifier: Apache-2.0 */
/* The process confines itself: to the files and TCP ports that it was told of (Landlock), to the system calls that its kinds of
 * threads make (seccomp; any other kills the process), without new privileges and without dumps.
 *
 * The order: sandbox_harden; sandbox_may_* for all that is needed; sandbox_prove, which tries in a forked child that it holds;
 * sandbox_enter before the first thread; then each thread calls sandbox_narrow once. None of it can be taken back.
 *
 * Threads: all on main before others are started, but for sandbox_narrow (each thread for itself) and the questions at the end.
 * Owns: the rules of the process, as long as it lives.
 * Lifetime: none.
 * Errors: what the kernel cannot do is left out, and sandbox_prove says so; what it can do but refuses is CODE_IO. */
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

/* What a thread, or a process of the gate's, is for. */
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
    SANDBOX_VISIT,    /* a browser's, at the console */
    SANDBOX_COURIER,  /* a process of its own: between the store, the audit and a fleet's database */
    SANDBOX_PARTS
};
#define SANDBOX_BIT(part) (1u << (part))

/* Gives up new privileges and dumps, and keeps debuggers of the same user out. Call it before the first secret is read. */
enum code sandbox_harden(struct why *why) MUST_USE;

/* Permits to read a file, or a folder with all that is in it. A missing one is no fault; it cannot be read later, either.
 * Takes: path: copied; `parts`: SANDBOX_BIT of each that may. */
enum code sandbox_may_read(const char *path, unsigned parts) MUST_USE;
enum code sandbox_may_change(const char *folder, unsigned parts) MUST_USE; /* files in it: made, written, renamed, removed */
enum code sandbox_may_connect(uint16_t port, unsigned parts) MUST_USE;

/* What holds, as a forked child has tried it. */
struct sandbox_proof {
    bool files, ports, calls, memory; /* memory: no memory that was written can be made executable */
    int landlock;                     /* the kernel's version of it; 0: it has none */
};
/* Returns: CODE_IO where something that the kernel claims to do does not hold. */
enum code sandbox_prove(struct sandbox_proof *proof, struct why *why) MUST_USE;

enum code sandbox_enter(struct why *why) MUST_USE;
void sandbox_narrow(enum sandbox_part part); /* does nothing where the process has not entered; aborts where the kernel
                                              * refuses */

/* The end of a sentence where the sandbox, and not the file's owner and mode, refused a file; else "". */
const char *sandbox_hint(const char *path, int error);
/* Whether connections to a port can be made at all. */
bool sandbox_knows_port(uint16_t port);

#endif
