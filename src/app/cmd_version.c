/* SPDX-License-Identifier: Apache-2.0 */
#include "app/commands.h"
#include "json/doc.h"

#include <stdio.h>

static int run_version(int argc, char **argv)
{
    bool verbose = false, as_json = false;
    const struct option options[] = {
        {.name = "verbose", .help = "also of everything linked", .flag = &verbose},
        {.name = "json", .help = "the answer as JSON", .flag = &as_json},
        {0},
    };
    const struct usage usage = {"callgate version [--verbose] [--json]", "Says which build this is.", options, 0, 0};
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status != OPTIONS_GO)
        return status;
    printf("callgate %s\n", CALLGATE_VERSION);
    return STATUS_DONE;
}

const struct command cmd_version = {"version", "which build this is", run_version, NULL};
