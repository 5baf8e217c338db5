/* SPDX-License-Identifier: Apache-2.0 */
#include "regex/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>

const char *regex_library(void)
{
    static char text[64];
    char version[48] = "";

    if (pcre2_config(PCRE2_CONFIG_VERSION, NULL) < (int)sizeof version)
        pcre2_config(PCRE2_CONFIG_VERSION, version);
    snprintf(text, sizeof text, "PCRE2 %s", version);
    return text;
}
