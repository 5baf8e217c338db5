/* SPDX-License-Identifier: Apache-2.0 */
/* callgate-runner: the gate starts it before it confines itself, and it starts the commands of a configuration. */
#include "args/command.h"
#include "launch/cage.h"
#include "pipe/runner_pool.h"
#include "runner/runner.h"

#include "base/log.h"
#include "crypto/secret.h"
#include "os/sandbox.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define BEGIN_MS 30000

static struct runner_commands *read_commands(const char *path, struct why *why)
{
    struct runner_commands *commands = NULL;
    struct conf *fresh = NULL;
    struct faults faults;
    enum code code;

    faults_init(&faults);
    code = conf_load(path, &fresh, &faults, NULL);
    if (code == CODE_OK && fresh->commands != NULL)
        code = cage_commands(fresh);
    if (code == CODE_OK) {
        commands = fresh->commands != NULL ? fresh->commands : runner_commands_new();
        fresh->commands = NULL;
    }
    conf_free(&fresh);
    if (commands == NULL)
        (void)why_of_faults(why, code == CODE_OK ? CODE_NOMEM : code, &faults);
    return commands;
}

static struct runner_commands *load(void *context)
{
    struct why why = {""};
    struct runner_commands *commands = read_commands(context, &why);

    if (commands == NULL)
        log_error("app", "the old commands stay: %s", why.text);
    return commands;
}

/* The memory of the numbers comes with the gate's first word. */
static struct runner_shared *begin(void)
{
    struct pollfd word = {.fd = RUNNER_FD, .events = POLLIN};
    struct runner_shared *shared = MAP_FAILED;
    struct runner_message message;
    int memory = -1;

    if (poll(&word, 1, BEGIN_MS) == 1 && runner_receive(RUNNER_FD, &message, &memory) == RUNNER_MESSAGE &&
        message.kind == RUNNER_BEGIN && memory >= 0)
        shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (memory >= 0)
        (void)close(memory);
    return shared != MAP_FAILED ? shared : NULL;
}

static int run_commands(const char *path)
{
    struct runner_serve serve = {.end = RUNNER_FD, .load = load, .context = (void *)(uintptr_t)path};
    struct why why = {""};

    if (sandbox_harden(&why) == CODE_OK && secret_heap_open(&why) == CODE_OK) { /* before a secret is read */
        serve.shared = begin();
        if (serve.shared == NULL)
            return STATUS_CANNOT; /* the gate has gone */
        serve.commands_take = read_commands(path, &why);
    }
    (void)!send(RUNNER_FD, why.text, strlen(why.text) + 1, MSG_NOSIGNAL);
    if (serve.commands_take == NULL)
        return STATUS_CANNOT;
    runner_serve(&serve);
    return STATUS_DONE;
}

int main(int argc, char **argv)
{
    if (!command_begin())
        return STATUS_CANNOT;
    if (argc != 4 || strcmp(argv[1], RUNNER_WORD) != 0 || fcntl(RUNNER_FD, F_SETFD, FD_CLOEXEC) != 0)
        return complain(STATUS_USAGE, "this is the program by which a gate starts commands; start `callgate serve`");
    if (strcmp(argv[3], "debug") == 0)
        log_init(LOG_DEBUG, LOG_AUTO);
    (void)prctl(PR_SET_NAME, RUNNER_WORD);
    return run_commands(argv[2]);
}
