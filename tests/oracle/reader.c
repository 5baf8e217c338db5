/* SPDX-License-Identifier: Apache-2.0 */
/* 4.16: the gate's readers of JSON and of HTTP behind a pipe, for harnesses that compare them with others' (differential) or show
 * them somebody's test cases (tests/corpora/run).
 *
 * usage: reader
 *
 * A question is `WHAT BYTES\n` and that many bytes; its answer is one line of JSON.
 *     json-request, json-reply, json-file   one document under these rules: {"canonical": HEX}, or {"fault": TEXT}
 *     http-request, http-reply METHOD       what a connection brings, whose end follows, for a METHOD that was asked:
 *         {"messages": [{"method", "target", "status", "minor", "headers": [[NAME, VALUE]], "body"}], "end": TEXT}, texts in HEX;
 *         `end` says what came after the last whole message: `closed`, `nothing`, or the refusal's reason and detail. */
#include "base/reason.h"
#include "http/reader.h"
#include "json/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUESTION_MAX (16u << 20)

static void print_hex(struct span text)
{
    putchar('"');
    for (size_t i = 0; i < text.len; i++)
        printf("%02x", (unsigned char)text.at[i]);
    putchar('"');
}

/* Takes: reason: NULL: none stands before the text. */
static void print_end(const char *name, const char *reason, const char *text)
{
    struct buf whole, quoted;

    buf_init(&whole, 4096);
    buf_init(&quoted, 4096);
    if (buf_addf(&whole, "%s%s%s", reason ? reason : "", reason ? ": " : "", text) != CODE_OK ||
        json_write_string(&quoted, buf_peek(&whole)) != CODE_OK)
        exit(2);
    printf("\"%s\": %.*s}\n", name, SPAN_ARG(buf_peek(&quoted)));
    buf_fini(&whole);
    buf_fini(&quoted);
}

static void read_json(struct span in, const struct json_rules *rules)
{
    struct json_fault fault;
    struct buf canonical;

    buf_init(&canonical, 2 * QUESTION_MAX);
    if (json_read(in, rules, &canonical, NULL, NULL, &fault) == CODE_OK) {
        printf("{\"canonical\": ");
        print_hex(buf_peek(&canonical));
        puts("}");
    } else {
        putchar('{');
        print_end("fault", NULL, fault.text);
    }
    buf_fini(&canonical);
}

static void print_message(const struct http_head *head, struct span body, bool first)
{
    printf("%s{\"method\": \"%s\", \"status\": %d, \"minor\": %d, \"target\": ", first ? "" : ", ", http_method_text(head->method),
           head->status, head->minor);
    print_hex(span_of(http_head_path(head).at, http_head_path(head).len + (head->has_query ? 1u + http_head_query(head).len : 0)));
    printf(", \"headers\": [");
    for (size_t i = 0; i < head->count; i++) {
        printf("%s[", i == 0 ? "" : ", ");
        print_hex(http_head_name(head, i));
        printf(", ");
        print_hex(http_head_value(head, i));
        putchar(']');
    }
    printf("], \"body\": ");
    print_hex(body);
    putchar('}');
}

/* One message, to its end or to what keeps it from one. */
static enum http_step read_message(struct http_reader *reader, struct span *in, struct buf *body)
{
    enum http_step step;

    do {
        struct span piece;
        size_t used;

        step = http_reader_feed(reader, *in, &used, &piece);
        *in = span_part(*in, used, SIZE_MAX);
        if (step == HTTP_STEP_BODY && buf_add_span(body, piece) != CODE_OK)
            exit(2);
    } while (step == HTTP_STEP_HEAD_DONE || step == HTTP_STEP_BODY);
    return step == HTTP_STEP_NEED_MORE ? http_reader_eof(reader) : step;
}

static void read_http(struct span in, struct http_reader *reader, enum http_method asked)
{
    enum http_step step = HTTP_STEP_MESSAGE_DONE;
    struct buf body;

    buf_init(&body, 2 * QUESTION_MAX);
    printf("{\"messages\": [");
    for (bool first = true, lives = true; in.len > 0 && lives; first = false) {
        buf_clear(&body);
        http_reader_next(reader, asked);
        step = read_message(reader, &in, &body);
        if (step != HTTP_STEP_MESSAGE_DONE)
            break;
        print_message(&reader->head, buf_peek(&body), first);
        lives = reader->head.keep_alive;
    }
    printf("], ");
    if (step == HTTP_STEP_MESSAGE_DONE)
        print_end("end", NULL, in.len > 0 ? "closed" : "nothing");
    else
        print_end("end", reason_name(reader->reason), reader->detail);
    buf_fini(&body);
}

static enum http_method method_of(const char *what)
{
    for (int method = HTTP_METHOD_GET; method <= HTTP_METHOD_OPTIONS; method++)
        if (strcmp(what, http_method_text((enum http_method)method)) == 0)
            return (enum http_method)method;
    fprintf(stderr, "reader: no question is named %s\n", what);
    exit(2);
}

static void answer(const char *what, struct span in)
{
    struct http_reader reader;

    if (strcmp(what, "json-request") == 0) {
        read_json(in, &json_request_rules);
    } else if (strcmp(what, "json-reply") == 0) {
        read_json(in, &json_reply_rules);
    } else if (strcmp(what, "json-file") == 0) {
        read_json(in, &json_file_rules);
    } else if (strcmp(what, "http-request") == 0) {
        http_reader_init_request(&reader, NULL);
        read_http(in, &reader, HTTP_METHOD_NONE);
        http_reader_fini(&reader);
    } else {
        http_reader_init_reply(&reader);
        read_http(in, &reader, method_of(what));
        http_reader_fini(&reader);
    }
    fflush(stdout);
}

int main(void)
{
    char *bytes = malloc(QUESTION_MAX), *copy, what[32];
    size_t len;

    /* The blank that ends a question's line is one character, not whatever blanks follow. */
    while (bytes != NULL && scanf("%31s %zu", what, &len) == 2 && len <= QUESTION_MAX && getchar() == '\n' &&
           fread(bytes, 1, len, stdin) == len) {
        copy = malloc(len > 0 ? len : 1); /* just that long, so that a sanitizer sees a read past its end */
        if (copy == NULL)
            return 2;
        memcpy(copy, bytes, len);
        answer(what, span_of(copy, len));
        free(copy);
    }
    free(bytes);
    return 0;
}
