/* SPDX-License-Identifier: Apache-2.0 */
#include "os/process.h"

#include "os/clock.h"
#include "os/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define END 3 /* the first descriptor that is no standard one */

/* Closes the descriptors from `first` on. Returns: false where the system does not say what is open. */
static bool close_from(int first)
{
    struct rlimit limit;

    if (syscall(SYS_close_range, first, ~0u, 0) == 0)
        return true;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    for (rlim_t fd = (rlim_t)first; fd < limit.rlim_cur; fd++)
        (void)close((int)fd);
    return true;
}

/* Closes what the other process has open, since its sockets would not close when it closes them. */
static bool keep_only(int end)
{
    int nothing = open("/dev/null", O_RDWR);

    return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 &&
           (end == END || dup2(end, END) >= 0) && close_from(END + 1);
}

static bool wait_for_any(pid_t *pid)
{
    while ((*pid = waitpid(-1, NULL, 0)) < 0 && errno == EINTR)
        continue;
    return *pid > 0;
}

static bool is_among(const pid_t *known, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (known[i] == pid)
            return true;
    return false;
}

/* Where the kernel does not list children, those that have left their group stay. */
void process_kill_strays(const pid_t *known, size_t count)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    long pid;

    while (file != NULL && fscanf(file, "%ld", &pid) == 1)
        if (!is_among(known, count, (pid_t)pid))
            (void)kill((pid_t)pid, SIGKILL);
    if (file != NULL)
        (void)fclose(file);
}

/* A known process that has ended hides the others until somebody has waited for it; they are seen at the next look. */
void process_reap_strays(const pid_t *known, size_t count)
{
    siginfo_t ended = {.si_pid = 0};

    while (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid > 0 &&
           !is_among(known, count, ended.si_pid)) {
        (void)waitpid(ended.si_pid, NULL, WNOHANG);
        ended.si_pid = 0;
    }
}

/* Kills in rounds: each process that dies leaves its own children to this one. */
void process_kill_all(void)
{
    pid_t pid;

    do {
        process_kill_strays(NULL, 0);
    } while (wait_for_any(&pid));
}

/* The parent of a family lives until its first child has ended, then kills what is left. */
static _Noreturn void guard(pid_t first)
{
    pid_t pid;

    (void)close(END);
    while (wait_for_any(&pid) && pid != first)
        continue;
    process_kill_all();
    _exit(0);
}

/* Makes the family's parent. The child learns of the parent's death by SIGTERM, and of the death of the process that
 * started both by the end of the socket. */
static void split_family(void)
{
    const struct sigaction waited = {.sa_handler = SIG_DFL};
    pid_t parent = getpid(), child;

    if (sigaction(SIGCHLD, &waited, NULL) != 0 || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || (child = fork()) < 0)
        _exit(1);
    if (child > 0)
        guard(child);
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent || prctl(PR_SET_CHILD_SUBREAPER, 1) != 0)
        _exit(1);
}

static _Noreturn void be_child(const struct process_beside *beside, int end, pid_t parent)
{
    sigset_t all;

    sigfillset(&all);
    if (prctl(PR_SET_PDEATHSIG, beside->is_family ? 0 : SIGKILL) == 0 && getppid() == parent &&
        sigprocmask(SIG_SETMASK, &all, NULL) == 0 && prctl(PR_SET_NAME, beside->name) == 0 && keep_only(end)) {
        if (beside->is_family)
            split_family();
        beside->run(beside->context, END);
    }
    _exit(0);
}

enum code process_beside(const struct process_beside *beside, int *end, struct why *why)
{
    const struct sigaction unwaited = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
    pid_t child, parent = getpid();
    int ends[2];

    *end = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return why_set(why, CODE_IO, "the process %s has no socket: %s", beside->name, strerror(errno));
    if (sigaction(SIGCHLD, &unwaited, NULL) != 0 || (child = fork()) < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return why_set(why, CODE_IO, "the process %s cannot be started: %s", beside->name, strerror(errno));
    }
    if (child == 0)
        be_child(beside, ends[1], parent);
    (void)close(ends[1]);
    *end = ends[0];
    return CODE_OK;
}

/* ---- programs of others ---- */

static bool limit_memory(uint64_t bytes)
{
    struct rlimit limit;

    if (bytes == 0)
        return true;
    if (getrlimit(RLIMIT_DATA, &limit) != 0)
        return false;
    if (limit.rlim_max == RLIM_INFINITY || limit.rlim_max > bytes)
        limit.rlim_cur = limit.rlim_max = (rlim_t)bytes;
    return setrlimit(RLIMIT_DATA, &limit) == 0;
}

/* Copies the descriptors above the standard ones first, so that none of them stands in another's place. */
static bool place_descriptors(const struct process_program *program)
{
    int in = fcntl(program->in, F_DUPFD, END + 1), out = fcntl(program->out, F_DUPFD, END + 1);
    int err = program->err >= 0 ? fcntl(program->err, F_DUPFD, END + 1) : STDERR_FILENO;

    return in >= 0 && out >= 0 && err >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
           dup2(err, STDERR_FILENO) >= 0;
}

/* Sets what is inherited over exec to what a shell would leave. */
static bool forget_signals(void)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    sigset_t none;

    sigemptyset(&none);
    for (int signo = 1; signo < NSIG; signo++)
        (void)sigaction(signo, &usual, NULL); /* those that cannot be changed are right already */
    return sigprocmask(SIG_SETMASK, &none, NULL) == 0;
}

extern char **environ;

/* Returns: only where it failed, with errno; the caller writes that to *told, which the program's start closes. */
static void become(const struct process_program *program, int cage, int *told, pid_t parent)
{
    char **environment = program->environment != NULL ? (char **)(uintptr_t)program->environment : environ;

    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || setpgid(0, 0) != 0 ||
        (program->folder != NULL && chdir(program->folder) != 0) || !limit_memory(program->memory_bytes) ||
        (cage >= 0 && !cage_enter(cage)) || !place_descriptors(program) || (*told != END && dup2(*told, END) < 0))
        return;
    *told = END;
    if (fcntl(END, F_SETFD, FD_CLOEXEC) != 0 || !close_from(END + 1) || !forget_signals())
        return;
    sock_descriptor_limit_restore();
    (void)execvpe(program->argv[0], (char **)(uintptr_t)program->argv, environment);
}

static _Noreturn void be_program(const struct process_program *program, int cage, int told, pid_t parent)
{
    int error;

    become(program, cage, &told, parent);
    error = errno;
    (void)!write(told, &error, sizeof error);
    _exit(127);
}

enum code process_start(const struct process_program *program, pid_t *pid, int *ended, struct why *why)
{
    pid_t parent = getpid();
    int told[2], cage = -1, error = 0;
    ssize_t got;

    *ended = -1;
    *pid = -1;
    if (program->cage != NULL && cage_open(program->cage, program->argv, program->folder, &cage, why) != CODE_OK)
        return CODE_IO;
    if (pipe2(told, O_CLOEXEC) != 0) {
        why_set(why, CODE_IO, "%s cannot be started: %s", program->argv[0], strerror(errno));
        sock_close(&cage);
        return CODE_IO;
    }
    *pid = fork();
    if (*pid == 0)
        be_program(program, cage, told[1], parent);
    (void)close(told[1]);
    sock_close(&cage);
    if (*pid < 0)
        error = errno;
    while (*pid > 0 && (got = read(told[0], &error, sizeof error)) < 0 && errno == EINTR)
        continue;
    (void)close(told[0]);
    if (error == 0 && (*ended = (int)syscall(SYS_pidfd_open, *pid, 0)) < 0)
        error = errno;
    if (error == 0)
        return CODE_OK;
    if (*pid > 0)
        (void)process_finish(*pid);
    return why_set(why, CODE_IO, "%s cannot be started: %s", program->argv[0], strerror(error));
}

/* The leader's number stays its own until it is waited for. */
int process_finish(pid_t pid)
{
    int status = 0;

    (void)kill(-pid, SIGKILL);
    (void)kill(pid, SIGKILL); /* in case the leader is in another group */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

/* ---- programs of ours ---- */

#define KEEP_FIRST_MS 200
#define KEEP_MOST_MS 5000
#define KEEP_CALM_US INT64_C(60000000) /* what has lived so long begins at the first pause again */

void process_become(const char *const *places, char *const *argv, char path[PROCESS_PATH_BYTES])
{
    char own[PROCESS_PATH_BYTES / 2] = "";
    ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);
    char *slash = len > 0 ? strrchr(own, '/') : NULL;

    (void)snprintf(path, PROCESS_PATH_BYTES, "/proc/self/exe");
    if (slash == NULL)
        return;
    *slash = '\0';
    errno = ENOENT;
    for (const char *const *place = places; *place != NULL && errno == ENOENT; place++) {
        (void)snprintf(path, PROCESS_PATH_BYTES, "%.*s/%.*s", PROCESS_PATH_BYTES / 2 - 1, own, PROCESS_PATH_BYTES / 4, *place);
        (void)execv(path, argv);
    }
}

void process_become_with(const char *const *places, char *const *argv, int end)
{
    char path[PROCESS_PATH_BYTES], text[PROCESS_PATH_BYTES + 256];

    if (fcntl(end, F_SETFD, 0) != 0)
        return;
    process_become(places, argv, path);
    (void)snprintf(text, sizeof text, "%s cannot be started: %s; install it, with this program", path, strerror(errno));
    (void)!send(end, text, strlen(text) + 1, MSG_NOSIGNAL);
}

static _Noreturn void be_kept(const char *const *places, char *const *argv, int end, pid_t parent)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent) {
        sock_descriptor_limit_restore();
        process_become_with(places, argv, end);
    }
    _exit(127);
}

_Noreturn void process_keep(const char *const *places, char *const *argv, int end)
{
    const struct sigaction waited = {.sa_handler = SIG_DFL};
    int64_t pause_ms = KEEP_FIRST_MS;
    pid_t parent = getpid(), child;

    if (sigaction(SIGCHLD, &waited, NULL) != 0)
        _exit(1);
    for (;;) {
        int64_t begun_us = clock_monotonic_us();
        struct timespec pause;

        child = fork();
        if (child == 0)
            be_kept(places, argv, end, parent);
        while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
            continue;
        if (clock_monotonic_us() - begun_us >= KEEP_CALM_US)
            pause_ms = KEEP_FIRST_MS;
        pause = (struct timespec){.tv_sec = pause_ms / 1000, .tv_nsec = pause_ms % 1000 * 1000000};
        (void)nanosleep(&pause, NULL);
        pause_ms = 2 * pause_ms < KEEP_MOST_MS ? 2 * pause_ms : KEEP_MOST_MS;
    }
}
