/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons: the table of endings (base/reason_tbl.h) as an enum, its columns, and a counter for each.
 *
 * Threads: any; counters are relaxed atomics.
 * Owns: the counters, for the process.
 * Lifetime: static.
 * Errors: none; an unknown number is a bug. */
#ifndef BASE_REASON_H
#define BASE_REASON_H

#include "base/reason_tbl.h"
#include "base/span.h"

#include <stdint.h>

enum reason {
#define X(name, audit, blame, status, rpc, denial, text) REASON_##name,
    REASON_TABLE(X)
#undef X
    REASON_COUNT
};

enum blame { BLAME_GATE = 0, BLAME_NOBODY, BLAME_AGENT, BLAME_POLICY, BLAME_UPSTREAM };

/* `code` of the denial object: mcp/README.md, "How no is said". */
enum denial { DENIAL_UNAVAILABLE = 0, DENIAL_NONE, DENIAL_POLICY, DENIAL_APPROVAL, DENIAL_RATE, DENIAL_MALFORMED };

const char *reason_name(enum reason reason);   /* as in the audit */
enum reason reason_named(struct span name);       /* the reason of that name; UNSET: there is none */
const char *reason_text(enum reason reason);   /* one sentence, which reveals nothing of policies */
enum blame reason_blame(enum reason reason);
int reason_status(enum reason reason);         /* HTTP status, 0 where none is due */
int reason_rpc_code(enum reason reason);       /* JSON-RPC error code, 0 where none is due */
enum denial reason_denial(enum reason reason);
const char *denial_code(enum denial denial);   /* "policy_denied" ...; NULL for DENIAL_NONE */

void reason_count(enum reason reason);         /* adds one to its counter */
uint64_t reason_counted(enum reason reason);

#endif
