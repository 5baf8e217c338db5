/* SPDX-License-Identifier: Apache-2.0 */
#include "setup/dialogue.h"

#include "base/lock.h"
#include "mcp/endpoint.h"
#include "os/clock.h"
#include "sse/parser.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#define WAIT_MS 15000
#define STREAM_WAIT_US (INT64_C(3600) * 1000000)
#define REPLY_MAX_BYTES ((size_t)8 << 20)
#define MORE_HEADERS 5

/* Events, out of which one is taken at a time: of a post's answer by the thread of web/, of a stream by ours. */
struct answers {
    struct dialogue *dialogue;
    struct sse_parser parser;
    struct buf body;         /* the answer, as far as it has come */
    bool awaits_endpoint;
    bool is_sse, is_whole;
    bool is_wanted;          /* else nothing that comes is read */
    struct why fault;        /* of what came */

    pthread_mutex_t lock;    /* of a stream, over what follows */
    pthread_cond_t came;
    struct buf rest;         /* bytes that nobody has looked at */
    bool is_over;
    struct why end;
};

void dialogue_init(struct dialogue *dialogue, const struct proxy_upstream *upstream, struct web *web)
{
    *dialogue = (struct dialogue){.upstream = upstream, .web = web};
    buf_init(&dialogue->session, 1024);
    buf_init(&dialogue->revision, 64);
    buf_init(&dialogue->endpoint, MCP_ENDPOINT_MAX_BYTES);
    buf_init(&dialogue->canonical, REPLY_MAX_BYTES);
    arena_init(&dialogue->arena, REPLY_MAX_BYTES * 8);
}

static void answers_init(struct answers *answers, struct dialogue *dialogue)
{
    *answers = (struct answers){.dialogue = dialogue, .is_wanted = true};
    buf_init(&answers->body, REPLY_MAX_BYTES);
    buf_init(&answers->rest, REPLY_MAX_BYTES);
    sse_parser_init(&answers->parser, REPLY_MAX_BYTES);
    lock_init(&answers->lock);
    lock_sign_init(&answers->came);
}

static void answers_fini(struct answers *answers)
{
    sse_parser_fini(&answers->parser);
    buf_fini(&answers->body);
    buf_fini(&answers->rest);
    (void)pthread_cond_destroy(&answers->came);
    (void)pthread_mutex_destroy(&answers->lock);
}

void dialogue_fini(struct dialogue *dialogue)
{
    struct answers *stream = dialogue->stream;

    if (stream != NULL) {
        web_cancel(dialogue->web, stream);
        lock_take(&stream->lock);
        while (!stream->is_over)
            (void)pthread_cond_wait(&stream->came, &stream->lock);
        lock_give(&stream->lock);
        answers_fini(stream);
    }
    mem_free(stream);
    dialogue->stream = NULL;
    buf_fini(&dialogue->endpoint);
    buf_fini(&dialogue->session);
    buf_fini(&dialogue->revision);
    buf_fini(&dialogue->canonical);
    arena_fini(&dialogue->arena);
}

/* ---- what is asked ---- */

static void add(struct web_request *request, struct web_header *headers, const char *name, struct span value)
{
    if (value.len > 0)
        headers[request->header_count++] = (struct web_header){span_text(name), value};
}

/* Takes: request: all but its URL and headers. Returns: begun with `done`, or fetched where there is none. */
static enum code ask(struct dialogue *dialogue, struct web_request *request, struct web_answer *answer, struct why *why)
{
    const struct proxy_upstream *upstream = dialogue->upstream;
    bool is_get = request->body.at == NULL;
    struct web_header *headers = arena_zalloc(&dialogue->arena, (upstream->header_count + MORE_HEADERS) * sizeof *headers);
    struct buf url;
    enum code code;

    buf_init(&url, 16384);
    buf_add_text(&url, upstream->tls != NULL ? "https://" : "http://");
    buf_add_span(&url, upstream->authority);
    code = buf_add_span(&url, !is_get && !buf_is_empty(&dialogue->endpoint) ? buf_peek(&dialogue->endpoint) : upstream->path);
    if (code != CODE_OK || headers == NULL) {
        buf_fini(&url);
        return why_set(why, CODE_NOMEM, "not enough memory to ask");
    }
    request->url = buf_peek(&url);
    request->tls = upstream->tls;
    request->insecure = true; /* it was asked for, or the configuration would have been refused */
    request->headers = headers;
    add(request, headers, "Content-Type", is_get ? SPAN_NONE : SPAN_LIT("application/json"));
    add(request, headers, "Accept", is_get ? SPAN_LIT("text/event-stream") : SPAN_LIT("application/json, text/event-stream"));
    add(request, headers, "Mcp-Session-Id", buf_peek(&dialogue->session));
    add(request, headers, "MCP-Protocol-Version", buf_peek(&dialogue->revision));
    add(request, headers, "Mcp-Method", span_text(dialogue->method));
    for (size_t i = 0; i < upstream->header_count; i++)
        headers[request->header_count++] = (struct web_header){upstream->headers[i].name, upstream->headers[i].value};
    code = request->done != NULL ? web_begin(dialogue->web, request, why) : web_fetch(dialogue->web, request, answer, why);
    buf_fini(&url);
    return code;
}

/* ---- what comes ---- */

static enum code check_status(int status, struct why *why)
{
    if (status == 401 || status == 403)
        return why_set(why, CODE_DENIED, "the server answered HTTP %d; give it a credential with --bearer-file", status);
    if (status / 100 != 2)
        return why_set(why, CODE_IO, "the server answered HTTP %d; is the URL the one of its MCP endpoint?", status);
    return CODE_OK;
}

static enum code parse(struct dialogue *dialogue, struct span text, const struct json_node **root, struct json_fault *fault)
{
    buf_clear(&dialogue->canonical);
    arena_reset(&dialogue->arena);
    return json_read(text, &json_file_rules, &dialogue->canonical, &dialogue->arena, root, fault);
}

/* Other messages in the stream (progress, log lines, requests) are passed over; what cannot be read is told as the answer. */
static bool is_answer(const struct answers *answers, struct span data)
{
    const struct json_node *root;
    struct json_fault fault;

    if (span_is_empty(data))
        return false;
    return parse(answers->dialogue, data, &root, &fault) != CODE_OK || json_member(root, SPAN_LIT("method")) == NULL;
}

/* Up to the answer; what is behind it goes into `rest`, where that is given. */
static enum code take_events(struct answers *answers, struct span bytes, struct buf *rest)
{
    while (bytes.len > 0) {
        size_t used;
        enum sse_step step = sse_parser_feed(&answers->parser, bytes, &used);

        bytes = span_part(bytes, used, SIZE_MAX);
        if (step == SSE_STEP_FAULT)
            return why_set(&answers->fault, CODE_INVALID, "the server's event stream: %s", answers->parser.detail);
        if (step == SSE_STEP_EVENT && answers->awaits_endpoint && !span_is(answers->parser.event.type, "endpoint"))
            return why_set(&answers->fault, CODE_INVALID, "the server's stream begins without an `endpoint` event");
        if (step == SSE_STEP_EVENT && (answers->awaits_endpoint || is_answer(answers, answers->parser.event.data))) {
            answers->is_whole = true;
            if (rest != NULL && buf_add_span(rest, bytes) != CODE_OK)
                return why_set(&answers->fault, CODE_NOMEM, "not enough memory for the server's event stream");
            return buf_add_span(&answers->body, answers->parser.event.data) == CODE_OK
                       ? CODE_OK : why_set(&answers->fault, CODE_LIMIT, "the server's answer is too large");
        }
    }
    return CODE_OK;
}

static bool take_part(void *context, const struct web_answer *answer, struct span part)
{
    struct answers *answers = context;

    if (!answers->is_wanted || answer->status / 100 != 2)
        return false;
    answers->is_sse = web_answer_is(answer, "text/event-stream");
    if (!answers->is_sse)
        return buf_add_span(&answers->body, part) == CODE_OK;
    return take_events(answers, part, NULL) == CODE_OK && !answers->is_whole;
}

static enum code read_answer(struct answers *answers, const struct json_node **answer, struct why *why)
{
    struct json_fault fault;
    enum code code = buf_code(&answers->body);

    if (answers->fault.text[0] != '\0')
        return why_set(why, CODE_INVALID, "%s", answers->fault.text);
    if (code != CODE_OK)
        return why_set(why, code, "the server's answer is too large");
    code = parse(answers->dialogue, buf_peek(&answers->body), answer, &fault);
    if (code != CODE_OK)
        return why_set(why, code, "the server's answer is no acceptable JSON: %s at byte %zu", fault.text, fault.offset);
    if ((*answer)->type != JSON_OBJECT || json_member(*answer, SPAN_LIT("result")) == NULL)
        return why_set(why, CODE_INVALID, "the server answered without a result: %.*s",
                       (*answer)->raw.len < 200 ? (int)(*answer)->raw.len : 200, (*answer)->raw.at);
    return CODE_OK;
}

/* ---- a stream of HTTP+SSE ---- */

static bool take_streamed(void *context, const struct web_answer *answer, struct span part)
{
    struct answers *stream = context;
    bool goes_on;

    lock_take(&stream->lock);
    stream->is_sse = answer->status / 100 == 2 && web_answer_is(answer, "text/event-stream");
    goes_on = stream->is_sse && buf_add_span(&stream->rest, part) == CODE_OK;
    (void)pthread_cond_signal(&stream->came);
    lock_give(&stream->lock);
    return goes_on;
}

static void end_stream(void *context, struct web_answer *answer)
{
    struct answers *stream = context;

    lock_take(&stream->lock);
    stream->is_over = true;
    stream->end = answer->why;
    (void)pthread_cond_signal(&stream->came);
    lock_give(&stream->lock);
}

/* Until an answer is in the body. */
static enum code await(struct answers *stream, struct why *why)
{
    const struct timespec until = clock_after_ms(WAIT_MS);
    enum code code = CODE_OK;
    struct buf came;

    buf_init(&came, REPLY_MAX_BYTES);
    stream->is_whole = false;
    buf_clear(&stream->body);
    lock_take(&stream->lock); /* to the end: what is behind an answer goes back before what comes next */
    while (code == CODE_OK && !stream->is_whole) {
        if (buf_code(&stream->rest) != CODE_OK)
            code = why_set(why, CODE_LIMIT, "the server's stream is too large");
        else if (buf_is_empty(&stream->rest) && stream->is_over)
            code = why_set(why, CODE_IO, "%s", stream->end.text[0] != '\0' ? stream->end.text
                                                                           : "the server's stream ended before its answer");
        else if (!buf_is_empty(&stream->rest)) {
            buf_clear(&came);
            buf_move(&came, &stream->rest);
            if (take_events(stream, buf_peek(&came), &stream->rest) != CODE_OK)
                code = why_set(why, CODE_INVALID, "%s", stream->fault.text);
        } else if (pthread_cond_timedwait(&stream->came, &stream->lock, &until) == ETIMEDOUT)
            code = why_set(why, CODE_IO, "%s did not answer in time", stream->dialogue->upstream->host);
    }
    lock_give(&stream->lock);
    buf_fini(&came);
    return code;
}

enum code dialogue_open(struct dialogue *dialogue, struct why *why)
{
    const struct proxy_upstream *upstream = dialogue->upstream;
    struct mcp_endpoint_base base = {upstream->tls != NULL, upstream->authority, upstream->path};
    struct answers *stream = mem_zalloc(sizeof *stream);
    struct web_request request = {.wait_us = STREAM_WAIT_US, .part = take_streamed, .part_context = stream, .done = end_stream,
                                  .context = stream};
    enum code code;

    if (stream == NULL)
        return why_set(why, CODE_NOMEM, "not enough memory");
    answers_init(stream, dialogue);
    stream->awaits_endpoint = true;
    dialogue->stream = stream;
    code = ask(dialogue, &request, NULL, why);
    stream->is_over = code != CODE_OK;
    if (code == CODE_OK)
        code = await(stream, why);
    if (code == CODE_OK && mcp_endpoint_resolve(buf_peek(&stream->body), &base, &dialogue->endpoint) != CODE_OK)
        code = why_set(why, CODE_INVALID, "the server's `endpoint` event names another server, or no URI");
    stream->awaits_endpoint = false;
    return code;
}

enum code dialogue_post(struct dialogue *dialogue, struct span message, const struct json_node **answer, struct why *why)
{
    struct answers *stream = dialogue->stream, own;
    struct web_request request = {.body = message, .wait_us = (int64_t)WAIT_MS * 1000, .part = take_part, .part_context = &own};
    struct web_answer came = {.code = CODE_OK};
    enum code code;

    answers_init(&own, dialogue);
    own.is_wanted = answer != NULL && stream == NULL;
    code = ask(dialogue, &request, &came, why);
    dialogue->status = came.status;
    if (came.status != 0)
        code = code == CODE_OK || !own.is_wanted ? check_status(came.status, why) : code;
    if (code == CODE_OK && !span_is_empty(web_answer_header(&came, "Mcp-Session-Id"))) {
        buf_clear(&dialogue->session);
        code = buf_add_span(&dialogue->session, web_answer_header(&came, "Mcp-Session-Id"));
    }
    if (code == CODE_OK && answer != NULL && stream != NULL)
        code = await(stream, why);
    if (code == CODE_OK && answer != NULL)
        code = read_answer(stream != NULL ? stream : &own, answer, why);
    web_answer_fini(&came);
    answers_fini(&own);
    return code;
}
