/* SPDX-License-Identifier: Apache-2.0 */
/* What the two ends of the runner's socket share.
 *
 * Threads: as pipe/runner.h.
 * Owns: nothing.
 * Lifetime: a message is one send.
 * Errors: RUNNER_OVER: the other side is gone, or speaks nonsense. */
#ifndef PIPE_RUNNER_PRIV_H
#define PIPE_RUNNER_PRIV_H

#include "os/local.h"
#include "pipe/runner.h"

#include <stdatomic.h>

enum runner_kind { RUNNER_CONNECT = 1, RUNNER_RELOAD };

struct runner_message {
    enum runner_kind kind;
    char route[LOCAL_NAME_BYTES + 1]; /* with a NUL */
};

enum runner_got { RUNNER_OVER = 0, RUNNER_NOTHING, RUNNER_MESSAGE };

enum runner_got runner__receive(int end, struct runner_message *message, int *handed);

struct runner_shared {
    atomic_ullong children, starts, ends, refused;
};

struct runner {
    int end;
    struct runner_shared *shared;
};

#endif
