/* SPDX-License-Identifier: Apache-2.0 */
/* callgate pipe: stands between an agent's stdin and a server's, for programs that start their tool servers themselves. */
#include "cli/commands.h"
#include "setup/pipe_gate.h"

#include "base/mem.h"
#include "os/signal.h"
#include "os/sock.h"
#include "pipe/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct pipe {
    const char *conf;
    struct conf_pipe_route route;
    struct loop *loop;
    struct signals signals;
    struct pipe_child *child;
    struct pipe_agent *agent;
    int first;       /* the first connection to the gate, which was made before all else; -1: it is used */
    int status;      /* the child's, as wait(2) has it */
    bool has_ended;  /* the child */
};

static enum code dial(void *context, bool may_start, int *fd, unsigned char digest[LOCAL_DIGEST_BYTES], struct why *why)
{
    struct pipe *pipe = context;
    enum code code = conf_digest(pipe->conf, digest, why); /* the file may be another one by now */

    if (code != CODE_OK)
        return code;
    *fd = pipe->first;
    pipe->first = -1;
    return *fd >= 0 ? CODE_OK : pipe_gate_reach(pipe->conf, &pipe->route.pipe, may_start, fd, why);
}

static void child_ended(void *context, int status)
{
    struct pipe *pipe = context;

    pipe->status = status;
    pipe->has_ended = true;
    if (pipe->agent != NULL)
        pipe_agent_finish(pipe->agent);
}

static void taken(void *context, uint64_t number)
{
    struct pipe *pipe = context;

    if (pipe->agent != NULL)
        pipe_agent_taken(pipe->agent, number);
}

static void agent_done(void *context)
{
    struct pipe *pipe = context;

    pipe_child_end(pipe->child);
}

/* Signals are the server's. One that asks for an end gets an end, though the server may not like it. */
static void signal_came(void *context, int signo)
{
    struct pipe *pipe = context;

    pipe_child_signal(pipe->child, signo);
    if (signo == SIGTERM)
        pipe_child_end(pipe->child);
}

/* An open file of our own behind the descriptor, so that its mode is not changed for others who have it. What has a place that
 * all share, a regular file, stays shared; a socket cannot be opened anew. */
static int own(int fd, int flags)
{
    char path[32];
    struct stat status;
    int mine = -1;

    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISSOCK(status.st_mode))
        mine = open(path, flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    return mine >= 0 ? mine : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* The key belongs to the pipe alone: the server must not act in the agent's name. */
static enum code take_key(const struct pipe *pipe, struct buf *key, struct why *why)
{
    const char *given = getenv("CALLGATE_KEY");
    enum code code = CODE_OK;

    if (span_is_empty(pipe->route.key_header))
        return CODE_OK;
    if (given == NULL || given[0] == '\0')
        return why_set(why, CODE_INVALID, "the route %.*s asks for a key; put one into the environment as CALLGATE_KEY "
                       "(`callgate key create` makes one), or give the route the identity `none`", SPAN_ARG(pipe->route.name));
    code = buf_add_text(key, pipe->route.key_prefix);
    return code == CODE_OK ? buf_add_text(key, given) : code;
}

static enum code start_all(struct pipe *pipe, char *const *argv, struct span key, struct why *why)
{
    static const int signos[] = {SIGTERM, SIGINT, SIGHUP, 0};
    const struct pipe_child_conf child = {
        .loop = pipe->loop, .kind = pipe->route.dialect->is_run_once ? PIPE_ONCE : PIPE_LINES, .name = pipe->route.name.at,
        .argv = (const char *const *)argv, .line_bytes = UINT64_C(64) << 20, .inherits_stderr = true, .ended = child_ended,
        .taken = taken, .context = pipe,
    };
    struct pipe_agent_conf agent = {
        .loop = pipe->loop, .dialect = pipe->route.dialect, .route = pipe->route.name, .line_bytes = pipe->route.line_bytes,
        .key_header = pipe->route.key_header, .key = key, .dial = dial, .done = agent_done, .context = pipe,
    };
    enum code code = signals_init(&pipe->signals, pipe->loop, signos, signal_came, pipe, why);

    if (code == CODE_OK)
        code = pipe_child_start(&child, &pipe->child, why);
    if (code != CODE_OK)
        return code;
    agent.child = pipe->child;
    agent.in_take = own(STDIN_FILENO, O_RDONLY);
    agent.out_take = own(STDOUT_FILENO, O_WRONLY);
    return pipe_agent_start(&agent, &pipe->agent, why);
}

static int status_of(const struct pipe *pipe)
{
    return WIFSIGNALED(pipe->status) ? 128 + WTERMSIG(pipe->status) : WEXITSTATUS(pipe->status);
}

static int run(struct pipe *pipe, char *const *argv)
{
    struct why why = {""};
    struct buf key;
    enum code code;
    int status;

    buf_init(&key, 8192);
    buf_wipes(&key);
    signals_block();
    pipe->signals.fd = pipe->first = -1;
    code = take_key(pipe, &key, &why);
    (void)unsetenv("CALLGATE_KEY");
    if (code == CODE_OK) /* before the server is started: without a gate there is none */
        code = pipe_gate_reach(pipe->conf, &pipe->route.pipe, true, &pipe->first, &why);
    if (code == CODE_OK)
        code = loop_new(&pipe->loop);
    if (code == CODE_OK)
        code = start_all(pipe, argv, buf_peek(&key), &why);
    while (code == CODE_OK && !(pipe->has_ended && pipe_agent_is_over(pipe->agent)))
        code = loop_turn(pipe->loop, -1);
    status = code == CODE_OK ? status_of(pipe) : complain_why(code, &why);
    pipe_agent_free(&pipe->agent);
    pipe_child_free(&pipe->child);
    if (pipe->loop != NULL) {
        signals_fini(&pipe->signals);
        loop_free(&pipe->loop);
    }
    sock_close(&pipe->first);
    buf_clear(&key);
    buf_fini(&key);
    return status;
}

int cmd_pipe(const struct asked *asked)
{
    const char *dialect = asked->dialect;
    struct pipe pipe = {.conf = conf_file_path(asked->file)};
    struct faults faults;
    enum code code;
    int status;

    faults_init(&faults);
    code = conf_pipe_route(pipe.conf, asked->route, false, &pipe.route, &faults);
    if (code != CODE_OK)
        status = faults.count > 0 ? complain_faults(&faults) : complain(STATUS_CANNOT, "%s: %s", pipe.conf, code_text(code));
    else if (dialect != NULL && strcmp(pipe.route.dialect->name, dialect) != 0)
        status = complain(STATUS_USAGE, "the route %.*s speaks %s, not %s; name another with --route",
                          SPAN_ARG(pipe.route.name), pipe.route.dialect->name, dialect);
    else
        status = run(&pipe, asked->given.operands);
    arena_fini(&pipe.route.arena);
    return status;
}
