/* SPDX-License-Identifier: Apache-2.0 */
#include "json/doc.h"

#include <cjson/cJSON.h>
#include <stdio.h>

const char *json_library(void)
{
    static char text[32];

    snprintf(text, sizeof text, "cJSON %s", cJSON_Version());
    return text;
}
