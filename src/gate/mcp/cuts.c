/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/reply_priv.h"

#define OWN_META "dev.callgate/"

enum code mcp__cut_own(bool is_meta[MCP__REPLY_DEPTH_MAX + 1], const struct json_event *event, struct json_edits *edits)
{
    if (event->kind == JSON_EVENT_BEGIN)
        is_meta[event->depth] = event->type == JSON_OBJECT && span_is(event->key, "_meta");
    else if (event->depth > 0 && is_meta[event->depth - 1] && span_starts_with(event->key, SPAN_LIT(OWN_META)))
        return json_edits_cut(edits, event->member, event->end);
    return CODE_OK;
}

/* What some programs write for numbers that JSON does not have. */
static bool is_no_number(struct span text)
{
    return span_starts_with(text, SPAN_LIT("NaN")) || span_starts_with(text, SPAN_LIT("Infinity")) ||
           span_starts_with(text, SPAN_LIT("-Infinity"));
}

enum reason mcp__reply_fault(const struct json_fault *fault, struct span data)
{
    size_t at = fault->offset < data.len ? fault->offset : data.len;

    switch (fault->kind) {
    case JSON_FAULT_MEMORY: return REASON_MEMORY;
    case JSON_FAULT_SIZE: return REASON_UPSTREAM_TOO_LARGE;
    case JSON_FAULT_DUPLICATE: return REASON_UPSTREAM_DUPLICATE;
    case JSON_FAULT_NUMBER: return REASON_UPSTREAM_NUMBER;
    case JSON_FAULT_NONE:
    case JSON_FAULT_SYNTAX:
    case JSON_FAULT_UTF8:
    case JSON_FAULT_STRING:
    case JSON_FAULT_DEPTH:
    case JSON_FAULT_NODES: break;
    }
    /* Where the number has a sign, the fault's place is behind it. */
    return is_no_number(span_part(data, at, SIZE_MAX)) || (at > 0 && is_no_number(span_part(data, at - 1, SIZE_MAX)))
               ? REASON_UPSTREAM_NUMBER : REASON_UPSTREAM_JSON;
}
