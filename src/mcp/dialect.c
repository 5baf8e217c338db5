/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/dialect.h"

const struct dialect *const dialects[] = {&dialect_mcp, NULL};
