/* SPDX-License-Identifier: Apache-2.0 */
#include "jose/jose.h"

#include <cjose/version.h>

const char *jose_library(void)
{
    return "cjose " CJOSE_VERSION;
}
