/* SPDX-License-Identifier: Apache-2.0 */
/* 4.16: all that a connection brings, read by our reader and, apart from it, by llhttp: each message that ours takes whole llhttp
 * takes whole, with the same target, headers and body, and the next one begins at the same byte. The first byte says what to read:
 * bit 0 replies, bit 1 to HEAD. */
#include "base/bug.h"
#include "http/reader.h"

#include <llhttp.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define MESSAGES_MAX 16
#define CAP_BYTES (1u << 20)

struct said {
    struct buf text; /* start line, headers and body in a form of our own */
    struct buf body;
    size_t end;      /* where the next message begins */
};

struct theirs {
    unsigned flags;
    size_t count; /* whole messages */
    struct said said[MESSAGES_MAX];
};

static void add(struct buf *buf, struct span text, const char *after)
{
    BUG_ON(buf_add_span(buf, text) != CODE_OK || buf_add_text(buf, after) != CODE_OK);
}

/* ---- llhttp ------------------------------------------------------------------------------------------------------- */

static struct said *present(llhttp_t *parser)
{
    struct theirs *theirs = parser->data;

    return &theirs->said[theirs->count];
}

static int on_url(llhttp_t *parser, const char *at, size_t len)
{
    add(&present(parser)->text, span_of(at, len), "");
    return 0;
}

static int on_url_complete(llhttp_t *parser)
{
    add(&present(parser)->text, SPAN_LIT("\n"), "");
    return 0;
}

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
    add(&present(parser)->text, span_of(at, len), "");
    return 0;
}

static int on_field_complete(llhttp_t *parser)
{
    add(&present(parser)->text, SPAN_LIT("="), "");
    return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
    add(&present(parser)->text, span_trim(span_of(at, len)), "");
    return 0;
}

static int on_value_complete(llhttp_t *parser)
{
    add(&present(parser)->text, SPAN_LIT("\n"), "");
    return 0;
}

static int on_headers_complete(llhttp_t *parser)
{
    const struct theirs *theirs = parser->data;

    BUG_ON(buf_addf(&present(parser)->text, "%s %d\n", parser->type == HTTP_REQUEST ?
                    llhttp_method_name((llhttp_method_t)parser->method) : "", parser->type == HTTP_REQUEST ? 0 : parser->status_code));
    /* RFC 9112, 6.3: these have no body, whatever their head says; llhttp wants to be told. */
    return parser->type == HTTP_RESPONSE && (theirs->flags & 2 || parser->status_code == 204 || parser->status_code == 304) ? 1 : 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    add(&present(parser)->body, span_of(at, len), "");
    return 0;
}

/* Paused, so that llhttp says where it is. */
static int on_message_complete(llhttp_t *parser)
{
    (void)parser;
    return HPE_PAUSED;
}

/* An interim reply is no message of its own for us. */
static bool is_interim(const llhttp_t *parser)
{
    return parser->type == HTTP_RESPONSE && parser->status_code >= 100 && parser->status_code < 200 && parser->status_code != 101;
}

static void read_theirs(struct theirs *theirs, struct span in)
{
    llhttp_settings_t settings;
    llhttp_t parser;
    size_t used = 0;

    llhttp_settings_init(&settings);
    settings.on_url = on_url;
    settings.on_url_complete = on_url_complete;
    settings.on_header_field = on_field;
    settings.on_header_field_complete = on_field_complete;
    settings.on_header_value = on_value;
    settings.on_header_value_complete = on_value_complete;
    settings.on_headers_complete = on_headers_complete;
    settings.on_body = on_body;
    settings.on_message_complete = on_message_complete;
    llhttp_init(&parser, theirs->flags & 1 ? HTTP_RESPONSE : HTTP_REQUEST, &settings);
    parser.data = theirs;
    while (theirs->count < MESSAGES_MAX && used < in.len) {
        enum llhttp_errno error = llhttp_execute(&parser, in.at + used, in.len - used);

        if (error == HPE_OK && llhttp_message_needs_eof(&parser)) {
            theirs->said[theirs->count++].end = in.len;
            return;
        }
        if (error != HPE_PAUSED && error != HPE_PAUSED_UPGRADE)
            return;
        used = (size_t)(llhttp_get_error_pos(&parser) - in.at);
        if (error == HPE_PAUSED_UPGRADE) {
            /* An offer that we leave out: what follows is the next message. It comes behind the message that made it. */
            llhttp_resume_after_upgrade(&parser);
            continue;
        }
        if (is_interim(&parser)) {
            buf_clear(&theirs->said[theirs->count].text);
            buf_clear(&theirs->said[theirs->count].body);
        } else {
            theirs->said[theirs->count++].end = used;
        }
        llhttp_resume(&parser);
    }
}

/* ---- ours --------------------------------------------------------------------------------------------------------- */

static void add_head(struct buf *text, const struct http_head *head)
{
    if (head->method != HTTP_METHOD_NONE) {
        add(text, http_head_path(head), head->has_query ? "?" : "");
        add(text, http_head_query(head), "\n");
    }
    for (size_t i = 0; i < head->count; i++) {
        add(text, http_head_name(head, i), "=");
        add(text, http_head_value(head, i), "\n");
    }
    BUG_ON(buf_addf(text, "%s %d\n", http_method_text(head->method), head->status));
}

/* One message. Returns: whether it came whole. */
static bool read_ours(struct http_reader *reader, struct span in, size_t *at, struct said *said)
{
    enum http_step step;

    do {
        struct span body;
        size_t used;

        step = http_reader_feed(reader, span_part(in, *at, SIZE_MAX), &used, &body);
        *at += used;
        if (step == HTTP_STEP_HEAD_DONE)
            add_head(&said->text, &reader->head);
        else if (step == HTTP_STEP_BODY)
            add(&said->body, body, "");
    } while (step == HTTP_STEP_HEAD_DONE || step == HTTP_STEP_BODY);
    if (step == HTTP_STEP_NEED_MORE)
        step = http_reader_eof(reader);
    said->end = *at;
    return step == HTTP_STEP_MESSAGE_DONE;
}

static void compare(struct http_reader *reader, const struct theirs *theirs, struct span in)
{
    struct said ours;
    size_t at = 0;

    buf_init(&ours.text, CAP_BYTES);
    buf_init(&ours.body, CAP_BYTES);
    for (size_t i = 0; i < MESSAGES_MAX && at < in.len; i++) {
        http_reader_next(reader, theirs->flags & 2 ? HTTP_METHOD_HEAD : HTTP_METHOD_POST);
        buf_clear(&ours.text);
        buf_clear(&ours.body);
        if (!read_ours(reader, in, &at, &ours) || reader->head.status == 101)
            break;
        BUG_ON(i >= theirs->count || ours.end != theirs->said[i].end);
        BUG_ON(!span_equals(buf_peek(&ours.text), buf_peek(&theirs->said[i].text)));
        BUG_ON(!span_equals(buf_peek(&ours.body), buf_peek(&theirs->said[i].body)));
        if (!reader->head.keep_alive)
            break;
    }
    buf_fini(&ours.text);
    buf_fini(&ours.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct span in = span_part(span_of(bytes, len), 1, SIZE_MAX);
    struct theirs theirs = {.flags = len > 0 ? bytes[0] : 0};
    struct http_reader reader;

    if (len > CAP_BYTES / 4)
        return 0;
    for (size_t i = 0; i < MESSAGES_MAX; i++) {
        buf_init(&theirs.said[i].text, CAP_BYTES);
        buf_init(&theirs.said[i].body, CAP_BYTES);
    }
    read_theirs(&theirs, in);
    if (theirs.flags & 1)
        http_reader_init_reply(&reader);
    else
        http_reader_init_request(&reader, NULL);
    compare(&reader, &theirs, in);
    http_reader_fini(&reader);
    for (size_t i = 0; i < MESSAGES_MAX; i++) {
        buf_fini(&theirs.said[i].text);
        buf_fini(&theirs.said[i].body);
    }
    return 0;
}
