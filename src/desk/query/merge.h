/* SPDX-License-Identifier: Apache-2.0 */
/* Many files of a trail as one indexed database with the same tables and views, for plain SQL. It is a copy to look
 * through and no evidence: it is no audit trail, and is not verified.
 *
 * Threads: one.
 * Owns: nothing.
 * Lifetime: one call.
 * Errors: enum code with a sentence; what was written then is of no use. */
#ifndef QUERY_MERGE_H
#define QUERY_MERGE_H

#include "files/trail.h"
#include "base/why.h"

/* What was copied. */
struct merged {
    size_t files;
    uint64_t rows; /* of decisions, outcomes and events */
};

/* Copies decisions and events of the time, and the outcomes of these decisions, wherever they stand.
 * Takes: path: a file that is empty or not there; since_us, until_us: 0: without that bound; attached: so many of the trail's
 * last files are left out, since they are read where they are (attach.h): outcomes of their calls are copied. */
enum code audit_merge(const struct trail *trail, size_t attached, const char *path, int64_t since_us, int64_t until_us,
                      struct merged *merged, struct why *why) MUST_USE;

#endif
