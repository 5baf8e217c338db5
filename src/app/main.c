/* SPDX-License-Identifier: Apache-2.0 */
#include "app/commands.h"

#include "base/hash.h"
#include "base/log.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is opened first must not become the standard input of whoever was started without one. */
static bool hold_standard_places(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) == -1 && open("/dev/null", O_RDWR) != fd)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    const struct command commands[] = {
        cmd_init,
        cmd_serve,
        cmd_pipe,
        cmd_status,
        cmd_policy,
        cmd_approvals,
        cmd_key,
        cmd_audit,
        cmd_version,
        {0},
    };

    /* What we make is private unless its own rule says otherwise (audit.db is 0640). */
    umask(0027);
    if (!hold_standard_places())
        return STATUS_CANNOT;
    signal(SIGPIPE, SIG_IGN);
    hash_seed();
    log_init(LOG_INFO, LOG_AUTO);
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        return cmd_version.run(argc - 2, argv + 2);
    return command_run(commands, "callgate", argc - 1, argv + 1);
}
