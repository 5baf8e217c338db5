/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's end, and what goes over the socket: one message a connection or a reload. */
#include "pipe/runner_priv.h"

#include "base/mem.h"
#include "os/local.h"
#include "os/process.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define ARENA_BYTES ((size_t)16 << 20)

struct runner_commands *runner_commands_new(void)
{
    struct runner_commands *commands = mem_zalloc(sizeof *commands);

    if (commands == NULL)
        return NULL;
    arena_init(&commands->arena, ARENA_BYTES);
    commands->refs = 1;
    return commands;
}

void runner_commands_unref(struct runner_commands **out)
{
    struct runner_commands *commands = *out;

    *out = NULL;
    if (commands == NULL || --commands->refs > 0)
        return;
    for (size_t i = 0; i < commands->count; i++)
        for (const char *const *one = commands->commands[i].environment; one != NULL && *one != NULL; one++)
            mem_wipe((char *)(uintptr_t)*one, strlen(*one));
    arena_fini(&commands->arena);
    mem_free(commands);
}

/* ---- the socket ---- */

static bool send_message(int end, const struct runner_message *message, int handed)
{
    struct iovec bytes = {(void *)(uintptr_t)message, sizeof *message};
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control = {{0}};
    struct msghdr whole = {.msg_iov = &bytes, .msg_iovlen = 1};
    ssize_t done;

    if (handed >= 0) {
        whole.msg_control = &control;
        whole.msg_controllen = sizeof control.room;
        CMSG_FIRSTHDR(&whole)->cmsg_level = SOL_SOCKET;
        CMSG_FIRSTHDR(&whole)->cmsg_type = SCM_RIGHTS;
        CMSG_FIRSTHDR(&whole)->cmsg_len = CMSG_LEN(sizeof handed);
        memcpy(CMSG_DATA(CMSG_FIRSTHDR(&whole)), &handed, sizeof handed);
    }
    while ((done = sendmsg(end, &whole, MSG_DONTWAIT | MSG_NOSIGNAL)) < 0 && errno == EINTR)
        continue;
    return done == (ssize_t)sizeof *message;
}

enum runner_got runner__receive(int end, struct runner_message *message, int *handed)
{
    struct iovec bytes = {message, sizeof *message};
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr head;
    } control;
    struct msghdr whole = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.room};
    struct cmsghdr *head;
    ssize_t got;

    *handed = -1;
    while ((got = recvmsg(end, &whole, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        continue;
    if (got < 0 && errno == EAGAIN)
        return RUNNER_NOTHING;
    head = got > 0 ? CMSG_FIRSTHDR(&whole) : NULL;
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof *handed))
        memcpy(handed, CMSG_DATA(head), sizeof *handed);
    if (got == (ssize_t)sizeof *message)
        return RUNNER_MESSAGE;
    if (*handed >= 0)
        (void)close(*handed);
    *handed = -1;
    return RUNNER_OVER;
}

/* ---- the gate's end ---- */

struct start {
    void (*run)(void *context, int end, struct runner *runner);
    void *context;
    struct runner *runner;
};

static void run(void *context, int end)
{
    const struct start *start = context;

    start->run(start->context, end, start->runner);
}

enum code runner_open(void (*run_take)(void *context, int end, struct runner *runner), void *context, struct runner **out,
                      struct why *why)
{
    struct runner *runner = mem_zalloc(sizeof *runner);
    struct start start = {run_take, context, runner};
    enum code code = CODE_NOMEM;

    *out = NULL;
    if (runner != NULL) {
        runner->end = -1;
        runner->shared = mmap(NULL, sizeof *runner->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        code = runner->shared == MAP_FAILED ? CODE_IO : CODE_OK;
    }
    if (code != CODE_OK) {
        mem_free(runner);
        return why_set(why, code, "the process that starts commands has no memory");
    }
    code = process_beside(&(struct process_beside){"runner", run, &start, .is_family = true}, &runner->end, why);
    if (code != CODE_OK)
        runner_close(&runner);
    *out = runner;
    return code;
}

void runner_close(struct runner **runner)
{
    if (*runner == NULL)
        return;
    if ((*runner)->end >= 0)
        (void)close((*runner)->end);
    (void)munmap((*runner)->shared, sizeof *(*runner)->shared);
    mem_free(*runner);
    *runner = NULL;
}

enum code runner_dial(struct runner *runner, struct span route, int *fd)
{
    struct runner_message message = {.kind = RUNNER_CONNECT};
    int ends[2];

    *fd = -1;
    if (route.len >= sizeof message.route)
        return CODE_INVALID;
    memcpy(message.route, route.at, route.len);
    if (local_pair(ends) != CODE_OK)
        return CODE_LIMIT;
    if (!send_message(runner->end, &message, ends[1])) {
        (void)close(ends[0]);
        (void)close(ends[1]);
        return CODE_IO;
    }
    (void)close(ends[1]);
    *fd = ends[0];
    return CODE_OK;
}

void runner_reload(struct runner *runner)
{
    const struct runner_message message = {.kind = RUNNER_RELOAD};

    (void)send_message(runner->end, &message, -1);
}

bool runner_is_gone(const struct runner *runner)
{
    struct pollfd watch = {.fd = runner->end, .events = 0};

    return poll(&watch, 1, 0) == 1 && (watch.revents & (POLLHUP | POLLERR)) != 0;
}

void runner_gauges(const struct runner *runner, struct runner_gauges *out)
{
    *out = (struct runner_gauges){.children = 0};
    if (runner == NULL)
        return;
    out->children = atomic_load(&runner->shared->children);
    out->starts = atomic_load(&runner->shared->starts);
    out->ends = atomic_load(&runner->shared->ends);
    out->refused = atomic_load(&runner->shared->refused);
}
