/* SPDX-License-Identifier: Apache-2.0 */
/* Dialect `mcp`: JSON-RPC 2.0 over streamable HTTP. Its functions fill the room; here they become one table. */
#include "mcp/dialect.h"

#define PARAM_PREFIX SPAN_LIT("Mcp-Param-")

static enum reason open_message(enum http_method verb, struct span path, struct mcp_message *message)
{
    (void)path;
    message->lasts = verb == HTTP_METHOD_GET;
    if (verb == HTTP_METHOD_GET)
        message->method = DIALECT_STREAM_OPEN;
    else if (verb == HTTP_METHOD_DELETE)
        message->method = DIALECT_SESSION_END;
    return REASON_UNSET;
}

/* Mcp-Param-* mirrors arguments; whoever reads the header upstream must see what was judged. */
static bool params_agree(struct mcp_message *message, const struct mcp_read_rules *rules, struct arena *arena)
{
    const struct http_head *head = rules->head;
    struct span schema = SPAN_NONE;

    for (size_t i = 0; i < head->count; i++) {
        struct span name = http_head_name(head, i);

        if (!http_head_mirrors(head, i) || !span_equals_nocase(span_part(name, 0, PARAM_PREFIX.len), PARAM_PREFIX))
            continue;
        if (schema.at == NULL && rules->schema_of != NULL && message->tool.len > 0)
            schema = rules->schema_of(rules->ask_context, message->tool);
        if (!mcp_param_header_agrees(message, span_part(name, PARAM_PREFIX.len, SIZE_MAX), http_head_value(head, i), schema,
                                     arena))
            return false;
    }
    return true;
}

static enum reason read_message(struct span body, const struct mcp_read_rules *rules, struct buf *canonical,
                                struct arena *arena, struct mcp_message *message, struct json_fault *fault)
{
    enum reason reason = mcp_read(body, rules, canonical, arena, message, fault);

    if (reason != REASON_PERMITTED)
        return reason;
    if (rules->version.at != NULL && !mcp_revision_is_listed(rules->revisions, rules->version))
        return REASON_VERSION_HEADER;
    return params_agree(message, rules, arena) ? REASON_PERMITTED : REASON_HEADER_MISMATCH;
}

static bool begins_session(const struct mcp_message *message)
{
    return span_is(message->method, "initialize");
}

const struct dialect dialect_mcp = {
    .name = "mcp",
    .verbs = "POST, GET, DELETE",
    .revisions = mcp_revisions,
    .batch_revision = "2025-03-26",
    .open = open_message,
    .read = read_message,
    .mirror = mcp_mirror,
    .denial_status = mcp_denial_status,
    .denial_write = mcp_denial_write,
    .reply_read = mcp_reply_read,
    .begins_session = begins_session,
    .reply_error = mcp_reply_error,
    .stream_end = mcp_stream_end,
    .refusal_write = mcp_refusal_write,
};
