/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a whole event stream in pieces of any size and writes down what came out, for comparing. */
#ifndef FAKES_SSE_SCRIPT_H
#define FAKES_SSE_SCRIPT_H

#include "sse/parser.h"

struct sse_script {
    enum sse_step end; /* FAULT or NEED_MORE */
    enum reason reason;
    const char *detail;
    struct buf text; /* "event type=... id=... retry=... data=...\n", "comment\n" */
    struct buf quiet; /* the same without comments */
};

static inline bool sse_script_event(struct sse_script *script, const struct sse_event *event)
{
    struct buf *both[] = {&script->text, &script->quiet};

    for (size_t i = 0; i < 2; i++) {
        if (buf_addf(both[i], "event type=%.*s", SPAN_ARG(event->type)) != CODE_OK ||
            (event->has_id && buf_addf(both[i], " id=%.*s", SPAN_ARG(event->id)) != CODE_OK) ||
            (event->has_retry && buf_addf(both[i], " retry=%llu", (unsigned long long)event->retry_ms) != CODE_OK))
            return false;
        if (event->has_data &&
            (buf_add_text(both[i], " data=") != CODE_OK || buf_add_span(both[i], event->data) != CODE_OK))
            return false;
        if (buf_add_byte(both[i], '\n') != CODE_OK)
            return false;
    }
    return true;
}

static inline bool sse_script_piece(struct sse_script *script, struct sse_parser *parser, struct span piece)
{
    for (;;) {
        size_t used;

        script->end = sse_parser_feed(parser, piece, &used);
        piece = span_part(piece, used, SIZE_MAX);
        if (script->end == SSE_STEP_EVENT) {
            if (!sse_script_event(script, &parser->event))
                return false;
        } else if (script->end == SSE_STEP_COMMENT) {
            if (buf_add_text(&script->text, "comment\n") != CODE_OK)
                return false;
        } else {
            return script->end == SSE_STEP_NEED_MORE;
        }
    }
}

/* Takes: cut: where the input is cut in two; 0: byte by byte; at or past its end: whole. */
static inline void sse_script_read(struct sse_script *script, struct span in, size_t max_event_bytes, size_t cut)
{
    struct sse_parser parser;
    bool go_on = true;

    sse_parser_init(&parser, max_event_bytes);
    *script = (struct sse_script){.end = SSE_STEP_NEED_MORE};
    buf_init(&script->text, 64 << 20);
    buf_init(&script->quiet, 64 << 20);
    if (cut == 0) {
        for (size_t i = 0; go_on && i < in.len; i++)
            go_on = sse_script_piece(script, &parser, span_part(in, i, 1));
    } else {
        go_on = sse_script_piece(script, &parser, span_part(in, 0, cut));
        if (go_on && cut < in.len)
            go_on = sse_script_piece(script, &parser, span_part(in, cut, SIZE_MAX));
    }
    if (go_on)
        script->end = sse_parser_eof(&parser);
    script->reason = parser.reason;
    script->detail = parser.detail;
    sse_parser_fini(&parser);
}

static inline void sse_script_fini(struct sse_script *script)
{
    buf_fini(&script->text);
    buf_fini(&script->quiet);
}

static inline bool sse_script_equals(const struct sse_script *a, const struct sse_script *b)
{
    return a->end == b->end && a->reason == b->reason && strcmp(a->detail, b->detail) == 0 &&
           span_equals(buf_peek(&a->text), buf_peek(&b->text));
}

#endif
