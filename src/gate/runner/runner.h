/* SPDX-License-Identifier: Apache-2.0 */
/* Who starts the commands of `upstream: {command:}`: a process beside the gate, since a gate that is confined starts none.
 *
 * That process is a program of its own, callgate-runner (pipe/runner_pool.h), so that the gate is linked with nothing of it.
 * The gate hands it connections, and says for which route; what goes over them is streamable HTTP, and which child answers is
 * chosen by session and caller. Which commands there are it knows from the configuration, which it reads itself: who takes the
 * gate over can have no other command run.
 *
 * Threads: runner_open on main before others are started; runner_dial from any; a hearing on its loop's; the rest on main.
 * Owns: its end of the socket; the numbers, which both processes see.
 * Lifetime: runner_open to runner_close, with which the process ends, and all that it started.
 * Errors: CODE_IO: the process is gone, or takes nothing at the moment. */
#ifndef RUNNER_RUNNER_H
#define RUNNER_RUNNER_H

#include "base/buf.h"
#include "base/mem.h"
#include "base/ref.h"
#include "base/span.h"
#include "base/why.h"
#include "os/cage.h"
#include "os/loop.h"

#include <stdbool.h>
#include <stdint.h>

/* How a command speaks. VALUE: one line on its stdout is a secret, and nothing is asked of it. */
enum pipe_kind { PIPE_LINES = 0 /* JSON-RPC */, PIPE_ONCE, PIPE_VALUE };

/* Who shares a child: those of a session, all of a caller (a principal in a tenant), all. */
enum runner_per { RUNNER_SESSION = 0, RUNNER_PRINCIPAL, RUNNER_GATE };

/* A variable of a command's environment that a program says at each start of the command. */
struct runner_value {
    size_t at;                      /* where in the environment; there stands "NAME=" */
    const struct runner_command *program;
};

struct runner_command {
    const char *route;              /* by which the gate names it */
    const char *of;                 /* VALUE: whose route, for the log */
    const char *const *argv;
    const char *const *environment; /* "NAME=value", all of it; wiped at the end */
    const struct runner_value *values; /* of the environment */
    size_t value_count;
    const char *folder;             /* NULL: the gate's */
    uint32_t wait_ms;               /* VALUE: until it is to have ended */
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

/* A connection to the children of a route; to what a program says, where `route` names one of VALUE. Never blocks. */
enum code runner_dial(struct runner *runner, struct span route, int *fd) MUST_USE;

/* What a program says, on such a connection: heard on a loop, once. */
struct runner_hearing {
    struct loop *loop;
    struct loop_watch watch;
    struct buf said;                /* wiped */
    void (*heard)(void *context, struct span value, const char *fault); /* fault: NULL: it is a value */
    void *context;
};
/* Takes: hearing: zeroed but for loop, heard and context. `heard` is called once, unless runner_hear_end comes first. */
enum code runner_hear(struct runner_hearing *hearing, int fd_take) MUST_USE;
void runner_hear_end(struct runner_hearing *hearing); /* callable twice */

/* The configuration has changed: it reads it again. */
void runner_reload(struct runner *runner);
bool runner_is_gone(const struct runner *runner);
void runner_gauges(const struct runner *runner, struct runner_gauges *out);

#endif
