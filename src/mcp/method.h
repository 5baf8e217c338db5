/* SPDX-License-Identifier: Apache-2.0 */
/* Names: which side says which method, what needs an id, the pseudo-methods, the revisions.
 *
 * Threads: any; constant tables.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: unknown names are no error. */
#ifndef MCP_METHOD_H
#define MCP_METHOD_H

#include "base/span.h"

/* Whether a message with this method may come from that side: not what only the other side says, and never a pseudo-method,
 * whose name in a record would claim what was not. A method that is not known may, and is judged by its name. */
bool mcp_method_may_come(struct span name, bool from_server);

/* Whether some revision that is judged names this member of params for what an agent sends; true for methods that none of them
 * has, which are judged by their names. */
bool mcp_method_takes(struct span method, struct span member);

/* Whether a message of this name must have an id: known requests of either side, and all of `tasks/`. */
bool mcp_method_needs_id(struct span name);

/* All revisions that are judged, NULL-terminated: the default of a route's `revisions`. */
extern const char *const mcp_revisions[];

/* Takes: revisions: NULL-terminated. */
bool mcp_revision_is_listed(const char *const *revisions, struct span revision);

#endif
