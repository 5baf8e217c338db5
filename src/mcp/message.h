/* SPDX-License-Identifier: Apache-2.0 */
/* What is being asked: one JSON-RPC 2.0 message of an agent, in dialect `mcp`, read from its body.
 *
 * Revisions 2024-11-05 to 2025-11-25 are judged; a modern request (2026-07-28 and later: it names a protocol version in
 * params._meta) is recognised, whatever version it names, so that it can be answered with -32022.
 *
 * Threads: any; a message belongs to one thread.
 * Owns: nothing; nodes live in the arena, spans in the canonical buffer.
 * Lifetime: that of the arena and the canonical buffer that were handed in.
 * Errors: enum reason; REASON_PERMITTED means "well formed, to be judged". */
#ifndef MCP_MESSAGE_H
#define MCP_MESSAGE_H

#include "base/reason.h"
#include "json/json.h"

enum mcp_kind { MCP_NONE = 0, MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

struct mcp_message {
    enum mcp_kind kind;
    struct span method;             /* decoded; empty for responses */
    struct span id;                 /* canonical JSON of the id (a string with its quotes); empty: none */
    const struct json_node *root;   /* the envelope */
    const struct json_node *params; /* or NULL */
    const struct json_node *arguments; /* params.arguments of tools/call and prompts/get, or NULL */
    const struct json_node *meta;   /* params._meta, or NULL */
    struct span tool;               /* tools/call: params.name */
    struct span target;             /* what the audit's column `tool` names: the tool, prompts/get's name, the
                                     * resource's URI; or empty */
    bool is_error;                  /* a response with `error` */
    bool is_modern;
    struct span modern_version;     /* canonical JSON of what it named (usually a string with its quotes) */
    struct span asked_version;      /* initialize: params.protocolVersion, decoded */
};

struct mcp_read_rules {
    bool printable_tool_names; /* tool_names: printable */
    struct span mcp_method;    /* header values; at == NULL: absent */
    struct span mcp_name;
};

/* Reads a body: strict JSON, canonical bytes appended to `canonical` (empty before), the envelope's rules.
 * On a fault after the id was read, message->id holds it for the answer; *fault tells the JSON place for the log. */
enum reason mcp_read(struct span body, const struct mcp_read_rules *rules, struct buf *canonical, struct arena *arena,
                     struct mcp_message *message, struct json_fault *fault);

/* An Mcp-Param-* header against the arguments: value (after =?base64?…?= decoding) equals the argument's text. */
bool mcp_param_header_agrees(const struct mcp_message *message, struct span name, struct span value);

/* The members of `protocol` in a policy's `methods` (policy-language.md, Meaning 10). */
bool mcp_method_is_protocol(struct span method);

#endif
