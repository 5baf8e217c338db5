/* SPDX-License-Identifier: Apache-2.0 */
#include "setup/pipe_gate.h"

#include "os/file.h"
#include "os/local.h"
#include "os/sock.h"
#include "os/user.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_FD 3
#define READY_MS 120000 /* another gate may still drain */
#define BUSY_TRIES 500
#define BUSY_US 10000
#define LAST_WORDS 600
#define LOOK_MS 20

/* Who listens reads what the agent says, its key included, and gets the way to the server. */
static bool is_trusted(const struct conf_pipe *pipe, int fd)
{
    uid_t uid;

    return local_listener(fd, &uid) == CODE_OK &&
           (uid == geteuid() || uid == 0 || (pipe->user != NULL && user_is(pipe->user, uid)));
}

static enum code connect_to(const struct conf_pipe *pipe, int *fd, struct why *why)
{
    enum code code = local_connect(pipe->socket, fd);

    for (int i = 0; i < BUSY_TRIES && code == CODE_BUSY; i++) {
        (void)usleep(BUSY_US);
        code = local_connect(pipe->socket, fd);
    }
    if (code == CODE_OK && !is_trusted(pipe, *fd)) {
        sock_close(fd);
        code = CODE_DENIED;
    }
    if (code == CODE_DENIED)
        return why_set(why, code, "the gate's socket %s belongs to another user; name one of your own with `pipe: {socket: "
                       "FILE}` in a configuration of your own", pipe->socket);
    return code == CODE_OK || code == CODE_NOT_FOUND
               ? code : why_set(why, code, "the gate's socket %s cannot be reached: %s", pipe->socket, strerror(errno));
}

/* In the gate to be: nothing of the pipe's is its own, but its user. */
static _Noreturn void be_gate(const char *conf, const struct conf_pipe *pipe, int ready, int log)
{
    char linger[32], ready_fd[8];
    char *const argv[] = {(char[]){"callgate"}, (char[]){"serve"}, (char[]){"--config"}, (char *)(uintptr_t)conf,
                          (char[]){"--ready-fd"}, ready_fd, (char[]){"--while-used"}, linger, NULL};
    int nothing = open("/dev/null", O_RDWR);
    sigset_t none;

    (void)snprintf(ready_fd, sizeof ready_fd, "%d", READY_FD);
    (void)snprintf(linger, sizeof linger, "%ums", pipe->linger_ms);
    sigemptyset(&none);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0 ||
        (ready != READY_FD && dup2(ready, READY_FD) < 0) || fcntl(READY_FD, F_SETFD, 0) != 0 ||
        sigprocmask(SIG_SETMASK, &none, NULL) != 0)
        _exit(126);
    (void)syscall(SYS_close_range, READY_FD + 1, ~0u, 0);
    (void)unsetenv("CALLGATE_KEY");
    execv("/proc/self/exe", argv);
    _exit(127);
}

/* Twice, so that the gate is nobody's child. */
static enum code fork_gate(const char *conf, const struct conf_pipe *pipe, int ready, int log, struct why *why)
{
    pid_t between = fork();

    if (between == 0) {
        pid_t gate;

        (void)setsid();
        gate = fork();
        if (gate == 0)
            be_gate(conf, pipe, ready, log);
        _exit(gate < 0);
    }
    if (between < 0)
        return why_set(why, CODE_IO, "the gate cannot be started: %s", strerror(errno));
    while (waitpid(between, NULL, 0) < 0 && errno == EINTR)
        continue;
    return CODE_OK;
}

/* The last line that the gate wrote since it was started, because it ends with why; warnings stand before it. */
static enum code tell_last_words(int log, off_t from, const char *path, struct why *why)
{
    char text[LAST_WORDS + 1];
    off_t end = lseek(log, 0, SEEK_END), begin = end - from > LAST_WORDS ? end - LAST_WORDS : from;
    ssize_t got = pread(log, text, LAST_WORDS, begin);
    const char *last;

    text[got > 0 ? got : 0] = '\0';
    while (got > 0 && text[got - 1] == '\n')
        text[--got] = '\0';
    last = strrchr(text, '\n') != NULL ? strrchr(text, '\n') + 1 : text;
    return why_set(why, CODE_IO, "the gate could not be started (more in %s): %s", path,
                   last[0] != '\0' ? last : "it has written nothing there; is the disk full?");
}

/* Signals are blocked here, and read on the loop: whoever wants an end must not wait until a gate is there. */
static bool is_asked_to_end(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1 ||
                                         sigismember(&pending, SIGHUP) == 1);
}

static enum code end_asked(struct why *why)
{
    return why_set(why, CODE_DOWN, "a signal asked for an end while the gate was waited for");
}

static enum code wait_ready(int ready, bool *is_ready, struct why *why)
{
    struct pollfd poll_fd = {.fd = ready, .events = POLLIN};
    char byte;
    int events = 0;

    for (int ms = 0; ms < READY_MS && events == 0; ms += LOOK_MS) {
        if (is_asked_to_end())
            return end_asked(why);
        events = poll(&poll_fd, 1, LOOK_MS);
    }
    *is_ready = events > 0 && read(ready, &byte, 1) == 1;
    return CODE_OK;
}

static enum code start(const char *conf, const struct conf_pipe *pipe, struct why *why)
{
    char path[PATH_MAX], own[PATH_MAX];
    int ready[2] = {-1, -1}, log;
    bool is_ready = false;
    enum code code;
    off_t from;

    (void)snprintf(path, sizeof path, "%s.log", pipe->socket);
    log = file_make(path, O_RDWR | O_APPEND, 0600);
    if (log < 0 || realpath(conf, own) == NULL || pipe2(ready, O_CLOEXEC) != 0) {
        code = why_set(why, CODE_IO, "the gate cannot be started: %s: %s", log < 0 ? path : conf, strerror(errno));
        sock_close(&log);
        return code;
    }
    from = lseek(log, 0, SEEK_END);
    code = fork_gate(own, pipe, ready[1], log, why);
    sock_close(&ready[1]);
    if (code == CODE_OK)
        code = wait_ready(ready[0], &is_ready, why);
    if (code == CODE_OK && !is_ready)
        code = tell_last_words(log, from, path, why);
    sock_close(&ready[0]);
    sock_close(&log);
    return code;
}

/* Whoever holds the lock starts a gate, or has been stopped. */
static enum code take_lock(const struct conf_pipe *pipe, int *lock, struct why *why)
{
    char path[PATH_MAX];
    bool is_mine = false;
    int ms = 0;

    (void)snprintf(path, sizeof path, "%s.lock", pipe->socket);
    *lock = file_make(path, O_RDWR, 0600);
    for (; *lock >= 0 && ms < READY_MS && !is_asked_to_end(); ms += LOOK_MS) {
        is_mine = flock(*lock, LOCK_EX | LOCK_NB) == 0;
        if (is_mine || errno != EWOULDBLOCK)
            break;
        (void)usleep(LOOK_MS * 1000);
    }
    if (is_mine)
        return CODE_OK;
    if (is_asked_to_end())
        (void)end_asked(why);
    else
        why_set(why, CODE_IO, "%s cannot be locked, which keeps pipes from starting several gates: %s", path,
                ms >= READY_MS ? "another process has held it for two minutes" : strerror(errno));
    sock_close(lock);
    return CODE_IO;
}

enum code pipe_gate_reach(const char *conf, const struct conf_pipe *pipe, bool may_start, int *fd, struct why *why)
{
    enum code code = connect_to(pipe, fd, why);
    int lock;

    if (code != CODE_NOT_FOUND || !may_start)
        return code;
    code = take_lock(pipe, &lock, why);
    if (code != CODE_OK)
        return code;
    code = connect_to(pipe, fd, why); /* somebody else may have started one meanwhile */
    if (code == CODE_NOT_FOUND) {
        code = start(conf, pipe, why);
        if (code == CODE_OK)
            code = connect_to(pipe, fd, why);
        if (code == CODE_NOT_FOUND)
            why_set(why, code, "the gate that was started does not listen on %s; has it ended?", pipe->socket);
    }
    sock_close(&lock);
    return code;
}
