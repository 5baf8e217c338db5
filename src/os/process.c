/* SPDX-License-Identifier: Apache-2.0 */
#include "os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define END 3 /* the first descriptor that is no standard one */

/* Without what the other process has open: its sockets would not close with it. */
static bool keep_only(int end)
{
    struct rlimit limit;
    int nothing = open("/dev/null", O_RDWR);

    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(nothing, STDOUT_FILENO) < 0 ||
        (end != END && dup2(end, END) < 0))
        return false;
#ifdef SYS_close_range
    if (syscall(SYS_close_range, END + 1, ~0u, 0) == 0)
        return true;
#endif
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    for (rlim_t fd = END + 1; fd < limit.rlim_cur; fd++)
        (void)close((int)fd);
    return true;
}

static _Noreturn void be_child(const char *name, void (*run)(void *context, int end), void *context, int end, pid_t parent)
{
    sigset_t all;

    sigfillset(&all);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && sigprocmask(SIG_SETMASK, &all, NULL) == 0 &&
        prctl(PR_SET_NAME, name) == 0 && keep_only(end))
        run(context, END);
    _exit(0);
}

enum code process_child(const char *name, void (*run)(void *context, int end), void *context, int *end, struct why *why)
{
    const struct sigaction unwaited = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDWAIT};
    pid_t child, parent = getpid();
    int ends[2];

    *end = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return why_set(why, CODE_IO, "the process %s has no socket: %s", name, strerror(errno));
    if (sigaction(SIGCHLD, &unwaited, NULL) != 0 || (child = fork()) < 0) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return why_set(why, CODE_IO, "the process %s cannot be started: %s", name, strerror(errno));
    }
    if (child == 0)
        be_child(name, run, context, ends[1], parent);
    (void)close(ends[1]);
    *end = ends[0];
    return CODE_OK;
}
