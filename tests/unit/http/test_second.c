/* SPDX-License-Identifier: Apache-2.0 */
/* 4.20: llhttp's framing against ours. No message is known that the two read apart, so what our scanner found is changed behind
 * its back: each thing that the second opinion compares must be missed when it is wrong. */
#include "fakes/cm.h"

#include "http/second_priv.h"

#include <string.h>

#define POST "POST /mcp?a=1 HTTP/1.1\r\nHost: a\r\n"
#define OK "HTTP/1.1 200 OK\r\nX-A: b\r\n"

typedef void (*doctor_fn)(struct http_head *head);

/* Whether llhttp agrees with the head of `text` after `doctor` had it. */
static bool agrees(const char *text, bool is_reply, doctor_fn doctor)
{
    struct http_second *second = http__second_new();
    struct http_reader reader;
    struct span body;
    size_t used;
    bool same;

    assert_non_null(second);
    if (is_reply) {
        http_reader_init_reply(&reader);
        http_reader_next(&reader, HTTP_METHOD_POST);
    } else {
        http_reader_init_request(&reader, NULL);
    }
    if (http_reader_feed(&reader, span_text(text), &used, &body) != HTTP_STEP_HEAD_DONE)
        fail_msg("%s: %s", text, reader.detail);
    if (doctor != NULL)
        doctor(&reader.head);
    same = http__second_head(second, &reader.head, is_reply, false);
    http__second_free(&second);
    http_reader_fini(&reader);
    return same;
}

static void says_none(struct http_head *head)
{
    head->framing = HTTP_FRAMING_NONE;
}

static void says_length(struct http_head *head)
{
    head->framing = HTTP_FRAMING_CONTENT_LENGTH;
}

static void says_chunked(struct http_head *head)
{
    head->framing = HTTP_FRAMING_CHUNKED;
}

static void says_until_eof(struct http_head *head)
{
    head->framing = HTTP_FRAMING_UNTIL_EOF;
}

static void one_byte_more(struct http_head *head)
{
    head->content_length++;
}

static void one_byte_less(struct http_head *head)
{
    head->content_length--;
}

static void older(struct http_head *head)
{
    head->minor = 0;
}

static void another_method(struct http_head *head)
{
    head->method_text.len--;
}

static void another_status(struct http_head *head)
{
    head->status++;
}

static void another_path(struct http_head *head)
{
    head->path.len--;
}

static void no_query(struct http_head *head)
{
    head->has_query = false;
}

static void one_header_less(struct http_head *head)
{
    head->count--;
}

static void one_header_more(struct http_head *head)
{
    head->headers[head->count] = head->headers[head->count - 1];
    head->count++;
}

static void another_name(struct http_head *head)
{
    head->headers[0].name.len--;
}

static void another_value(struct http_head *head)
{
    head->headers[head->count - 1].value.len = 0;
}

static void value_of_elsewhere(struct http_head *head)
{
    head->headers[0].value.at--;
}

TEST_CASE(doctored_heads)
{
    static const struct {
        const char *text;
        bool is_reply;
        doctor_fn doctors[16];
    } cases[] = {
        {POST "\r\n", false,
         {says_length, says_chunked, says_until_eof, older, another_method, another_path, no_query, one_header_less, one_header_more,
          another_name, another_value, value_of_elsewhere}},
        {POST "Content-Length: 5\r\n\r\n", false,
         {says_none, says_chunked, says_until_eof, one_byte_more, one_byte_less, older, another_method, another_path, one_header_less,
          one_header_more, another_name, another_value}},
        {POST "Transfer-Encoding: chunked\r\n\r\n", false,
         {says_none, says_length, says_until_eof, older, another_method, one_header_less, one_header_more, another_value}},
        {OK "Content-Length: 5\r\n\r\n", true,
         {says_none, says_chunked, says_until_eof, one_byte_more, one_byte_less, older, another_status, one_header_less,
          one_header_more, another_name, another_value, value_of_elsewhere}},
        {OK "Transfer-Encoding: chunked\r\n\r\n", true, {says_none, says_length, says_until_eof, another_status}},
        {OK "\r\n", true, {says_none, says_length, says_chunked, another_status}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_true(agrees(cases[i].text, cases[i].is_reply, NULL));
        for (size_t j = 0; j < 16 && cases[i].doctors[j] != NULL; j++)
            if (agrees(cases[i].text, cases[i].is_reply, cases[i].doctors[j]))
                fail_msg("change %zu goes unseen in:\n%s", j, cases[i].text);
    }
}

/* The bytes of a body behind a head that both have read. */
static bool agrees_on_body(const char *head, const char *raw, size_t decoded, bool is_done)
{
    struct http_second *second = http__second_new();
    struct http_reader reader;
    struct span body;
    size_t used;
    bool same;

    assert_non_null(second);
    http_reader_init_request(&reader, NULL);
    assert_int_equal(http_reader_feed(&reader, span_text(head), &used, &body), HTTP_STEP_HEAD_DONE);
    assert_true(http__second_head(second, &reader.head, false, false));
    same = http__second_body(second, span_text(raw), decoded, is_done);
    http__second_free(&second);
    http_reader_fini(&reader);
    return same;
}

TEST_CASE(doctored_bodies)
{
    static const char of_five[] = POST "Content-Length: 5\r\n\r\n", in_chunks[] = POST "Transfer-Encoding: chunked\r\n\r\n";

    assert_true(agrees_on_body(of_five, "hello", 5, true));
    assert_true(agrees_on_body(of_five, "hell", 4, false));
    assert_false(agrees_on_body(of_five, "hell", 4, true));
    assert_false(agrees_on_body(of_five, "hello", 5, false));
    assert_false(agrees_on_body(of_five, "hello", 4, true));
    assert_false(agrees_on_body(of_five, "hello!", 5, true)); /* a byte that is the next message's */
    assert_true(agrees_on_body(in_chunks, "5\r\nhello\r\n0\r\n\r\n", 5, true));
    assert_true(agrees_on_body(in_chunks, "5\r\nhel", 3, false));
    assert_false(agrees_on_body(in_chunks, "5\r\nhello\r\n0\r\n\r\n", 5, false));
    assert_false(agrees_on_body(in_chunks, "5\r\nhello\r\n0\r\n", 5, true));
    assert_false(agrees_on_body(in_chunks, "5\r\nhello\r\n0\r\n\r\n", 6, true));
    assert_false(agrees_on_body(in_chunks, "5\r\nhello\r\n0\r\nA: b\r\n\r\n", 5, true)); /* a trailer */
    assert_false(agrees_on_body(in_chunks, "5\r\nhello\r\n0\r\n\r\nG", 5, true));
}

TEST_MAIN(NULL, NULL)
