/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands.h"

#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The gate is a program of its own, without what only people need who look on. It takes this process's place: whoever started
 * `callgate serve` keeps its process id, its descriptors and its exit status. */

#define PROGRAM "callgate-gate"

static int start(char *const *args)
{
    static const char *const places[] = {PROGRAM, "../libexec/callgate/" PROGRAM, NULL}; /* as built; as installed */
    char own[PATH_MAX] = "", path[2 * PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", own, sizeof own - 1);
    char *end = len > 0 ? strrchr(own, '/') : NULL;

    if (end == NULL)
        return complain(STATUS_CANNOT, "the gate cannot be started: /proc/self/exe cannot be read: %s", strerror(errno));
    *end = '\0';
    errno = ENOENT;
    for (const char *const *place = places; *place != NULL && errno == ENOENT; place++) {
        (void)snprintf(path, sizeof path, "%s/%s", own, *place);
        (void)execv(path, args);
    }
    if (errno == ENOENT)
        return complain(STATUS_CANNOT, "%s/" PROGRAM " is not there, nor is it in %s/../libexec/callgate: it is the gate's own "
                        "program, and comes with this one; install both", own, own);
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
