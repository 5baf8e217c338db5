/* SPDX-License-Identifier: Apache-2.0 */
#include "pipe/child_priv.h"

#include "base/mem.h"
#include "http/writer.h"
#include "json/doc.h"
#include "sse/writer.h"

#define ERROR_UNAVAILABLE 5030 /* the code that base/reason_tbl.h has for what is not available */

/* ---- replies ---- */

/* Cuts the connection off where a message could not be written whole. */
static void check(struct talk *talk, enum code code)
{
    if (code == CODE_OK)
        return;
    talk->is_over = true;
    talk->tube.is_broken = true;
}

static enum code write_head(struct talk *talk, int status, const char *media, size_t len)
{
    struct buf *out = &talk->tube.out;

    http_write_status(out, status);
    if (media != NULL)
        http_write_line(out, SPAN_LIT("Content-Type: "), span_text(media));
    if (talk->names_session)
        http_write_line(out, SPAN_LIT("Mcp-Session-Id: "), span_text(talk->session));
    if (status == 405)
        http_write_line(out, SPAN_LIT("Allow: "), SPAN_LIT("GET, POST, DELETE"));
    if (talk->is_last)
        http_write_line(out, SPAN_LIT("Connection: "), SPAN_LIT("close"));
    if (len == SIZE_MAX)
        http_write_line(out, SPAN_LIT("Transfer-Encoding: "), SPAN_LIT("chunked"));
    else
        http_write_line_u64(out, SPAN_LIT("Content-Length: "), len);
    return http_write_head_end(out);
}

/* A connection that does not read what it asked a shared child for is cut off, so that it keeps nobody else waiting. */
static bool is_left_behind(const struct talk *talk)
{
    return talk->child != NULL && talk->child->conf.refuses_questions &&
           buf_len(&talk->tube.out) > 2 * talk->child->conf.line_bytes;
}

/* Goes on behind a reply: to the connection's next request, or its end. */
static void finish(struct talk *talk)
{
    if (is_left_behind(talk))
        check(talk, CODE_LIMIT);
    talk->state = TALK_HEAD;
    talk->child = NULL;
    talk->waiting = 0;
    talk->session[0] = '\0';
    talk->is_stream = talk->is_batch = talk->names_session = false;
    buf_fini(&talk->body);
    talk->is_over = talk->is_over || talk->is_last;
    if (!talk->is_over)
        http_reader_next(&talk->reader, HTTP_METHOD_NONE);
    desk__stir(talk->desk);
}

static void reply(struct talk *talk, int status, struct span json)
{
    write_head(talk, status, json.len > 0 ? "application/json" : NULL, json.len);
    check(talk, buf_add_span(&talk->tube.out, json));
    finish(talk);
}

static void open_stream(struct talk *talk)
{
    if (!talk->is_stream)
        check(talk, write_head(talk, 200, "text/event-stream", SIZE_MAX));
    talk->is_stream = true;
}

void talk__listen(struct talk *talk)
{
    talk->state = TALK_LISTENS;
    open_stream(talk);
    /* so that a client that waits for bytes sees the stream open */
    check(talk, http_write_chunk(&talk->tube.out, SPAN_LIT(":\n\n")));
}

void talk__event(struct talk *talk, struct span json)
{
    struct buf event;
    enum code code;

    buf_init(&event, SIZE_MAX / 2);
    open_stream(talk);
    code = sse_write_message(&event, NULL, json);
    if (code == CODE_OK)
        code = http_write_chunk(&talk->tube.out, buf_peek(&event));
    buf_fini(&event);
    check(talk, is_left_behind(talk) ? CODE_LIMIT : code);
    desk__stir(talk->desk);
}

static void end_stream(struct talk *talk)
{
    check(talk, http_write_last_chunk(&talk->tube.out));
    finish(talk);
}

void talk__accept(struct talk *talk)
{
    if (talk->is_stream)
        end_stream(talk);
    else
        reply(talk, 202, SPAN_NONE);
}

void talk__answer(struct talk *talk, int status, struct span json)
{
    talk->waiting--;
    if (!talk->is_stream && !talk->is_batch) {
        reply(talk, status, json);
        return;
    }
    talk__event(talk, json);
    if (talk->waiting == 0)
        end_stream(talk);
}

/* Answers with an error. A GET's stream, which has nobody to answer, only ends. */
void talk__fail(struct talk *talk, int status, const char *text)
{
    struct buf json;
    struct doc *doc = doc_object(), *error = doc_add_object(doc, "error");

    buf_init(&json, 4096);
    doc_text(doc, "jsonrpc", SPAN_LIT("2.0"));
    doc_null(doc, "id");
    doc_int(error, "code", ERROR_UNAVAILABLE);
    doc_text(error, "message", span_text(text));
    if (doc_print(doc, &json) != CODE_OK)
        buf_clear(&json);
    doc_free(&doc);
    if (talk->is_stream)
        end_stream(talk);
    else
        reply(talk, status, buf_peek(&json));
    buf_fini(&json);
}

/* ---- requests ---- */

static bool is_json(const struct http_head *head)
{
    struct span type = http_head_known(head, HTTP_NAME_CONTENT_TYPE), rest;

    type = span_trim(span_cut(type, ';', &rest));
    return span_equals_nocase(type, SPAN_LIT("application/json"));
}

static void begin(struct talk *talk)
{
    const struct http_head *head = &talk->reader.head;

    talk->is_last = !head->keep_alive;
    talk->state = TALK_BODY;
    if (head->expect_continue)
        check(talk, buf_add_span(&talk->tube.out, SPAN_LIT("HTTP/1.1 100 Continue\r\n\r\n")));
}

static void take(struct talk *talk)
{
    const struct http_head *head = &talk->reader.head;

    if (head->method == HTTP_METHOD_POST && !is_json(head))
        talk__fail(talk, 415, "a message is application/json");
    else if (head->method == HTTP_METHOD_POST)
        carry__post(talk);
    else if (head->method == HTTP_METHOD_GET || head->method == HTTP_METHOD_DELETE)
        carry__get(talk);
    else
        talk__fail(talk, 405, "this method is not served");
}

/* Reads requests as long as they can be answered at once; one that waits stops the reading. */
static void read_requests(struct talk *talk)
{
    while (!talk->is_over && (talk->state == TALK_HEAD || talk->state == TALK_BODY)) {
        struct span body;
        size_t used = 0;
        enum http_step step = http_reader_feed(&talk->reader, buf_peek(&talk->tube.in), &used, &body);

        if (step == HTTP_STEP_BODY && buf_add_span(&talk->body, body) != CODE_OK)
            step = HTTP_STEP_FAULT;
        buf_drop(&talk->tube.in, used);
        if (step == HTTP_STEP_NEED_MORE)
            return;
        if (step == HTTP_STEP_HEAD_DONE)
            begin(talk);
        if (step == HTTP_STEP_MESSAGE_DONE)
            take(talk);
        if (step == HTTP_STEP_FAULT) {
            talk->is_last = true;
            talk__fail(talk, 400, talk->reader.detail);
        }
    }
}

void talk__step(struct talk *talk)
{
    read_requests(talk);
    if (!talk->tube.is_eof && !talk->tube.is_broken)
        return;
    /* The asker has closed the connection, so nobody reads a reply. */
    if (talk->state == TALK_ASKS || talk->state == TALK_LISTENS)
        carry__gone(talk);
    talk->state = TALK_HEAD;
    talk->is_over = true;
    talk->tube.is_broken = true;
}

void talk__settle(struct talk *talk)
{
    tube_settle(&talk->tube);
    if (talk->is_over && buf_is_empty(&talk->tube.out))
        talk__free(talk);
}

void talk__free(struct talk *talk)
{
    if (talk->state == TALK_ASKS || talk->state == TALK_LISTENS)
        carry__gone(talk);
    list_remove(&talk->of_desk);
    tube_close(&talk->tube);
    http_reader_fini(&talk->reader);
    buf_fini(&talk->body);
    mem_free(talk);
}
