/* SPDX-License-Identifier: Apache-2.0 */
/* What is being asked: one JSON-RPC 2.0 message of an agent, in dialect `mcp`, read from its body.
 *
 * Revisions 2024-11-05 to 2025-11-25, and 2026-07-28, which is without sessions ("modern"). The body says which: a modern
 * request names a protocol version in params._meta that is none of the older ones. A method that only modern revisions
 * have, or a modern MCP-Protocol-Version, makes a request modern, too: it is told what it lacks.
 *
 * Threads: any; a message belongs to one thread.
 * Owns: nothing; nodes live in the arena, spans in the canonical buffer.
 * Lifetime: that of the arena and the canonical buffer that were handed in.
 * Errors: enum reason; REASON_PERMITTED means "well formed, to be judged". */
#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

#include "base/reason.h"
#include "http/head.h"
#include "json/json.h"
#include "mcp/method.h"
#include "mcp/session.h"

enum mcp_kind { MCP_NONE = 0, MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

/* What an Mcp-Param-* header says again. */
struct mcp_mirror {
    const struct mcp_mirror *next;
    struct span name; /* what follows "Mcp-Param-" */
    const struct json_node *node;
};

struct mcp_message {
    enum mcp_kind kind;
    struct span method;             /* decoded; empty for responses */
    struct span id;                 /* canonical JSON of the id (a string with its quotes); empty: none */
    const struct json_node *root;   /* the envelope */
    const struct json_node *params; /* or NULL */
    const struct json_node *arguments; /* params.arguments of tools/call and prompts/get, or NULL */
    const struct mcp_mirror *mirrors; /* of the arguments; those that agree */
    const struct json_node *meta;   /* params._meta, or NULL */
    const struct json_node *others; /* tools/call and prompts/get: an object of what stands in params beside name and
                                     * arguments; NULL: nothing does. Its raw text is its own, in the arena */
    struct span unknown;            /* PARAMS_INVALID: a member of params that nobody names for the method; at == NULL: none */
    struct span tool;               /* tools/call: params.name */
    struct span target;             /* what the audit's column `tool` names: the tool, prompts/get's name, the
                                     * resource's URI; or empty */
    const struct mcp_method *of;    /* the table's line of the method; NULL: no table names it */
    const struct mcp_item *items;   /* subscriptions/listen: what it asks for by name; each is judged, too */
    uint32_t item_count;
    bool lasts;                     /* what answers it is a stream of messages without end */
    bool is_modern;
    bool opens_urls;                /* its client may be asked to have a person open an URL (elicitation, 2025-11-25 on): what
                                     * asks by it, or the session that it begins */
    const char *detail;             /* static: what is wrong with a modern request or a tool's name, for its author; or NULL */
    struct span modern_version;     /* canonical JSON of what it named (usually a string with its quotes) */
    struct span asked_version;      /* initialize: params.protocolVersion, decoded; modern: what it named */
};

/* One of several things that a message asks for, as the message that would ask for it alone. */
struct mcp_item {
    struct span method;
    struct span target;
    const struct json_node *params;
};

/* Which members of params._meta go up: all; those that MCP and W3C Trace Context name; none. */
enum mcp_meta { MCP_META_PASS = 0, MCP_META_KNOWN, MCP_META_NONE };

struct mcp_read_rules {
    enum mcp_meta meta;
    /* Whether some rule could permit the method to this agent's server, or to this agent: else its client capability (sampling,
     * elicitation, roots, tasks) is taken out of `initialize` and of params._meta. NULL: none is. */
    bool (*may_ask)(void *context, struct span method);
    /* The inputSchema of the tool that a call means, where somebody has accepted its definition; at == NULL: nobody knows. It
     * says which argument a header mirrors. NULL: nobody asks. */
    struct span (*schema_of)(void *context, struct span tool);
    void *ask_context;
    bool strict_tool_names;    /* tool_names: strict */
    struct span mcp_method;    /* header values; at == NULL: absent */
    struct span mcp_name;
    struct span version;       /* MCP-Protocol-Version, likewise */
    const char *const *revisions; /* of the route, NULL-terminated; NULL: all */
    bool opens_urls;           /* what the session's client has declared */
    bool in_session;           /* it came in a session of the older revisions, of whatever transport */
    const struct http_head *head; /* or NULL, where nothing came beside the body */
    const struct mcp_binding *binding; /* whose requestState is taken; NULL: nobody's */
    const struct span *params; /* `params:` of the route: members that may stand in params beside those of the specification */
    size_t param_count;
    const struct mcp_methods *own; /* methods that the route declares; NULL: none */
};

/* Reads a body: strict JSON, canonical bytes appended to `canonical` (empty before), the envelope's rules.
 * On a fault after the id was read, message->id holds it for the answer; message->kind is NONE unless the envelope was
 * good. *fault tells the JSON place for the log; where the JSON was good and the envelope is not, its text says why.
 * Returns: PERMITTED, or MEMORY, JSON_*, BATCH, ENVELOPE, METHOD_UNKNOWN (what only servers say, a pseudo-method, in a modern
 * request what only older revisions have), PARAMS_INVALID, TOOL_NAME_INVALID, ARGUMENTS_INVALID, HEADER_MISMATCH,
 * VERSION_UNSUPPORTED, STATE_FOREIGN. A modern request is told first what it lacks (PARAMS_INVALID), then which header
 * differs, then whether its method is there, then whether its revision is, and only then what is wrong with its parameters. */
enum reason mcp_read(struct span body, const struct mcp_read_rules *rules, struct buf *canonical, struct arena *arena,
                     struct mcp_message *message, struct json_fault *fault);

/* Why a tool cannot have this name; NULL: it can. Takes: strict: `tool_names: strict`. */
const char *mcp_tool_name_fault(struct span name, bool strict);

/* `$` of policies: the arguments of tools/call and prompts/get, the params of every other method; or NULL. */
const struct json_node *mcp_message_subject(const struct mcp_message *message);

/* An Mcp-Param-* header against the arguments. Takes: name: what follows "Mcp-Param-"; schema: the tool's, or at == NULL. The
 * argument for which the schema says `x-mcp-header` with this name, else the one of this name, whatever the case, must have the
 * header's value (after =?base64?…?= decoding) as its text; a name that stands for no argument agrees with none. What agrees is
 * kept in message->mirrors. */
bool mcp_param_header_agrees(struct mcp_message *message, struct span name, struct span value, struct span schema,
                             struct arena *arena);

/* Appends what goes up as the value of a mirroring header that agrees: taken from the body anew, =?base64?…?= where it is not
 * plain. Takes: name: Mcp-Method, Mcp-Name or Mcp-Param-*, in any case.
 * Returns: CODE_NOT_FOUND: the body has nothing that it could say again. */
enum code mcp_mirror(const struct mcp_message *message, struct span name, struct buf *out) MUST_USE;

#endif
