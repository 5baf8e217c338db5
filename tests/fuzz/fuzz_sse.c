/* SPDX-License-Identifier: Apache-2.0 */
/* The event stream parser: the same answer for every way of cutting the bytes, and a stream written anew that reads back
 * as the same events; where events over the limit are passed by, nothing else is. The first byte sets the limit of an event. */
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

/* ---- events over the limit that are passed by ---- */

/* What is told of a stream: of an event over the limit all its pieces, without the ends of lines that stand in some. */
struct told {
    struct buf text;
    enum sse_step end;
    enum reason reason;
    bool in_over;
};

static void tell(struct told *told, const char *what, struct span text)
{
    BUG_ON(buf_add_text(&told->text, what) != CODE_OK);
    for (size_t i = 0; i < text.len; i++)
        if (text.at[i] != '\r' && text.at[i] != '\n')
            BUG_ON(buf_add_byte(&told->text, text.at[i]) != CODE_OK);
}

static void tell_step(struct told *told, enum sse_step step, const struct sse_event *event)
{
    if (step == SSE_STEP_PASSED && event->has_data)
        tell(told, told->in_over ? "" : "\nover ", event->data);
    else if (step == SSE_STEP_PASSED)
        tell(told, told->in_over ? "\nend" : "\nover \nend", SPAN_NONE);
    else if (step == SSE_STEP_EVENT)
        tell(told, event->has_data ? "\nevent " : "\nquiet ", event->data);
    else if (step == SSE_STEP_COMMENT)
        tell(told, "\ncomment", SPAN_NONE);
    told->in_over = step == SSE_STEP_PASSED && event->has_data;
}

static void pass_by(struct told *told, struct span in, size_t limit, size_t size)
{
    struct sse_parser parser;

    *told = (struct told){.end = SSE_STEP_NEED_MORE};
    buf_init(&told->text, 1 << 20);
    sse_parser_init(&parser, limit);
    parser.passes_by = true;
    for (size_t at = 0; at < in.len && told->end != SSE_STEP_FAULT;) {
        size_t used;

        told->end = sse_parser_feed(&parser, span_part(in, at, size - at % size), &used);
        at += used;
        if (told->end != SSE_STEP_NEED_MORE)
            tell_step(told, told->end, &parser.event);
    }
    if (told->end != SSE_STEP_FAULT)
        told->end = sse_parser_eof(&parser);
    told->reason = parser.reason;
    sse_parser_fini(&parser);
}

/* Behind the first empty line from `at` on; 0: there is none. */
static size_t behind_empty_line(struct span in, size_t at)
{
    bool is_begin = at == 0 || in.at[at - 1] == '\n';

    while (at < in.len) {
        struct span line = span_part(in, at, span_find(span_part(in, at, SIZE_MAX), '\n'));

        if (at + line.len == in.len)
            return 0;
        at += line.len + 1;
        if (is_begin && (line.len == 0 || span_is(line, "\r")))
            return at;
        is_begin = true;
    }
    return 0;
}

/* The same by the parser that refuses: behind the event that it refused for its size another one begins. */
static void refer(struct told *told, struct span in, size_t limit)
{
    *told = (struct told){.end = SSE_STEP_NEED_MORE};
    buf_init(&told->text, 1 << 20);
    for (size_t at = 0, end = 1; end != 0; at = end) {
        struct sse_parser parser;
        struct span data;

        sse_parser_init(&parser, limit);
        do {
            size_t used;

            told->end = sse_parser_feed(&parser, span_part(in, at, SIZE_MAX), &used);
            at += used;
            if (told->end != SSE_STEP_NEED_MORE && told->end != SSE_STEP_FAULT)
                tell_step(told, told->end, &parser.event);
        } while (told->end == SSE_STEP_EVENT || told->end == SSE_STEP_COMMENT);
        end = 0;
        if (told->end == SSE_STEP_NEED_MORE)
            told->end = sse_parser_eof(&parser);
        told->reason = parser.reason;
        if (parser.reason == REASON_UPSTREAM_TOO_LARGE && parser.event.has_data && !parser.after_cr) {
            data = parser.view.at != NULL ? parser.view : buf_peek(&parser.data);
            end = behind_empty_line(in, at);
            tell(told, "\nover ", data);
            tell(told, "", end != 0 ? span_part(in, at, end - at) : span_part(in, at, SIZE_MAX));
            tell(told, end != 0 ? "\nend" : "", SPAN_NONE);
            told->reason = REASON_UPSTREAM_EVENT; /* of one that does not end */
        }
        sse_parser_fini(&parser);
    }
}

static void passes_as_refused(struct span in, size_t limit)
{
    struct told wanted, told;

    refer(&wanted, in, limit);
    for (size_t size = 1; size < 2 * in.len + 2; size = size * 3 + 1) {
        pass_by(&told, in, limit, size);
        BUG_ON(told.end != wanted.end || told.reason != wanted.reason);
        BUG_ON(!span_equals(buf_peek(&told.text), buf_peek(&wanted.text)));
        buf_fini(&told.text);
    }
    buf_fini(&wanted.text);
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
    passes_as_refused(in, limit);
    return 0;
}
