/* SPDX-License-Identifier: Apache-2.0 */
#include "unicode/unicode.h"

#include <stdio.h>
#include <utf8proc.h>

const char *unicode_library(void)
{
    static char text[64];

    snprintf(text, sizeof text, "utf8proc %s, Unicode %s", utf8proc_version(), utf8proc_unicode_version());
    return text;
}
