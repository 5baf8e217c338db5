/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP reader: the same answer for every way of cutting the bytes, scanner and llhttp of one opinion, and a head
 * written anew that reads back as the same. The first byte says what to read: bit 0 a reply, bit 1 to HEAD. */
#include "fakes/http_script.h"

#include "base/bug.h"
#include "http/media.h"
#include "http/writer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void begin(struct http_reader *reader, unsigned flags)
{
    if (flags & 1) {
        http_reader_init_reply(reader);
        http_reader_next(reader, flags & 2 ? HTTP_METHOD_HEAD : HTTP_METHOD_POST);
    } else {
        http_reader_init_request(reader, NULL);
    }
}

static void same_when_cut(const struct http_script *whole, unsigned flags, struct span in, size_t cut)
{
    struct http_reader reader;
    struct http_script script;

    begin(&reader, flags);
    http_script_read(&script, &reader, in, cut, true);
    BUG_ON(!http_script_equals(whole, &script));
    http_script_fini(&script);
    http_reader_fini(&reader);
}

static void add_start(struct buf *out, const struct http_head *head)
{
    if (head->method != HTTP_METHOD_NONE)
        BUG_ON(http_write_request(out, head->method, http_head_path(head), head->has_query, http_head_query(head)) != CODE_OK);
    else
        BUG_ON(http_write_status(out, head->status) != CODE_OK);
}

/* What Connection names stays here. */
static bool passes(const struct http_head *head, struct span name)
{
    for (size_t i = 0; i < head->count; i++)
        if (span_equals_nocase(http_head_name(head, i), name))
            return !http_head_drops(head, i);
    return false;
}

static const struct http_except no_except;

/* What the reader let in, the writer lets out; read again it is the same head, but for what is dropped. */
static void write_anew(const struct http_reader *reader, unsigned flags)
{
    struct http_reader again;
    struct http_script script;
    struct buf out;

    buf_init(&out, 1 << 16);
    add_start(&out, &reader->head);
    if (reader->head.method != HTTP_METHOD_NONE)
        BUG_ON(http_write_header(&out, SPAN_LIT("Host"), SPAN_LIT("a")) != CODE_OK);
    BUG_ON(http_write_passing(&out, &reader->head, &no_except) != CODE_OK);
    BUG_ON(http_write_line_u64(&out, SPAN_LIT("Content-Length: "), 0) != CODE_OK);
    BUG_ON(http_write_head_end(&out) != CODE_OK);
    if (buf_len(&out) <= HTTP_HEAD_MAX_BYTES && reader->head.count + 2 <= HTTP_HEADERS_MAX) {
        begin(&again, flags);
        http_script_read(&script, &again, buf_peek(&out), SIZE_MAX, true);
        BUG_ON(script.end != HTTP_STEP_MESSAGE_DONE || buf_len(&script.body) != 0);
        BUG_ON(!span_equals(http_head_path(&reader->head), http_head_path(&again.head)));
        BUG_ON(http_media_of(&reader->head) != http_media_of(&again.head) && passes(&reader->head, SPAN_LIT("Content-Type")));
        http_script_fini(&script);
        http_reader_fini(&again);
    }
    buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct http_reader reader;
    struct http_script whole;
    unsigned flags = len > 0 ? bytes[0] : 0;
    struct span in = span_part(span_of(bytes, len), 1, SIZE_MAX);

    begin(&reader, flags);
    http_script_read(&whole, &reader, in, SIZE_MAX, true);
    BUG_ON(strncmp(whole.detail, "llhttp", 6) == 0);
    same_when_cut(&whole, flags, in, 0);
    if (in.len > 1) {
        same_when_cut(&whole, flags, in, 1 + flags % in.len);
        same_when_cut(&whole, flags, in, in.len / 2);
    }
    if (whole.end == HTTP_STEP_MESSAGE_DONE && reader.head.status != 101 &&
        (reader.head.method != HTTP_METHOD_NONE || (reader.head.status >= 200 && reader.head.status != 304)))
        write_anew(&reader, flags);
    http_script_fini(&whole);
    http_reader_fini(&reader);
    return 0;
}
