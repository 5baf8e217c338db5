/* SPDX-License-Identifier: Apache-2.0 */
/* What is left out of canonical bytes: of replies after reply.c's walk, of an agent's message before it is judged.
 *
 * Threads: belongs to one thread.
 * Owns: nothing.
 * Lifetime: one mcp_read or mcp_reply_read.
 * Errors: enum code. */
#ifndef MCP_REPLY_PRIV_H
#define MCP_REPLY_PRIV_H

#include "mcp/mcp_priv.h"
#include "mcp/reply.h"

/* ---- reply_modern.c ---- */

/* What any modern result may say, whatever was asked for; looked at during the walk. */
struct mcp__modern {
    const struct mcp_reply_rules *rules; /* whose request is a modern one */
    struct json_edits *edits;
    const char *detail;   /* static: why it is refused */
    bool names_versions;  /* the answer to server/discover */
    bool in_data;         /* error.data */
    bool in_versions;
    bool has_versions;    /* result.supportedVersions */
    uint32_t versions;    /* of them, kept */
    bool has_asks;        /* result.inputRequests */
};

/* Takes: event: within `result`. Returns: CODE_INVALID with `detail`, or what a buffer says. */
enum code mcp__on_modern(struct mcp__modern *modern, const struct json_event *event) MUST_USE;
/* Takes: event: within the `error` of a version that is not supported. */
enum code mcp__on_modern_error(struct mcp__modern *modern, const struct json_event *event) MUST_USE;
/* What a result, or params of a notification, asks for: *asks; NULL: nothing. Returns: NULL, or what is wrong with it. */
const char *mcp__find_asks(const struct json_node *holder, const struct json_node **asks);

#define MCP__REPLY_DEPTH_MAX 128

/* Cuts what only the gate may say, in a `_meta` at any depth: nobody else's denial may look like ours. Takes: is_meta: of
 * the walk, whether the open object at a depth is a `_meta`. */
enum code mcp__cut_own(bool is_meta[MCP__REPLY_DEPTH_MAX + 1], const struct json_event *event,
                        struct json_edits *edits) MUST_USE;

/* ---- what an agent's message loses ---- */

struct mcp__editing {
    const struct mcp_read_rules *rules;
    struct span document; /* into which the tree points */
    struct json_edits *edits;
};

/* capability.c: cuts what no rule could permit out of this object. */
enum code mcp__cut_capabilities(const struct mcp__editing *editing, const struct json_node *object) MUST_USE;

/* ---- deceptive.c ---- */

/* What becomes of a value in `member` of the envelope. Takes: is_list: a list was asked for; key: of the member of `result`
 * that it is, or is in. */
enum mcp_treatment mcp__treatment(const struct mcp_reply_rules *rules, bool is_list, enum mcp__member member, struct span key);
/* Whether no text below the members of `result`, `error` and `params` needs to be looked at. */
bool mcp__passes_all(const struct mcp_reply_rules *rules);
/* Cuts what deceives out of one string; *count grows. */
enum code mcp__strip(const struct json_event *string, struct json_edits *edits, uint32_t *count) MUST_USE;

#endif
