/* SPDX-License-Identifier: Apache-2.0 */
/* Every request that src/ground/http/README.md says is refused, whole, in two pieces at every byte, and byte by byte. */
#include "fakes/cm.h"
#include "fakes/http_script.h"

struct refusal {
    const char *what;
    struct span request;
    enum reason reason;
};

#define REFUSED(what_, reason_, text_) {(what_), SPAN_LIT(text_), REASON_##reason_}
#define HOST "Host: a\r\n"
#define GET "GET /mcp HTTP/1.1\r\n" HOST
#define POST "POST /mcp HTTP/1.1\r\n" HOST
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"

static void read_at(struct http_script *script, const struct http_rules *rules, struct span in, size_t cut)
{
    struct http_reader reader;

    http_reader_init_request(&reader, rules);
    http_script_read(script, &reader, in, cut, true);
    http_reader_fini(&reader);
}

static void all_cuts(const struct refusal *row, const struct http_rules *rules)
{
    struct http_script whole, cut;

    read_at(&whole, rules, row->request, SIZE_MAX);
    if (whole.end != HTTP_STEP_FAULT || whole.reason != row->reason)
        fail_msg("%s: step %d, reason %s (%s) instead of %s", row->what, (int)whole.end, reason_name(whole.reason),
                 whole.detail, reason_name(row->reason));
    assert_true(whole.detail[0] != '\0');
    for (size_t i = 0; i < row->request.len; i++) {
        read_at(&cut, rules, row->request, i);
        if (!http_script_equals(&whole, &cut))
            fail_msg("%s: cut at %zu gives step %d, reason %s (%s)", row->what, i, (int)cut.end,
                reason_name(cut.reason),
                     cut.detail);
        http_script_fini(&cut);
    }
    http_script_fini(&whole);
}

static void all_rows(const struct refusal *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        all_cuts(&rows[i], NULL);
}

#define RUN(rows) all_rows(rows, sizeof rows / sizeof rows[0])

/* 1.12 */
TEST_CASE(line_ends)
{
    static const struct refusal rows[] = {
        REFUSED("LF after the request line", HTTP_MALFORMED, "GET / HTTP/1.1\nHost: a\r\n\r\n"),
        REFUSED("LF after a header", HTTP_MALFORMED, "GET / HTTP/1.1\r\nHost: a\n\r\n"),
        REFUSED("LF as the empty line", HTTP_MALFORMED, "GET / HTTP/1.1\r\nHost: a\r\n\n"),
        REFUSED("LF LF at the end", HTTP_MALFORMED, "GET / HTTP/1.1\r\nHost: a\n\n"),
        REFUSED("CR alone between headers", HTTP_MALFORMED, GET "X-Abc:\rxTransfer-Encoding: chunked\r\n\r\n"
            "1\r\nA\r\n0\r\n\r\n"),
        REFUSED("CR and a byte as the end", HTTP_MALFORMED, GET "\rX\r\n\r\n"),
        REFUSED("CR CR LF", HTTP_MALFORMED, GET "X: a\r\r\n\r\n"),
        REFUSED("CR within a value", HTTP_MALFORMED, GET "X: a\rb\r\n\r\n"),
        REFUSED("an empty line first", HTTP_MALFORMED, "\r\n" GET "\r\n"),
        REFUSED("LF first", HTTP_MALFORMED, "\n" GET "\r\n"),
        REFUSED("SP first", HTTP_MALFORMED, " " GET "\r\n"),
        REFUSED("a TLS hello", HTTP_MALFORMED, "\x16\x03\x01\x02\x00\x01\x00"),
        REFUSED("NUL first", HTTP_MALFORMED, "\0" GET "\r\n"),
    };

    RUN(rows);
}

/* 1.12 */
TEST_CASE(request_lines)
{
    static const struct refusal rows[] = {
        REFUSED("HTTP/0.9", HTTP_VERSION, "GET / HTTP/0.9\r\n" HOST "\r\n"),
        REFUSED("no version", HTTP_MALFORMED, "GET /\r\n" HOST "\r\n"),
        REFUSED("HTTP/1.0", HTTP_VERSION, "GET / HTTP/1.0\r\n" HOST "\r\n"),
        REFUSED("HTTP/2.0", HTTP_VERSION, "GET / HTTP/2.0\r\n" HOST "\r\n"),
        REFUSED("HTTP/1.10", HTTP_VERSION, "GET / HTTP/1.10\r\n" HOST "\r\n"),
        REFUSED("HTTP/01.1", HTTP_VERSION, "GET / HTTP/01.1\r\n" HOST "\r\n"),
        REFUSED("http/1.1", HTTP_MALFORMED, "GET / http/1.1\r\n" HOST "\r\n"),
        REFUSED("RTSP", HTTP_MALFORMED, "GET / RTSP/1.0\r\n" HOST "\r\n"),
        REFUSED("ICE", HTTP_METHOD, "SOURCE / ICE/1.0\r\n" HOST "\r\n"),
        REFUSED("two SP before the target", HTTP_MALFORMED, "GET  / HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("two SP after the target", HTTP_MALFORMED, "GET /  HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("SP after the version", HTTP_VERSION, "GET / HTTP/1.1 \r\n" HOST "\r\n"),
        REFUSED("HTAB between", HTTP_MALFORMED, "GET\t/ HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("absolute form", HTTP_MALFORMED, "GET http://a/ HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("asterisk form", HTTP_MALFORMED, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("no leading slash", HTTP_MALFORMED, "GET mcp HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("a fragment", HTTP_MALFORMED, "GET /a#b HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("a fragment after a query", HTTP_MALFORMED, "GET /a?b#c HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("a byte over 0x7f", HTTP_MALFORMED, "GET /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("a byte over 0x7f in the query", HTTP_MALFORMED, "GET /?\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("DEL in the path", HTTP_MALFORMED, "GET /\x7f HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("NUL in the path", HTTP_MALFORMED, "GET /a\0b HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("a quote in the path", HTTP_MALFORMED, "GET /\"a HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("CONNECT", HTTP_METHOD, "CONNECT a:443 HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("the preface of HTTP/2", HTTP_METHOD, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        REFUSED("PUT", HTTP_METHOD, "PUT / HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("PATCH", HTTP_METHOD, "PATCH / HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("TRACE", HTTP_METHOD, "TRACE / HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("an unknown method", HTTP_METHOD, "FROB / HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("a method in lower case", HTTP_METHOD, "post / HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("a method that is no token", HTTP_MALFORMED, "GE(T / HTTP/1.1\r\n" HOST "\r\n"),
    };

    RUN(rows);
}

/* 1.12 */
TEST_CASE(paths)
{
    static const struct refusal rows[] = {
        REFUSED("an escape", PATH_DEBATABLE, "GET /a%2e HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("dot dot", PATH_DEBATABLE, "GET /a/../b HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("dot dot at the end", PATH_DEBATABLE, "GET /a/.. HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("a dot segment", PATH_DEBATABLE, "GET /a/./b HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("a dot segment at the end", PATH_DEBATABLE, "GET /a/. HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("two slashes", PATH_DEBATABLE, "GET /a//b HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("two slashes first", PATH_DEBATABLE, "GET //a/b HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("a semicolon", PATH_DEBATABLE, "GET /a;v=1 HTTP/1.1\r\n" HOST "\r\n"),
        REFUSED("a backslash", PATH_DEBATABLE, "GET /a\\b HTTP/1.1\r\n" HOST "\r\n"),
    };

    RUN(rows);
}

/* 1.12 */
TEST_CASE(header_lines)
{
    static const struct refusal rows[] = {
        REFUSED("a folded line", HTTP_MALFORMED, GET "X: a\r\n b\r\n\r\n"),
        REFUSED("a line folded by HTAB", HTTP_MALFORMED, GET "X: a\r\n\tb\r\n\r\n"),
        REFUSED("a folded Content-Length", HTTP_MALFORMED, POST "Content-Length:\r\n 1\r\n\r\nA"),
        REFUSED("a folded Host", HTTP_MALFORMED, "GET / HTTP/1.1\r\nHost:\r\n a\r\n\r\n"),
        REFUSED("a blank before the first header", HTTP_MALFORMED, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
        REFUSED("an empty name", HTTP_MALFORMED, GET ": b\r\n\r\n"),
        REFUSED("no colon", HTTP_MALFORMED, GET "X\r\n\r\n"),
        REFUSED("SP before the colon", HTTP_MALFORMED, POST "Content-Length : 3\r\n\r\nabc"),
        REFUSED("HTAB before the colon", HTTP_MALFORMED, POST "Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n"),
        REFUSED("a name with a slash", HTTP_MALFORMED, GET "X/Y: a\r\n\r\n"),
        REFUSED("a name with a byte over 0x7f", HTTP_MALFORMED, GET "X\xff: a\r\n\r\n"),
        REFUSED("a name with NUL", HTTP_MALFORMED, GET "X\0: a\r\n\r\n"),
        REFUSED("NUL in a value", HTTP_MALFORMED, GET "X: a\0b\r\n\r\n"),
        REFUSED("a control character in a value", HTTP_MALFORMED, GET "X: a\x01\r\n\r\n"),
        REFUSED("DEL in a value", HTTP_MALFORMED, GET "X: a\x7f\r\n\r\n"),
        REFUSED("a byte over 0x7f in a value", HTTP_MALFORMED, GET "X: \xc3\xa9\r\n\r\n"),
        REFUSED("vertical tab around chunked", HTTP_MALFORMED, POST "Transfer-Encoding: \x0b" "chunked\r\n"
            "\r\n0\r\n\r\n"),
        REFUSED("'_' in a name", HTTP_HEADER_NAME, GET "X_Real_IP: 1.2.3.4\r\n\r\n"),
        REFUSED("Content_Length", HTTP_HEADER_NAME, POST "Content_Length: 3\r\n\r\nabc"),
    };

    RUN(rows);
}

/* 1.12 */
TEST_CASE(framing)
{
    static const struct refusal rows[] = {
        REFUSED("Content-Length 003", HTTP_FRAMING, POST "Content-Length: 003\r\n\r\nabc"),
        REFUSED("Content-Length +3", HTTP_FRAMING, POST "Content-Length: +3\r\n\r\nabc"),
        REFUSED("Content-Length -3", HTTP_FRAMING, POST "Content-Length: -3\r\n\r\nabc"),
        REFUSED("Content-Length 0x3", HTTP_FRAMING, POST "Content-Length: 0x3\r\n\r\nabc"),
        REFUSED("Content-Length 3.0", HTTP_FRAMING, POST "Content-Length: 3.0\r\n\r\nabc"),
        REFUSED("a list of lengths", HTTP_FRAMING, POST "Content-Length: 3, 3\r\n\r\nabc"),
        REFUSED("two numbers", HTTP_FRAMING, POST "Content-Length: 3 3\r\n\r\nabc"),
        REFUSED("a length and HTAB", HTTP_FRAMING, POST "Content-Length: 3\t\r\n\r\nabc"),
        REFUSED("a length and SP", HTTP_FRAMING, POST "Content-Length: 3 \r\n\r\nabc"),
        REFUSED("chunked and HTAB", HTTP_FRAMING, POST "Transfer-Encoding: chunked\t\r\n\r\n0\r\n\r\n"),
        REFUSED("chunked and SP", HTTP_FRAMING, POST "Transfer-Encoding: chunked \r\n\r\n0\r\n\r\n"),
        REFUSED("an empty length", HTTP_FRAMING, POST "Content-Length: \r\n\r\nabc"),
        REFUSED("a length of 2^64+3", HTTP_FRAMING, POST "Content-Length: 18446744073709551619\r\n\r\nabc"),
        REFUSED("a length of 2^63", HTTP_FRAMING, POST "Content-Length: 9223372036854775808\r\n\r\nabc"),
        REFUSED("both", HTTP_FRAMING, POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        REFUSED("both, the other way round", HTTP_FRAMING, POST "Transfer-Encoding: chunked\r\n"
            "Content-Length: 5\r\n\r\n0\r\n\r\n"),
        REFUSED("empty coding and length", HTTP_FRAMING, POST "Transfer-Encoding:\r\nContent-Length: 3\r\n"
            "\r\nabc"),
        REFUSED("an empty coding", HTTP_FRAMING, POST "Transfer-Encoding:\r\n\r\n0\r\n\r\n"),
        REFUSED("gzip, chunked", HTTP_FRAMING, POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        REFUSED("chunked, chunked", HTTP_FRAMING, POST "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
        REFUSED("chunked twice", HTTP_FRAMING, POST "Transfer-Encoding: chunked\r\n"
            "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        REFUSED("chunked, identity", HTTP_FRAMING, POST "Transfer-Encoding: chunked\r\n"
            "Transfer-Encoding: identity\r\n\r\n0\r\n\r\n"),
        REFUSED("identity", HTTP_FRAMING, POST "Transfer-Encoding: identity\r\n\r\n"),
        REFUSED("xchunked", HTTP_FRAMING, POST "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        REFUSED("quoted chunked", HTTP_FRAMING, POST "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n"),
        REFUSED("chunked;q=1", HTTP_FRAMING, POST "Transfer-Encoding: chunked;q=1\r\n\r\n0\r\n\r\n"),
    };

    RUN(rows);
}

/* 1.12 */
TEST_CASE(chunks)
{
    static const struct refusal rows[] = {
        REFUSED("an extension", HTTP_FRAMING, CHUNKED "5;a=b\r\nhello\r\n0\r\n\r\n"),
        REFUSED("an extension on the last", HTTP_FRAMING, CHUNKED "5\r\nhello\r\n0;a\r\n\r\n"),
        REFUSED("SP after the size", HTTP_FRAMING, CHUNKED "5 \r\nhello\r\n0\r\n\r\n"),
        REFUSED("SP before the size", HTTP_FRAMING, CHUNKED " 5\r\nhello\r\n0\r\n\r\n"),
        REFUSED("LF after the size", HTTP_FRAMING, CHUNKED "5\nhello\r\n0\r\n\r\n"),
        REFUSED("CR and a byte after the size", HTTP_FRAMING, CHUNKED "5\rXhello\r\n0\r\n\r\n"),
        REFUSED("two other bytes at the end", HTTP_FRAMING, CHUNKED "5\r\nhelloXX0\r\n\r\n"),
        REFUSED("LF at the end", HTTP_FRAMING, CHUNKED "5\r\nhello\n0\r\n\r\n"),
        REFUSED("CR and a byte at the end", HTTP_FRAMING, CHUNKED "5\r\nhello\rX0\r\n\r\n"),
        REFUSED("0x", HTTP_FRAMING, CHUNKED "0x5\r\nhello\r\n0\r\n\r\n"),
        REFUSED("a sign", HTTP_FRAMING, CHUNKED "+5\r\nhello\r\n0\r\n\r\n"),
        REFUSED("no size", HTTP_FRAMING, CHUNKED "\r\nhello\r\n0\r\n\r\n"),
        REFUSED("seventeen digits", HTTP_FRAMING, CHUNKED "00000000000000005\r\nhello\r\n0\r\n\r\n"),
        REFUSED("a size over 64 bits", HTTP_FRAMING, CHUNKED "10000000000000005\r\nhello\r\n0\r\n\r\n"),
        REFUSED("a trailer", HTTP_FRAMING, CHUNKED "0\r\nX-Y: a\r\n\r\n"),
        REFUSED("a trailer that is a Content-Length", HTTP_FRAMING, CHUNKED "0\r\nContent-Length: 5\r\n\r\n"),
        REFUSED("a byte in place of the end", HTTP_FRAMING, CHUNKED "0\r\nX"),
        REFUSED("LF as the end", HTTP_FRAMING, CHUNKED "0\r\n\n"),
    };

    RUN(rows);
}

/* 1.12 */
TEST_CASE(singletons)
{
    static const char *const once[] = {"Content-Length", "Content-Type", "Authorization", "X-API-Key", "Origin",
                                       "Last-Event-ID", "Expect", "Mcp-Session-Id", "MCP-Protocol-Version",
                                           "Mcp-Method",
                                       "Mcp-Name", "Mcp-Param-City", "mcp-anything"};
    static const struct refusal host = REFUSED("two Hosts", HTTP_HEADER_TWICE, GET "host: a\r\n\r\n");

    all_cuts(&host, NULL);
    for (size_t i = 0; i < sizeof once / sizeof once[0]; i++) {
        char text[256];
        int len = snprintf(text, sizeof text, POST "%s: 1\r\nX: y\r\n%s: 1\r\n\r\n", once[i], once[i]);
        bool mirrors = i >= 9 && i <= 11; /* the answer to these is known to clients by its code */
        struct refusal row = {once[i], span_of(text, (size_t)len),
                              mirrors ? REASON_HEADER_MISMATCH : REASON_HTTP_HEADER_TWICE};

        text[sizeof POST + 1] ^= 0x20; /* another case in the first of the two */
        all_cuts(&row, NULL);
    }
}

/* 1.12 */
TEST_CASE(what_methods_and_hosts_demand)
{
    static const struct refusal rows[] = {
        REFUSED("GET with a body", BODY_UNEXPECTED, GET "Content-Length: 1\r\n\r\nA"),
        REFUSED("GET with chunks", BODY_UNEXPECTED, GET "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        REFUSED("DELETE with a body", BODY_UNEXPECTED, "DELETE / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nA"),
        REFUSED("DELETE with chunks", BODY_UNEXPECTED,
            "DELETE / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        REFUSED("OPTIONS with a body", BODY_UNEXPECTED, "OPTIONS / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n"
            "\r\nA"),
        REFUSED("HEAD with a body", BODY_UNEXPECTED, "HEAD / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\nA"),
        REFUSED("another Expect", EXPECTATION, POST "Content-Length: 1\r\nExpect: 200-ok\r\n\r\nA"),
        REFUSED("an empty Expect", EXPECTATION, POST "Content-Length: 1\r\nExpect:\r\n\r\nA"),
        REFUSED("no Host", HTTP_MALFORMED, "GET / HTTP/1.1\r\nX: a\r\n\r\n"),
        REFUSED("no header at all", HTTP_MALFORMED, "GET / HTTP/1.1\r\n\r\n"),
        REFUSED("an empty Host", HTTP_MALFORMED, "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        REFUSED("two names in Host", HTTP_MALFORMED, "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
        REFUSED("a user in Host", HTTP_MALFORMED, "GET / HTTP/1.1\r\nHost: b@a\r\n\r\n"),
        REFUSED("a path in Host", HTTP_MALFORMED, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        REFUSED("no number as a port", HTTP_MALFORMED, "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"),
        REFUSED("a port out of range", HTTP_MALFORMED, "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n"),
    };

    RUN(rows);
}

/* 1.12 */
TEST_CASE(ends_too_early)
{
    static const struct refusal rows[] = {
        REFUSED("nothing", AGENT_DONE, ""),
        REFUSED("within the first line", AGENT_GONE, "GET / HT"),
        REFUSED("before the empty line", AGENT_GONE, GET),
        REFUSED("within the body", AGENT_GONE, POST "Content-Length: 3\r\n\r\nab"),
        REFUSED("within a chunk", AGENT_GONE, CHUNKED "5\r\nhel"),
        REFUSED("before the last chunk", AGENT_GONE, CHUNKED "5\r\nhello\r\n"),
        REFUSED("within the last chunk", AGENT_GONE, CHUNKED "5\r\nhello\r\n0\r\n\r"),
    };

    RUN(rows);
}

/* 1.12: what a configuration adds to the fixed lists */
TEST_CASE(listed_names)
{
    static const struct span tenant[] = {SPAN_LIT("X-Tenant")}, odd[] = {SPAN_LIT("x_odd")};
    static const struct span signs[] = {SPAN_LIT("x-odd"), SPAN_LIT("X.Tenant"), SPAN_LIT("X_TENANT"), SPAN_LIT("X_ODD"),
                                        SPAN_LIT("X-Odds"), SPAN_LIT("X-TENANT")};
    static const struct http_rules rules = {.once = {tenant, 1}, .underscored = {odd, 1}};
    static const struct refusal twice = REFUSED("the tenant twice", HTTP_HEADER_TWICE, GET "X-Tenant: a\r\n"
        "x-tenant: b\r\n\r\n");
    static const struct refusal other = REFUSED("another '_'", HTTP_HEADER_NAME, GET "X_Odd: 1\r\n"
        "X_Even: 1\r\n\r\n");
    struct http_script script;
    struct http_reader reader;

    all_cuts(&twice, &rules);
    all_cuts(&other, &rules);
    http_reader_init_request(&reader, &rules);
    http_script_read(&script, &reader, SPAN_LIT(GET "X_Odd: 1\r\nX-Tenant: a\r\n\r\n"), SIZE_MAX, true);
    assert_int_equal(script.end, HTTP_STEP_MESSAGE_DONE);
    /* The union over all routes let it in; a route that does not list it still refuses. */
    assert_int_equal(http_head_check(&reader.head, &rules), REASON_UNSET);
    assert_int_equal(http_head_check(&reader.head, NULL), REASON_HTTP_HEADER_NAME);
    /* 4.13: what many a server reads as the tenant */
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        const struct http_rules passed = {.once = {&signs[i], 1}, .underscored = {odd, 1}};

        assert_int_equal(http_head_check(&reader.head, &passed), i < 3 ? REASON_HTTP_HEADER_NAME : REASON_UNSET);
    }
    http_script_fini(&script);
    http_reader_fini(&reader);

    http_reader_init_request(&reader, NULL);
    http_script_read(&script, &reader, SPAN_LIT(GET "X-Tenant: a\r\nX-Tenant: a\r\n\r\n"), SIZE_MAX, true);
    assert_int_equal(script.end, HTTP_STEP_MESSAGE_DONE);
    assert_int_equal(http_head_check(&reader.head, &rules), REASON_HTTP_HEADER_TWICE);
    http_script_fini(&script);
    http_reader_fini(&reader);
}

TEST_MAIN(NULL, NULL)
