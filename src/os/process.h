/* SPDX-License-Identifier: Apache-2.0 */
/* A process of our own beside this one, without a program of its own, that ends with it.
 *
 * Threads: main, before others are started.
 * Owns: nothing; the socket between the two is the caller's.
 * Lifetime: the child ends when its function returns, and is ended when the thread that made it ends. Nobody waits for it.
 * Errors: CODE_IO with a sentence. */
#ifndef OS_PROCESS_H
#define OS_PROCESS_H

#include "base/why.h"

/* Calls run(context, its end) in a child that holds no descriptor but that and the log's, and takes no signal.
 * Returns: *end: ours; each write is one read of the other side, and an end is seen as the end of the stream. */
enum code process_child(const char *name, void (*run)(void *context, int end), void *context, int *end, struct why *why)
    MUST_USE;

#endif
