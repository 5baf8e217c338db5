/* SPDX-License-Identifier: Apache-2.0 */
/* The `endpoint` event of HTTP+SSE (MCP 2024-11-05, Transports): the URI for the client's POSTs, as a path and query of the
 * server that is asked already.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: CODE_DENIED: it names another server; CODE_INVALID: it is no URI that may be asked; the buffer's. Nothing is
 *   appended then. */
#ifndef MCP_ENDPOINT_H
#define MCP_ENDPOINT_H

#include "base/buf.h"

#include <stdbool.h>

#define MCP_ENDPOINT_MAX_BYTES 448 /* of path and query: with what seals them they are a session's name */

/* Where the stream came from: an absolute reference must name the same scheme and authority. */
struct mcp_endpoint_base {
    bool is_tls;
    struct span authority; /* as in its URL */
    struct span path;      /* that was asked */
};

/* Resolves the reference (RFC 3986, 5.2) and appends what is asked: a path that begins with one '/', with or without a query.
 * Refused: a fragment, characters that URLs of clients spell in another way, dot segments. */
enum code mcp_endpoint_resolve(struct span reference, const struct mcp_endpoint_base *base, struct buf *out) MUST_USE;

#endif
