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

    if (status == OPTIONS_GO && command->is_now != NULL)
        print_safely(stderr, "callgate: `%s` is `%s` now; the old spelling goes with the next release\n", command->words,
                     command->is_now);
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
    asked.word_count = argc > 0 ? argc - 1 : 0;
    asked.words = mem_array((size_t)asked.word_count + 1, sizeof *asked.words);
    if (asked.words == NULL)
        return complain(STATUS_CANNOT, "not enough memory");
    memcpy(asked.words, argv + 1, (size_t)asked.word_count * sizeof *asked.words); /* reading them moves them */
    status = run(asked.word_count, argv + 1, &asked);
    asked_end(&asked);
    mem_free(asked.words);
    return status;
}
