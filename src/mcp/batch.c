/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/batch.h"

#include "mcp/mcp_priv.h"

struct split {
    struct {
        size_t body, body_end, id, id_end;
        bool has_method;
    } places[MCP_BATCH_PARTS_MAX]; /* offsets: `out` may move while it grows */
    size_t count;
    bool is_array;
};

/* Of a message's members only the id and the method are looked at here; whether it is one is found out when it is read. */
static enum code on_event(void *context, const struct json_event *event)
{
    struct split *split = context;
    uint32_t depth = split->is_array ? 1 : 0;

    if (event->depth == 0 && event->type == JSON_ARRAY) {
        split->is_array = true;
        return CODE_OK;
    }
    if (event->depth == depth && event->kind != JSON_EVENT_END) {
        if (split->count >= MCP_BATCH_PARTS_MAX || event->type != JSON_OBJECT)
            return CODE_INVALID;
        split->places[split->count].body = event->begin;
        split->places[split->count].id_end = split->places[split->count].id = 0;
        split->places[split->count++].has_method = false;
    } else if (event->depth == depth) {
        split->places[split->count - 1].body_end = event->end;
    } else if (event->depth == depth + 1 && event->kind != JSON_EVENT_END) {
        if (span_is(event->key, "id") && event->kind == JSON_EVENT_SCALAR) {
            split->places[split->count - 1].id = event->begin;
            split->places[split->count - 1].id_end = event->end;
        }
        if (span_is(event->key, "method"))
            split->places[split->count - 1].has_method = true;
    }
    return CODE_OK;
}

enum reason mcp_batch_split(struct span data, struct buf *out, struct mcp_part *parts, size_t *count, bool *is_array,
                            struct json_fault *fault)
{
    struct split *split = mem_alloc(sizeof *split);
    struct json_rules rules = json_reply_rules;
    enum code code = CODE_NOMEM;
    struct span text;

    *count = 0;

    if (split != NULL) {
        split->count = 0;
        split->is_array = false;
        code = json_walk(data, &rules, out, on_event, split, fault);
    }
    text = buf_peek(out);
    for (size_t i = 0; code == CODE_OK && i < split->count; i++)
        parts[(*count)++] = (struct mcp_part){
            .body = span_part(text, split->places[i].body, split->places[i].body_end - split->places[i].body),
            .id = span_part(text, split->places[i].id, split->places[i].id_end - split->places[i].id),
            .is_response = !split->places[i].has_method,
        };
    *is_array = code == CODE_OK && split->is_array;
    mem_free(split);
    if (code == CODE_OK && *count > 0)
        return REASON_PERMITTED;
    if (fault->kind == JSON_FAULT_NONE)
        fault->text = "an answer to a batch is neither a message nor an array of messages";
    return code == CODE_NOMEM ? REASON_MEMORY : mcp__reply_fault(fault, data);
}
