/* SPDX-License-Identifier: Apache-2.0 */
#include "http/second_priv.h"

#include "base/mem.h"

#include <llhttp.h>

#if !defined(LLHTTP_STRICT_MODE) || LLHTTP_STRICT_MODE != 1
#error "llhttp must be compiled with -DLLHTTP_STRICT_MODE=1: loose, it accepts what smuggles requests"
#endif

struct http_second {
    llhttp_t parser;
    const struct http_head *head; /* during http__second_head only */
    const char *bytes;            /* its bytes */
    struct span url;              /* what the scanner took for the target */
    size_t headers;               /* compared so far */
    uint64_t body_bytes;          /* in the present call */
    bool skip_body;
    bool differs;
    bool head_done;
    bool message_done;
};

static struct http_second *second_of(llhttp_t *parser)
{
    return parser->data;
}

/* Both readers have the same bytes in the same place, so that comparing place and length is mostly enough. llhttp leaves
 * the blanks that end a value to its caller. */
static inline bool is_same(const struct http_second *second, struct http_piece piece, const char *at, size_t len)
{
    return (second->bytes + piece.at == at && piece.len == len) ||
           span_equals(span_of(second->bytes + piece.at, piece.len), span_trim(span_of(at, len)));
}

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
    struct http_second *second = second_of(parser);

    second->differs |= !span_equals(second->url, span_of(at, len));
    return 0;
}

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
    struct http_second *second = second_of(parser);

    /* Trailers come through this callback, too, behind the body: there must be none. */
    if (second->head_done || second->headers >= second->head->count ||
        !is_same(second, second->head->headers[second->headers].name, at, len))
        second->differs = true;
    return second->differs ? -1 : 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
    struct http_second *second = second_of(parser);

    if (second->head_done || second->headers >= second->head->count ||
        !is_same(second, second->head->headers[second->headers].value, at, len))
        second->differs = true;
    return second->differs ? -1 : 0;
}

static int on_value_complete(llhttp_t *parser)
{
    second_of(parser)->headers++;
    return 0;
}

static bool start_is_same(const struct http_second *second)
{
    const struct http_head *head = second->head;
    const llhttp_t *parser = &second->parser;

    if (parser->http_major != 1 || parser->http_minor != head->minor)
        return false;
    if (parser->type == HTTP_RESPONSE)
        return parser->status_code == head->status;
    return span_is(http_head_text(head, head->method_text), llhttp_method_name((llhttp_method_t)parser->method));
}

static bool framing_is_same(const struct http_second *second)
{
    const struct http_head *head = second->head;
    const llhttp_t *parser = &second->parser;
    bool chunked = (parser->flags & F_CHUNKED) != 0;
    bool length = (parser->flags & F_CONTENT_LENGTH) != 0;

    switch (head->framing) {
    case HTTP_FRAMING_NONE: return second->skip_body || (!chunked && (!length || parser->content_length == 0));
    case HTTP_FRAMING_CONTENT_LENGTH: return !chunked && length && parser->content_length == head->content_length;
    case HTTP_FRAMING_CHUNKED: return chunked && !length;
    case HTTP_FRAMING_UNTIL_EOF: return !chunked && !length && llhttp_message_needs_eof(parser);
    }
    return false;
}

static int on_headers_complete(llhttp_t *parser)
{
    struct http_second *second = second_of(parser);

    second->head_done = true;
    if (second->headers != second->head->count || !start_is_same(second) || !framing_is_same(second)) {
        second->differs = true;
        return -1;
    }
    return second->skip_body ? 1 : 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    (void)at;
    second_of(parser)->body_bytes += len;
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    second_of(parser)->message_done = true;
    return HPE_PAUSED; /* llhttp reads nothing after the message and follows no Upgrade: Java's client offers h2c to everyone */
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_header_field = on_field,
    .on_header_value = on_value,
    .on_header_value_complete = on_value_complete,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

struct http_second *http__second_new(void)
{
    return mem_alloc(sizeof(struct http_second)); /* http__second_head sets all of it */
}

void http__second_free(struct http_second **second)
{
    mem_free(*second);
    *second = NULL;
}

/* Whether llhttp takes exactly these bytes, and sees the message's end where the reader does. */
static bool execute(struct http_second *second, struct span raw, bool is_done)
{
    llhttp_errno_t result = llhttp_execute(&second->parser, raw.at, raw.len);

    if (second->differs || second->message_done != is_done)
        return false;
    if (!is_done)
        return result == HPE_OK;
    return result == HPE_PAUSED && llhttp_get_error_pos(&second->parser) == raw.at + raw.len;
}

bool http__second_head(struct http_second *second, const struct http_head *head, bool is_reply, bool skip_body)
{
    struct http_piece target = head->path;
    bool same;

    if (head->has_query)
        target.len = (uint16_t)(target.len + 1 + head->query.len);
    *second = (struct http_second){.head = head,
                                   .bytes = buf_peek(&head->bytes).at,
                                   .url = http_head_text(head, target),
                                   .skip_body = skip_body};
    llhttp_init(&second->parser, is_reply ? HTTP_RESPONSE : HTTP_REQUEST, &settings);
    second->parser.data = second;
    same = execute(second, buf_peek(&head->bytes),
                   head->framing == HTTP_FRAMING_NONE ||
                       (head->framing == HTTP_FRAMING_CONTENT_LENGTH && head->content_length == 0));
    second->head = NULL;
    second->bytes = NULL;
    return same && second->head_done;
}

bool http__second_body(struct http_second *second, struct span raw, size_t decoded, bool is_done)
{
    second->body_bytes = 0;
    return execute(second, raw, is_done) && second->body_bytes == decoded;
}

bool http__second_eof(struct http_second *second)
{
    (void)llhttp_finish(&second->parser);
    return second->message_done;
}

bool http__second_keeps_alive(const struct http_second *second)
{
    return llhttp_should_keep_alive(&second->parser) != 0;
}
