/* SPDX-License-Identifier: Apache-2.0 */
/* The event stream parser: the same answer for every way of cutting the bytes,
    and a stream written anew that reads back
 * as the same events. The first byte sets the limit of an event. */
#include "fakes/sse_script.h"

#include "base/bug.h"
#include "sse/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void same_when_cut(const struct sse_script *whole, struct span in, size_t limit, size_t cut)
{
    struct sse_script script;

    sse_script_read(&script, in, limit, cut);
    BUG_ON(!sse_script_equals(whole, &script));
    sse_script_fini(&script);
}

/* Data of one line is JSON's place; the type is ours. */
static void rewrite_event(const struct sse_event *event, struct buf *out, struct sse_script *expected)
{
    struct sse_event ours = *event;

    ours.type = SPAN_LIT("message");
    if (event->has_data && event->data.len > 0) {
        struct buf_mark mark = buf_mark(out);
        enum code code = sse_write_message(out, event, event->data);

        BUG_ON(code != (span_find(event->data, '\n') < event->data.len ? CODE_INVALID : CODE_OK));
        if (code != CODE_OK) {
            buf_rewind(out, mark);
            return;
        }
    } else {
        BUG_ON(sse_write_priming(out, event) != CODE_OK);
        if (!event->has_data && !event->has_id && !event->has_retry)
            return;
    }
    BUG_ON(!sse_script_event(expected, &ours));
}

static void write_anew(struct span in, size_t limit)
{
    struct sse_parser parser;
    struct sse_script expected = {.end = SSE_STEP_NEED_MORE}, again;
    enum sse_step step;
    struct buf out;

    buf_init(&out, 1 << 20);
    buf_init(&expected.text, 1 << 20);
    buf_init(&expected.quiet, 1 << 20);
    sse_parser_init(&parser, limit);
    do {
        size_t used;

        step = sse_parser_feed(&parser, in, &used);
        in = span_part(in, used, SIZE_MAX);
        if (step == SSE_STEP_EVENT)
            rewrite_event(&parser.event, &out, &expected);
        else if (step == SSE_STEP_COMMENT)
            BUG_ON(sse_write_comment(&out) != CODE_OK);
    } while (step == SSE_STEP_EVENT || step == SSE_STEP_COMMENT);
    sse_parser_fini(&parser);
    sse_script_read(&again, buf_peek(&out), 1 << 20, SIZE_MAX);
    BUG_ON(again.end != SSE_STEP_NEED_MORE);
    BUG_ON(!span_equals(buf_peek(&again.quiet), buf_peek(&expected.quiet)));
    sse_script_fini(&again);
    sse_script_fini(&expected);
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    size_t limit = len > 0 ? (bytes[0] + 1u) * 16u : 16;
    struct span in = span_part(span_of(bytes, len), 1, SIZE_MAX);
    struct sse_script whole;

    if (len > 1 << 16)
        return 0;
    sse_script_read(&whole, in, limit, SIZE_MAX);
    same_when_cut(&whole, in, limit, 0);
    if (in.len > 1) {
        same_when_cut(&whole, in, limit, in.len / 2);
        same_when_cut(&whole, in, limit, in.len - 1);
    }
    sse_script_fini(&whole);
    write_anew(in, limit);
    return 0;
}
