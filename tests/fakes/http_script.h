/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one HTTP message through the reader in pieces of any size and writes down what came out, for comparing. */
#ifndef FAKES_HTTP_SCRIPT_H
#define FAKES_HTTP_SCRIPT_H

#include "http/reader.h"

#include <stdio.h>
#include <string.h>

/* What one message amounted to: equal for every way of cutting the same bytes. */
struct http_script {
    enum http_step end;    /* FAULT, NEED_MORE (more bytes would be needed), MESSAGE_DONE */
    enum reason reason;
    const char *detail;
    size_t consumed;       /* up to the message's end; not counted in faults */
    bool head_done;
    struct buf head;       /* the parsed head, line by line, in a form of our own */
    struct buf body;
};

static inline bool http_script_head(struct http_script *script, const struct http_head *head)
{
    bool good = buf_addf(&script->head, "%s %d 1.%d path=%.*s query=%d:%.*s framing=%d length=%llu keep=%d expect=%d\n",
                         http_method_text(head->method), head->status, head->minor, SPAN_ARG(http_head_path(head)),
                         head->has_query, SPAN_ARG(http_head_query(head)), (int)head->framing,
                         (unsigned long long)head->content_length, head->keep_alive, head->expect_continue) == CODE_OK;

    for (size_t i = 0; i < head->count; i++)
        good = good && buf_addf(&script->head, "%.*s=%.*s\n", SPAN_ARG(http_head_name(head, i)),
                                SPAN_ARG(http_head_value(head, i))) == CODE_OK;
    return good;
}

/* Feeds one piece until nothing of it is left or the message ended. Returns: whether to go on. */
static inline bool http_script_piece(struct http_script *script, struct http_reader *reader, struct span piece)
{
    for (;;) {
        struct span body;
        size_t used;

        script->end = http_reader_feed(reader, piece, &used, &body);
        script->consumed += used;
        piece = span_part(piece, used, SIZE_MAX);
        if (script->end == HTTP_STEP_HEAD_DONE) {
            script->head_done = true;
            if (!http_script_head(script, &reader->head))
                return false;
        } else if (script->end == HTTP_STEP_BODY) {
            if (buf_add_span(&script->body, body) != CODE_OK)
                return false;
        } else {
            return script->end == HTTP_STEP_NEED_MORE;
        }
    }
}

/* Takes: cut: where the input is cut in two; 0: byte by byte; at or past its end: whole. eof: the peer closes after it. */
static inline void http_script_read(struct http_script *script, struct http_reader *reader, struct span in, size_t cut,
                                    bool eof)
{
    bool go_on = true;

    memset(script, 0, sizeof *script);
    buf_init(&script->head, 1 << 20);
    buf_init(&script->body, 64 << 20);
    if (cut == 0) {
        for (size_t i = 0; go_on && i < in.len; i++)
            go_on = http_script_piece(script, reader, span_part(in, i, 1));
    } else {
        go_on = http_script_piece(script, reader, span_part(in, 0, cut));
        if (go_on && cut < in.len)
            go_on = http_script_piece(script, reader, span_part(in, cut, SIZE_MAX));
    }
    if (go_on)
        (void)http_script_piece(script, reader, SPAN_NONE);
    if (script->end == HTTP_STEP_NEED_MORE && eof)
        script->end = http_reader_eof(reader);
    script->reason = reader->reason;
    script->detail = reader->detail;
}

static inline void http_script_fini(struct http_script *script)
{
    buf_fini(&script->head);
    buf_fini(&script->body);
}

static inline bool http_script_equals(const struct http_script *a, const struct http_script *b)
{
    return a->end == b->end && a->reason == b->reason && strcmp(a->detail, b->detail) == 0 &&
           (a->end == HTTP_STEP_FAULT || a->consumed == b->consumed) && a->head_done == b->head_done &&
           span_equals(buf_peek(&a->head), buf_peek(&b->head)) && span_equals(buf_peek(&a->body), buf_peek(&b->body));
}

#endif
