/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bug.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void bug_abort(const char *condition, const char *file, int line, const char *function)
{
    char text[512];
    int n = snprintf(text, sizeof text, "callgate: bug: %s in %s (%s:%d); the process stops so that nothing is forwarded\n",
                     condition, function, file, line);

    if (n > 0) {
        size_t len = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
        ssize_t ignored = write(STDERR_FILENO, text, len); /* no stdio: its locks may be held */
        (void)ignored;
    }
    abort();
}
