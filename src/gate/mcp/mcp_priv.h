/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON-RPC envelope: what both directions share, read from a tree or from events, and how errors are written.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: MCP_NONE or false for what breaks the rules; enum code of the buffer when writing. */
#ifndef MCP_MCP_PRIV_H
#define MCP_MCP_PRIV_H

#include "base/buf.h"
#include "base/reason.h"
#include "mcp/message.h"

#define MCP__ID_MAX 128     /* characters */
#define MCP__METHOD_MAX 128 /* bytes */
#define MCP__MODERN_VERSION "io.modelcontextprotocol/protocolVersion"
#define MCP__CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MCP__STATE "requestState"
#define MCP__CODE_URL (-32042) /* 2025-11-25, client/elicitation: "URLElicitationRequiredError" */
#define MCP__OWN_QUESTION "dev.callgate/approval" /* the gate's, among those of a server */
#define MCP__NAME_MAX 128   /* bytes of a tool's name */

/* The members of an envelope, as bits; 0: not one of them (also in another spelling). */
enum mcp__member {
    MEMBER_UNKNOWN = 0,
    MEMBER_JSONRPC = 1,
    MEMBER_ID = 2,
    MEMBER_METHOD = 4,
    MEMBER_PARAMS = 8,
    MEMBER_RESULT = 16,
    MEMBER_ERROR = 32
};

enum mcp__member mcp__member_of(struct span key);

/* What the members that are present make of a message; MCP_NONE: an envelope that is refused. A response may lack its id
 * here: an upstream's error may, an agent's answer may not. */
enum mcp_kind mcp__kind_of(unsigned members, struct span method);

/* A string of 1..128 printable characters, or an integer within +-(2^53-1) written as digits.
 * Takes: text: the decoded string, or the number's lexeme. */
bool mcp__id_is_legal(enum json_type type, struct span text);

bool mcp__method_is_legal(struct span method);

/* message.c: a tool's name as the route takes it; what a fault in an agent's JSON is. */
const char *mcp__tool_name_fault(struct span name, const struct mcp_read_rules *rules);
enum reason mcp__reason_of_fault(enum json_fault_kind kind);
/* cuts.c: what a fault in an upstream's JSON is. */
enum reason mcp__reply_fault(const struct json_fault *fault, struct span data);

/* meta.c: takes out of the canonical bytes, and out of the tree, what does not go up of params._meta and of a client's
 * capabilities. Takes: the root's params, or NULL; begins: it is an initialize. */
enum code mcp__edit(const struct json_node *root, const struct json_node *params, bool begins,
                    const struct mcp_read_rules *rules, struct buf *canonical, struct arena *arena) MUST_USE;

/* header.c: MCP-Protocol-Version of modern messages, Mcp-Method and Mcp-Name; all must be there in modern requests.
 * Returns: NULL: they agree with the body; else static: which does not. */
const char *mcp__headers_differ(const struct mcp_message *message, const struct mcp_read_rules *rules);

/* modern.c: what a modern message must be before its parameters are looked at; message->detail says what is wrong. */
enum reason mcp__check_modern(struct mcp_message *message, const struct mcp_read_rules *rules);
/* subscriptions/listen: finds message->items. */
enum reason mcp__read_listen(struct mcp_message *message, struct arena *arena);

/* state.c: takes what was sealed off params.requestState, so that it is as the server shall see it. *is_open: the message's
 * texts have moved. Returns: PERMITTED, STATE_FOREIGN, MEMORY. */
enum reason mcp__state_open(const struct mcp_message *message, const struct mcp_binding *binding, struct buf *canonical,
                            struct arena *arena, bool *is_open);
/* Appends what goes before a server's requestState in the answer to `message`. */
enum code mcp__state_seal(const struct mcp_message *message, const struct mcp_binding *binding, struct span state,
                          struct buf *out) MUST_USE;

struct mcp_denial;

/* One JSON-RPC error. */
struct mcp__error {
    struct span id;               /* canonical JSON; empty: null */
    int code;
    struct span message;
    const char *denial;           /* data.code and data.decision; NULL: neither */
    uint64_t decision;            /* 0: null */
    const char *const *supported; /* data.supported; NULL: none */
    bool only_modern;             /* only those without sessions are told, if any are: they need no other handshake */
    bool has_requested;
    struct span requested;        /* canonical JSON of data.requested; empty: null */
};

enum code mcp__error_write(const struct mcp__error *error, struct buf *out);

/* denial.c: what the model may do about a refusal, as a JSON string. */
void mcp__refusal_write(struct buf *out, const struct mcp_denial *denial);

/* {"code":"...","decision":...} without the braces. */
void mcp__denial_write(struct buf *out, const char *denial, uint64_t decision);

#endif
