/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the process that takes people's commands, and tells it of reloads. */
#include "run/serve_priv.h"

#include "run/control_people.h"
#include "base/log.h"
#include "os/clock.h"
#include "os/process.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define START_MS 30000 /* the system's name service may be slow */

/* Runs in the new process, which becomes `callgate`, since the gate is linked without commands. */
static void become_control(void *context, int end)
{
    static const char *const places[] = {"callgate", "../../bin/callgate", NULL}; /* as built; as installed */
    const struct conf *conf = context;
    char word[] = CONTROL_WORD;
    char *const argv[] = {(char[]){"callgate"}, word, (char *)(uintptr_t)conf->path, (char *)(uintptr_t)conf->store,
                          (char *)(uintptr_t)conf->audit.database, NULL};

    if (end == CONTROL_GATE_FD)
        process_become_with(places, argv, end);
}

enum code serve__start_control(struct serve *serve, struct why *why)
{
    const struct process_beside beside = {.name = "control", .run = become_control, .context = serve->conf};
    struct pollfd answer = {.events = POLLIN};
    char word[sizeof why->text];
    ssize_t got;
    enum code code;

    if (!serve->conf->people.is_on)
        return CODE_OK;
    code = process_beside(&beside, &serve->control, why);
    if (code != CODE_OK)
        return code;
    answer.fd = serve->control;
    got = poll(&answer, 1, START_MS) == 1 ? recv(serve->control, word, sizeof word - 1, 0) : 0;
    if (got <= 0)
        return why_set(why, CODE_IO, "the process that takes people's commands (`people:`) did not begin");
    word[got] = '\0';
    if (word[0] != '\0')
        return why_set(why, CODE_INVALID, "%s", word);
    log_info("app", "people's commands are taken on %s", serve->conf->people.socket);
    return CODE_OK;
}

void serve__reload_control(const struct serve *serve)
{
    if (serve->control >= 0)
        (void)!send(serve->control, "r", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Fetches a provider's keys, because somebody has shown a login that is signed by an unknown key. The set is kept beside the
 * store, where the process that asked looks for it. */
static void fetch_keys(struct serve *serve, size_t number)
{
    const struct proxy_conf *proxy = serve->conf->proxy;

    if (serve->providers != NULL && number < proxy->provider_count)
        providers_newer_keys(serve->providers, &proxy->providers[number]);
}

/* Logs the end of that process. Calls are judged as before, and who may open the store can still give commands. */
void serve__mind_control(struct serve *serve)
{
    char byte;

    ssize_t got = serve->control >= 0 ? recv(serve->control, &byte, 1, MSG_DONTWAIT) : -1;

    if (got == 1 && byte > 0)
        fetch_keys(serve, (size_t)byte - 1);
    if (got != 0)
        return;
    (void)close(serve->control);
    serve->control = -1;
    log_error("app", "the process that takes people's commands has ended; restart the gate, or give commands as its user");
}

enum code serve__check_people(const struct conf *conf, struct why *why)
{
    struct control_people people;

    return control_people_find(&conf->people, &people, why);
}
