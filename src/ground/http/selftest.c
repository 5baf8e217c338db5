/* SPDX-License-Identifier: Apache-2.0 */
#include "http/selftest.h"

#include "http/reader.h"
#include "http/selftest_priv.h"

#include <llhttp.h>

struct payload {
    const char *what;
    struct span message;
};

/* What llhttp 8.1.0 takes when it is compiled loose, which is its default. */
static const struct payload loose[] = {
    {"a CR alone between two headers (CVE-2023-30589)",
     SPAN_LIT("GET / HTTP/1.1\r\nHost: a\r\nX-Abc:\rxTransfer-Encoding: chunked\r\n\r\n1\r\nA\r\n0\r\n\r\n")},
    {"CR and a byte as the end of the head",
     SPAN_LIT("GET / HTTP/1.1\r\nHost: a\r\n\rX")},
    {"two other bytes at a chunk's end",
     SPAN_LIT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n")},
};

/* What even strict llhttp takes, and the scanner before it refuses. */
static const struct payload taken_by_strict[] = {
    {"LF alone after the request line", SPAN_LIT("GET / HTTP/1.1\nHost: a\r\n\r\n")},
    {"HTTP/0.9", SPAN_LIT("GET / HTTP/0.9\r\nHost: a\r\n\r\n")},
    {"HTTP/2.0", SPAN_LIT("GET / HTTP/2.0\r\nHost: a\r\n\r\n")},
    {"a folded Content-Length", SPAN_LIT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n 1\r\n\r\nA")},
    {"an empty header name", SPAN_LIT("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n")},
    {"a list of transfer codings",
     SPAN_LIT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")},
    {"Content-Length with a leading zero", SPAN_LIT("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 003\r\n\r\nabc")},
    {"two Hosts", SPAN_LIT("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")},
    {"a trailer", SPAN_LIT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n")},
};

static const struct span ordinary[] = {
    SPAN_LIT("GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    SPAN_LIT("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
};

static enum code check(http__accepts_fn accepts, const char *parser, const struct payload *payloads, size_t count,
                       struct why *why)
{
    for (size_t i = 0; i < count; i++)
        if (accepts(payloads[i].message))
            return why_set(why, CODE_DENIED,
                           "%s accepts %s, which smuggles requests; build with llhttp's sources compiled strict", parser,
                           payloads[i].what);
    return CODE_OK;
}

enum code http__selftest_of(http__accepts_fn accepts, const char *parser, bool subtle, struct why *why)
{
    enum code code;

    for (size_t i = 0; i < sizeof ordinary / sizeof ordinary[0]; i++)
        if (!accepts(ordinary[i]))
            return why_set(why, CODE_DENIED, "%s refuses an ordinary request; check the build and free memory", parser);
    code = check(accepts, parser, loose, sizeof loose / sizeof loose[0], why);
    if (code == CODE_OK && subtle)
        code = check(accepts, parser, taken_by_strict, sizeof taken_by_strict / sizeof taken_by_strict[0], why);
    return code;
}

static bool llhttp_accepts(struct span message)
{
    static const llhttp_settings_t none; /* no callbacks */
    llhttp_t parser;

    llhttp_init(&parser, HTTP_REQUEST, &none);
    return llhttp_execute(&parser, message.at, message.len) == HPE_OK;
}

static bool reader_accepts(struct span message)
{
    struct http_reader reader;
    enum http_step step = HTTP_STEP_HEAD_DONE;

    http_reader_init_request(&reader, NULL);
    while (step == HTTP_STEP_HEAD_DONE || step == HTTP_STEP_BODY) {
        struct span body;
        size_t used;

        step = http_reader_feed(&reader, message, &used, &body);
        message = span_part(message, used, SIZE_MAX);
    }
    http_reader_fini(&reader);
    return step == HTTP_STEP_MESSAGE_DONE;
}

enum code http_selftest(struct why *why)
{
    enum code code = http__selftest_of(llhttp_accepts, "llhttp", false, why);

    return code == CODE_OK ? http__selftest_of(reader_accepts, "the gate's HTTP reader", true, why) : code;
}
