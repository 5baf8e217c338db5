/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "people/control.h"

#include <string.h>

int main(int argc, char **argv)
{
    int status;
    const struct command commands[] = {
        cmd_init,
        cmd_serve,
        cmd_pipe,
        cmd_status,
        cmd_policy,
        cmd_approvals,
        cmd_tools,
        cmd_key,
        cmd_plan,
        cmd_identity,
        cmd_audit,
        cmd_backup,
        cmd_restore,
        cmd_login,
        cmd_logout,
        cmd_version,
        {0},
    };

    if (!command_begin())
        return STATUS_CANNOT;
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        return cmd_version.run(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], CONTROL_WORD) == 0)
        return control_serve(commands, argc - 2, argv + 2);
    status = control_ask(argc - 1, argv + 1);
    return status == OPTIONS_GO ? command_run(commands, "callgate", argc - 1, argv + 1) : status;
}
