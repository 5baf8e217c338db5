/* SPDX-License-Identifier: Apache-2.0 */
#include "os/signal.h"

#include "base/bug.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const int blocked[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2, 0};

static sigset_t set_of(const int *signos)
{
    sigset_t set;

    sigemptyset(&set);
    for (; *signos != 0; signos++)
        sigaddset(&set, *signos);
    return set;
}

void signals_block(void)
{
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    sigset_t set = set_of(blocked);

    BUG_ON(pthread_sigmask(SIG_BLOCK, &set, NULL) != 0);
    /* A write to a closed pipe then fails with EPIPE, which is handled where it happens. */
    BUG_ON(sigaction(SIGPIPE, &ignored, NULL) != 0);
}

bool signal_is_waiting(int signo)
{
    sigset_t set;

    return sigpending(&set) == 0 && sigismember(&set, signo) == 1;
}

static void signals_ready(void *context, unsigned ready)
{
    struct signals *signals = context;
    struct signalfd_siginfo info;

    (void)ready;
    while (read(signals->fd, &info, sizeof info) == (ssize_t)sizeof info)
        signals->arrived(signals->context, (int)info.ssi_signo);
}

enum code signals_init(struct signals *signals, struct loop *loop, const int *signos, signals_fn arrived,
                       void *context, struct why *why)
{
    sigset_t set = set_of(signos);

    signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->fd == -1)
        return why_set(why, CODE_IO, "signals cannot be received: %s", strerror(errno));
    signals->loop = loop;
    signals->arrived = arrived;
    signals->context = context;
    loop_watch_init(&signals->watch, signals->fd, signals_ready, signals);
    if (loop_watch_begin(loop, &signals->watch, LOOP_READ) != CODE_OK) {
        enum code code = why_set(why, CODE_IO, "signals cannot be waited for: %s", strerror(errno));

        close(signals->fd);
        signals->fd = -1;
        return code;
    }
    return CODE_OK;
}

void signals_fini(struct signals *signals)
{
    if (signals->fd == -1)
        return;
    loop_watch_remove(signals->loop, &signals->watch);
    close(signals->fd);
    signals->fd = -1;
}
