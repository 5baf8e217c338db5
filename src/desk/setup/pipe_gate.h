/* SPDX-License-Identifier: Apache-2.0 */
/* A pipe's way to the gate of its configuration: the one that runs, or one that is started now.
 *
 * Of pipes that find none at the same time one starts it, and the others wait for that: a file is locked meanwhile.
 *
 * Threads: one.
 * Owns: nothing; the gate goes on by itself and ends some seconds after its last connection.
 * Lifetime: none.
 * Errors: enum code with a sentence. */
#ifndef SETUP_PIPE_GATE_H
#define SETUP_PIPE_GATE_H

#include "conf/conf.h"

/* Blocks: while a gate starts, until a signal asks for an end. Takes: conf: where the configuration is. Returns: *fd, a
 * non-blocking connection; CODE_NOT_FOUND: there is no gate. */
enum code pipe_gate_reach(const char *conf, const struct conf_pipe *pipe, bool may_start, int *fd, struct why *why) MUST_USE;

#endif
