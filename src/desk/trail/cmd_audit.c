/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/cmd_audit_priv.h"
#include "cli/commands.h"

static const struct command subs[] = {
    {"query", "find calls by tenant, correlation, tool, verdict, time ...", cmd_audit__query, NULL},
    {"tail", "show calls as they end", cmd_audit__tail, NULL},
    {"show", "one call as a story: request, walk of the policy, outcome, neighbours", cmd_audit__show, NULL},
    {"stats", "calls, denials and latencies by tenant, tool, rule ...", cmd_audit__stats, NULL},
    {"open", "sqlite3 over all files of a time, as one database", cmd_audit__open, NULL},
    {"export", "every row as JSON lines, CSV, OCSF or CEF, to go on from later; or as one database", cmd_audit__export, NULL},
    {"verify", "check that nothing was changed, removed or inserted", cmd_audit__verify, NULL},
    {"prove", "write a proof of a row, of two checkpoints or of a tenant's rows", cmd_audit__prove, NULL},
    {"archive", "seal the file and go on in a new one; calls go on", cmd_audit__archive, NULL},
    {"rotate-key", "change the key of checkpoints, by the old one's word; no gate may run", cmd_audit__rotate_key, NULL},
    {"erase", "erase a tenant's argument values; the chain stays whole", cmd_audit__erase, NULL},
    {NULL, NULL, NULL, NULL},
};

const struct command cmd_audit = {
    "audit", "the audit trail: query, tail, show, stats, open, export, verify, prove, archive, rotate-key, erase", NULL, subs};
