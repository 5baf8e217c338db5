/* SPDX-License-Identifier: Apache-2.0 */
/* Names: which side says which method, what it is about, what its answer lists, what needs an id; the pseudo-methods, the
 * revisions.
 *
 * Threads: any; constant tables.
 * Owns: nothing.
 * Lifetime: static.
 * Errors: unknown names are no error. */
#ifndef MCP_METHOD_H
#define MCP_METHOD_H

#include "base/span.h"

/* What a message is about. */
enum mcp_about { MCP_ABOUT_NOTHING = 0, MCP_ABOUT_TOOL, MCP_ABOUT_PROMPT, MCP_ABOUT_RESOURCE, MCP_ABOUT_TASK };

/* What an answer lists. */
enum mcp_lists { MCP_LISTS_NOTHING = 0, MCP_LISTS_TOOLS, MCP_LISTS_PROMPTS, MCP_LISTS_RESOURCES, MCP_LISTS_TEMPLATES };

/* What a method's messages name: the line of a table, of ours or of a route. */
struct mcp_method {
    struct span name;
    struct span thing;  /* the member of params, a string, that says what the message is about; empty: none does */
    enum mcp_about about;
    enum mcp_lists lists;
    struct span list;   /* the member of the result that is the list; empty: there is none */
    struct span key;    /* the member of an element by which a policy knows it */
    bool is_ours;       /* a revision names it: what follows here knows more of it than of a route's */
};

/* Methods that a route declares beside ours: all that they name are URIs of resources. */
struct mcp_methods {
    const struct mcp_method *of;
    size_t count;
};

/* Ours first, so that no route can say anything else of it. Takes: own: or NULL. Returns: NULL: no table names the method. */
const struct mcp_method *mcp_method_find(struct span name, const struct mcp_methods *own);

/* The member of params that Mcp-Name must say again in a request of 2026-07-28; empty: the method needs none. */
struct span mcp_method_mirrored(struct span name);

/* The methods whose answers are lists, one after the other; NULL: there are no more. */
const struct mcp_method *mcp_method_lists(size_t at, const struct mcp_methods *own);

/* The names, one after the other, pseudo-methods too; NULL: there are no more. */
const char *mcp_method_at(size_t at);

/* Whether a message with this method may come from that side: not what only the other side says, and never a pseudo-method,
 * whose name in a record would claim what was not. A method that no revision names (a route's, or NULL) may, and is judged by
 * its name. */
bool mcp_method_may_come(const struct mcp_method *method, bool from_server);

/* Which revisions have a request of an agent: those with sessions, those without (2026-07-28 and later: "modern"), both; ANY:
 * none names it, so it may stand in any and is judged by its name. */
enum mcp_era { MCP_ERA_ANY = 0, MCP_ERA_OLD, MCP_ERA_MODERN, MCP_ERA_BOTH };
enum mcp_era mcp_method_era(const struct mcp_method *method);

/* Whether some revision of the era names this member of params for what an agent sends; true for methods that none of them
 * has, which are judged by their names. */
bool mcp_method_takes(const struct mcp_method *method, struct span member, bool is_modern);

/* Whether a message of this name must have an id: known requests of either side, and all of `tasks/`. */
bool mcp_method_needs_id(struct span name);

/* All revisions that are judged, NULL-terminated: the default of a route's `revisions`. */
extern const char *const mcp_revisions[];

/* Takes: revisions: NULL-terminated. */
bool mcp_revision_is_listed(const char *const *revisions, struct span revision);

/* Whether each of its requests stands for itself, without a session. */
bool mcp_revision_is_modern(struct span revision);
/* Whether its sessions know the error that has a person open an URL (-32042). */
bool mcp_revision_has_urls(struct span revision);

#endif
