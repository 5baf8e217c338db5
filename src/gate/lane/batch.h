/* SPDX-License-Identifier: Apache-2.0 */
/* Several calls in one body (JSON-RPC 2.0, section 6). Each is read, judged, recorded and ended as it would be alone: the
 * exchange's `call` leads to the one that is looked at, so that the same functions do with it all that is done with a call.
 * None goes up unless all do: what goes up is one body.
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
    struct buf raw;          /* what the server sent last, taken apart into `parts` */
    struct buf id;           /* of its event */
    struct sse_event event;
    struct mcp_part *parts;  /* MCP_BATCH_PARTS_MAX; NULL: none was needed yet */
    size_t part_count, part_at;
    uint64_t part_bytes;     /* no part may have more */
    bool is_whole;           /* the parts are those of a whole reply, and become */
    struct buf list;
};

#endif
