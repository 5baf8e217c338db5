/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/mem.h"
#include "os/process.h"

#include <errno.h>
#include <string.h>

/* The gate is a program of its own, without what only people need who look on. It takes this process's place: whoever started
 * `callgate serve` keeps its process id, its descriptors and its exit status. */

#define PROGRAM "callgate-gate"

static int start(char *const *args)
{
    static const char *const places[] = {PROGRAM, "../libexec/callgate/" PROGRAM, NULL}; /* as built; as installed */
    char path[PROCESS_PATH_BYTES];
    const char *end;

    process_become(places, args, path);
    end = strstr(path, "/../libexec/callgate/" PROGRAM);
    if (errno == ENOENT && end != NULL)
        return complain(STATUS_CANNOT, "%.*s/" PROGRAM " is not there, nor is it in %.*s/../libexec/callgate: it is the gate's "
                        "own program, and comes with this one; install both", (int)(end - path), path, (int)(end - path), path);
    return complain(STATUS_CANNOT, "%s cannot be started: %s; install it again, with this program", path, strerror(errno));
}

int cmd_serve(const struct asked *asked)
{
    const int argc = asked->given.count;
    char **args = mem_array((size_t)argc + 3, sizeof *args);
    int status;

    if (args == NULL)
        return complain(STATUS_CANNOT, "not enough memory");
    args[0] = (char[]){"callgate"};
    args[1] = (char[]){"serve"};
    for (int i = 0; i < argc; i++)
        args[i + 2] = asked->given.operands[i];
    status = start(args);
    mem_free(args);
    return status;
}
