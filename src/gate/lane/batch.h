/* SPDX-License-Identifier: Apache-2.0 */
/* Several calls in one body (JSON-RPC 2.0, section 6). Each is read, judged, recorded and ended as it would be alone:
 * exchange->call points to one of them at a time, so that the functions for a call serve each. None goes up unless all do,
 * because they go up as one body.
 *
 * Threads: its pair's worker.
 * Owns: its buffers; it lies in its exchange's arena.
 * Lifetime: from its body to the outcome of its calls.
 * Errors: none of its own. */
#ifndef LANE_BATCH_H
#define LANE_BATCH_H

#include "mcp/batch.h"
#include "base/buf.h"
#include "sse/parser.h"

struct batch {
    struct buf raw;          /* what the server sent last, of which `parts` are the parts */
    struct buf id;           /* the id of its event */
    struct sse_event event;
    struct mcp_part *parts;  /* MCP_BATCH_PARTS_MAX; NULL: none was needed yet */
    size_t part_count, part_at;
    uint64_t part_bytes;     /* the most that a part may have */
    bool is_whole;           /* the parts are those of a whole reply, and `list` becomes the new one */
    struct buf list;
};

#endif
