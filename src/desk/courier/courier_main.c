/* SPDX-License-Identifier: Apache-2.0 */
/* callgate-courier: a gate of a fleet starts it before it confines itself. */
#include "args/command.h"
#include "courier/courier.h"

#include "base/log.h"
#include "crypto/secret.h"
#include "os/sandbox.h"

#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* Says to the gate that it has begun, or what it does not get on with. */
static void tell(const struct why *why)
{
    struct fleet_message message = {.kind = FLEET_BEGUN};

    (void)memccpy(message.text, why->text, '\0', sizeof message.text - 1);
    (void)!send(FLEET_FD, &message, sizeof message, MSG_NOSIGNAL);
}

static enum code read_conf(const char *path, struct conf **conf, struct why *why)
{
    struct faults faults;
    enum code code;

    faults_init(&faults);
    code = conf_load(path, conf, &faults, NULL);
    if (code == CODE_OK && (*conf)->fleet.membership == NULL)
        code = why_set(why, CODE_INVALID, "%s names no fleet any more; restart the gate", path);
    return code == CODE_OK ? code : why_of_faults(why, code, &faults);
}

static enum code serve(const struct conf *conf, struct why *why)
{
    struct courier courier = {.gate = -1};
    enum code code = courier_open(&courier, conf, FLEET_FD, why);

    if (code == CODE_OK && !conf->is_unconfined)
        code = courier_confine(&courier, why);
    tell(why);
    if (code == CODE_OK)
        code = courier_run(&courier, why);
    if (code == CODE_OK)
        courier_finish(&courier);
    courier_close(&courier);
    return code;
}

static int run(const char *path, bool is_trial)
{
    struct conf *conf = NULL;
    struct why why = {""};
    enum code code = sandbox_harden(&why);

    if (code == CODE_OK)
        code = secret_heap_open(&why); /* before a secret is read */
    if (code == CODE_OK)
        code = read_conf(path, &conf, &why);
    if (code == CODE_OK && is_trial)
        code = courier_check(conf, &why);
    if (code != CODE_OK || is_trial)
        tell(&why);
    else
        code = serve(conf, &why);
    if (code != CODE_OK && !is_trial)
        log_error("fleet", "%s", why.text);
    conf_free(&conf);
    return code == CODE_OK ? STATUS_DONE : STATUS_CANNOT;
}

int main(int argc, char **argv)
{
    if (!command_begin())
        return STATUS_CANNOT;
    if (argc != 4 || strcmp(argv[1], FLEET_WORD) != 0 || fcntl(FLEET_FD, F_SETFD, FD_CLOEXEC) != 0)
        return complain(STATUS_USAGE, "this is the program between a gate and its fleet; start `callgate serve`");
    if (strcmp(argv[3], "debug") == 0)
        log_init(LOG_DEBUG, LOG_AUTO);
    (void)prctl(PR_SET_NAME, FLEET_WORD);
    return run(argv[2], strcmp(argv[3], FLEET_TRIAL) == 0);
}
