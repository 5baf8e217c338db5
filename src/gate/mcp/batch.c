/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/batch.h"

#include "mcp/mcp_priv.h"

/* As offsets, since `out` may move while it grows. */
struct place {
    size_t body, body_end, id, id_end;
    bool has_method;
};

struct split {
    struct place *places;
    size_t count, max;
    bool is_array;
};

/* Of a message's members only the id and the method are looked at here; whether the whole is a message shows when it is
 * read. */
static enum code on_event(void *context, const struct json_event *event)
{
    struct split *split = context;
    uint32_t depth = split->is_array ? 1 : 0;
    struct place *place;

    if (event->depth == 0 && event->type == JSON_ARRAY) {
        split->is_array = true;
        return CODE_OK;
    }
    if (event->depth == depth && event->kind != JSON_EVENT_END) {
        if (split->count >= split->max || event->type != JSON_OBJECT)
            return CODE_INVALID;
        split->places[split->count++].body = event->begin;
        return CODE_OK;
    }
    if (event->depth < depth || event->depth > depth + 1)
        return CODE_OK;
    place = &split->places[split->count - 1];
    if (event->depth == depth) {
        place->body_end = event->end;
    } else if (span_is(event->key, "id") && event->kind == JSON_EVENT_SCALAR) {
        place->id = event->begin;
        place->id_end = event->end;
    } else if (span_is(event->key, "method")) {
        place->has_method = true;
    }
    return CODE_OK;
}

enum reason mcp_batch_split(struct span data, struct buf *out, struct mcp_part *parts, size_t max, size_t *count,
                            bool *is_array, struct json_fault *fault)
{
    struct split split = {.places = mem_array(max, sizeof *split.places), .max = max};
    enum code code = split.places != NULL ? json_walk(data, &json_reply_rules, out, on_event, &split, fault) : CODE_NOMEM;
    struct span text = buf_peek(out);

    *count = 0;
    for (; code == CODE_OK && *count < split.count; ++*count) {
        const struct place *place = &split.places[*count];

        parts[*count] = (struct mcp_part){
            .body = span_part(text, place->body, place->body_end - place->body),
            .id = span_part(text, place->id, place->id_end - place->id),
            .is_response = !place->has_method,
        };
    }
    *is_array = code == CODE_OK && split.is_array;
    mem_free(split.places);
    if (code == CODE_OK && *count > 0)
        return REASON_PERMITTED;
    if (fault->kind == JSON_FAULT_NONE)
        fault->text = "an answer to a batch is neither a message nor an array of messages";
    return code == CODE_NOMEM ? REASON_MEMORY : mcp__reply_fault(fault, data);
}
