/* SPDX-License-Identifier: Apache-2.0 */
/* Revisions without sessions, 2026-07-28 and later: each request says its revision and what its client can do, and its
 * headers say again what the body says. */
#include "mcp/denial.h"
#include "mcp/mcp_priv.h"

#define ITEMS_MAX 1024 /* of one subscriptions/listen: each costs a judgement */

/* Returns: NULL, or which mandatory member of _meta is missing or has another type. */
static const char *lacks(const struct mcp_message *message)
{
    const struct json_node *version = json_member(message->meta, SPAN_LIT(MCP__MODERN_VERSION));
    const struct json_node *capabilities = json_member(message->meta, SPAN_LIT(MCP__CAPABILITIES));

    if (version == NULL || version->type != JSON_STRING)
        return "params._meta must have " MCP__MODERN_VERSION ", a string";
    if (message->kind == MCP_REQUEST && (capabilities == NULL || capabilities->type != JSON_OBJECT))
        return "params._meta must have " MCP__CAPABILITIES ", an object";
    return NULL;
}

enum reason mcp__check_modern(struct mcp_message *message, const struct mcp_read_rules *rules)
{
    enum mcp_era era = mcp_method_era(message->of);
    bool is_served;

    if (span_is(message->method, "initialize") && message->modern_version.len == 0) {
        message->detail = "initialize belongs to revisions that MCP-Protocol-Version does not name";
        return REASON_HEADER_MISMATCH;
    }
    message->detail = lacks(message);
    if (message->detail != NULL)
        return REASON_PARAMS_INVALID;
    message->detail = mcp__headers_differ(message, rules);
    if (message->detail != NULL)
        return REASON_HEADER_MISMATCH;
    if (!mcp_method_may_come(message->of, false) || era == MCP_ERA_OLD)
        return REASON_METHOD_UNKNOWN;
    is_served = mcp_revision_is_modern(message->asked_version) &&
                mcp_revision_is_listed(rules->revisions ? rules->revisions : mcp_revisions, message->asked_version);
    if (is_served)
        return REASON_PERMITTED;
    /* Of a revision that is not served nobody knows which other methods it has. */
    return era == MCP_ERA_ANY && message->kind == MCP_REQUEST ? REASON_METHOD_UNKNOWN : REASON_VERSION_UNSUPPORTED;
}

/* ---- subscriptions/listen ---- */

/* {"uri":"..."}, as a message would have it that asks for this item alone. */
static enum reason add_item(struct mcp_item *item, struct span method, struct span key, const struct json_node *value,
                            struct arena *arena)
{
    struct json_node *params = arena_zalloc(arena, sizeof *params), *member = arena_zalloc(arena, sizeof *member);
    struct buf text;
    enum code code;

    if (params == NULL || member == NULL)
        return REASON_MEMORY;
    buf_init(&text, SIZE_MAX / 2);
    code = buf_addf(&text, "{\"%.*s\":", SPAN_ARG(key));
    if (code == CODE_OK)
        code = buf_add_span(&text, value->raw);
    if (code == CODE_OK)
        code = buf_add_byte(&text, '}');
    *member = *value;
    member->key = key;
    member->next = NULL;
    *params = (struct json_node){.type = JSON_OBJECT, .count = 1, .child = member};
    params->raw = span_of(code == CODE_OK ? arena_dup(arena, buf_peek(&text).at, buf_len(&text)) : NULL, buf_len(&text));
    buf_fini(&text);
    *item = (struct mcp_item){.method = method, .target = value->text, .params = params};
    return params->raw.at != NULL ? REASON_PERMITTED : REASON_MEMORY;
}

static enum reason add_list(struct mcp_message *message, struct mcp_item *items, const struct json_node *list,
                            struct span method, struct span key, struct arena *arena)
{
    enum reason reason = list->type == JSON_ARRAY ? REASON_PERMITTED : REASON_PARAMS_INVALID;

    for (const struct json_node *node = list->child; node != NULL && reason == REASON_PERMITTED; node = node->next) {
        if (node->type != JSON_STRING || node->text.len == 0 || message->item_count == ITEMS_MAX)
            return REASON_PARAMS_INVALID;
        reason = add_item(&items[message->item_count++], method, key, node, arena);
    }
    return reason;
}

/* Each name in a known list is judged. What an extension adds may only say yes or no, since the notifications that come of
 * it are judged, too; a list that is not known here might name what was never judged. */
enum reason mcp__read_listen(struct mcp_message *message, struct arena *arena)
{
    const struct json_node *filter = json_member(message->params, SPAN_LIT("notifications"));
    enum reason reason = REASON_PERMITTED;
    struct mcp_item *items;
    uint32_t count = 0;

    message->lasts = true;
    message->detail = "params.notifications must be an object of booleans, resourceSubscriptions and taskIds";
    if (filter == NULL || filter->type != JSON_OBJECT)
        return REASON_PARAMS_INVALID;
    for (const struct json_node *node = filter->child; node != NULL; node = node->next)
        count += node->count;
    items = arena_zalloc(arena, ((count < ITEMS_MAX ? count : ITEMS_MAX) + 1) * sizeof *items);
    if (items == NULL)
        return REASON_MEMORY;
    message->items = items;
    for (const struct json_node *node = filter->child; node != NULL && reason == REASON_PERMITTED; node = node->next) {
        if (span_is(node->key, "resourceSubscriptions"))
            reason = add_list(message, items, node, SPAN_LIT("resources/subscribe"), SPAN_LIT("uri"), arena);
        else if (span_is(node->key, "taskIds"))
            reason = add_list(message, items, node, SPAN_LIT("tasks/get"), SPAN_LIT("taskId"), arena);
        else if (node->type != JSON_TRUE && node->type != JSON_FALSE)
            reason = REASON_PARAMS_INVALID;
    }
    return reason;
}

enum code mcp_stream_end(const struct mcp_message *message, struct buf *out)
{
    buf_add_text(out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_add_span(out, message->id);
    buf_add_text(out, ",\"result\":{\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":");
    buf_add_span(out, message->id);
    return buf_add_text(out, "}}}");
}
