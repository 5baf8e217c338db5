/* SPDX-License-Identifier: Apache-2.0 */
#include "app/dialogue.h"

#include "http/media.h"
#include "http/reader.h"
#include "http/writer.h"
#include "mcp/endpoint.h"
#include "os/clock.h"
#include "sse/parser.h"
#include "tls/tls.h"

#include <poll.h>

#define WAIT_US (INT64_C(15) * 1000000)
#define REPLY_MAX_BYTES ((size_t)8 << 20)

/* One post under way, or the GET of a stream. */
struct post {
    struct dialogue *dialogue;
    struct stream *stream;
    struct buf in, out, body;
    struct buf rest;   /* of a stream, behind the answer that was taken last */
    struct http_reader reader;
    struct sse_parser parser;
    int64_t until_us;
    bool is_get, awaits_endpoint;
    bool is_sse;
    bool is_whole;  /* the answer is in `body` */
    bool is_over;   /* the HTTP message ended */
};

void dialogue_init(struct dialogue *dialogue, const struct proxy_upstream *upstream, const struct sock_address *address)
{
    *dialogue = (struct dialogue){.upstream = upstream, .address = *address};
    buf_init(&dialogue->session, 1024);
    buf_init(&dialogue->revision, 64);
    buf_init(&dialogue->endpoint, MCP_ENDPOINT_MAX_BYTES);
    buf_init(&dialogue->canonical, REPLY_MAX_BYTES);
    arena_init(&dialogue->arena, REPLY_MAX_BYTES * 8);
}

static void close_post(struct post *post)
{
    stream_close(&post->stream);
    sse_parser_fini(&post->parser);
    http_reader_fini(&post->reader);
    buf_fini(&post->rest);
    buf_fini(&post->body);
    buf_fini(&post->out);
    buf_fini(&post->in);
}

void dialogue_fini(struct dialogue *dialogue)
{
    if (dialogue->stream != NULL)
        close_post(dialogue->stream);
    mem_free(dialogue->stream);
    dialogue->stream = NULL;
    buf_fini(&dialogue->endpoint);
    buf_fini(&dialogue->session);
    buf_fini(&dialogue->revision);
    buf_fini(&dialogue->canonical);
    arena_fini(&dialogue->arena);
}

static enum code write_headers(struct post *post, size_t len)
{
    const struct dialogue *dialogue = post->dialogue;
    struct buf *out = &post->out;
    enum code code = CODE_OK;

    if (!post->is_get)
        code = http_write_header(out, SPAN_LIT("Content-Type"), SPAN_LIT("application/json"));
    if (code == CODE_OK)
        code = http_write_header(out, SPAN_LIT("Accept"), post->is_get ? SPAN_LIT("text/event-stream")
                                                                       : SPAN_LIT("application/json, text/event-stream"));
    if (code == CODE_OK)
        code = http_write_header(out, SPAN_LIT("Connection"), SPAN_LIT("close"));
    if (code == CODE_OK && !buf_is_empty(&dialogue->session))
        code = http_write_header(out, SPAN_LIT("Mcp-Session-Id"), buf_peek(&dialogue->session));
    if (code == CODE_OK && !buf_is_empty(&dialogue->revision))
        code = http_write_header(out, SPAN_LIT("MCP-Protocol-Version"), buf_peek(&dialogue->revision));
    if (code == CODE_OK && dialogue->method != NULL)
        code = http_write_header(out, SPAN_LIT("Mcp-Method"), span_text(dialogue->method));
    for (size_t i = 0; i < dialogue->upstream->header_count && code == CODE_OK; i++)
        code = http_write_header(out, dialogue->upstream->headers[i].name, dialogue->upstream->headers[i].value);
    return code == CODE_OK && !post->is_get ? http_write_header_u64(out, SPAN_LIT("Content-Length"), len) : code;
}

static enum code write_post(struct post *post, struct span message)
{
    const struct proxy_upstream *upstream = post->dialogue->upstream;
    bool is_elsewhere = !post->is_get && !buf_is_empty(&post->dialogue->endpoint);
    struct span target = is_elsewhere ? buf_peek(&post->dialogue->endpoint) : upstream->path;
    size_t query = span_find(target, '?');
    enum code code = http_write_request(&post->out, post->is_get ? HTTP_METHOD_GET : HTTP_METHOD_POST,
                                        span_part(target, 0, query), query < target.len,
                                        span_part(target, query + 1, SIZE_MAX));

    if (code == CODE_OK)
        code = http_write_header(&post->out, SPAN_LIT("Host"), upstream->authority);
    if (code == CODE_OK)
        code = write_headers(post, message.len);
    if (code == CODE_OK)
        code = http_write_head_end(&post->out);
    return code == CODE_OK ? buf_add_span(&post->out, message) : code;
}

/* Waits as the stream asks. Returns: CODE_IO when the time is up. */
static enum code wait_for(const struct post *post, enum io io, struct why *why)
{
    struct pollfd ready = {.fd = post->stream->fd, .events = io == IO_WANT_WRITE ? POLLOUT : POLLIN};
    int64_t left_us = post->until_us - clock_monotonic_us();

    if (io == IO_FAIL || io == IO_EOF)
        return why_set(why, CODE_IO, "the connection to %s failed: %s", post->dialogue->upstream->host,
                       io == IO_EOF ? "the server closed it" : stream_fault(post->stream));
    if (left_us <= 0 || poll(&ready, 1, (int)(left_us / 1000) + 1) == 0)
        return why_set(why, CODE_IO, "%s did not answer in time", post->dialogue->upstream->host);
    return CODE_OK;
}

static enum code open_stream(struct post *post, struct why *why)
{
    const struct proxy_upstream *upstream = post->dialogue->upstream;
    int fd = -1;
    enum io io;
    enum code code = sock_connect(&post->dialogue->address, &fd);

    if (code == CODE_OK)
        code = upstream->tls != NULL ? tls_connect(upstream->tls, fd, upstream->host, &post->stream)
                                     : sock_stream_new(fd, &post->stream);
    if (code != CODE_OK) {
        sock_close(&fd);
        return why_set(why, code, "%s:%u cannot be reached; is the server running?", upstream->host, upstream->port);
    }
    while ((io = stream_handshake(post->stream)) != IO_OK) {
        code = wait_for(post, io, why);
        if (code != CODE_OK)
            return code;
    }
    return CODE_OK;
}

static enum code send_all(struct post *post, struct why *why)
{
    while (!buf_is_empty(&post->out)) {
        size_t done = 0;
        struct span bytes = buf_peek(&post->out);
        enum io io = stream_write(post->stream, bytes.at, bytes.len, &done);
        enum code code;

        buf_drop(&post->out, done);
        code = io == IO_OK ? CODE_OK : wait_for(post, io, why);
        if (code != CODE_OK)
            return code;
    }
    return CODE_OK;
}

static enum code take_head(struct post *post, struct why *why)
{
    const struct http_head *head = &post->reader.head;
    struct span session;

    post->dialogue->status = head->status;
    if (head->status == 401 || head->status == 403)
        return why_set(why, CODE_DENIED, "the server answered HTTP %d; give it a credential with --bearer-file", head->status);
    if (head->status / 100 != 2)
        return why_set(why, CODE_IO, "the server answered HTTP %d; is the URL the one of its MCP endpoint?", head->status);
    post->is_sse = http_media_of(head) == HTTP_MEDIA_SSE;
    if (!http_head_find(head, SPAN_LIT("Mcp-Session-Id"), &session))
        return CODE_OK;
    buf_clear(&post->dialogue->session);
    return buf_add_span(&post->dialogue->session, session);
}

static enum code parse(struct dialogue *dialogue, struct span text, const struct json_node **root, struct json_fault *fault)
{
    buf_clear(&dialogue->canonical);
    arena_reset(&dialogue->arena);
    return json_read(text, &json_file_rules, &dialogue->canonical, &dialogue->arena, root, fault);
}

/* Other messages in the stream (progress, log lines, requests) are passed over; what cannot be read is told as the answer. */
static bool is_answer(const struct post *post, struct span data)
{
    const struct json_node *root;
    struct json_fault fault;

    if (post->is_whole || span_is_empty(data))
        return false;
    return parse(post->dialogue, data, &root, &fault) != CODE_OK || json_member(root, SPAN_LIT("method")) == NULL;
}

static enum code take_events(struct post *post, struct span bytes, struct why *why)
{
    while (bytes.len > 0) {
        size_t used;
        enum sse_step step = sse_parser_feed(&post->parser, bytes, &used);

        bytes = span_part(bytes, used, SIZE_MAX);
        if (step == SSE_STEP_FAULT)
            return why_set(why, CODE_INVALID, "the server's event stream: %s", post->parser.detail);
        if (step == SSE_STEP_EVENT && post->awaits_endpoint && !span_is(post->parser.event.type, "endpoint"))
            return why_set(why, CODE_INVALID, "the server's stream begins without an `endpoint` event");
        if (step == SSE_STEP_EVENT && (post->awaits_endpoint || is_answer(post, post->parser.event.data))) {
            enum code code = buf_add_span(&post->rest, bytes);

            post->is_whole = true;
            return code == CODE_OK ? buf_add_span(&post->body, post->parser.event.data) : code;
        }
    }
    return CODE_OK;
}

static enum code take_step(struct post *post, enum http_step step, struct span body, struct why *why)
{
    switch (step) {
    case HTTP_STEP_FAULT: return why_set(why, CODE_INVALID, "the server's HTTP answer: %s", post->reader.detail);
    case HTTP_STEP_HEAD_DONE: return take_head(post, why);
    case HTTP_STEP_BODY: return post->is_sse ? take_events(post, body, why) : buf_add_span(&post->body, body);
    case HTTP_STEP_MESSAGE_DONE: post->is_over = true; return CODE_OK;
    case HTTP_STEP_NEED_MORE: return CODE_OK;
    }
    return CODE_INVALID;
}

static enum code read_more(struct post *post, struct why *why)
{
    size_t done = 0;
    char *at;
    enum io io;
    enum code code = buf_reserve(&post->in, 16384, &at);

    if (code != CODE_OK)
        return why_set(why, code, "not enough memory");
    io = stream_read(post->stream, at, 16384, &done);
    buf_commit(&post->in, done);
    if (io == IO_OK)
        return CODE_OK;
    if (io == IO_EOF)
        return take_step(post, http_reader_eof(&post->reader), SPAN_NONE, why);
    return wait_for(post, io, why);
}

/* What came in one piece with the answer before. */
static enum code take_rest(struct post *post, struct why *why)
{
    struct buf rest;
    enum code code;

    buf_init(&rest, REPLY_MAX_BYTES);
    buf_move(&rest, &post->rest);
    code = take_events(post, buf_peek(&rest), why);
    buf_fini(&rest);
    return code;
}

static enum code receive(struct post *post, bool wants_answer, struct why *why)
{
    enum code taken = buf_is_empty(&post->rest) ? CODE_OK : take_rest(post, why);

    if (taken != CODE_OK)
        return taken;
    while (!post->is_over && !post->is_whole) {
        size_t used;
        struct span body = SPAN_NONE;
        enum http_step step = http_reader_feed(&post->reader, buf_peek(&post->in), &used, &body);
        enum code code = take_step(post, step, body, why);

        buf_drop(&post->in, used);
        if (code == CODE_OK && step == HTTP_STEP_HEAD_DONE && !wants_answer)
            return CODE_OK;
        if (code == CODE_OK && step == HTTP_STEP_NEED_MORE)
            code = read_more(post, why);
        if (code != CODE_OK)
            return code;
    }
    return CODE_OK;
}

static enum code read_answer(struct post *post, const struct json_node **answer, struct why *why)
{
    struct json_fault fault;
    enum code code = parse(post->dialogue, buf_peek(&post->body), answer, &fault);

    if (code != CODE_OK)
        return why_set(why, code, "the server's answer is no acceptable JSON: %s at byte %zu", fault.text, fault.offset);
    if ((*answer)->type != JSON_OBJECT || json_member(*answer, SPAN_LIT("result")) == NULL)
        return why_set(why, CODE_INVALID, "the server answered without a result: %.*s",
                       (*answer)->raw.len < 200 ? (int)(*answer)->raw.len : 200, (*answer)->raw.at);
    return CODE_OK;
}

/* Connects and sends. */
static enum code begin(struct post *post, struct span message, struct why *why)
{
    enum code code;

    post->until_us = clock_monotonic_us() + WAIT_US;
    post->dialogue->status = 0;
    buf_init(&post->in, 65536);
    buf_init(&post->out, REPLY_MAX_BYTES);
    buf_wipes(&post->out);
    buf_init(&post->body, REPLY_MAX_BYTES);
    buf_init(&post->rest, REPLY_MAX_BYTES);
    http_reader_init_reply(&post->reader);
    http_reader_next(&post->reader, post->is_get ? HTTP_METHOD_GET : HTTP_METHOD_POST);
    sse_parser_init(&post->parser, REPLY_MAX_BYTES);
    code = write_post(post, message);
    if (code != CODE_OK)
        why_set(why, code, "the request cannot be written: %s", code_text(code));
    if (code == CODE_OK)
        code = open_stream(post, why);
    return code == CODE_OK ? send_all(post, why) : code;
}

/* The answer comes on the stream that was opened before. */
static enum code await_on_stream(struct post *stream, const struct json_node **answer, struct why *why)
{
    enum code code;

    stream->is_whole = false;
    stream->until_us = clock_monotonic_us() + WAIT_US;
    buf_clear(&stream->body);
    code = receive(stream, true, why);
    if (code == CODE_OK && !stream->is_whole)
        code = why_set(why, CODE_IO, "the server's stream ended before its answer");
    return code == CODE_OK ? read_answer(stream, answer, why) : code;
}

static enum code run(struct post *post, struct span message, const struct json_node **answer, struct why *why)
{
    struct post *stream = post->dialogue->stream;
    enum code code = begin(post, message, why);

    if (code == CODE_OK)
        code = receive(post, answer != NULL && stream == NULL, why);
    if (code == CODE_OK && answer != NULL)
        code = stream != NULL ? await_on_stream(stream, answer, why) : read_answer(post, answer, why);
    close_post(post);
    return code;
}

enum code dialogue_open(struct dialogue *dialogue, struct why *why)
{
    const struct proxy_upstream *upstream = dialogue->upstream;
    struct mcp_endpoint_base base = {upstream->tls != NULL, upstream->authority, upstream->path};
    struct post *post = mem_zalloc(sizeof *post);
    enum code code;

    if (post == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory");
    *post = (struct post){.dialogue = dialogue, .is_get = true, .awaits_endpoint = true};
    dialogue->stream = post;
    code = begin(post, SPAN_NONE, why);
    if (code == CODE_OK)
        code = receive(post, true, why);
    if (code == CODE_OK && (!post->is_sse || !post->is_whole))
        code = why_set(why, CODE_INVALID, "the server's stream begins without an `endpoint` event");
    if (code == CODE_OK && mcp_endpoint_resolve(buf_peek(&post->body), &base, &dialogue->endpoint) != CODE_OK)
        code = why_set(why, CODE_INVALID, "the server's `endpoint` event names another server, or no URI");
    post->awaits_endpoint = false;
    return code;
}

enum code dialogue_post(struct dialogue *dialogue, struct span message, const struct json_node **answer, struct why *why)
{
    struct post post = {.dialogue = dialogue};

    return run(&post, message, answer, why);
}
