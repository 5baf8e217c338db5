/* SPDX-License-Identifier: Apache-2.0 */
#include "http/selftest.h"

#include <llhttp.h>
#include <stdio.h>

const char *http_library(void)
{
    static char text[32];

    snprintf(text, sizeof text, "llhttp %d.%d.%d", LLHTTP_VERSION_MAJOR, LLHTTP_VERSION_MINOR, LLHTTP_VERSION_PATCH);
    return text;
}
