/* SPDX-License-Identifier: Apache-2.0 */
/* Who starts the commands of `upstream: {command:}`: a process beside the gate, since a gate that is confined starts none.
 *
 * That process is a program of its own, callgate-runner (pipe/runner_pool.h), so that the gate is linked with nothing of it.
 * The gate hands it connections, and says for which route; what goes over them is streamable HTTP, and which child answers is
 * chosen by session and caller. Which commands there are it knows from the configuration, which it reads itself: who takes the
 * gate over can have no other command run.
 *
 * Threads: runner_open on main before others are started; runner_dial from any; the rest on main.
 * Owns: its end of the socket; the numbers, which both processes see.
 * Lifetime: runner_open to runner_close, with which the process ends, and all that it started.
 * Errors: CODE_IO: the process is gone, or takes nothing at the moment. */
#ifndef RUNNER_RUNNER_H
#define RUNNER_RUNNER_H

#include "base/mem.h"
#include "base/ref.h"
#include "base/span.h"
#include "base/why.h"
#include "os/cage.h"

#include <stdbool.h>
#include <stdint.h>

/* How a command speaks. */
enum pipe_kind { PIPE_LINES = 0 /* JSON-RPC */, PIPE_ONCE };

/* Who shares a child: those of a session, all of a caller (a principal in a tenant), all. */
enum runner_per { RUNNER_SESSION = 0, RUNNER_PRINCIPAL, RUNNER_GATE };

struct runner_command {
    const char *route;
    const char *const *argv;
    const char *const *environment; /* "NAME=value", all of it; wiped at the end */
    const char *folder;             /* NULL: the gate's */
    enum pipe_kind kind;
    enum runner_per per;
    uint32_t idle_ms;
    uint32_t most;                  /* children at a time */
    uint64_t memory_bytes, line_bytes;
    bool is_told;                   /* as pipe_child_conf has it */
    bool is_free;                   /* not kept by the cage */
};

/* Those of a configuration. Counted, since children use their command's words as long as they live. */
struct runner_commands {
    struct arena arena;
    struct runner_command *commands;
    size_t count;
    struct cage cage;               /* count == 0: there is none */
    struct ref ref;
};

struct runner_commands *runner_commands_new(void) MUST_USE; /* NULL without memory */
void runner_commands_unref(struct runner_commands **commands); /* NULL is fine */

/* The numbers that both see; the other process writes them. */
struct runner_gauges {
    uint64_t children, starts, ends, refused;
};

struct runner;

/* Takes: path: of the configuration. Blocks: until the process has read it.
 * Errors: what it says of its start. */
enum code runner_open(const char *path, bool is_verbose, struct runner **out, struct why *why) MUST_USE;
void runner_close(struct runner **runner); /* NULL is fine */

/* A connection to the children of a route. Never blocks. */
enum code runner_dial(struct runner *runner, struct span route, int *fd) MUST_USE;

/* The configuration has changed: it reads it again. */
void runner_reload(struct runner *runner);
bool runner_is_gone(const struct runner *runner);
void runner_gauges(const struct runner *runner, struct runner_gauges *out);

#endif
