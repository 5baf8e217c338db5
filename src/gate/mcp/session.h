/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions bound to principals and agents without a table: `<upstream id>.<negotiated revision>.<MAC>`, where `+url` stands
 * behind the revision of a client that opens URLs (mcp/README.md, "What is judged").
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: parts point into the id that was handed in.
 * Errors: CODE_DENIED for a wrong or foreign id (404 to the agent). */
#ifndef MCP_SESSION_H
#define MCP_SESSION_H

#include "base/buf.h"
#include "base/code.h"
#include "base/span.h"

#define MCP_SESSION_KEY_BYTES 32
#define MCP_SESSION_LEGACY "http+sse" /* in the revision's place: what is sealed is the URI for the POSTs of HTTP+SSE */

struct mcp_session_scope {
    struct span route;
    struct span tenant; /* the judged one */
    struct span principal;
    struct span agent;  /* empty: nobody knows which */
    struct span path;   /* below the route; empty: the route is exact */
};

/* By whom, and under which key, something is bound. */
struct mcp_binding {
    const unsigned char *key; /* MCP_SESSION_KEY_BYTES */
    struct mcp_session_scope scope;
};

struct mcp_session {
    struct span upstream_id;
    struct span revision;
    bool opens_urls; /* the client has declared elicitation by URL */
};

/* Appends the agent's session id. Takes: upstream_id visible ASCII, 1..512 bytes (CODE_INVALID otherwise). */
enum code mcp_session_make(const unsigned char key[MCP_SESSION_KEY_BYTES], const struct mcp_session_scope *scope,
                           const struct mcp_session *session, struct buf *out) MUST_USE;

/* Checks in constant time and takes apart. */
enum code mcp_session_check(const unsigned char key[MCP_SESSION_KEY_BYTES], const struct mcp_session_scope *scope,
                            struct span id, struct mcp_session *session) MUST_USE;

#endif
