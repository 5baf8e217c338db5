/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the process that starts commands, and minds it. */
#include "run/serve_priv.h"

#include "base/log.h"
#include "base/mem.h"
#include "os/cage.h"
#include "os/file.h"

#include <string.h>

/* Warns of a program in a folder in which the gate may write, since who takes the gate over could change it. */
static void warn_of_folder(const struct conf *conf)
{
    const char *files[] = {conf->path, conf->store, conf->audit.database};
    char *folders[3];

    for (size_t i = 0; i < 3; i++)
        folders[i] = file_beside(files[i], SPAN_LIT("."));
    for (size_t i = 1; i < 3; i++)
        if (folders[0] != NULL && folders[i] != NULL && strcmp(folders[0], folders[i]) == 0) {
            log_warn("app", "%s names commands and lies where the gate writes %s: who takes the gate over could write another "
                     "command into it; give one of the two a folder of its own", conf->path, files[i]);
            break;
        }
    for (size_t i = 0; i < 3; i++)
        mem_free(folders[i]);
}

static void warn_uncaged(const struct conf *conf)
{
    for (size_t i = 0; i < conf->commands->count; i++) {
        const struct runner_command *command = &conf->commands->commands[i];

        if (!command->is_told && command->kind != PIPE_VALUE && (command->is_free || conf->is_unconfined || !cage_can()))
            log_warn("app", "the command of route %s runs as the gate's user and may read and write whatever the gate may, its "
                     "keys and the audit: %s", command->route,
                     cage_can() ? "`sandbox: off`" : "this kernel has no Landlock; give it a cage of your own");
    }
}

enum code serve__start_runner(struct serve *serve, struct why *why)
{
    enum code code = CODE_OK;

    if (serve->conf->commands != NULL) {
        warn_of_folder(serve->conf);
        warn_uncaged(serve->conf);
        code = runner_open(serve->conf->path, log_wants(LOG_DEBUG), &serve->runner, why);
    }
    runner_commands_unref(&serve->conf->commands); /* the gate must not have the commands' secrets */
    return code;
}

enum code serve__dial_command(void *context, struct span command, int *fd)
{
    const struct serve *serve = context;

    return serve->runner != NULL ? runner_dial(serve->runner, command, fd) : CODE_IO;
}

enum code serve__check_commands(const struct serve *serve, struct conf *fresh, struct why *why)
{
    bool any = fresh->commands != NULL;

    runner_commands_unref(&fresh->commands);
    if (!any || serve->runner != NULL)
        return CODE_OK;
    return why_set(why, CODE_INVALID, "%s: the gate, as it has confined itself, starts no commands, since it was started "
                   "without any (`upstream: {command:}`); restart it", fresh->path);
}

/* Whether the process has ended. Without it the routes of commands would answer only errors until somebody notices. */
bool serve__runner_is_lost(struct serve *serve)
{
    if (serve->runner == NULL || serve->runner_is_lost || !runner_is_gone(serve->runner))
        return false;
    serve->runner_is_lost = true;
    log_error("app", "the process that starts commands has ended; the gate ends, too: they would stay away");
    return true;
}
