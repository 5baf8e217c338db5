/* SPDX-License-Identifier: Apache-2.0 */
/* What metrics are told of each call that ended.
 *
 * Threads: told on a worker, which only counts.
 * Owns: nothing.
 * Lifetime: the call of the function.
 * Errors: none. */
#ifndef LANE_ENDED_H
#define LANE_ENDED_H

#include "base/reason.h"
#include "base/span.h"
#include "policy/verdict.h"

struct proxy_call {
    unsigned worker;         /* whose thread tells it */
    struct span upstream;
    struct span tenant;
    struct span tool;
    enum verdict_kind verdict;
    bool names_tool;         /* some rule names this tool, so it may be a label */
    enum reason reason;
    int64_t judge_us, audit_us, upstream_us; /* -1: not reached */
};
typedef void (*proxy_call_fn)(void *context, const struct proxy_call *call);

#endif
