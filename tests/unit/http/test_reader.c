/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and replies that are good, in every segmentation; limits; pipelining; replies; memory that runs out. */
#include "fakes/cm.h"
#include "fakes/http_script.h"

#include "base/mem.h"

#define POST "POST /mcp HTTP/1.1\r\nHost: a\r\n"

/* What is expected of a message; `asked` NONE: it is a request. */
struct sample {
    struct span bytes;
    enum http_method asked;
    const char *body;
    size_t left;      /* bytes after the message, not consumed */
    bool by_eof;
};

static void read_at(struct http_script *script, const struct sample *sample, struct http_reader *reader,
    size_t cut)
{
    if (sample->asked == HTTP_METHOD_NONE) {
        http_reader_init_request(reader, NULL);
    } else {
        http_reader_init_reply(reader);
        http_reader_next(reader, sample->asked);
    }
    http_script_read(script, reader, sample->bytes, cut, sample->by_eof);
}

/* Returns: the reader after the whole read, for questions about its head. */
static void passes(const struct sample *sample, struct http_reader *reader)
{
    struct http_script whole, cut;

    read_at(&whole, sample, reader, SIZE_MAX);
    if (whole.end != HTTP_STEP_MESSAGE_DONE)
        fail_msg("%.60s: step %d, %s (%s)", sample->bytes.at, (int)whole.end, reason_name(whole.reason),
            whole.detail);
    assert_true(span_is(buf_peek(&whole.body), sample->body));
    assert_int_equal(whole.consumed, sample->bytes.len - sample->left);
    assert_int_equal(reader->body_bytes, strlen(sample->body));
    for (size_t i = 0; i < sample->bytes.len; i++) {
        struct http_reader again;

        read_at(&cut, sample, &again, i);
        if (!http_script_equals(&whole, &cut))
            fail_msg("%.60s: cut at %zu: step %d, %s (%s)", sample->bytes.at, i, (int)cut.end,
                reason_name(cut.reason),
                     cut.detail);
        http_script_fini(&cut);
        http_reader_fini(&again);
    }
    http_script_fini(&whole);
}

static bool value_is(const struct http_head *head, const char *name, const char *expected)
{
    struct span value;

    return http_head_find(head, span_text(name), &value) && span_is(value, expected);
}

/* 1.12 */
TEST_CASE(an_ordinary_call)
{
    /* The query is opaque: what would be debatable in a path may stand in it. */
    struct sample sample = {.bytes = SPAN_LIT("POST /shop/mcp?a=%2F&b=;\\ HTTP/1.1\r\n"
        "Host: shop.example:8080\r\nX-Empty:\r\n"
                                              "content-type: \t application/json \t\r\nACCEPT:*/*\r\n"
                                                  "Content-Length: 5\r\n\r\n"
                                              "helloGET / HTTP/1.1\r\n"),
                            .body = "hello",
                            .left = sizeof "GET / HTTP/1.1\r\n" - 1};
    struct http_reader reader;
    const struct http_head *head = &reader.head;

    passes(&sample, &reader);
    assert_int_equal(head->method, HTTP_METHOD_POST);
    assert_true(span_is(http_head_text(head, head->method_text), "POST"));
    assert_true(span_is(http_head_path(head), "/shop/mcp"));
    assert_true(head->has_query);
    assert_true(span_is(http_head_query(head), "a=%2F&b=;\\"));
    assert_int_equal(head->minor, 1);
    assert_int_equal(head->framing, HTTP_FRAMING_CONTENT_LENGTH);
    assert_int_equal(head->content_length, 5);
    assert_true(head->keep_alive);
    assert_int_equal(head->count, 5);
    assert_true(span_is(http_head_name(head, 2), "content-type")); /* as received */
    assert_true(value_is(head, "Content-Type", "application/json"));
    assert_true(value_is(head, "accept", "*/*"));
    assert_true(value_is(head, "x-empty", ""));
    assert_false(http_head_find(head, SPAN_LIT("Content-Typ"), NULL));
    http_reader_fini(&reader);
}

/* 1.14 */
TEST_CASE(a_java_client_that_offers_h2c)
{
    struct sample with_body = {
        .bytes = SPAN_LIT("POST /mcp HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nContent-Length: 5\r\n"
                          "Host: localhost:8080\r\n"
                          "HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAABgAGAAA\r\nUpgrade: h2c\r\n"
                          "User-Agent: Java-http-client/21.0.2\r\nAccept: application/json, text/event-stream\r\n"
                          "Content-Type: application/json\r\n\r\nhello"),
        .body = "hello"};
    struct sample without = {
        .bytes = SPAN_LIT("GET /mcp HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nHost: localhost:8080\r\n"
                          "HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAAAAAAQBAAAAAAUAAEAABgAGAAA\r\n"
                              "Upgrade: h2c\r\n\r\nGET"),
        .body = "",
        .left = 3};
    struct http_reader reader;

    passes(&with_body, &reader);
    assert_true(reader.head.keep_alive);
    http_reader_fini(&reader);
    passes(&without, &reader);
    assert_true(reader.head.keep_alive);
    http_reader_fini(&reader);
}

/* 1.14 */
TEST_CASE(chunked_bodies_and_expectations)
{
    struct sample chunked = {.bytes = SPAN_LIT(POST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n00A\r\n"
        ", world!!!\r\n"
                                                    "a\r\n0123456789\r\n0\r\n\r\nPOST"),
                             .body = "hello, world!!!0123456789",
                             .left = 4};
    struct sample empty = {.bytes = SPAN_LIT(POST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), .body = ""};
    struct sample waits = {.bytes = SPAN_LIT(POST "Expect: 100-Continue\r\nContent-Length: 2\r\n\r\n"
        "{}"), .body = "{}"};
    struct sample nothing = {.bytes = SPAN_LIT(POST "Expect: 100-continue\r\nContent-Length: 0\r\n"
        "\r\n"), .body = ""};
    struct http_reader reader;

    passes(&chunked, &reader);
    assert_int_equal(reader.head.framing, HTTP_FRAMING_CHUNKED);
    assert_false(reader.head.expect_continue);
    http_reader_fini(&reader);
    passes(&empty, &reader);
    http_reader_fini(&reader);
    passes(&waits, &reader);
    assert_true(reader.head.expect_continue);
    http_reader_fini(&reader);
    passes(&nothing, &reader);
    assert_false(reader.head.expect_continue); /* nothing to wait with */
    http_reader_fini(&reader);
}

/* 1.12 */
TEST_CASE(methods_without_a_body)
{
    static const struct {
        struct span bytes;
        enum http_method method;
    } rows[] = {
        {SPAN_LIT("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"), HTTP_METHOD_GET},
        {SPAN_LIT("GET /.well-known/oauth-protected-resource/shop/mcp HTTP/1.1\r\nHost: a\r\n"
            "\r\n"), HTTP_METHOD_GET},
        {SPAN_LIT("DELETE /a.b/~c HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"), HTTP_METHOD_DELETE},
        {SPAN_LIT("OPTIONS /a,b=c@d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"), HTTP_METHOD_OPTIONS},
        {SPAN_LIT("HEAD /a.b? HTTP/1.1\r\nHost: a\r\nX!#$%&'*+-.^`|~: a\r\n\r\n"), HTTP_METHOD_HEAD},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sample sample = {.bytes = rows[i].bytes, .body = ""};
        struct http_reader reader;

        passes(&sample, &reader);
        assert_int_equal(reader.head.method, rows[i].method);
        http_reader_fini(&reader);
    }
}

/* 1.12 */
TEST_CASE(pipelined_requests_stay_in_the_buffer)
{
    const struct span in = SPAN_LIT(POST "Content-Length: 1\r\n\r\nAPOST /b HTTP/1.1\r\nHost: a\r\n"
        "Connection: x, Close\r\n"
                                         "Transfer-Encoding: chunked\r\n\r\n1\r\nB\r\n0\r\n\r\n");
    struct http_reader reader;
    struct http_script script;

    http_reader_init_request(&reader, NULL);
    assert_true(http_reader_is_idle(&reader));
    http_script_read(&script, &reader, in, SIZE_MAX, false);
    assert_int_equal(script.end, HTTP_STEP_MESSAGE_DONE);
    assert_true(span_is(buf_peek(&script.body), "A"));
    assert_true(reader.head.keep_alive);
    assert_false(http_reader_is_idle(&reader));
    size_t first = script.consumed;
    http_script_fini(&script);

    http_reader_next(&reader, HTTP_METHOD_NONE);
    assert_true(http_reader_is_idle(&reader));
    http_script_read(&script, &reader, span_part(in, first, SIZE_MAX), 0, false);
    assert_int_equal(script.end, HTTP_STEP_MESSAGE_DONE);
    assert_true(span_is(buf_peek(&script.body), "B"));
    assert_int_equal(first + script.consumed, in.len);
    assert_true(span_is(http_head_path(&reader.head), "/b"));
    assert_false(reader.head.keep_alive); /* the member is found in the list, in any case */
    http_script_fini(&script);
    assert_int_equal(http_reader_eof(&reader), HTTP_STEP_MESSAGE_DONE);

    http_reader_rest(&reader);
    assert_true(http_reader_is_idle(&reader));
    assert_null(reader.second);
    assert_null(reader.head.bytes.block);
    http_reader_fini(&reader);
}

/* A request with `lines` more headers, the last of which is filled up so that it has `last` bytes. */
static void build(struct buf *out, size_t lines, size_t last)
{
    buf_clear(out);
    assert_ok(buf_add_text(out, "GET / HTTP/1.1\r\nHost: a\r\n"));
    for (size_t i = 0; i < lines; i++) {
        size_t before = buf_len(out);

        assert_ok(buf_addf(out, "X-%zu:", i));
        while (i + 1 == lines && buf_len(out) - before < last)
            assert_ok(buf_add_byte(out, 'v'));
        assert_ok(buf_add_text(out, "\r\n"));
    }
    assert_ok(buf_add_text(out, "\r\n"));
}

static enum reason fate_by(const struct http_rules *rules, const struct buf *request, size_t cut)
{
    struct http_reader reader;
    struct http_script script;
    enum reason reason;

    http_reader_init_request(&reader, rules);
    http_script_read(&script, &reader, buf_peek(request), cut, true);
    reason = script.end == HTTP_STEP_MESSAGE_DONE ? REASON_PERMITTED : script.reason;
    http_script_fini(&script);
    http_reader_fini(&reader);
    return reason;
}

static enum reason fate(const struct buf *request, size_t cut)
{
    return fate_by(NULL, request, cut);
}

/* 8.9: where tokens are taken, Authorization has room for one, and nothing else has; elsewhere it has not. */
TEST_CASE(limits_of_tokens)
{
    static const struct {
        const char *name;
        size_t line;
        enum reason reason;
    } rows[] = {
        {"Authorization:", HTTP_TOKEN_LINE_MAX_BYTES, REASON_PERMITTED}, {"authorization:", HTTP_LINE_MAX_BYTES + 1, REASON_PERMITTED},
        {"Authorization:", HTTP_TOKEN_LINE_MAX_BYTES + 1, REASON_HTTP_HEAD_TOO_LARGE},
        {"Authorization2:", HTTP_LINE_MAX_BYTES + 1, REASON_HTTP_HEAD_TOO_LARGE},
        {"X-Authorization:", HTTP_LINE_MAX_BYTES + 1, REASON_HTTP_HEAD_TOO_LARGE}, {"DPoP:", HTTP_LINE_MAX_BYTES, REASON_PERMITTED},
        {"DPoP:", HTTP_LINE_MAX_BYTES + 1, REASON_HTTP_HEAD_TOO_LARGE},
    };
    static const struct http_rules rules = {.tokens = true}, none = {.tokens = false};
    struct buf request;

    buf_init(&request, 1 << 20);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t begin;

        buf_clear(&request);
        buf_add_text(&request, "GET / HTTP/1.1\r\nHost: a\r\n");
        begin = buf_len(&request);
        buf_add_text(&request, rows[i].name);
        while (buf_len(&request) < begin + rows[i].line)
            buf_add_byte(&request, 'a');
        buf_add_text(&request, "\r\n\r\n");
        for (size_t cut = 0; cut <= buf_len(&request); cut += 397) {
            assert_int_equal(fate_by(&rules, &request, cut), rows[i].reason);
            assert_int_equal(fate_by(&none, &request, cut),
                             rows[i].line > HTTP_LINE_MAX_BYTES ? REASON_HTTP_HEAD_TOO_LARGE : REASON_PERMITTED);
        }
    }
    /* The head as a whole: two long lines beside the token fit, a third does not. */
    for (int lines = 1; lines <= 3; lines++) {
        buf_clear(&request);
        buf_add_text(&request, "GET / HTTP/1.1\r\nHost: a\r\nAuthorization: ");
        for (int i = 0; i < 16000; i++)
            buf_add_byte(&request, 'a');
        for (int n = 0; n < lines; n++) {
            buf_addf(&request, "\r\nA%d:", n);
            for (int i = 0; i < 8000; i++)
                buf_add_byte(&request, 'a');
        }
        buf_add_text(&request, "\r\n\r\n");
        assert_int_equal(fate_by(&rules, &request, 1000), lines == 3 ? REASON_HTTP_HEAD_TOO_LARGE : REASON_PERMITTED);
    }
    buf_fini(&request);
}

/* 1.12 */
TEST_CASE(limits_of_heads)
{
    static const struct {
        size_t lines, last;
        enum reason reason;
    } rows[] = {
        {63, 0, REASON_PERMITTED}, /* with Host 64 */
        {64, 0, REASON_HTTP_HEAD_TOO_LARGE},
        {1, 8192, REASON_PERMITTED},
        {1, 8193, REASON_HTTP_HEAD_TOO_LARGE},
        {1, 20000, REASON_HTTP_HEAD_TOO_LARGE},
    };
    struct buf request;

    buf_init(&request, 1 << 20);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        build(&request, rows[i].lines, rows[i].last);
        for (size_t cut = 0; cut <= buf_len(&request); cut += buf_len(&request) / 40 + 1)
            assert_int_equal(fate(&request, cut), rows[i].reason);
    }
    /* Two long lines that are each within the limit: 16,384 bytes pass, one more does not. */
    for (size_t over = 0; over < 2; over++) {
        buf_clear(&request);
        assert_ok(buf_add_text(&request, "GET / HTTP/1.1\r\nHost: a\r\nA:"));
        while (buf_len(&request) < 8000)
            assert_ok(buf_add_byte(&request, 'a'));
        assert_ok(buf_add_text(&request, "\r\nB:"));
        while (buf_len(&request) < 16000)
            assert_ok(buf_add_byte(&request, 'b'));
        assert_ok(buf_add_text(&request, "\r\nC:"));
        while (buf_len(&request) < 16380 + over)
            assert_ok(buf_add_byte(&request, 'c'));
        assert_ok(buf_add_text(&request, "\r\n\r\n"));
        for (size_t cut = 0; cut <= buf_len(&request); cut += 97)
            assert_int_equal(fate(&request, cut), over ? REASON_HTTP_HEAD_TOO_LARGE : REASON_PERMITTED);
    }
    /* A line that never ends is refused before it does. */
    buf_clear(&request);
    for (size_t i = 0; i < HTTP_LINE_MAX_BYTES + 2; i++)
        assert_ok(buf_add_byte(&request, 'G'));
    assert_int_equal(fate(&request, SIZE_MAX), REASON_HTTP_HEAD_TOO_LARGE);
    assert_int_equal(fate(&request, 0), REASON_HTTP_HEAD_TOO_LARGE);
    buf_fini(&request);
}

/* 1.12 */
TEST_CASE(replies)
{
    static const struct sample rows[] = {
        {SPAN_LIT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP"), HTTP_METHOD_POST, "{}", 4, false},
        {SPAN_LIT("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}"), HTTP_METHOD_POST, "{}", 0, false},
        {SPAN_LIT("HTTP/1.1 202 \r\ncontent-length: 0\r\n\r\n"), HTTP_METHOD_POST, "", 0, false},
        {SPAN_LIT("HTTP/1.1 204 No Content\r\n\r\nx"), HTTP_METHOD_DELETE, "", 1, false},
        {SPAN_LIT("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\nx"), HTTP_METHOD_DELETE, "", 1, false},
        {SPAN_LIT("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\nx"), HTTP_METHOD_GET, "", 1, false},
        {SPAN_LIT("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), HTTP_METHOD_HEAD, "", 1, false},
        {SPAN_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx"), HTTP_METHOD_HEAD, "", 1, false},
        {SPAN_LIT("HTTP/1.1 200 OK\r\n\r\nx"), HTTP_METHOD_HEAD, "", 1, false},
        {SPAN_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
            "x"), HTTP_METHOD_POST, "{}", 1, false},
        {SPAN_LIT("HTTP/1.1 200 OK\r\nConnection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n"
            "{}x"), HTTP_METHOD_POST, "{}", 1,
         false},
        {SPAN_LIT("HTTP/1.1 200 OK\r\nX_odd: a\r\nA:\r\n\r\n{}"), HTTP_METHOD_POST, "{}", 0, true},
        {SPAN_LIT("HTTP/1.0 200 OK\r\n\r\n{}"), HTTP_METHOD_POST, "{}", 0, true},
        {SPAN_LIT("HTTP/1.0 200 OK\r\n\r\n"), HTTP_METHOD_POST, "", 0, true},
        {SPAN_LIT("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n"
            "{}x"), HTTP_METHOD_POST, "{}", 1, false},
        {SPAN_LIT("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX: a\r\n\r\n"
            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                  "HTTP/1.1 100\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
         HTTP_METHOD_POST, "{}", 0, false},
        {SPAN_LIT("HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n"
            "Content-Length: 0\r\n\r\n"), HTTP_METHOD_POST,
         "", 0, false},
    };
    static const bool lives[] = {true, true, true, true, true, true, true, true, true, true, true,
                                 false, false, false, true, true, false};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct http_reader reader;

        passes(&rows[i], &reader);
        if (reader.head.keep_alive != lives[i])
            fail_msg("row %zu: keep_alive is %d", i, reader.head.keep_alive);
        http_reader_fini(&reader);
    }
}

static void refused_reply(struct span bytes, enum reason reason)
{
    for (size_t cut = 0; cut <= bytes.len; cut++) {
        struct sample sample = {.bytes = bytes, .asked = HTTP_METHOD_POST, .body = "", .by_eof = true};
        struct http_reader reader;
        struct http_script script;

        read_at(&script, &sample, &reader, cut);
        if (script.end != HTTP_STEP_FAULT || script.reason != reason)
            fail_msg("%.50s cut at %zu: step %d, %s", bytes.at, cut, (int)script.end, reason_name(script.reason));
        http_script_fini(&script);
        http_reader_fini(&reader);
    }
}

/* 1.12 */
TEST_CASE(refused_replies)
{
    static const struct span malformed[] = {
        SPAN_LIT("HTTP/2 200 OK\r\nContent-Length: 0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 099 OK\r\nContent-Length: 0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 600 OK\r\nContent-Length: 0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 200 O\x01K\r\nContent-Length: 0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 200 OK\r\nContent-Length: 0\n\r\n"),
        SPAN_LIT("HTTP/1.1 200 OK\r\n X: a\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 200 OK\r\nX : a\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 200 OK\r\nX: \xe9\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}"),
        SPAN_LIT("HTTP/1.1 200 OK\r\nContent-Length: 02\r\n\r\n{}"),
        SPAN_LIT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx"),
        SPAN_LIT("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: a\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a\r\nx\r\n0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 200 OK\r\nMcp-Session-Id: a\r\nMcp-Session-Id: b\r\nContent-Length: 0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n{}"),
        SPAN_LIT("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 100 Continue\r\nContent-Length: 2\r\n\r\n{}"),
        SPAN_LIT("HTTP/1.0 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), /* 4.16: others end with it */
        SPAN_LIT("HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 100 \r\n\r\nHTTP/1.1 100 \r\n\r\nHTTP/1.1 100 \r\n\r\nHTTP/1.1 100 \r\n\r\n"
            "HTTP/1.1 100 \r\n\r\n"
                 "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        SPAN_LIT("SSH-2.0-OpenSSH_9.2\r\n"),
        SPAN_LIT("\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    };
    static const struct span cut_off[] = {
        SPAN_LIT(""),
        SPAN_LIT("HTTP/1.1 200 OK\r\nContent-Le"),
        SPAN_LIT("HTTP/1.1 100 Continue\r\n\r\n"),
        SPAN_LIT("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}"),
        SPAN_LIT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"),
    };

    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
        refused_reply(malformed[i], REASON_UPSTREAM_MALFORMED);
    for (size_t i = 0; i < sizeof cut_off / sizeof cut_off[0]; i++)
        refused_reply(cut_off[i], REASON_UPSTREAM_CLOSED);
}

/* 1.12 */
TEST_CASE(unsolicited_replies)
{
    const struct span reply = SPAN_LIT("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    struct http_reader reader;
    struct span body;
    size_t used;

    http_reader_init_reply(&reader);
    http_reader_next(&reader, HTTP_METHOD_NONE);
    assert_int_equal(http_reader_feed(&reader, SPAN_NONE, &used, &body), HTTP_STEP_NEED_MORE);
    assert_int_equal(http_reader_feed(&reader, reply, &used, &body), HTTP_STEP_FAULT);
    assert_int_equal(reader.reason, REASON_UPSTREAM_MALFORMED);
    /* A fault is final. */
    http_reader_next(&reader, HTTP_METHOD_POST);
    assert_int_equal(http_reader_feed(&reader, reply, &used, &body), HTTP_STEP_FAULT);
    assert_int_equal(http_reader_eof(&reader), HTTP_STEP_FAULT);
    http_reader_fini(&reader);
}

/* 1.7: whatever the connection before left */
TEST_CASE(a_reply_on_another_connection)
{
    static const char *const before[] = {"HTTP/1.1 200 OK\r\nX: hal", "HTTQ", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nabc"};
    const struct span in = SPAN_LIT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");

    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        struct http_reader reader;
        struct http_script script;

        http_reader_init_reply(&reader);
        http_reader_next(&reader, HTTP_METHOD_POST);
        http_script_read(&script, &reader, span_text(before[i]), SIZE_MAX, true);
        http_script_fini(&script);
        http_reader_begin_reply(&reader, HTTP_METHOD_POST);
        assert_int_equal(reader.reason, REASON_UNSET);
        assert_string_equal(reader.detail, "");
        http_script_read(&script, &reader, in, SIZE_MAX, false);
        assert_int_equal(script.end, HTTP_STEP_MESSAGE_DONE);
        assert_true(span_is(buf_peek(&script.body), "{}"));
        http_script_fini(&script);
        http_reader_fini(&reader);
    }
}

/* 1.30: the admin port takes HTTP/1.0 and no Host; nobody else does */
TEST_CASE(plain_clients)
{
    static const struct http_rules plain = {.plain_clients = true};
    static const struct span rows[] = {SPAN_LIT("GET /healthz HTTP/1.0\r\n"
        "\r\n"), SPAN_LIT("GET /healthz HTTP/1.1\r\n\r\n"),
                                       SPAN_LIT("GET /healthz HTTP/1.0\r\nHost: any\r\n\r\n")};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int allowed = 0; allowed < 2; allowed++) {
            struct http_reader reader;
            struct http_script script;

            http_reader_init_request(&reader, allowed ? &plain : NULL);
            http_script_read(&script, &reader, rows[i], 0, false);
            assert_int_equal(script.end, allowed ? HTTP_STEP_MESSAGE_DONE : HTTP_STEP_FAULT);
            if (allowed)
                assert_int_equal(reader.head.keep_alive, reader.head.minor == 1);
            http_script_fini(&script);
            http_reader_fini(&reader);
        }
}

/* Each allocation fails in turn: memory is the reason, nothing leaks, and without failures it passes. */
TEST_CASE(memory_runs_out)
{
    const struct span request = SPAN_LIT(POST "Content-Length: 2\r\n"
        "X-Long: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                              "\r\n\r\n{}");
    bool done = false;

    for (uint64_t nth = 1; !done; nth++) {
        struct http_reader reader;
        struct span rest = request, body;
        enum http_step step = HTTP_STEP_HEAD_DONE;

        http_reader_init_request(&reader, NULL);
        mem_fail_at(nth, 0);
        while (step == HTTP_STEP_HEAD_DONE || step == HTTP_STEP_BODY) {
            size_t used;

            step = http_reader_feed(&reader, rest, &used, &body);
            rest = span_part(rest, used, SIZE_MAX);
        }
        done = mem_fail_count() < nth;
        mem_fail_at(0, 0);
        assert_int_equal(step, done ? HTTP_STEP_MESSAGE_DONE : HTTP_STEP_FAULT);
        assert_int_equal(reader.reason, done ? REASON_UNSET : REASON_MEMORY);
        assert_true(nth < 20);
        assert_true(!done || nth > 2);
        http_reader_fini(&reader);
    }
}

TEST_MAIN(NULL, NULL)
