/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted for operators, and how it is written for Prometheus (text exposition format 0.0.4).
 *
 * Threads: metrics_call: each worker's number from one thread, without a lock; metrics_write from one thread at a time.
 * Owns: its series.
 * Lifetime: metrics_free after every thread that counts has ended.
 * Errors: past METRICS_SERIES_MAX, or without memory, a call counts under `other`; counting never fails its caller. */
#ifndef ADMIN_METRICS_H
#define ADMIN_METRICS_H

#include "base/buf.h"
#include "base/reason.h"

#define METRICS_SERIES_MAX 4096 /* label sets of callgate_calls_total: agents must not choose how many there are */

struct metrics;

/* Each worker counts for itself, so that none takes a line of memory from another for every call. Takes: tenants:
 * how many have a label of their own, those that come first; the others share `other`. 0: no call has that label. */
enum code metrics_new(unsigned workers, unsigned tenants, struct metrics **metrics) MUST_USE;
void metrics_free(struct metrics **metrics);

struct metrics_call {
    unsigned worker;
    struct span upstream;
    struct span tenant;
    struct span tool;      /* empty where no policy names it: counted as `other` */
    const char *verdict;   /* "permit", "deny", "hold" */
    enum reason reason;
    int64_t judge_us;      /* -1: did not happen; likewise the others */
    int64_t audit_us;
    int64_t upstream_us;
};

void metrics_call(struct metrics *metrics, const struct metrics_call *call);

/* A number that somebody else keeps. */
struct metrics_gauge {
    const char *name; /* with its callgate_ prefix */
    const char *help;
    const char *type; /* "gauge" or "counter" */
    uint64_t value;
};

/* Appends everything: calls, endings by reason, histograms, the gauges. */
enum code metrics_write(const struct metrics *metrics, const struct metrics_gauge *gauges, size_t count, struct buf *out)
    MUST_USE;
void metrics_label(struct buf *out, struct span value); /* appends a label's value, with `\`, `"` and newline escaped */

#endif
