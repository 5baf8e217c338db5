/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"
#include "args/print.h"
#include "base/mem.h"
#include "people/control.h"

#include <string.h>

static int run(int argc, char **argv, struct asked *asked)
{
    const struct command *command = NULL;
    int status = command_read(argc, argv, &command, asked);

    if (status == OPTIONS_GO)
        status = control_ask(command, asked);
    return status == OPTIONS_GO ? command->run(asked) : status;
}

int main(int argc, char **argv)
{
    static struct asked asked;
    int status;

    if (!command_begin())
        return STATUS_CANNOT;
    if (argc > 1 && strcmp(argv[1], CONTROL_WORD) == 0)
        return control_serve(argc - 2, argv + 2);
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        argv[1] += 2;
    asked.words = command_respell(argc - (argc > 0), argv + (argc > 0), &asked.word_count);
    if (asked.words == NULL)
        return complain(STATUS_CANNOT, "not enough memory");
    status = print_end(run(asked.word_count, asked.words + asked.word_count + 1, &asked));
    asked_end(&asked);
    mem_free(asked.words);
    return status;
}
