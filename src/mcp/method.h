/* SPDX-License-Identifier: Apache-2.0 */
/* Names: every method of every revision with its direction and kind, the pseudo-methods, the revisions.
 *
 * Threads: any; constant tables.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: unknown names are no error: NULL, false. */
#ifndef MCP_METHOD_H
#define MCP_METHOD_H

#include "base/span.h"

/* Names for what has no method (mcp-wire.md). */
#define MCP_STREAM_OPEN SPAN_LIT("stream/open")       /* GET */
#define MCP_SESSION_END SPAN_LIT("session/end")       /* DELETE */
#define MCP_CLIENT_RESPONSE SPAN_LIT("response")      /* an agent's answer to a server's request */
#define MCP_STREAM_MESSAGE SPAN_LIT("stream/message") /* a result on a resumed stream */
#define MCP_PASS SPAN_LIT("pass")                     /* a declared pass-through path */

enum mcp_method_kind { MCP_METHOD_REQUEST = 0, MCP_METHOD_NOTIFICATION, MCP_METHOD_PSEUDO };

struct mcp_method {
    struct span name;
    enum mcp_method_kind kind;
    bool from_agent;
    bool from_server;
};

/* The method with exactly this name, or NULL. */
const struct mcp_method *mcp_method_find(struct span name);

/* Whether a message of this name must have an id: known requests of either side, and all of `tasks/`. */
bool mcp_method_needs_id(struct span name);

/* The members of `protocol` in a policy's `methods` (policy-language.md, Meaning 10); of answers to ping ask with the
 * method that is answered. */
bool mcp_method_is_protocol(struct span name);

/* All revisions that are judged, NULL-terminated: the default of a route's `revisions`. */
extern const char *const mcp_revisions[];

/* Takes: revisions: NULL-terminated. */
bool mcp_revision_is_listed(const char *const *revisions, struct span revision);

#endif
