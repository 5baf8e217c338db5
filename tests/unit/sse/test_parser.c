/* SPDX-License-Identifier: Apache-2.0 */
/* Event streams, each whole, in two pieces at every byte, and byte by byte. */
#include "fakes/cm.h"
#include "fakes/sse_script.h"

#include "base/mem.h"

#include <stdio.h>
#include <time.h>

#define MANY (1 << 20)

struct sample {
    struct span stream;
    const char *text;   /* what comes out */
    enum reason reason; /* UNSET: it ends well */
};

#define GOOD(stream_, text_) {SPAN_LIT(stream_), (text_), REASON_UNSET}
#define REFUSED(stream_, text_) {SPAN_LIT(stream_), (text_), REASON_UPSTREAM_EVENT}

static void all_cuts(const struct sample *sample, size_t limit)
{
    struct sse_script whole, cut;

    sse_script_read(&whole, sample->stream, limit, SIZE_MAX);
    if (whole.reason != sample->reason || !span_is(buf_peek(&whole.text), sample->text) ||
        (whole.end == SSE_STEP_FAULT) != (sample->reason != REASON_UNSET))
        fail_msg("%.60s\ngave: %s (%s)\n%.*s", sample->stream.at, reason_name(whole.reason), whole.detail,
                 SPAN_ARG(buf_peek(&whole.text)));
    for (size_t i = 0; i < sample->stream.len; i++) {
        sse_script_read(&cut, sample->stream, limit, i);
        if (!sse_script_equals(&whole, &cut))
            fail_msg("%.60s\ncut at %zu: %s (%s)\n%.*s", sample->stream.at, i, reason_name(cut.reason), cut.detail,
                     SPAN_ARG(buf_peek(&cut.text)));
        sse_script_fini(&cut);
    }
    sse_script_fini(&whole);
}

static void all_rows(const struct sample *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        all_cuts(&rows[i], MANY);
}

#define RUN(rows) all_rows(rows, sizeof rows / sizeof rows[0])

/* 1.13: an event split at every byte */
TEST_CASE(events)
{
    static const struct sample rows[] = {
        GOOD("", ""),
        GOOD("\n\r\n\n", ""),
        GOOD("data: {}\n\n", "event type=message data={}\n"),
        GOOD("event: message\r\ndata: {\"jsonrpc\":\"2.0\"}\r\n"
            "\r\n", "event type=message data={\"jsonrpc\":\"2.0\"}\n"),
        GOOD("event:message\ndata:{}\n\n", "event type=message data={}\n"),
        GOOD("data:  two blanks \n\n", "event type=message data= two blanks \n"),
        GOOD("data:\ta tab\n\n", "event type=message data=\ta tab\n"),
        GOOD("data: a\ndata: b\ndata:\ndata\ndata:c\n\n", "event type=message data=a\nb\n\n\nc\n"),
        GOOD("data: a:b: c\n\n", "event type=message data=a:b: c\n"),
        GOOD("id: 7\nevent: ping\ndata: x\n\ndata: y\n\n",
            "event type=ping id=7 data=x\nevent type=message data=y\n"),
        GOOD("event: a\nevent: b\ndata: x\n\n", "event type=b data=x\n"),
        GOOD("event: a\nevent\ndata: x\n\n", "event type=message data=x\n"),
        GOOD("id: a\nid: bc\ndata: x\n\n", "event type=message id=bc data=x\n"),
        GOOD("id\ndata: x\n\n", "event type=message id= data=x\n"),
        GOOD("data: gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80 \xe2\x80\xa8 \xef\xbb\xbf\n\n",
             "event type=message data=gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80 \xe2\x80\xa8 \xef\xbb\xbf\n"),
        GOOD("data: \x01\x0b\x0c\x1c\x7f\n\n", "event type=message data=\x01\x0b\x0c\x1c\x7f\n"),
        GOOD("unknown: x\nDATA: y\n data: z\ndatax: a\nda: b\nunknownlong\n\n", ""),
        GOOD("unknown: x\ndata: y\n\n", "event type=message data=y\n"),
    };

    RUN(rows);
}

/* 1.13 */
TEST_CASE(priming_retry_and_comments)
{
    static const struct sample rows[] = {
        GOOD("id: abc-1\ndata:\n\n", "event type=message id=abc-1 data=\n"),
        GOOD("id: abc-1\ndata: \nretry: 500\n\n", "event type=message id=abc-1 retry=500 data=\n"),
        GOOD("id: abc-1\n\n", "event type=message id=abc-1\n"),
        GOOD("retry: 3000\n\n", "event type=message retry=3000\n"),
        GOOD("retry: 0010\n\n", "event type=message retry=10\n"),
        GOOD("retry: 2147483647\n\n", "event type=message retry=2147483647\n"),
        GOOD("retry: 2147483648\n\nretry: 99999999999999999999999999999\n\n", ""),
        GOOD("retry: 1x\n\nretry:\n\nretry\n\nretry: -1\n\nretry:  5\n\n", ""),
        GOOD("retry: 5\nretry: x\n\n", "event type=message retry=5\n"),
        GOOD("event: ping\n\n", "event type=ping\n"),
        GOOD(":\n\n", "comment\n"),
        GOOD(": ping - 2026-11-20\r\n\r\n:x\n", "comment\ncomment\n"),
        GOOD("data: a\n: in between\ndata: b\n\n", "comment\nevent type=message data=a\nb\n"),
        GOOD(": cut off", ""),
        GOOD("data: a\n\n: cut", "event type=message data=a\n"),
    };

    RUN(rows);
}

/* 1.13 */
TEST_CASE(refusals)
{
    static const struct sample rows[] = {
        REFUSED("\rdata: \n\n", ""),
        REFUSED("data: {}\r\n\revent: \n\n", ""),
        REFUSED("data: a\rdata: b\n\n", ""),
        REFUSED("data: a\r\r", ""),
        REFUSED("data: x\n\ndata: a\r\rdata: b\n\n", "event type=message data=x\n"),
        REFUSED("\rdata: a\n\n", ""),
        REFUSED(": a\rdata: b\n\n", ""),
        REFUSED("da\rta: b\n\n", ""),
        REFUSED("data:\r ", ""),
        REFUSED("data: a\0b\n\n", ""),
        REFUSED("\0", ""),
        REFUSED(":\0\n", ""),
        REFUSED("id: a\0\n\n", ""),
        REFUSED("\xef\xbb\xbf" "data: a\n\n", ""),
        REFUSED("data: x\n\n\xef\xbb\xbf" "data: a\n\n", "event type=message data=x\n"),
        REFUSED("data: x\n\xef\xbb\xbf:\n\n", ""),
        REFUSED("data: \xff\n\n", ""),
        REFUSED("data: \x80\n\n", ""),
        REFUSED("data: \xc0\xaf\n\n", ""),
        REFUSED("data: \xc1\xbf\n\n", ""),
        REFUSED("data: \xe0\x9f\xbf\n\n", ""),
        REFUSED("data: \xf0\x8f\xbf\xbf\n\n", ""),
        REFUSED("data: \xed\xa0\x80\n\n", ""),
        REFUSED("data: \xed\xbf\xbf\n\n", ""),
        REFUSED("data: \xf4\x90\x80\x80\n\n", ""),
        REFUSED("data: \xf5\x80\x80\x80\n\n", ""),
        REFUSED("data: \xe2\x82\n\n", ""),
        REFUSED("data: \xe2\x82" "abcdefghijkl\n\n", ""),
        REFUSED("data: \xe2\x82" "abcdefgh" "\xac\n\n", ""),
        REFUSED("\xe2\x82: a\n\n", ""),
        REFUSED(": \xe2\x28\xa1\n", ""),
        REFUSED("foo: \xc3\x28\n", ""),
        REFUSED("\xff", ""),
        REFUSED("id: a b\ndata: x\n\n", ""),
        REFUSED("id: \xc3\xa9\ndata: x\n\n", ""),
        REFUSED("id: a\x7f\ndata: x\n\n", ""),
        REFUSED("id:  a\ndata: x\n\n", ""),
    };

    RUN(rows);
}

/* 1.13 */
TEST_CASE(partial_events_at_eof)
{
    static const struct sample rows[] = {
        REFUSED("data: {}", ""),
        REFUSED("data: {}\n", ""),
        REFUSED("data: {}\r\n\r", ""),
        REFUSED("data: {}\n\ndat", "event type=message data={}\n"),
        REFUSED("id: 1\n", ""),
        REFUSED("unknown: 1\n", ""),
        REFUSED("data: {}\n: comment\n", "comment\n"),
        REFUSED("data: {}\n: comm", ""),
        REFUSED("\r", ""),
    };

    RUN(rows);
}

/* 1.13 */
TEST_CASE(limits)
{
    static const struct sample
        over = {SPAN_LIT("data: 0123456789\n\n"), "", REASON_UPSTREAM_TOO_LARGE},
        lines = {SPAN_LIT("data: a\n\ndata:\ndata:\ndata:\ndata:\n\n"), "event type=message data=a\n",
            REASON_UPSTREAM_TOO_LARGE},
        unknown = {SPAN_LIT("x: 01234567890123456789\n\n"), "", REASON_UPSTREAM_TOO_LARGE},
        name = {SPAN_LIT("xxxxxxxxxxxxxxxxxxxxxxxxxx\n\n"), "", REASON_UPSTREAM_TOO_LARGE},
        comment = {SPAN_LIT(":01234567890123456789\n"), "", REASON_UPSTREAM_TOO_LARGE},
        within = {SPAN_LIT("data: 012345678\n\ndata: 012345678\n\n"),
                  "event type=message data=012345678\nevent type=message data=012345678\n", REASON_UNSET},
        quiet = GOOD(":01234567890123\n\n:01234567890123\n\n:01234567890123\ndata: a\n\n",
                     "comment\ncomment\ncomment\nevent type=message data=a\n");
    char text[SSE_ID_MAX_BYTES + 32];
    struct sse_script script;

    all_cuts(&over, 17);
    all_cuts(&lines, 20);
    all_cuts(&unknown, 17);
    all_cuts(&name, 17);
    all_cuts(&comment, 17);
    all_cuts(&within, 17);
    all_cuts(&quiet, 17);

    for (size_t more = 0; more < 2; more++) {
        size_t len = SSE_ID_MAX_BYTES + more;

        memcpy(text, "id:", 3);
        memset(text + 3, 'i', len);
        memcpy(text + 3 + len, "\n\n", 2);
        sse_script_read(&script, span_of(text, len + 5), MANY, SIZE_MAX);
        assert_int_equal(script.end, more ? SSE_STEP_FAULT : SSE_STEP_NEED_MORE);
        sse_script_fini(&script);
    }
    /* A long type is cut: it is none that we know. */
    memcpy(text, "event:", 6);
    memset(text + 6, 't', 100);
    memcpy(text + 106, "\n\n", 2);
    sse_script_read(&script, span_of(text, 108), MANY, SIZE_MAX);
    assert_int_equal(buf_len(&script.text), strlen("event type=\n") + SSE_TYPE_MAX_BYTES);
    sse_script_fini(&script);
}

static double seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Reads one event of `len` bytes of data in pieces of `step`. Returns: CPU seconds. */
static double big_event(size_t len, size_t step)
{
    struct sse_parser parser;
    char *stream = mem_alloc(len + 8);
    enum sse_step last = SSE_STEP_NEED_MORE;
    double begun;
    size_t used;

    assert_non_null(stream);
    memcpy(stream, "data: ", 6);
    memset(stream + 6, 'A', len);
    memcpy(stream + 6 + len, "\n\n", 2);
    sse_parser_init(&parser, 8 << 20);
    begun = seconds();
    for (size_t at = 0; at < len + 8; at += used) {
        last = sse_parser_feed(&parser, span_part(span_of(stream, len + 8), at, step), &used);
        if (last != SSE_STEP_NEED_MORE)
            break;
    }
    begun = seconds() - begun;
    assert_int_equal(last, SSE_STEP_EVENT);
    assert_int_equal(parser.event.data.len, len);
    /* One copy, in a block that at most doubles; and it is given back. */
    assert_true(parser.data.size <= 8 << 20);
    assert_int_equal(sse_parser_eof(&parser), SSE_STEP_NEED_MORE);
    assert_int_equal(parser.data.size, 0);
    sse_parser_fini(&parser);
    mem_free(stream);
    return begun;
}

/* 1.14: 5.4 MB of base64 in one event, in pieces; a quadratic reader would take minutes */
TEST_CASE(a_big_event_takes_linear_time)
{
    double spent;

    (void)big_event(5400000, 16384);
    (void)big_event(5400000, SIZE_MAX);
    spent = big_event(5400000, 7);
    if (spent > 20)
        fail_msg("%.1f seconds of CPU", spent);
}

TEST_CASE(a_fault_is_final_and_rest_is_careful)
{
    struct sse_parser parser;
    size_t used;

    sse_parser_init(&parser, 100);
    assert_int_equal(sse_parser_feed(&parser, SPAN_LIT("data: a\nda"), &used), SSE_STEP_NEED_MORE);
    sse_parser_rest(&parser); /* within an event: nothing is lost */
    assert_int_equal(sse_parser_feed(&parser, SPAN_LIT("ta: b\n\n"), &used), SSE_STEP_EVENT);
    assert_true(span_is(parser.event.data, "a\nb"));
    sse_parser_rest(&parser);
    assert_null(parser.data.block);
    assert_int_equal(sse_parser_feed(&parser, SPAN_LIT("\0"), &used), SSE_STEP_FAULT);
    assert_int_equal(sse_parser_feed(&parser, SPAN_LIT("data: a\n\n"), &used), SSE_STEP_FAULT);
    assert_int_equal(used, 0);
    assert_int_equal(sse_parser_eof(&parser), SSE_STEP_FAULT);
    sse_parser_fini(&parser);
}

/* Each allocation fails in turn: memory is the reason, and without failures it passes. */
/* The parser of one stream reads another, whatever the first one left. */
TEST_CASE(another_stream)
{
    static const char *const before[] = {"data: half", "id: 7\nevent: x\nretry: 5\ndata: {}\n\n", "data: a\rb", "\xff", "data: {}\n\n"};
    struct sse_parser parser;
    size_t used;

    sse_parser_init(&parser, MANY);
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        (void)sse_parser_feed(&parser, span_text(before[i]), &used);
        sse_parser_begin(&parser, 12);
        assert_int_equal(sse_parser_feed(&parser, SPAN_LIT("data: {}\n\n"), &used), SSE_STEP_EVENT);
        assert_true(span_is(parser.event.data, "{}"));
        assert_true(span_is(parser.event.type, "message"));
        assert_false(parser.event.has_id || parser.event.has_retry);
        assert_int_equal(sse_parser_feed(&parser, SPAN_LIT("data: 0123456"), &used), SSE_STEP_FAULT);
        assert_int_equal(parser.reason, REASON_UPSTREAM_TOO_LARGE);
        sse_parser_begin(&parser, MANY);
    }
    sse_parser_fini(&parser);
}

TEST_CASE(memory_runs_out)
{
#define LONG "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890\n"
    const struct span stream = SPAN_LIT("id: 1\ndata: " LONG "data: " LONG "data: " LONG "data: " LONG "\n");
    bool done = false;

    for (uint64_t nth = 1; !done; nth++) {
        struct sse_parser parser;
        enum sse_step step;
        size_t used;

        sse_parser_init(&parser, MANY);
        mem_fail_at(nth, 0);
        step = sse_parser_feed(&parser, stream, &used);
        done = mem_fail_count() < nth;
        mem_fail_at(0, 0);
        assert_int_equal(step, done ? SSE_STEP_EVENT : SSE_STEP_FAULT);
        assert_int_equal(parser.reason, done ? REASON_UNSET : REASON_MEMORY);
        assert_true(!done || nth > 1);
        sse_parser_fini(&parser);
    }
}

/* 10.22: an event over the limit goes by in pieces, however it comes, and the next one is whole; not for who did not ask. */
TEST_CASE(over_the_limit)
{
    static const char *const streams[] = {"data: {\"id\":12345678901234567890}\n\ndata: a\n\n",
                                          "id: 1\r\ndata: {\"id\":12345678\r\ndata: 901234567890}\r\n\r\ndata: a\r\n\r\n"};

    for (size_t i = 0; i < 2; i++)
        for (size_t step = 1; step < 50; step++) {
            struct span rest = span_text(streams[i]);
            struct sse_parser parser;
            char told[128] = "";
            bool has_ended = false, has_next = false;

            sse_parser_init(&parser, 20);
            parser.passes_by = true;
            while (rest.len > 0) {
                struct span piece = span_part(rest, 0, step);
                size_t used;
                enum sse_step what = sse_parser_feed(&parser, piece, &used);

                assert_int_not_equal(what, SSE_STEP_FAULT);
                if (what == SSE_STEP_PASSED && parser.event.has_data)
                    (void)snprintf(told + strlen(told), sizeof told - strlen(told), "%.*s", SPAN_ARG(parser.event.data));
                has_ended |= what == SSE_STEP_PASSED && !parser.event.has_data;
                has_next |= what == SSE_STEP_EVENT && has_ended && span_is(parser.event.data, "a");
                rest = span_part(rest, used, SIZE_MAX);
            }
            assert_non_null(strstr(told, i == 0 ? "{\"id\":12345678901234567890}" : "901234567890}"));
            assert_true(has_ended && has_next);
            assert_int_equal(sse_parser_eof(&parser), SSE_STEP_NEED_MORE);
            sse_parser_fini(&parser);
        }
}

TEST_MAIN(NULL, NULL)
