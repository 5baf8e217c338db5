/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's end, and what goes over the socket: one message a connection or a reload. */
#include "runner/runner.h"
#include "runner/runner_end.h"

#include "base/mem.h"
#include "os/local.h"
#include "os/process.h"
#include "os/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
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
    ref_init(&commands->ref);
    return commands;
}

static void wipe_environment(const struct runner_command *command)
{
    for (const char *const *one = command->environment; one != NULL && *one != NULL; one++)
        mem_wipe((char *)(uintptr_t)*one, strlen(*one));
    for (size_t i = 0; i < command->value_count; i++)
        wipe_environment(command->values[i].program);
}

void runner_commands_unref(struct runner_commands **out)
{
    struct runner_commands *commands = *out;

    *out = NULL;
    if (commands == NULL || !ref_drop(&commands->ref))
        return;
    for (size_t i = 0; i < commands->count; i++)
        wipe_environment(&commands->commands[i]);
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

enum runner_got runner_receive(int end, struct runner_message *message, int *handed)
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

#define START_MS 30000 /* its reading of the configuration may wait for the system's name service */

struct runner {
    int end;
    struct runner_shared *shared;
};

struct start {
    const char *path;
    bool is_verbose;
};

/* Runs in the new process, which becomes callgate-runner, since the gate is linked without what starts commands. */
static void become_runner(void *context, int end)
{
    static const char *const places[] = {"callgate-runner", NULL}; /* as built, and as installed */
    const struct start *start = context;
    char word[] = RUNNER_WORD;
    char *const argv[] = {(char[]){"callgate"}, word, (char *)(uintptr_t)start->path,
                          start->is_verbose ? (char[]){"debug"} : (char[]){"info"}, NULL};

    if (end != RUNNER_FD)
        return;
    sock_descriptor_limit_restore();
    process_become_with(places, argv, end);
}

/* Memory that neither side can make shorter, which would end the other at its next look. */
static enum code share_memory(struct runner *runner, int *memory)
{
    *memory = memfd_create("callgate-runner", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*memory < 0 || ftruncate(*memory, (off_t)sizeof *runner->shared) != 0 ||
        fcntl(*memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
        return CODE_IO;
    runner->shared = mmap(NULL, sizeof *runner->shared, PROT_READ, MAP_SHARED, *memory, 0);
    return runner->shared == MAP_FAILED ? CODE_IO : CODE_OK;
}

/* A process that could not become the runner says why and ends, maybe before our message has come to it. Then its sentence
 * waits behind the error that the message was not read, so that recv is called once more. */
static ssize_t hear(int end, char *word, size_t max)
{
    struct pollfd answer = {.fd = end, .events = POLLIN};
    ssize_t got = poll(&answer, 1, START_MS) == 1 ? recv(end, word, max, 0) : 0;

    return got < 0 && errno == ECONNRESET ? recv(end, word, max, 0) : got;
}

static enum code wait_for_start(struct runner *runner, int memory, struct why *why)
{
    const struct runner_message begin = {.kind = RUNNER_BEGIN};
    char word[sizeof why->text];
    ssize_t got;

    (void)send_message(runner->end, &begin, memory);
    got = hear(runner->end, word, sizeof word - 1);
    if (got <= 0)
        return why_set(why, CODE_IO, "the process that starts commands (`upstream: {command:}`) did not begin");
    word[got] = '\0';
    return word[0] == '\0' ? CODE_OK : why_set(why, CODE_IO, "%s", word);
}

enum code runner_open(const char *path, bool is_verbose, struct runner **out, struct why *why)
{
    struct runner *runner = mem_zalloc(sizeof *runner);
    struct start start = {path, is_verbose};
    enum code code = CODE_NOMEM;
    int memory = -1;

    *out = NULL;
    if (runner != NULL) {
        *runner = (struct runner){-1, MAP_FAILED};
        code = share_memory(runner, &memory);
    }
    if (code != CODE_OK)
        (void)why_set(why, code, "the process that starts commands has no memory");
    else
        code = process_beside(&(struct process_beside){"runner", become_runner, &start, .is_family = true}, &runner->end, why);
    if (code == CODE_OK)
        code = wait_for_start(runner, memory, why);
    sock_close(&memory);
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
    if ((*runner)->shared != MAP_FAILED)
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

/* ---- what a program says ---- */

void runner_hear_end(struct runner_hearing *hearing)
{
    if (hearing->watch.fd < 0)
        return;
    loop_watch_remove(hearing->loop, &hearing->watch);
    (void)close(hearing->watch.fd);
    hearing->watch.fd = -1;
    buf_fini(&hearing->said);
}

/* Tells what has come whole. The buffer is the hearing's until then, since who hears may free the hearing. */
static void hear_all(struct runner_hearing *hearing)
{
    struct buf said = hearing->said;
    struct span all = buf_peek(&said), value = span_part(all, 1, SIZE_MAX);
    bool is_value = value.len > 0 && all.at[0] == RUNNER_SAYS_VALUE, is_fault = value.len > 0 && !is_value;
    char fault[512] = "the process that starts commands has ended meanwhile";

    if (is_fault)
        (void)snprintf(fault, sizeof fault, "%.*s", SPAN_ARG(value));
    buf_init(&hearing->said, 0);
    runner_hear_end(hearing);
    hearing->heard(hearing->context, is_value ? value : SPAN_NONE, is_value ? NULL : fault);
    buf_fini(&said);
}

static void hear_more(void *context, unsigned ready)
{
    struct runner_hearing *hearing = context;
    size_t room;
    char *at;
    ssize_t got = 0;

    (void)ready;
    while ((room = buf_room(&hearing->said)) > 0 && buf_reserve(&hearing->said, room, &at) == CODE_OK) {
        got = recv(hearing->watch.fd, at, room, MSG_DONTWAIT);
        if (got <= 0 && (got == 0 || errno != EINTR))
            break;
        buf_commit(&hearing->said, got > 0 ? (size_t)got : 0);
    }
    if (got >= 0 || errno != EAGAIN)
        hear_all(hearing);
}

enum code runner_hear(struct runner_hearing *hearing, int fd_take)
{
    buf_init(&hearing->said, RUNNER_SAID_BYTES + 1); /* one more, so that its end is seen */
    buf_wipes(&hearing->said);
    loop_watch_init(&hearing->watch, fd_take, hear_more, hearing);
    if (loop_watch_begin(hearing->loop, &hearing->watch, LOOP_READ) == CODE_OK)
        return CODE_OK;
    runner_hear_end(hearing);
    return CODE_NOMEM;
}
