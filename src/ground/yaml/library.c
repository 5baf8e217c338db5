/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml/yaml.h"

#include <stdio.h>
#include <yaml.h>

const char *yaml_library(void)
{
    static char text[32];

    snprintf(text, sizeof text, "libyaml %s", yaml_get_version_string());
    return text;
}
