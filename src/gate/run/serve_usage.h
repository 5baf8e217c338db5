/* SPDX-License-Identifier: Apache-2.0 */
/* The words of `callgate serve`: read by the gate's program, and shown by the one that people start.
 *
 * Threads: main.
 * Owns: nothing.
 * Lifetime: argv's.
 * Errors: none. */
#ifndef RUN_SERVE_USAGE_H
#define RUN_SERVE_USAGE_H

#include "args/command.h"

struct serve_asked {
    struct given given; /* first */
    const char *config, *why, *ready_fd, *upgrades;
    uint64_t while_used_ms;
    int before_fd; /* of `upgrades`; 0: it upgrades nothing */
    bool check, verbose, despite_loss;
};

extern const struct usage serve_usage; /* its values go into a struct serve_asked */

#endif
