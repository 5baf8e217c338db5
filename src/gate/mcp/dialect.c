/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/dialect.h"

const struct dialect *const dialects[DIALECTS_MAX + 1] = {&dialect_mcp, &dialect_octopus, &dialect_okso, &dialect_hook, NULL};
