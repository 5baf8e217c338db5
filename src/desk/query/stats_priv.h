/* SPDX-License-Identifier: Apache-2.0 */
/* Counting calls, wherever they are read: from the files of a trail (stats.c) or from a fleet's centre (centre_stats.c).
 *
 * Threads: one.
 * Owns: nothing; a call's texts are copied where a group begins.
 * Lifetime: stats__begin to stats_free.
 * Errors: enum code. */
#ifndef QUERY_STATS_PRIV_H
#define QUERY_STATS_PRIV_H

#include "query/stats.h"

/* What is selected of a call: its names in the order of enum stats_by, and what is measured. Takes: of: makes a column's text
 * of the name of an outcome's; latency: that column. */
#define STATS_CALLS(of, latency) \
    "d.tenant, coalesce(d.tool, d.method), d.verdict, d.reason, d.rule, d.principal, d.agent, d.upstream, d.method, " \
    of("outcome") ", " of("answer_effect") ", " of("answer_rule") ", " of("answer_found") ", d.node, NULL" \
    ", d.time_us, " latency ", d.expects_outcome"
enum { STATS_TIME = STATS_BYS, STATS_LATENCY, STATS_EXPECTS };

struct stats_call {
    struct span name[STATS_BYS]; /* but for the minute */
    int64_t time_us, latency_us;
    bool has_latency, expects_outcome;
};

enum code stats__begin(unsigned bys, struct stats **stats, struct why *why) MUST_USE;
enum code stats__take(struct stats *stats, const struct query *query, const struct stats_call *call) MUST_USE;
bool stats__is_enough(const struct stats *stats, const struct query *query); /* the query wants no more calls */
/* Sorts what was counted; where `code` is a failure, frees it. Returns: code, or what sorting came to. */
enum code stats__end(struct stats **stats, enum code code, struct why *why) MUST_USE;

#endif
