/* SPDX-License-Identifier: Apache-2.0 */
/* What a server sends in answer to a batch, taken apart: an array of messages, or one message, each as canonical bytes with the
 * id by which the call is found that it answers. The messages themselves are read one by one, by the dialect.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: parts point into `out`.
 * Errors: enum reason, as those of mcp_reply_read. */
#ifndef MCP_BATCH_H
#define MCP_BATCH_H

#include "base/buf.h"
#include "base/reason.h"
#include "json/json.h"

#define MCP_BATCH_MAX 64       /* messages that an agent may put into one array */
#define MCP_BATCH_PARTS_MAX 1024 /* messages that a server may put into one array: there may be notifications between answers */

struct mcp_part {
    struct span body;
    struct span id;      /* canonical JSON; empty: none */
    bool is_response;    /* it has no method */
};

/* Takes: out: empty, its cap is the limit; parts: room for `max`: more are refused. Sets *is_array: it was one.
 * Returns: PERMITTED; UPSTREAM_JSON, UPSTREAM_TOO_LARGE, MEMORY. */
enum reason mcp_batch_split(struct span data, struct buf *out, struct mcp_part *parts, size_t max, size_t *count,
                            bool *is_array, struct json_fault *fault);

#endif
