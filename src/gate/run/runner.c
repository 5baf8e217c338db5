/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the process that starts commands, and minds it. */
#include "run/serve_priv.h"

#include "base/log.h"
#include "base/mem.h"
#include "os/file.h"

#include <string.h>

/* In that process: its own reading of the file. */
static struct runner_commands *load(void *context)
{
    const char *path = context;
    struct runner_commands *commands = NULL;
    struct conf *fresh = NULL;
    struct faults faults;
    enum code code;

    faults_init(&faults);
    code = conf_load(path, &fresh, &faults, NULL);
    if (code == CODE_OK && fresh->commands != NULL)
        code = serve__cage_commands(fresh);
    if (code == CODE_OK) {
        commands = fresh->commands != NULL ? fresh->commands : runner_commands_new();
        fresh->commands = NULL;
    }
    conf_free(&fresh);
    if (commands == NULL)
        log_error("app", "the old commands stay: %s", faults.count > 0 ? faults.fault[0].text : code_text(code));
    return commands;
}

/* It keeps nothing of what the gate knows but what it runs. */
static void run_runner(void *context, int end, struct runner *runner)
{
    struct serve *serve = context;
    char *path = mem_dup(serve->conf->path, strlen(serve->conf->path));
    struct runner_serve whole = {.runner = runner, .end = end, .commands_take = serve->conf->commands, .load = load,
                                 .context = path};

    serve->conf->commands = NULL;
    conf_free(&serve->conf);
    if (path != NULL)
        runner_serve(&whole);
}

/* The sandbox lets the gate write in these folders: what stands there is not safe from who takes it over. */
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

enum code serve__start_runner(struct serve *serve, struct why *why)
{
    enum code code = CODE_OK;

    if (serve->conf->commands != NULL) {
        warn_of_folder(serve->conf);
        serve__tell_cage(serve->conf);
        code = serve__cage_commands(serve->conf);
        if (code == CODE_OK)
            code = runner_open(run_runner, serve, &serve->runner, why);
    }
    runner_commands_unref(&serve->conf->commands); /* their secrets are not the gate's to have */
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

/* Without it their routes would answer nothing but errors until somebody looks. */
bool serve__runner_is_lost(struct serve *serve)
{
    if (serve->runner == NULL || serve->runner_is_lost || !runner_is_gone(serve->runner))
        return false;
    serve->runner_is_lost = true;
    log_error("app", "the process that starts commands has ended; the gate ends, too: they would stay away");
    return true;
}
