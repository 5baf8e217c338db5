/* SPDX-License-Identifier: Apache-2.0 */
#include "sse/writer.h"

static enum code add_id(struct buf *out, struct span id)
{
    enum code code;

    for (size_t i = 0; i < id.len; i++)
        if (id.at[i] <= 0x20 || id.at[i] >= 0x7f)
            return CODE_INVALID;
    code = buf_add_text(out, "id: ");
    if (code == CODE_OK)
        code = buf_add_span(out, id);
    return code == CODE_OK ? buf_add_byte(out, '\n') : code;
}

/* The lines `id:` and `retry:`. */
static enum code add_notes(struct buf *out, const struct sse_event *event)
{
    enum code code = CODE_OK;

    if (event != NULL && event->has_id)
        code = add_id(out, event->id);
    if (code == CODE_OK && event != NULL && event->has_retry)
        code = buf_addf(out, "retry: %llu\n", (unsigned long long)event->retry_ms);
    return code;
}

static enum code or_nothing(struct buf *out, struct buf_mark before, enum code code)
{
    if (code != CODE_OK)
        buf_rewind(out, before);
    return code;
}

enum code sse_write_message_begin(struct buf *out, const struct sse_event *event)
{
    struct buf_mark before = buf_mark(out);
    enum code code;

    if (event == NULL || (!event->has_id && !event->has_retry))
        return buf_add_span(out, SPAN_LIT("event: message\ndata: "));
    code = buf_add_text(out, "event: message\n");
    if (code == CODE_OK)
        code = add_notes(out, event);
    if (code == CODE_OK)
        code = buf_add_text(out, "data: ");
    return or_nothing(out, before, code);
}

enum code sse_write_message_end(struct buf *out)
{
    return buf_add(out, "\n\n", 2);
}

enum code sse_write_message(struct buf *out, const struct sse_event *event, struct span json)
{
    struct buf_mark before = buf_mark(out);
    enum code code;

    if (span_find(json, '\n') < json.len || span_find(json, '\r') < json.len)
        return CODE_INVALID;
    code = sse_write_message_begin(out, event);
    if (code == CODE_OK)
        code = buf_add_span(out, json);
    if (code == CODE_OK)
        code = sse_write_message_end(out);
    return or_nothing(out, before, code);
}

enum code sse_write_typed(struct buf *out, struct span type, struct span json)
{
    return buf_addf(out, "event: %.*s\ndata: %.*s\n\n", SPAN_ARG(type), SPAN_ARG(json));
}

enum code sse_write_priming(struct buf *out, const struct sse_event *event)
{
    struct buf_mark before = buf_mark(out);
    enum code code = add_notes(out, event);

    if (code == CODE_OK && event->has_data)
        code = buf_add_text(out, "data:\n");
    if (code == CODE_OK && buf_len(out) > before.len)
        code = buf_add_byte(out, '\n');
    return or_nothing(out, before, code);
}

enum code sse_write_comment(struct buf *out)
{
    return buf_add(out, ":\n\n", 3);
}

enum code sse_write_event(struct buf *out, struct span type, struct span data)
{
    struct buf_mark before = buf_mark(out);

    return or_nothing(out, before, buf_addf(out, "event: %.*s\ndata: %.*s\n\n", SPAN_ARG(type), SPAN_ARG(data)));
}
