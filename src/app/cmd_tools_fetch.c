/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cmd_tools_priv.h"

int cmd_tools__fetch(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return STATUS_CANNOT;
}
