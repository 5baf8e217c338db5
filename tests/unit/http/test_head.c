/* SPDX-License-Identifier: Apache-2.0 */
/* Which headers pass, which are dropped, and what a head written anew looks like. */
#include "fakes/cm.h"
#include "fakes/http_script.h"

#include "base/mem.h"
#include "http/name_priv.h"
#include "http/writer.h"

static const struct http_except no_except;

static void read_head(struct http_reader *reader, bool is_reply, struct span text)
{
    struct span body;
    size_t used;

    if (is_reply) {
        http_reader_init_reply(reader);
        http_reader_next(reader, HTTP_METHOD_POST);
    } else {
        http_reader_init_request(reader, NULL);
    }
    if (http_reader_feed(reader, text, &used, &body) != HTTP_STEP_HEAD_DONE)
        fail_msg("%s: %s", reason_name(reader->reason), reader->detail);
}

/* 1.12 */
TEST_CASE(names_dropped_from_requests)
{
    static const char *const dropped[] = {
        "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization", "TE", "Trailer",
            "Transfer-Encoding", "Upgrade",
        "HTTP2-Settings", "X-HTTP-Method-Override", "X-Original-URL", "X-Rewrite-URL", "Forwarded",
            "X-Forwarded-For",
        "X-Forwarded-Anything", "X-Real-IP", "Via", "Remote-User", "Remote-Anything", "X-Remote-User",
            "X-Client-Cert",
        "X-Client-Cert-Dn", "X-SSL-Client-Verify", "X-Callgate-Decision", "Mcp-Method", "Mcp-Name",
            "Mcp-Param-City", "Host",
        "Content-Length", "Expect", "Accept-Encoding"};
    static const char *const passing[] = {
        "Authorization", "X-API-Key", "Last-Event-ID", "traceparent", "tracestate", "Accept", "Content-Type",
            "User-Agent",
        "Mcp-Session-Id", "MCP-Protocol-Version", "X-Anything", "Cookie", "Origin", "X-SSL", "Remote",
            "Via-X", "Hos", "Hosts"};

    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++) {
        char other[64];
        size_t len = strlen(dropped[i]);

        for (size_t j = 0; j <= len; j++)
            other[j] = dropped[i][j] >= 'a' && dropped[i][j] <= 'z' ? (char)(dropped[i][j] - 32) : dropped[i][j];
        if (!http_header_is_dropped(span_text(dropped[i])))
            fail_msg("%s passes", dropped[i]);
        assert_true(http_header_is_dropped(span_of(other, len)));
    }
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++)
        if (http_header_is_dropped(span_text(passing[i])))
            fail_msg("%s is dropped", passing[i]);
}

/* 1.12 */
TEST_CASE(names_dropped_from_replies)
{
    static const char *const dropped[] = {"Connection", "Keep-Alive", "Proxy-Authenticate", "TE", "Trailer",
        "Transfer-Encoding",
                                          "Upgrade", "Content-Length", "Access-Control-Allow-Origin",
                                          "access-control-anything", "X-Callgate-Decision", "X-Whatever", "Location", "Refresh",
                                          "Clear-Site-Data", "Alt-Svc", "Set-Cookie", "Link", "Strict-Transport-Security",
                                          "SourceMap", "Service-Worker-Allowed", "Content-Location"}; /* 10.7 */
    static const char *const passing[] = {"WWW-Authenticate", "Retry-After", "Allow", "Content-Type",
        "Mcp-Session-Id", "Vary",
                                          "Date", "Server", "MCP-Protocol-Version", "Last-Event-ID", "x-accel-buffering",
                                          "RateLimit-Policy",
                                          "X-RateLimit-Reset", "traceparent", "tracestate", "DPoP-Nonce", "ETag", "Cache-Control"};
    enum http_name known;

    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
        if ((http__name_flags(span_text(dropped[i]), &known) & HTTP__REPLY) != 0)
            fail_msg("%s passes", dropped[i]);
    for (size_t i = 0; i < sizeof passing / sizeof passing[0]; i++)
        if ((http__name_flags(span_text(passing[i]), &known) & HTTP__REPLY) == 0)
            fail_msg("%s is dropped", passing[i]);
}

/* 1.12 */
TEST_CASE(known_names_in_any_case)
{
    static const char *const names[] = {
#define NAME_ROW(name, text, flags) [HTTP_NAME_##name] = (text),
        HTTP_NAME_TABLE(NAME_ROW)
    };

    for (int i = 1; i < HTTP_NAME_COUNT; i++) {
        struct span name = span_text(names[i]);
        char other[32];
        enum http_name known;

        assert_in_range(name.len, 1, sizeof other - 1);
        (void)http__name_flags(name, &known);
        assert_int_equal(known, i);
        for (size_t j = 0; j < name.len; j++)
            other[j] = (char)(name.at[j] >= 'a' && name.at[j] <= 'z' ? name.at[j] - 32 : name.at[j]);
        (void)http__name_flags(span_of(other, name.len), &known);
        assert_int_equal(known, i);
        for (size_t j = 0; j < name.len; j++) { /* what differs in one bit is another name, but for a letter's case */
            bool is_letter = (name.at[j] | 32) >= 'a' && (name.at[j] | 32) <= 'z';

            memcpy(other, name.at, name.len);
            other[j] = (char)(other[j] ^ (is_letter ? 64 : 32));
            (void)http__name_flags(span_of(other, name.len), &known);
            assert_int_equal(known, HTTP_NAME_OTHER);
        }
        memcpy(other, name.at, name.len);
        other[name.len] = 'x';
        (void)http__name_flags(span_of(other, name.len + 1), &known);
        assert_int_equal(known, HTTP_NAME_OTHER);
    }
}

/* 1.12 */
TEST_CASE(known_headers_are_found_by_number)
{
    const struct span in = SPAN_LIT("POST / HTTP/1.1\r\nX-A: 1\r\nHOST: h:80\r\naccept:\r\nAccept: second\r\nX-B: 2\r\n\r\n");
    struct http_reader reader;

    read_head(&reader, false, in);
    assert_true(span_is(http_head_known(&reader.head, HTTP_NAME_HOST), "h:80"));
    assert_true(span_is(http_head_text(&reader.head, reader.head.host_name), "h"));
    assert_non_null(http_head_known(&reader.head, HTTP_NAME_ACCEPT).at); /* there, and empty */
    assert_int_equal(http_head_known(&reader.head, HTTP_NAME_ACCEPT).len, 0);
    assert_null(http_head_known(&reader.head, HTTP_NAME_ORIGIN).at);
    http_reader_next(&reader, HTTP_METHOD_NONE);
    assert_false(http_head_has(&reader.head, HTTP_NAME_HOST));
    http_reader_fini(&reader);
}

/* 1.12 1.14 */
TEST_CASE(a_request_head_written_anew)
{
    const struct span in =
        SPAN_LIT("POST /shop/mcp?x=%41 HTTP/1.1\r\nHost: public\r\n"
            "Connection: Upgrade, HTTP2-Settings , x-secret\r\n"
                 "connection: X-More\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\nX-Secret: 1\r\nX-More: 2\r\n"
                     "X-Kept: \t a  b \r\n"
                 "AUTHORIZATION: Bearer k\r\nX-Forwarded-For: 6.6.6.6\r\nMcp-Name: lie\r\nUser-Agent: a\r\nX-Tenant: acme\r\n"
                     "Expect: 100-continue\r\n"
                 "Content-Type: Application/JSON\r\nTransfer-Encoding: chunked\r\n\r\n");
    const struct span tenant = SPAN_LIT("x-tenant");
    const struct http_except except = {.known = HTTP_EXCEPT(USER_AGENT), .names = &tenant, .count = 1};
    struct http_reader reader;
    struct buf out;

    read_head(&reader, false, in);
    buf_init(&out, 4096);
    assert_ok(http_write_request(&out, reader.head.method, http_head_path(&reader.head), reader.head.has_query,
                                 http_head_query(&reader.head)));
    assert_ok(http_write_header(&out, SPAN_LIT("Host"), SPAN_LIT("inner:9443")));
    assert_ok(http_write_passing(&out, &reader.head, &except));
    assert_ok(http_write_header(&out, SPAN_LIT("X-Tenant"), SPAN_LIT("judged")));
    assert_ok(http_write_line_u64(&out, SPAN_LIT("Content-Length: "), UINT64_MAX));
    assert_ok(http_write_head_end(&out));
    assert_true(span_is(buf_peek(&out), "POST /shop/mcp?x=%41 HTTP/1.1\r\nHost: inner:9443\r\n"
        "X-Kept: a  b\r\nAUTHORIZATION: Bearer k\r\n"
                                        "Content-Type: Application/JSON\r\nX-Tenant: judged\r\n"
                                        "Content-Length: 18446744073709551615\r\n\r\n"));
    buf_fini(&out);
    http_reader_fini(&reader);
}

/* 1.12 */
TEST_CASE(a_reply_head_written_anew)
{
    const struct span in = SPAN_LIT("HTTP/1.1 401 Whatever They Say\r\n"
        "WWW-Authenticate: Bearer realm=\"x\", resource_metadata=\"y\"\r\n"
                                    "Access-Control-Allow-Origin: *\r\nX-Callgate-Decision: 1\r\n"
                                        "Connection: close, X-Inner\r\n"
                                    "X-Inner: 1\r\nRetry-After: 3\r\nContent-Length: 0\r\n\r\n");
    struct http_reader reader;
    struct buf out;

    read_head(&reader, true, in);
    buf_init(&out, 4096);
    assert_ok(http_write_status(&out, reader.head.status));
    assert_ok(http_write_passing(&out, &reader.head, &no_except));
    assert_ok(http_write_head_end(&out));
    assert_true(span_is(buf_peek(&out), "HTTP/1.1 401 Unauthorized\r\n"
        "WWW-Authenticate: Bearer realm=\"x\", resource_metadata=\"y\"\r\n"
                                        "Retry-After: 3\r\n\r\n"));
    buf_fini(&out);
    http_reader_fini(&reader);
}

/* 1.12: lines that follow one another go in one piece, if they were written as we write them */
TEST_CASE(lines_pass_in_runs)
{
    const struct span in = SPAN_LIT("POST / HTTP/1.1\r\nX-A: 1\r\nX-B: two words\r\nHost: h\r\nX-C: 3\r\nX-D:4\r\nX-E: 5\r\n"
                                    "X-F:  6\r\nX-G:\t7\r\nX-H: 8 \r\nX-I: 9\r\nX-J: \r\nX-K:\r\nX-L: 12\r\nVia: x\r\n"
                                    "Accept: a\r\nX-M: 13\r\nX-N: 14\r\n\r\n");
    const struct span names[] = {SPAN_LIT("x-e"), SPAN_LIT("X-M")};
    const struct http_except except = {.known = HTTP_EXCEPT(ACCEPT), .names = names, .count = 2};
    struct http_reader reader;
    struct buf out;

    read_head(&reader, false, in);
    buf_init(&out, 4096);
    assert_ok(http_write_passing(&out, &reader.head, &except));
    assert_true(span_is(buf_peek(&out), "X-A: 1\r\nX-B: two words\r\nX-C: 3\r\nX-D: 4\r\nX-F: 6\r\nX-G: 7\r\nX-H: 8\r\n"
                                        "X-I: 9\r\nX-J: \r\nX-K: \r\nX-L: 12\r\nX-N: 14\r\n"));
    buf_fini(&out);
    http_reader_fini(&reader);
}

/* 1.12 */
TEST_CASE(nothing_that_breaks_a_head_is_written)
{
    static const struct span bad_names[] = {SPAN_LIT(""), SPAN_LIT("a b"), SPAN_LIT("a:"), SPAN_LIT("a\r\n"
        "b"), SPAN_LIT("\xc3\xa9"),
                                            SPAN_LIT("a\0b"), SPAN_LIT("(a)")};
    static const struct span bad_values[] = {SPAN_LIT("a\r\n"
        "X: b"), SPAN_LIT("a\n"), SPAN_LIT("\r"), SPAN_LIT("a\0"), SPAN_LIT("\xc3\xa9"),
                                             SPAN_LIT("a\x7f"), SPAN_LIT(" a"), SPAN_LIT("a\t"), SPAN_LIT("\x1f")};
    static const struct span bad_paths[] = {SPAN_LIT(""), SPAN_LIT("a"), SPAN_LIT("/a b"),
        SPAN_LIT("/a\r\n"), SPAN_LIT("/?"),
                                            SPAN_LIT("/#"), SPAN_LIT("/\xff"), SPAN_LIT("/\x7f")};
    struct buf out;

    buf_init(&out, 4096);
    for (size_t i = 0; i < sizeof bad_names / sizeof bad_names[0]; i++)
        assert_sticks(http_write_header(&out, bad_names[i], SPAN_LIT("a")), &out, CODE_INVALID);
    for (size_t i = 0; i < sizeof bad_values / sizeof bad_values[0]; i++)
        assert_sticks(http_write_header(&out, SPAN_LIT("X"), bad_values[i]), &out, CODE_INVALID);
    for (size_t i = 0; i < sizeof bad_values / sizeof bad_values[0]; i++)
        assert_sticks(http_write_line(&out, SPAN_LIT("X: "), bad_values[i]), &out, CODE_INVALID);
    for (size_t i = 0; i < sizeof bad_paths / sizeof bad_paths[0]; i++)
        assert_sticks(http_write_request(&out, HTTP_METHOD_GET, bad_paths[i], false, SPAN_NONE), &out, CODE_INVALID);
    assert_sticks(http_write_request(&out, HTTP_METHOD_NONE, SPAN_LIT("/"), false, SPAN_NONE), &out, CODE_INVALID);
    assert_sticks(http_write_request(&out, HTTP_METHOD_GET, SPAN_LIT("/"), true, SPAN_LIT("a b")), &out,
        CODE_INVALID);
    assert_sticks(http_write_request(&out, HTTP_METHOD_GET, SPAN_LIT("/"), true, SPAN_LIT("a#b")), &out,
        CODE_INVALID);
    assert_sticks(http_write_status(&out, 99), &out, CODE_INVALID);
    assert_sticks(http_write_status(&out, 600), &out, CODE_INVALID);
        assert_ok(http_write_header(&out, SPAN_LIT("X"), SPAN_NONE));
    assert_ok(http_write_line(&out, SPAN_LIT("Y: "), SPAN_LIT("a b")));
    assert_ok(http_write_line_u64(&out, SPAN_LIT("Z: "), 10));
    assert_true(span_is(buf_peek(&out), "X: \r\nY: a b\r\nZ: 10\r\n"));
    buf_fini(&out);
}

/* 1.12 */
TEST_CASE(chunks_read_back)
{
    struct http_reader reader;
    struct http_script script;
    struct buf out;
    char big[300];

    memset(big, 'x', sizeof big);
    buf_init(&out, 4096);
    assert_ok(http_write_status(&out, 200));
    assert_ok(http_write_header(&out, SPAN_LIT("Transfer-Encoding"), SPAN_LIT("chunked")));
    assert_ok(http_write_head_end(&out));
    assert_ok(http_write_chunk(&out, SPAN_LIT("hello")));
    assert_ok(http_write_chunk(&out, SPAN_NONE)); /* would end the body if it were written */
    assert_ok(http_write_chunk(&out, span_of(big, sizeof big)));
    assert_ok(http_write_last_chunk(&out));
    http_reader_init_reply(&reader);
    http_reader_next(&reader, HTTP_METHOD_POST);
    http_script_read(&script, &reader, buf_peek(&out), 0, false);
    assert_int_equal(script.end, HTTP_STEP_MESSAGE_DONE);
    assert_int_equal(script.consumed, buf_len(&out));
    assert_int_equal(buf_len(&script.body), 305);
    http_script_fini(&script);
    http_reader_fini(&reader);
    buf_fini(&out);
}

/* A cap or memory that runs out leaves no half line. */
TEST_CASE(all_or_nothing)
{
    struct http_reader reader;
    struct buf out;

    read_head(&reader, false, SPAN_LIT("GET / HTTP/1.1\r\nHost: a\r\nX-One: 1\r\nX-Two: 2\r\n\r\n"));
    for (size_t cap = 0; cap < 20; cap++) {
        buf_init(&out, cap);
        assert_int_equal(http_write_passing(&out, &reader.head, &no_except), CODE_LIMIT);
        assert_true(buf_is_empty(&out));
        if (cap < 14) {
            assert_int_equal(http_write_header(&out, SPAN_LIT("Retry-After"), SPAN_LIT("1")), CODE_LIMIT);
            assert_int_equal(http_write_status(&out, 200), CODE_LIMIT);
            assert_true(buf_is_empty(&out));
        }
        buf_fini(&out);
    }
    buf_init(&out, 4096);
    mem_fail_at(1, 1);
    assert_int_equal(http_write_passing(&out, &reader.head, &no_except), CODE_NOMEM);
    assert_int_equal(http_write_chunk(&out, SPAN_LIT("a")), CODE_NOMEM);
    mem_fail_at(0, 0);
    assert_true(buf_is_empty(&out));
    buf_fini(&out);
    http_reader_fini(&reader);
}

TEST_CASE(questions)
{
    struct http_reader reader;
    struct span value;

    read_head(&reader, false, SPAN_LIT("GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\nx: 2\r\nConnection: a ,, b\r\n"
        "Connection: c\r\n\r\n"));
    assert_int_equal(http_head_count(&reader.head, SPAN_LIT("X")), 2);
    assert_int_equal(http_head_count(&reader.head, SPAN_LIT("Y")), 0);
    assert_true(http_head_find(&reader.head, SPAN_LIT("X"), &value));
    assert_true(span_is(value, "1"));
    assert_string_equal(http_method_text(HTTP_METHOD_DELETE), "DELETE");
    assert_string_equal(http_status_text(431), "Request Header Fields Too Large");
    assert_string_equal(http_status_text(299), "Status");
    http_reader_fini(&reader);
}

/* 4.21: the phrases of RFC 9110, section 15, and RFC 6585; one of nobody's number is no phrase of another. */
TEST_CASE(phrases_stand_beside_their_numbers)
{
    static const char said[] =
        "100 Continue,200 OK,201 Created,202 Accepted,203 Non-Authoritative Information,204 No Content,206 Partial Content,"
        "302 Found,303 See Other,307 Temporary Redirect,"
        "400 Bad Request,401 Unauthorized,402 Payment Required,403 Forbidden,404 Not Found,405 Method Not Allowed,406 Not Acceptable,"
        "408 Request Timeout,409 Conflict,410 Gone,411 Length Required,413 Content Too Large,415 Unsupported Media Type,"
        "417 Expectation Failed,421 Misdirected Request,422 Unprocessable Content,426 Upgrade Required,429 Too Many Requests,"
        "431 Request Header Fields Too Large,500 Internal Server Error,501 Not Implemented,502 Bad Gateway,503 Service Unavailable,"
        "504 Gateway Timeout,505 HTTP Version Not Supported,";
    char all[2048] = "";

    for (int status = 100, len = 0; status < 600; status++)
        if (strcmp(http_status_text(status), "Status") != 0)
            len += snprintf(all + len, sizeof all - (size_t)len, "%d %s,", status, http_status_text(status));
    assert_string_equal(all, said);
}

/* Every status that the reason table can answer with has its phrase. */
TEST_CASE(every_reason_has_a_phrase)
{
    for (int i = 0; i < REASON_COUNT; i++) {
        int status = reason_status((enum reason)i);

        if (status != 0 && strcmp(http_status_text(status), "Status") == 0)
            fail_msg("%d of %s", status, reason_name((enum reason)i));
    }
}

/* 1.12: eight bytes at a time see what one at a time would */
TEST_CASE(every_byte_of_a_value)
{
    char value[40];

    for (int byte = 0; byte < 256; byte++)
        for (size_t len = 1; len < sizeof value; len++)
            for (size_t at = 0; at < len; at++) {
                bool is_good = byte == '\t' || (byte >= ' ' && byte <= '~');

                memset(value, at % 2 ? '~' : ' ', len); /* what a carry or a borrow of the byte beside would spoil */
                value[at] = (char)byte;
                if (http__is_value(span_of(value, len)) != is_good ||
                    http__is_all(span_of(value, len), HTTP__VALUE) != is_good)
                    fail_msg("byte %d at %zu of %zu", byte, at, len);
            }
    assert_true(http__is_value(SPAN_NONE));
}

TEST_MAIN(NULL, NULL)
