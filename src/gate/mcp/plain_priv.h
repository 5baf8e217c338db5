/* SPDX-License-Identifier: Apache-2.0 */
/* Dialects whose request and answer are one JSON document each, without JSON-RPC's envelope: what octopus, okso and hook share.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: spans of mcp_reply point into `out`, or into the arena.
 * Errors: enum reason, as mcp_reply_read has them. */
#ifndef MCP_PLAIN_PRIV_H
#define MCP_PLAIN_PRIV_H

#include "mcp/dialect.h"
#include "mcp/mcp_priv.h"

/* Of struct dialect: no revisions, and what means nothing without JSON-RPC. */
extern const char *const mcp__plain_revisions[];
#define MCP__PLAIN_FOREIGN "revisions", "transports", "query", "params", "methods", "unwrap", "apps", "meta", "denials", \
    "lenient", "refusals", "unlisted"

/* Where an answer tells of tools, and what else it must be. */
struct mcp__plain {
    const char *const *members; /* of the root, that mean something: none may be spelled in another way; NULL: none does */
    uint32_t depth;         /* of each tool; 0: it tells of none. An octopus list is its root: 1 */
    const char *member;     /* of the root, that is the tool or lists them; NULL: the root lists them */
    uint32_t tools_max;     /* in one list, kept or not */
    struct span only;       /* the one tool that was asked about; at == NULL: any */
    bool (*is_name)(struct span name); /* whether a call could name it; NULL: of up to 128 bytes */
    /* Each value down to depth 2; NULL: nothing more is looked at. Returns: NULL, or what is wrong with it (static text). */
    const char *(*look)(void *context, const struct json_event *event);
    void *context;
};

/* Reads an answer as mcp_reply_read does: canonical bytes, what only the gate may say cut out, tools that nobody may call
 * left out, characters that deceive treated as the route has it. */
enum reason mcp__plain_read(struct span data, const struct mcp_reply_rules *rules, const struct mcp__plain *plain,
                            struct buf *out, struct arena *arena, struct mcp_reply *reply, struct json_fault *fault);

/* Of dialects whose requests are one object each that is posted, wherever: okso and hook. */
enum reason mcp__plain_open(enum http_method verb, struct span path, struct mcp_message *message);
/* Reads it. Returns: PERMITTED: message->root is that object. */
enum reason mcp__plain_object(struct span body, struct buf *canonical, struct arena *arena, struct mcp_message *message,
                              struct json_fault *fault);
/* Returns: PARAMS_INVALID. Takes: detail: why, static. */
enum reason mcp__plain_refuse(struct mcp_message *message, const char *detail);
/* What the gate says of a request that it read is told inside the dialect. */
int mcp__plain_denial_status(const struct mcp_message *message, const struct mcp_denial *denial);

/* Whether the head says what only MCP's clients say: a revision, or mirrors of a body that has no such members. */
bool mcp__speaks_mcp(const struct mcp_read_rules *rules);

#endif
