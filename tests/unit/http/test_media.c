/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/cm.h"

#include "http/authority.h"
#include "http/media.h"
#include "http/reader.h"

/* 1.12 1.14: media types in any case, charset=utf-8 as the only parameter */
TEST_CASE(content_types)
{
    static const struct {
        const char *value;
        enum http_media media;
    } rows[] = {
        {"application/json", HTTP_MEDIA_JSON},
        {"Application/Json", HTTP_MEDIA_JSON},
        {"application/json; charset=utf-8", HTTP_MEDIA_JSON},
        {"application/json;charset=UTF-8", HTTP_MEDIA_JSON},
        {"application/json ; Charset=\"Utf-8\"", HTTP_MEDIA_JSON},
        {"application/json; charset=utf-8; charset=utf-8", HTTP_MEDIA_OTHER},
        {"application/json; charset=utf-16", HTTP_MEDIA_OTHER},
        {"application/json; charset=iso-8859-1", HTTP_MEDIA_OTHER},
        {"application/json; charset=utf-8; x=1", HTTP_MEDIA_OTHER},
        {"application/json; x=\";charset=utf-8\"", HTTP_MEDIA_OTHER},
        {"application/json; charset", HTTP_MEDIA_OTHER},
        {"application/json; charset=", HTTP_MEDIA_OTHER},
        {"application/json; charset = utf-8", HTTP_MEDIA_OTHER},
        {"application/json; version=1", HTTP_MEDIA_OTHER},
        {"application/json;", HTTP_MEDIA_OTHER},
        {"application/json, text/plain", HTTP_MEDIA_OTHER},
        {"application/json text/plain", HTTP_MEDIA_OTHER},
        {"application/json5", HTTP_MEDIA_OTHER},
        {"application/problem+json", HTTP_MEDIA_OTHER},
        {"application/x-www-form-urlencoded", HTTP_MEDIA_OTHER},
        {"multipart/form-data; boundary=x", HTTP_MEDIA_OTHER},
        {"json", HTTP_MEDIA_OTHER},
        {"/json", HTTP_MEDIA_OTHER},
        {"application/", HTTP_MEDIA_OTHER},
        {"", HTTP_MEDIA_OTHER},
        {"text/event-stream", HTTP_MEDIA_SSE},
        {"Text/Event-Stream; charset=utf-8", HTTP_MEDIA_SSE},
        {"text/event-stream; charset=latin1", HTTP_MEDIA_OTHER},
        {"text/plain", HTTP_MEDIA_TEXT},
        {"text/html; charset=us-ascii", HTTP_MEDIA_TEXT},
        {"text/html; charset=\"utf-8\"", HTTP_MEDIA_TEXT},
        {"text/html; charset=utf-16", HTTP_MEDIA_OTHER},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (http_media_type(span_text(rows[i].value)) != rows[i].media)
            fail_msg("%s: %d", rows[i].value, (int)http_media_type(span_text(rows[i].value)));
}

static void read_with(struct http_reader *reader, const char *lines)
{
    struct buf text;
    struct span body;
    size_t used;

    buf_init(&text, 4096);
    assert_ok(buf_addf(&text, "GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", lines));
    http_reader_init_request(reader, NULL);
    assert_int_equal(http_reader_feed(reader, buf_peek(&text), &used, &body), HTTP_STEP_HEAD_DONE);
    buf_fini(&text);
}

TEST_CASE(of_heads)
{
    struct http_reader reader;

    read_with(&reader, "");
    assert_int_equal(http_media_of(&reader.head), HTTP_MEDIA_NONE);
    assert_false(http_body_is_encoded(&reader.head));
    http_reader_fini(&reader);
    read_with(&reader, "content-type:APPLICATION/JSON\r\nContent-Encoding: Identity\r\n");
    assert_int_equal(http_media_of(&reader.head), HTTP_MEDIA_JSON);
    assert_false(http_body_is_encoded(&reader.head));
    http_reader_fini(&reader);
    /* 1.12 */
    read_with(&reader, "Content-Encoding: identity\r\nContent-Encoding: gzip\r\n");
    assert_true(http_body_is_encoded(&reader.head));
    http_reader_fini(&reader);
}

/* 1.19: as SSE where Accept names it and neither JSON nor everything */
TEST_CASE(accepts)
{
    static const struct {
        const char *lines;
        bool is_absent, json, sse, any, wants_sse;
    } rows[] = {
        {"", true, false, false, false, false},
        {"Accept: application/json, text/event-stream\r\n", false, true, true, false, false},
        {"Accept: text/event-stream\r\n", false, false, true, false, true},
        {"Accept: TEXT/EVENT-STREAM;q=0.5\r\n", false, false, true, false, true},
        {"Accept: text/event-stream, */*\r\n", false, false, true, true, false},
        {"Accept: text/event-stream\r\nAccept: application/json\r\n", false, true, true, false, false},
        {"Accept: text/event-stream, application/json;q=0\r\n", false, false, true, false, true},
        {"Accept: text/event-stream, application/json; q=0.000\r\n", false, false, true, false, true},
        {"Accept: text/event-stream, application/json; q=0.001\r\n", false, true, true, false, false},
        {"Accept: text/event-stream;x=\"a,application/json\"\r\n", false, false, true, false, true},
        {"Accept: text/event-stream;x=\"a,application/json,b\"\r\n", false, false, true, false, true},
        {"Accept: text/event-stream;x=\"\\\",application/json,\\\"\"\r\n", false, false, true, false, true},
        {"Accept: application/*\r\n", false, true, false, false, false},
        {"Accept: */*\r\n", false, false, false, true, false},
        {"Accept: text/html\r\n", false, false, false, false, false},
        {"Accept:\r\n", false, false, false, false, false},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct http_reader reader;
        struct http_accept accept;

        read_with(&reader, rows[i].lines);
        accept = http_accept_of(&reader.head);
        if (accept.is_absent != rows[i].is_absent || accept.json != rows[i].json || accept.sse != rows[i].sse ||
            accept.any != rows[i].any || http_accept_wants_sse(accept) != rows[i].wants_sse)
            fail_msg("%s: absent %d json %d sse %d any %d", rows[i].lines, accept.is_absent, accept.json,
                accept.sse, accept.any);
        http_reader_fini(&reader);
    }
}

/* 1.12 */
TEST_CASE(authorities)
{
    static const struct {
        const char *value, *name, *port; /* name NULL: refused */
    } rows[] = {
        {"a", "a", ""},
        {"Shop.Example:8443", "Shop.Example", "8443"},
        {"127.0.0.1:80", "127.0.0.1", "80"},
        {"[::1]", "[::1]", ""},
        {"[2001:db8::1]:443", "[2001:db8::1]", "443"},
        {"a_b-c.d", "a_b-c.d", ""},
        {"a.", "a.", ""},
        {"", NULL, NULL},
        {":80", NULL, NULL},
        {"a:", NULL, NULL},
        {"a:0", NULL, NULL},
        {"a:080", NULL, NULL},
        {"a:65536", NULL, NULL},
        {"a:8:8", NULL, NULL},
        {"::1", NULL, NULL},
        {"[::1", NULL, NULL},
        {"[]", NULL, NULL},
        {"[::1]x", NULL, NULL},
        {"[fe80::1%25eth0]", NULL, NULL},
        {"user@a", NULL, NULL},
        {"a b", NULL, NULL},
        {"a/b", NULL, NULL},
        {"a%2e", NULL, NULL},
        {"a,b", NULL, NULL},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct http_authority found;
        bool good = http_authority_read(span_text(rows[i].value), &found);

        if (good != (rows[i].name != NULL) || (good && !(span_is(found.name,
            rows[i].name) && span_is(found.port, rows[i].port))))
            fail_msg("%s: %d", rows[i].value, good);
    }
}

/* 1.12 */
TEST_CASE(origins)
{
    static const char *const refused[] = {"null",         "",          "http:/a", "http://",
             "http://a/",  "http://a http://b",
                                          "http://u@a",   "://a",      "1http://a", "http",
                                                    "http://a?b", "http://a:99999"};
    struct http_origin origin;

    assert_true(http_origin_read(SPAN_LIT("https://Shop.example:8443"), &origin));
    assert_true(span_is(origin.scheme, "https"));
    assert_true(span_is(origin.authority.name, "Shop.example"));
    assert_true(span_is(origin.authority.port, "8443"));
    assert_true(http_origin_read(SPAN_LIT("vscode-file+x.1://[::1]"), &origin));
    assert_true(span_is(origin.authority.name, "[::1]"));
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (http_origin_read(span_text(refused[i]), &origin))
            fail_msg("%s", refused[i]);
}

TEST_MAIN(NULL, NULL)
