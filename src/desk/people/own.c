/* SPDX-License-Identifier: Apache-2.0 */
#include "people/own.h"

static bool is_restricted;

void own_restrict(void)
{
    is_restricted = true;
}

bool own_alone(void)
{
    return is_restricted;
}
