/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cmd_audit_priv.h"
#include "app/commands.h"

static const struct command subs[] = {
    {"query", "find calls by tenant, correlation, tool, verdict, time ...", cmd_audit__query, NULL},
    {"verify", "check that nothing was changed, removed or inserted", cmd_audit__verify, NULL},
    {NULL, NULL, NULL, NULL},
};

const struct command cmd_audit = {"audit", "the audit trail: query, verify", NULL, subs};
