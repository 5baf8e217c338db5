/* SPDX-License-Identifier: Apache-2.0 */
#include "app/commands.h"

#include "base/hash.h"
#include "base/log.h"

#include <signal.h>
#include <sys/stat.h>

int main(int argc, char **argv)
{
    const struct command commands[] = {
        cmd_init,
        cmd_serve,
        cmd_status,
        cmd_policy,
        cmd_key,
        cmd_audit,
        cmd_version,
        {0},
    };

    /* What we make is private unless its own rule says otherwise (audit.db is 0640). */
    umask(0027);
    signal(SIGPIPE, SIG_IGN);
    hash_seed();
    log_init(LOG_INFO, LOG_AUTO);
    return command_run(commands, "callgate", argc - 1, argv + 1);
}
