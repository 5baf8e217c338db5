/* SPDX-License-Identifier: Apache-2.0 */
/* What the two ends of the runner's socket share.
 *
 * Threads: as runner/runner.h.
 * Owns: nothing.
 * Lifetime: a message is one send.
 * Errors: RUNNER_OVER: the other side is gone, or speaks nonsense. */
#ifndef RUNNER_RUNNER_END_H
#define RUNNER_RUNNER_END_H

#include "os/local.h"

#include <stdatomic.h>

#define RUNNER_WORD "runner" /* by which the gate calls the program, behind it the configuration's path and how much it logs */
#define RUNNER_FD 3

/* BEGIN comes first, with the memory of the numbers; the answer is a sentence, empty where all is well. */
enum runner_kind { RUNNER_CONNECT = 1, RUNNER_RELOAD, RUNNER_BEGIN };

struct runner_message {
    enum runner_kind kind;
    char route[LOCAL_NAME_BYTES + 1]; /* with a NUL */
};

/* What a program says comes behind one of these, up to the end of the stream. */
#define RUNNER_SAYS_VALUE '+'
#define RUNNER_SAYS_FAULT '-'
#define RUNNER_VALUE_BYTES 8000 /* the most of a secret: a header's line holds it */
#define RUNNER_SAID_BYTES (RUNNER_VALUE_BYTES + 1)

enum runner_got { RUNNER_OVER = 0, RUNNER_NOTHING, RUNNER_MESSAGE };

enum runner_got runner_receive(int end, struct runner_message *message, int *handed);

struct runner_shared {
    atomic_ullong children, starts, ends, refused;
};

#endif
