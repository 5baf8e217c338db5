/* SPDX-License-Identifier: Apache-2.0 */
/* The program callgate-runner once it has its commands: it starts them, and is the server before them.
 *
 * Threads: the only one of its process.
 * Owns: what it was handed, and all that it starts.
 * Lifetime: runner_serve.
 * Errors: logged. */
#ifndef PIPE_RUNNER_POOL_H
#define PIPE_RUNNER_POOL_H

#include "runner/runner.h"
#include "runner/runner_end.h"

struct runner_serve {
    int end;
    struct runner_shared *shared;
    struct runner_commands *commands_take;
    /* Reads the configuration anew. Returns: NULL: the old one stays, and the log says why. */
    struct runner_commands *(*load)(void *context);
    void *context;
};

/* Blocks: until the gate has gone; then nothing that was started is left. */
void runner_serve(const struct runner_serve *serve);

#endif
