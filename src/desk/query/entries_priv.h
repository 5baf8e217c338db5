/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of an entry of each kind, of a file and of a fleet's centre alike.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: none. */
#ifndef QUERY_ENTRIES_PRIV_H
#define QUERY_ENTRIES_PRIV_H

#include "query/query_priv.h"

/* Time as people write it, from a column of microseconds: of a file, and at the centre. */
#define QUERY_TIME(column) \
    "strftime('%Y-%m-%dT%H:%M:%S', " column " / 1000000, 'unixepoch') || printf('.%06dZ', " column " % 1000000) AS time"
#define QUERY_TIME_OF_CENTRE(column) "callgate.time_text(" column ") AS time"

/* Takes: moment: one of the two above; machine: the column that has the gate's. */
#define ENTRIES_DECISION(moment, machine) \
    "d.seq, 'decision' AS kind, " moment("d.time_us") ", d.time_us, d.tenant, d.principal, d.authentication, d.client, " \
    "nullif(lower(hex(d.session)), '') AS session, " machine ", d.correlation, d.trace, d.upstream, d.dialect, " \
    "d.protocol_version, d.direction, d.method, d.tool, d.rpc_id, d.arguments, d.arguments_bytes, " \
    "d.arguments_cut, d.arguments_redacted, d.verdict, d.reason, d.rule, d.rule_reason, d.rules, " \
    "d.undecided, d.monitor, d.policy_version, nullif(lower(hex(d.policy_hash)), '') AS policy_hash, " \
    "d.judge_us, d.expects_outcome, d.status, d.latency_us, lower(hex(d.hash)) AS hash, " \
    "d.target, d.query, d.params, d.params_bytes" QUERY_LATER_OF_DECISION(QUERY_NEXT_D)

/* With who and what of its decision. */
#define ENTRIES_OUTCOME(moment, machine) \
    "o.seq, 'outcome' AS kind, " moment("o.time_us") ", o.time_us, o.tenant, d.principal, d.client, " machine ", " \
    "d.correlation, d.trace, d.upstream, d.dialect, d.protocol_version, d.method, d.tool, d.rpc_id, o.decision, o.outcome, " \
    "o.reason, o.status, o.error_code, o.response_bytes, o.latency_us, o.upstream_us, o.server_requests, " \
    "o.server_notifications, o.server_denied, lower(hex(o.hash)) AS hash, o.answer, o.answer_bytes" \
    QUERY_LATER_OF_OUTCOME(QUERY_NEXT_O)

/* What its decision was made of besides, and how: for readers who want one row a call. */
#define ENTRIES_JUDGED \
    "d.time_us AS decided_us, d.authentication, nullif(lower(hex(d.session)), '') AS session, d.direction, d.arguments, " \
    "d.arguments_bytes, d.arguments_cut, d.arguments_redacted, d.verdict, d.rule, d.rule_reason, d.rules, d.undecided, " \
    "d.monitor, d.policy_version, nullif(lower(hex(d.policy_hash)), '') AS policy_hash, d.judge_us, d.target, d.query, " \
    "d.params, d.params_bytes" QUERY_LATER_OF_DECISION(QUERY_NEXT_D)

/* Whether a query names what an event has not. */
bool entries__asks_for_calls(const struct query *query);

#define ENTRIES_EVENT(moment) \
    "d.seq, 'event' AS kind, " moment("d.time_us") ", d.time_us, d.tenant, d.kind AS event, d.actor, d.detail, " \
    "lower(hex(d.hash)) AS hash"

#endif
