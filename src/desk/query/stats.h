/* SPDX-License-Identifier: Apache-2.0 */
/* Counts and latencies over calls, whole and by tenant, tool, rule ...: one pass over what a query selects.
 *
 * Latencies are kept in buckets that are 3 % wide, so that any number of calls takes the same memory; of names, the first
 * 4,096 of each kind are kept apart and the rest is counted together.
 *
 * Threads: one.
 * Owns: a struct stats owns its groups and their names.
 * Lifetime: audit_stats to stats_free.
 * Errors: enum code with a sentence. */
#ifndef QUERY_STATS_H
#define QUERY_STATS_H

#include "query/query.h"

enum stats_by {
    STATS_TENANT = 0, STATS_TOOL, STATS_VERDICT, STATS_REASON, STATS_RULE, STATS_PRINCIPAL, STATS_AGENT, STATS_UPSTREAM,
    STATS_METHOD, STATS_OUTCOME, STATS_ANSWER, STATS_ANSWER_RULE, STATS_DETECTOR, /* a call counts for each of its own */
    STATS_NODE, STATS_MINUTE, STATS_BYS
};

const char *stats_by_text(enum stats_by by); /* "tenant" ... */

#define STATS_GROUPS_MAX 4096

struct stats_latency;

struct stats_group {
    struct span name;            /* at == NULL: calls without one */
    bool is_rest;                /* all names beyond STATS_GROUPS_MAX */
    uint64_t calls, permitted, denied, held;
    uint64_t failed;             /* tool_error, protocol_error, http_error, upstream_failure, timeout */
    uint64_t open;               /* permits without their outcome */
    uint64_t redacted, withheld, flagged; /* answers */
    uint64_t latencies;          /* calls that have one */
    int64_t first_us, last_us;   /* 0: no calls */
    int64_t max_latency_us;
    struct stats_latency *latency;
    struct stats_group *next;
};

struct stats;

/* Takes: the set of kinds, 1 << STATS_TENANT | ...; the query's limit, if it has one, is of the newest calls. */
enum code audit_stats(const struct trail *trail, const struct query *query, unsigned bys, struct stats **stats,
                      struct why *why) MUST_USE;
void stats_free(struct stats **stats);

const struct stats_group *stats_total(const struct stats *stats);

/* Groups of a kind, those with most calls first. Returns: how many. */
size_t stats_groups(const struct stats *stats, enum stats_by by, const struct stats_group *const **groups);

/* The latency that `percent` of the group's calls did not exceed, within 3 %; 0 without any. */
int64_t stats_percentile(const struct stats_group *group, unsigned percent);

#endif
