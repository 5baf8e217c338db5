/* SPDX-License-Identifier: Apache-2.0 */
#include "http/reader.h"

#include "base/bug.h"
#include "base/num.h"
#include "http/name_priv.h"
#include "http/scan_priv.h"
#include "http/second_priv.h"

#define CHUNK_DIGITS_MAX 16 /* what fits a 64-bit size; leading zeros count */
#define HEAD_PIECE_BYTES 1024 /* of the input are taken at a time: this holds most heads, and little of a body that follows */
#define DISAGREEMENT "llhttp reads the message in another way"

enum chunk_state {
    CHUNK_SIZE = 0,
    CHUNK_SIZE_LF,
    CHUNK_BYTES,
    CHUNK_CR,
    CHUNK_LF,
    CHUNK_LAST_CR,
    CHUNK_LAST_LF
};

static void begin_message(struct http_reader *reader)
{
    struct http_head *head = &reader->head;

    buf_fini(&head->bytes);
    head->method = HTTP_METHOD_NONE;
    head->status = head->minor = 0;
    head->method_text = head->path = head->query = head->host_name = (struct http_piece){0, 0};
    head->has_query = head->keep_alive = head->expect_continue = false;
    head->framing = HTTP_FRAMING_NONE;
    head->content_length = 0;
    head->count = 0;
    memset(head->first, 0, sizeof head->first);
    reader->place = HTTP_PLACE_HEAD;
    reader->left = 0;
    reader->body_bytes = 0;
    reader->line_at = 0;
    reader->chunk_state = CHUNK_SIZE;
    reader->chunk_digits = 0;
}

static void init(struct http_reader *reader, const struct http_rules *rules, bool is_reply)
{
    *reader = (struct http_reader){.rules = rules, .is_reply = is_reply, .reason = REASON_UNSET, .detail = ""};
    buf_init(&reader->head.bytes, rules != NULL && rules->tokens ? HTTP_TOKEN_HEAD_MAX_BYTES : HTTP_HEAD_MAX_BYTES);
    begin_message(reader);
}

void http_reader_init_request(struct http_reader *reader, const struct http_rules *rules)
{
    init(reader, rules, false);
    buf_wipes(&reader->head.bytes);
}

void http_reader_init_reply(struct http_reader *reader)
{
    init(reader, NULL, true);
}

void http_reader_fini(struct http_reader *reader)
{
    buf_fini(&reader->head.bytes);
    http__second_free(&reader->second);
}

void http_reader_next(struct http_reader *reader, enum http_method asked)
{
    if (reader->place == HTTP_PLACE_FAULT)
        return; /* final */
    begin_message(reader);
    reader->asked = asked;
    reader->interim = 0;
}

void http_reader_begin_reply(struct http_reader *reader, enum http_method asked)
{
    reader->reason = REASON_UNSET;
    reader->detail = "";
    reader->place = HTTP_PLACE_HEAD;
    http_reader_next(reader, asked);
}

void http_reader_rest(struct http_reader *reader)
{
    http_reader_next(reader, HTTP_METHOD_NONE);
    http_reader_fini(reader);
}

bool http_reader_is_idle(const struct http_reader *reader)
{
    return reader->place == HTTP_PLACE_HEAD && buf_is_empty(&reader->head.bytes) && reader->interim == 0;
}

/* Frees llhttp's state as soon as the message is whole, so that the next message on this thread finds the memory warm. */
static void let_second_go(struct http_reader *reader)
{
    if (reader->place == HTTP_PLACE_DONE)
        http__second_free(&reader->second);
}

/* Sets where the body begins, now that the head is known. */
static void enter_body(struct http_reader *reader)
{
    const struct http_head *head = &reader->head;

    reader->place = HTTP_PLACE_DONE;
    switch (head->framing) {
    case HTTP_FRAMING_NONE: return;
    case HTTP_FRAMING_CONTENT_LENGTH:
        reader->left = head->content_length;
        if (reader->left > 0)
            reader->place = HTTP_PLACE_BODY;
        return;
    case HTTP_FRAMING_CHUNKED: reader->place = HTTP_PLACE_CHUNK; return;
    case HTTP_FRAMING_UNTIL_EOF:
        reader->left = UINT64_MAX;
        reader->place = HTTP_PLACE_BODY;
        return;
    }
}

/* The empty line has come: checks the rules for whole heads, and asks llhttp. */
static bool end_head(struct http_reader *reader)
{
    struct http_head *head = &reader->head;
    bool skip_body;

    if (!http__scan_end(reader))
        return false;
    if (reader->second == NULL)
        reader->second = http__second_new();
    if (reader->second == NULL)
        return http__refuse(reader, REASON_MEMORY, "no memory for the parser");
    skip_body = reader->is_reply && head->framing == HTTP_FRAMING_NONE;
    if (!http__second_head(reader->second, head, reader->is_reply, skip_body))
        return http__refuse(reader, REASON_HTTP_MALFORMED, DISAGREEMENT);
    head->keep_alive = head->keep_alive && http__second_keeps_alive(reader->second);
    if (reader->is_reply && head->status < 200) {
        if (++reader->interim > HTTP_INTERIM_MAX)
            return http__refuse(reader, REASON_UPSTREAM_MALFORMED, "too many interim replies");
        if (!head->keep_alive) /* HTTP/1.0, or Connection: close: other readers read nothing after it */
            return http__refuse(reader, REASON_UPSTREAM_MALFORMED, "an interim reply that is the connection's last");
        begin_message(reader);
        return true;
    }
    enter_body(reader);
    let_second_go(reader);
    return true;
}

/* Takes one line, whose bytes are in the head already; `end` is one past its LF. */
static bool take_line(struct http_reader *reader, size_t end)
{
    struct span bytes = buf_peek(&reader->head.bytes);
    struct http_piece line = {(uint16_t)reader->line_at, (uint16_t)(end - reader->line_at - 2)};
    bool is_start = reader->line_at == 0;

    if (end - reader->line_at < 2 || bytes.at[end - 2] != '\r')
        return http__refuse(reader, REASON_HTTP_MALFORMED, "a line ends without CR");
    reader->line_at = (uint32_t)end;
    if (is_start)
        return http__scan_start_line(reader, line);
    if (line.len > 0)
        return http__scan_header(reader, line);
    buf_truncate(&reader->head.bytes, end); /* bytes that were taken beyond the head's end go back */
    return end_head(reader);
}

static bool refuse_size(struct http_reader *reader)
{
    return http__refuse(reader, REASON_HTTP_HEAD_TOO_LARGE, "a line over 8 KiB or a head over 16 KiB");
}

/* Whether a line may be longer than others, which an Authorization with a token may. Takes: line: what has come of it. */
static bool may_go_on(const struct http_reader *reader, struct span line)
{
    return reader->rules != NULL && reader->rules->tokens && line.len <= HTTP_TOKEN_LINE_MAX_BYTES + 1 &&
           span_equals_nocase(span_part(line, 0, 14), SPAN_LIT("authorization:"));
}

/* Takes the lines that end among the head's bytes from `from` on. A line is looked at only when it is whole and within the
 * limits, so that the answer is the same for any segmentation. *end is behind the last byte that belongs to this head so
 * far. */
static bool take_lines(struct http_reader *reader, size_t from, size_t *end)
{
    struct span bytes = buf_peek(&reader->head.bytes);

    *end = from;
    do {
        const char *lf = memchr(bytes.at + *end, '\n', bytes.len - *end);
        size_t line_end = lf != NULL ? (size_t)(lf - bytes.at) : bytes.len;

        if (line_end - reader->line_at > HTTP_LINE_MAX_BYTES + 1 &&
            !may_go_on(reader, span_part(bytes, reader->line_at, line_end - reader->line_at)))
            return refuse_size(reader);
        if (lf != NULL && !take_line(reader, line_end + 1))
            return false;
        *end = lf != NULL ? line_end + 1 : bytes.len;
    } while (*end < bytes.len && reader->line_at == *end && reader->place == HTTP_PLACE_HEAD);
    return true;
}

/* Takes the next bytes of the input into the head, as far as they belong to it, or refuses them. */
static bool take_piece(struct http_reader *reader, struct span in, size_t *used)
{
    struct buf *bytes = &reader->head.bytes;
    size_t from = buf_len(bytes), end = from;
    size_t room = buf_room(bytes);
    bool good;

    /* What is no HTTP at all, such as TLS, shows in its first byte. */
    if (from == 0 && !http__is_in(in.at[0], HTTP__TOKEN))
        return http__refuse(reader, REASON_HTTP_MALFORMED, "the first byte begins no HTTP message");
    if (room == 0)
        return refuse_size(reader);
    if (buf_put(bytes, span_part(in, 0, room < HEAD_PIECE_BYTES ? room : HEAD_PIECE_BYTES)) != CODE_OK)
        return http__refuse(reader, REASON_MEMORY, "no memory for the head");
    good = take_lines(reader, from, &end);
    *used += end - from;
    return good;
}

static enum http_step feed_head(struct http_reader *reader, struct span in, size_t *used)
{
    if (reader->is_reply && reader->asked == HTTP_METHOD_NONE && in.len > 0) {
        http__refuse(reader, REASON_UPSTREAM_MALFORMED, "bytes that nothing asked for");
        return HTTP_STEP_FAULT;
    }
    while (reader->place == HTTP_PLACE_HEAD && *used < in.len)
        if (!take_piece(reader, span_part(in, *used, SIZE_MAX), used))
            return HTTP_STEP_FAULT;
    if (reader->place == HTTP_PLACE_HEAD)
        return HTTP_STEP_NEED_MORE;
    return HTTP_STEP_HEAD_DONE;
}

static bool check_body(struct http_reader *reader, struct span raw, size_t decoded)
{
    reader->body_bytes += decoded;
    if (raw.len > 0 && !http__second_body(reader->second, raw, decoded, reader->place == HTTP_PLACE_DONE))
        return http__refuse(reader, REASON_HTTP_FRAMING, DISAGREEMENT);
    let_second_go(reader);
    return true;
}

static enum http_step feed_identity(struct http_reader *reader, struct span in, size_t *used, struct span *body)
{
    size_t len = in.len < reader->left ? in.len : (size_t)reader->left;

    if (len == 0)
        return HTTP_STEP_NEED_MORE;
    if (reader->head.framing == HTTP_FRAMING_CONTENT_LENGTH)
        reader->left -= len;
    if (reader->left == 0)
        reader->place = HTTP_PLACE_DONE;
    *used = len;
    if (!check_body(reader, span_part(in, 0, len), len))
        return HTTP_STEP_FAULT;
    *body = span_part(in, 0, len);
    return HTTP_STEP_BODY;
}

static bool chunk_size_byte(struct http_reader *reader, char c)
{
    int digit = num_hex_digit(c);

    if (digit >= 0 && reader->chunk_digits < CHUNK_DIGITS_MAX) {
        reader->left = reader->left << 4 | (unsigned)digit;
        reader->chunk_digits++;
        return true;
    }
    if (c != '\r' || reader->chunk_digits == 0)
        return http__refuse(reader, REASON_HTTP_FRAMING, "a chunk's size is not hexadecimal digits alone");
    reader->chunk_state = CHUNK_SIZE_LF;
    return true;
}

/* Takes one byte of what surrounds the chunks' bytes. */
static bool chunk_frame_byte(struct http_reader *reader, char c)
{
    bool good = false;

    switch ((enum chunk_state)reader->chunk_state) {
    case CHUNK_SIZE: return chunk_size_byte(reader, c);
    case CHUNK_SIZE_LF:
        good = c == '\n';
        reader->chunk_state = reader->left > 0 ? CHUNK_BYTES : CHUNK_LAST_CR;
        break;
    case CHUNK_BYTES: BUG_ON(true); break;
    case CHUNK_CR:
        good = c == '\r';
        reader->chunk_state = CHUNK_LF;
        break;
    case CHUNK_LF:
        good = c == '\n';
        reader->chunk_state = CHUNK_SIZE;
        reader->chunk_digits = 0;
        break;
    case CHUNK_LAST_CR:
        good = c == '\r'; /* anything else would be a trailer */
        reader->chunk_state = CHUNK_LAST_LF;
        break;
    case CHUNK_LAST_LF:
        good = c == '\n';
        reader->place = HTTP_PLACE_DONE;
        break;
    }
    return good || http__refuse(reader, REASON_HTTP_FRAMING, "a chunk's line end is missing, or there is a trailer");
}

static enum http_step feed_chunked(struct http_reader *reader, struct span in, size_t *used, struct span *body)
{
    size_t decoded = 0;

    while (*used < in.len && reader->place == HTTP_PLACE_CHUNK && reader->chunk_state != CHUNK_BYTES)
        if (!chunk_frame_byte(reader, in.at[(*used)++]))
            return HTTP_STEP_FAULT;
    if (reader->place == HTTP_PLACE_CHUNK && reader->chunk_state == CHUNK_BYTES) {
        decoded = in.len - *used < reader->left ? in.len - *used : (size_t)reader->left;
        *body = span_part(in, *used, decoded);
        *used += decoded;
        reader->left -= decoded;
        if (reader->left == 0)
            reader->chunk_state = CHUNK_CR;
    }
    if (!check_body(reader, span_part(in, 0, *used), decoded))
        return HTTP_STEP_FAULT;
    if (decoded > 0)
        return HTTP_STEP_BODY;
    return reader->place == HTTP_PLACE_DONE ? HTTP_STEP_MESSAGE_DONE : HTTP_STEP_NEED_MORE;
}

enum http_step http_reader_feed(struct http_reader *reader, struct span in, size_t *used, struct span *body)
{
    *used = 0;
    *body = SPAN_NONE;
    switch (reader->place) {
    case HTTP_PLACE_HEAD: return feed_head(reader, in, used);
    case HTTP_PLACE_BODY: return feed_identity(reader, in, used, body);
    case HTTP_PLACE_CHUNK: return feed_chunked(reader, in, used, body);
    case HTTP_PLACE_DONE: return HTTP_STEP_MESSAGE_DONE;
    case HTTP_PLACE_FAULT: break;
    }
    return HTTP_STEP_FAULT;
}

enum http_step http_reader_eof(struct http_reader *reader)
{
    switch (reader->place) {
    case HTTP_PLACE_DONE: return HTTP_STEP_MESSAGE_DONE;
    case HTTP_PLACE_FAULT: return HTTP_STEP_FAULT;
    case HTTP_PLACE_HEAD:
    case HTTP_PLACE_CHUNK: break;
    case HTTP_PLACE_BODY:
        if (reader->head.framing != HTTP_FRAMING_UNTIL_EOF)
            break;
        if (!http__second_eof(reader->second)) {
            http__refuse(reader, REASON_HTTP_FRAMING, DISAGREEMENT);
            return HTTP_STEP_FAULT;
        }
        reader->place = HTTP_PLACE_DONE;
        return HTTP_STEP_MESSAGE_DONE;
    }
    if (reader->is_reply)
        http__refuse(reader, REASON_UPSTREAM_CLOSED, "EOF before the reply was complete");
    else if (http_reader_is_idle(reader))
        http__refuse(reader, REASON_AGENT_DONE, "EOF between requests");
    else
        http__refuse(reader, REASON_AGENT_GONE, "EOF within a request");
    return HTTP_STEP_FAULT;
}
