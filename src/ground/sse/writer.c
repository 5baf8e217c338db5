/* SPDX-License-Identifier: Apache-2.0 */
#include "sse/writer.h"

#include "base/ascii.h"

static void add_id(struct buf *out, struct span id)
{
    if (!ascii_is_all(id, ASCII_VISIBLE))
        buf_fail(out, CODE_INVALID);
    buf_add_text(out, "id: ");
    buf_add_span(out, id);
    buf_add_byte(out, '\n');
}

/* The lines `id:` and `retry:`. */
static void add_notes(struct buf *out, const struct sse_event *event)
{
    if (event->has_id)
        add_id(out, event->id);
    if (event->has_retry)
        buf_addf(out, "retry: %llu\n", (unsigned long long)event->retry_ms);
}

enum code sse_write_message_begin(struct buf *out, const struct sse_event *event)
{
    if (event == NULL || (!event->has_id && !event->has_retry))
        return buf_add_span(out, SPAN_LIT("event: message\ndata: "));
    buf_add_text(out, "event: message\n");
    add_notes(out, event);
    return buf_add_text(out, "data: ");
}

enum code sse_write_message_end(struct buf *out)
{
    return buf_add(out, "\n\n", 2);
}

enum code sse_write_message(struct buf *out, const struct sse_event *event, struct span json)
{
    if (span_find(json, '\n') < json.len || span_find(json, '\r') < json.len)
        return buf_fail(out, CODE_INVALID);
    sse_write_message_begin(out, event);
    buf_add_span(out, json);
    return sse_write_message_end(out);
}

enum code sse_write_typed(struct buf *out, struct span type, struct span data)
{
    return buf_addf(out, "event: %.*s\ndata: %.*s\n\n", SPAN_ARG(type), SPAN_ARG(data));
}

enum code sse_write_priming(struct buf *out, const struct sse_event *event)
{
    size_t before = buf_len(out);

    add_notes(out, event);
    if (event->has_data)
        buf_add_text(out, "data:\n");
    return buf_len(out) > before ? buf_add_byte(out, '\n') : buf_code(out);
}

enum code sse_write_comment(struct buf *out)
{
    return buf_add(out, ":\n\n", 3);
}
