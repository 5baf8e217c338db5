/* SPDX-License-Identifier: Apache-2.0 */
/* The answer of a tool that searches for tools, which is filtered as a list of tools is. */
#include "back/reply_priv.h"

const struct declared_unwrap *listed__by(const struct pair *pair)
{
    const struct exchange *exchange = &pair->exchange;
    const struct call *call = exchange->call;
    const struct declared_unwrap *unwrap = call->message.kind == MCP_REQUEST && !call->is_join
                                               ? declared_unwrap_find(&exchange->route->unwraps, call->message.tool) : NULL;

    return unwrap != NULL && unwrap->list.count > 0 ? unwrap : NULL;
}

static bool may_show(void *context, struct span tool)
{
    struct pair *pair = context;

    return gate_may_see(pair->lane->gate, pair->exchange.call, SPAN_LIT("tools/call"), tool, false);
}

enum reason listed__filter(struct pair *pair, struct mcp_reply *reply)
{
    struct exchange *exchange = &pair->exchange;
    struct json_edits edits;
    enum code code;

    if (reply->outcome == NULL)
        return REASON_MEMORY;
    json_edits_init(&edits);
    code = declared_list_filter(listed__by(pair), reply->body, reply->outcome, may_show, pair, &exchange->event_arena, &edits);
    if (code == CODE_OK && edits.count > 0) {
        code = json_edits_apply(&edits, &exchange->event, &exchange->event_arena, reply->outcome);
        reply->body = buf_peek(&exchange->event);
        reply->result = reply->outcome->raw;
    }
    json_edits_fini(&edits);
    if (code == CODE_INVALID)
        exchange->fault.text = "the answer of a tool that lists tools is not the JSON that `lists` speaks of";
    return code == CODE_OK ? REASON_PERMITTED : code == CODE_INVALID ? REASON_UPSTREAM_JSON : REASON_MEMORY;
}
