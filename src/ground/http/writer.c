/* SPDX-License-Identifier: Apache-2.0 */
#include "http/writer.h"

#include "base/ascii.h"
#include "base/num.h"
#include "http/name_priv.h"

enum code http_write_request(struct buf *out, enum http_method method, struct span path, bool has_query,
                             struct span query)
{
    if (method == HTTP_METHOD_NONE || path.len == 0 || path.at[0] != '/' || !http__is_visible(path) ||
        span_find(path, '?') < path.len || span_find(path, '#') < path.len ||
        (has_query && (!http__is_visible(query) || span_find(query, '#') < query.len)))
        return buf_fail(out, CODE_INVALID);
    buf_borrow(out); /* a head mostly goes out in the turn in which it is written */
    buf_add_text(out, http_method_text(method));
    buf_add_byte(out, ' ');
    buf_add_span(out, path);
    if (has_query) {
        buf_add_byte(out, '?');
        buf_add_span(out, query);
    }
    return buf_add_text(out, " HTTP/1.1\r\n");
}

enum code http_write_status(struct buf *out, int status)
{
    if (status < 100 || status > 599)
        return buf_fail(out, CODE_INVALID);
    buf_borrow(out);
    if (status == 200) /* nearly always */
        return buf_add_span(out, SPAN_LIT("HTTP/1.1 200 OK\r\n"));
    return buf_addf(out, "HTTP/1.1 %d %s\r\n", status, http_status_text(status));
}

bool http_name_is_writable(struct span name)
{
    return http__is_token(name);
}

bool http_value_is_writable(struct span value)
{
    return http__is_value(value) && span_trim(value).len == value.len;
}

static char *put(char *at, struct span bytes)
{
    if (bytes.len > 0)
        memcpy(at, bytes.at, bytes.len);
    return at + bytes.len;
}

/* Makes one reservation for the line, since a head has many lines. Takes: colon: ": ", or what else stands between the two. */
static enum code add_line(struct buf *out, struct span begin, struct span colon, struct span value)
{
    size_t total = begin.len + colon.len + value.len + 2;
    char *at;
    enum code code;

    if (buf_has_room(out, total))
        at = out->block + out->tail;
    else if ((code = buf_reserve(out, total, &at)) != CODE_OK)
        return buf_fail(out, code);
    at = put(put(put(at, begin), colon), value);
    at[0] = '\r';
    at[1] = '\n';
    buf_commit(out, total);
    return CODE_OK;
}

enum code http_write_header(struct buf *out, struct span name, struct span value)
{
    if (!http_name_is_writable(name) || !http_value_is_writable(value))
        return buf_fail(out, CODE_INVALID);
    return add_line(out, name, SPAN_LIT(": "), value);
}

enum code http_write_line(struct buf *out, struct span begin, struct span value)
{
    return http_value_is_writable(value) ? add_line(out, begin, SPAN_NONE, value) : buf_fail(out, CODE_INVALID);
}

enum code http_write_line_u64(struct buf *out, struct span begin, uint64_t value)
{
    char number[NUM_TEXT_BYTES];

    return add_line(out, begin, SPAN_NONE, span_of(number, num_text(value, number)));
}

static bool passes(const struct http_head *head, size_t index, const struct http_except *except)
{
    struct span name = http_head_name(head, index);

    if (http_head_drops(head, index) || (except->known >> head->headers[index].known & 1) != 0)
        return false;
    for (size_t i = 0; i < except->count; i++)
        if (span_equals_nocase(name, except->names[i]))
            return false;
    return true;
}

/* Whether the header's line is exactly "Name: value", with no more and no fewer blanks. */
static bool is_as_written(const struct http_head *head, size_t index)
{
    const struct http_header *header = &head->headers[index];
    struct span name = http_head_name(head, index), value = http_head_value(head, index);

    return value.len > 0 && header->value.at == header->name.at + header->name.len + 2 && name.at[name.len + 1] == ' ' &&
           value.at[value.len] == '\r';
}

/* Finds lines that follow one another and stand as the gate would write them, so that they are copied in one
 * piece. Returns: where the run ends. */
static size_t run_of(const struct http_head *head, size_t begin, const struct http_except *except)
{
    size_t end = begin;

    while (end < head->count && is_as_written(head, end) && (end == begin || passes(head, end, except)))
        end++;
    return end;
}

enum code http_write_passing(struct buf *out, const struct http_head *head, const struct http_except *except)
{
    size_t i = 0;

    while (i < head->count) {
        struct span name = http_head_name(head, i), value = http_head_value(head, i); /* the reader found both writable */
        size_t end;

        if (!passes(head, i, except)) {
            i++;
            continue;
        }
        end = run_of(head, i, except);
        if (end > i)
            value = http_head_value(head, end - 1);
        if (end > i)
            buf_add(out, name.at, (size_t)(value.at + value.len + 2 - name.at));
        else
            add_line(out, name, SPAN_LIT(": "), value);
        i = end > i ? end : i + 1;
    }
    return buf_code(out);
}

enum code http_write_head_end(struct buf *out)
{
    return buf_add(out, "\r\n", 2);
}

enum code http_write_chunk(struct buf *out, struct span bytes)
{
    static const char digits[] = "0123456789abcdef";
    char size[2 * sizeof bytes.len];
    size_t at = sizeof size;

    if (bytes.len == 0)
        return CODE_OK;
    for (size_t left = bytes.len; left > 0; left >>= 4)
        size[--at] = digits[left & 15];
    return add_line(out, span_of(size + at, sizeof size - at), SPAN_LIT("\r\n"), bytes);
}

enum code http_write_last_chunk(struct buf *out)
{
    return buf_add(out, "0\r\n\r\n", 5);
}

void http_write_encoded(struct buf *out, struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];

        if (ascii_is_of(text.at[i], "a-zA-Z0-9._-"))
            buf_add_byte(out, (char)c);
        else
            buf_addf(out, "%%%02X", c);
    }
}

struct span http_read_encoded(struct span text, bool is_form, struct arena *arena)
{
    char *out = arena_alloc(arena, text.len + 1);
    size_t len = 0;

    for (size_t i = 0; out != NULL && i < text.len; i++) {
        int high = text.at[i] == '%' && i + 2 < text.len ? num_hex_digit(text.at[i + 1]) : -1;
        int low = high >= 0 ? num_hex_digit(text.at[i + 2]) : -1;

        if (text.at[i] == '%' && low < 0)
            return SPAN_NONE;
        out[len++] = (char)(is_form && text.at[i] == '+' ? ' ' : text.at[i] == '%' ? high << 4 | low : text.at[i]);
        i += text.at[i] == '%' ? 2 : 0;
    }
    return span_of(out, len);
}

void http_write_field(struct buf *form, const char *name, struct span value)
{
    if (value.at == NULL)
        return;
    buf_addf(form, "%s%s=", buf_is_empty(form) ? "" : "&", name);
    http_write_encoded(form, value);
}
