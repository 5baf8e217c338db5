/* SPDX-License-Identifier: Apache-2.0 */
/* What the trail tells of a call as spans, and of what happened to the gate as log records. A row gives the same text each
 * time, ids too, so that what is sent twice is known by that.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: one row.
 * Errors: enum code of the buffer. */
#ifndef TELEMETRY_CALL_SPANS_H
#define TELEMETRY_CALL_SPANS_H

#include "base/buf.h"
#include "query/entries.h"

struct call_spans {
    bool principals, arguments, details; /* what is told that names people, or is theirs */
    bool links;                          /* what the agent says of its trace is a link, and decides nothing */
    uint32_t one_in;                     /* of permitted calls; chosen by trace id */
};

/* Takes: row: of audit_entries, with ENTRIES_WHOLE. Appends nothing for what has no span: a permit whose outcome is due, an
 * event, a permitted call that is not among those that are chosen. */
enum code call_spans_add(struct buf *out, const struct call_spans *spans, enum entry_kind kind, const struct query_row *row)
    MUST_USE;

/* Takes: row: an event. */
enum code call_spans_log(struct buf *out, const struct call_spans *spans, const struct query_row *row) MUST_USE;

#endif
