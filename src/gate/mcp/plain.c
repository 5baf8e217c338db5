/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/plain_priv.h"

const char *const mcp__plain_revisions[] = {NULL};

static const struct json_rules object_rules = {64, 200000, 4096, JSON_FOLD_PARAMS, 0};

enum reason mcp__plain_open(enum http_method verb, struct span path, struct mcp_message *message)
{
    (void)path;
    (void)message;
    return verb == HTTP_METHOD_POST ? REASON_UNSET : REASON_HTTP_METHOD;
}

enum reason mcp__plain_refuse(struct mcp_message *message, const char *detail)
{
    message->detail = detail;
    return REASON_PARAMS_INVALID;
}

enum reason mcp__plain_object(struct span body, struct buf *canonical, struct arena *arena, struct mcp_message *message,
                              struct json_fault *fault)
{
    if (json_read(body, &object_rules, canonical, arena, &message->root, fault) != CODE_OK)
        return mcp__reason_of_fault(fault->kind);
    return message->root->type == JSON_OBJECT ? REASON_PERMITTED : mcp__plain_refuse(message, "A request is one object");
}

int mcp__plain_denial_status(const struct mcp_message *message, const struct mcp_denial *denial)
{
    bool is_inside = reason_blame(denial->reason) == BLAME_POLICY || reason_blame(denial->reason) == BLAME_GATE;
    int status = reason_status(denial->reason);

    if (message != NULL && message->kind == MCP_REQUEST && is_inside)
        return 200;
    return status != 0 ? status : 403;
}

bool mcp__speaks_mcp(const struct mcp_read_rules *rules)
{
    bool mirrors = rules->mcp_method.at != NULL || rules->mcp_name.at != NULL || rules->version.at != NULL;

    for (size_t i = 0; rules->head != NULL && i < rules->head->count && !mirrors; i++)
        mirrors = http_head_mirrors(rules->head, i);
    return mirrors;
}
