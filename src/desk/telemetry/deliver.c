/* SPDX-License-Identifier: Apache-2.0 */
#include "telemetry/deliver.h"

#include "base/log.h"
#include "base/num.h"
#include "crypto/digest.h"
#include "json/text.h"
#include "os/pause.h"
#include "unicode/terminal.h"

#include <stdio.h>

#define BODY_ITEMS 512
#define BODY_BYTES ((size_t)1 << 20)
#define BODY_MAX_BYTES ((size_t)64 << 20)
#define ANSWER_BYTES ((size_t)64 << 10)
#define WAIT_US INT64_C(30000000)
#define PAUSE_MIN_US INT64_C(1000000)
#define PAUSE_MAX_US INT64_C(60000000)
#define AFTER_MAX_S 600
#define SECOND_US INT64_C(1000000)

enum fate {
    FATE_LATER = 0, /* the network, or what says that it may come again */
    FATE_TAKEN,
    FATE_TOO_LARGE, /* or nothing that the collector reads: part of it may be */
    FATE_WRONG      /* the collector is none, or wants another credential: somebody has to change something */
};

void deliver_init(struct deliver *deliver, struct web *web, const struct proxy_upstream *server, const char *node)
{
    *deliver = (struct deliver){.web = web, .server = server, .node = node};
    buf_init(&deliver->url, 8192);
    buf_init(&deliver->body, BODY_MAX_BYTES);
    deliver->headers[0] = (struct web_header){SPAN_LIT("Content-Type"), SPAN_LIT("application/json")};
    for (size_t i = 0; i < server->header_count && i + 1 < DELIVER_HEADERS_MAX; i++)
        deliver->headers[i + 1] = (struct web_header){server->headers[i].name, server->headers[i].value};
}

void deliver_fini(struct deliver *deliver)
{
    buf_fini(&deliver->url);
    buf_fini(&deliver->body);
}

static enum code write_url(struct deliver *deliver, enum otlp_signal signal)
{
    const struct proxy_upstream *server = deliver->server;
    struct span path = span_is(server->path, "/") ? SPAN_NONE : server->path;

    buf_clear(&deliver->url);
    buf_add_text(&deliver->url, server->tls != NULL ? "https://" : "http://");
    buf_add_span(&deliver->url, server->authority);
    buf_add_span(&deliver->url, path);
    return buf_addf(&deliver->url, "/v1/%s", otlp_signal_name(signal));
}

/* ---- what a collector answers ---- */

static struct span rejected_of(const struct json_node *partial, struct span *message)
{
    static const char *const names[] = {"rejectedSpans", "rejectedDataPoints", "rejectedLogRecords"};
    const struct json_node *count = NULL;

    *message = json_member_text(partial, "errorMessage");
    for (size_t i = 0; i < 3 && count == NULL; i++)
        count = json_member(partial, span_text(names[i]));
    return count == NULL ? SPAN_NONE : count->type == JSON_STRING ? count->text : count->raw;
}

/* Part of the body may have been left out: to send it again would double the rest. */
static void note_partial(struct deliver *deliver, enum otlp_signal signal, const struct web_answer *answer)
{
    struct json_text read;
    struct span message;
    struct buf said;
    uint64_t count = 0;

    if (buf_is_empty(&answer->body) || !web_answer_is(answer, "application/json"))
        return;
    if (json_text_read(&read, buf_peek(&answer->body), &json_file_rules, ANSWER_BYTES) == CODE_OK &&
        num_u64(rejected_of(json_member(read.root, SPAN_LIT("partialSuccess")), &message), &count) == CODE_OK && count > 0) {
        if (count > buf_peek(&deliver->body).len) /* there is no more of anything than bytes that it was sent */
            count = buf_peek(&deliver->body).len;
        deliver->rejected += count;
        buf_init(&said, 4096);
        (void)terminal_add(&said, span_part(message, 0, 300));
        log_warn("telemetry", "the collector left out %llu of the %s that it was sent: %.*s", (unsigned long long)count,
                 otlp_signal_name(signal), SPAN_ARG(buf_code(&said) == CODE_OK ? buf_peek(&said) : SPAN_NONE));
        buf_fini(&said);
    }
    json_text_fini(&read);
}

/* Which statuses may come again, OTLP says; of 400 and 413 a part may pass. */
static enum fate fate_of(int status)
{
    switch (status) {
    case 400:
    case 413: return FATE_TOO_LARGE;
    case 429:
    case 502:
    case 503:
    case 504: return FATE_LATER;
    default: return status / 100 == 2 ? FATE_TAKEN : FATE_WRONG;
    }
}

/* Seconds, or 0: it says nothing, or a date, for which the usual pause does. */
static int64_t after_of(const struct web_answer *answer)
{
    uint64_t seconds = 0;

    if (num_u64(web_answer_header(answer, "Retry-After"), &seconds) != CODE_OK)
        return 0;
    return (int64_t)(seconds < AFTER_MAX_S ? seconds : AFTER_MAX_S) * SECOND_US;
}

static void complain_once(struct deliver *deliver, enum otlp_signal signal, const char *text)
{
    if (!deliver->has_complained[signal])
        log_warn("telemetry", "%s do not get through to %.*s: %s", otlp_signal_name(signal), SPAN_ARG(buf_peek(&deliver->url)),
                 text);
    deliver->has_complained[signal] = true;
}

/* Asks once. Takes: deliver->body, and after_us, set to how long the collector wants to be left alone. */
static enum fate post(struct deliver *deliver, enum otlp_signal signal, int64_t *after_us)
{
    const struct web_request request = {
        .url = buf_peek(&deliver->url), .headers = deliver->headers, .header_count = deliver->server->header_count + 1,
        .body = buf_peek(&deliver->body), .tls = deliver->server->tls, .wait_us = WAIT_US, .body_max_bytes = ANSWER_BYTES,
        .insecure = true, /* the configuration has asked for it, or it would have been refused */
    };
    struct web_answer answer = {.code = CODE_OK};
    struct why why = {""};
    enum fate fate = FATE_LATER;

    *after_us = 0;
    if (web_fetch(deliver->web, &request, &answer, &why) == CODE_OK || answer.status != 0) {
        fate = fate_of(answer.status);
        *after_us = after_of(&answer);
        (void)why_set(&why, CODE_IO, "it answered HTTP status %d", answer.status);
    }
    if (fate == FATE_TAKEN)
        note_partial(deliver, signal, &answer);
    else
        deliver->failed++;
    if (fate == FATE_LATER || fate == FATE_WRONG)
        complain_once(deliver, signal, why.text);
    web_answer_fini(&answer);
    return fate;
}

/* ---- batches ---- */

/* A little off each time, so that many exporters do not come together. */
static int64_t about(int64_t us)
{
    uint32_t random;

    random_bytes(&random, sizeof random);
    return pause_us(us - us / 8 + (int64_t)((uint64_t)us / 4 * random >> 32));
}

struct sending {
    size_t first, most; /* most: items in a body */
    int64_t pause_us;
};

static void part(struct deliver *deliver, struct sending *sending, enum otlp_signal signal, size_t count)
{
    if (count > 1) {
        sending->most = count / 2;
        return;
    }
    log_warn("telemetry", "the collector refuses one of the %s, which is left out: it is too large or nothing that it reads",
             otlp_signal_name(signal));
    deliver->refused[signal]++;
    sending->first++;
}

static void count_taken(struct deliver *deliver, enum otlp_signal signal, size_t count)
{
    deliver->taken[signal] += count;
    if (deliver->has_complained[signal])
        log_info("telemetry", "the collector takes %s again", otlp_signal_name(signal));
    deliver->has_complained[signal] = false;
}

enum code deliver_all(struct deliver *deliver, enum otlp_signal signal, const struct otlp_batch *batch)
{
    struct sending sending = {0, BODY_ITEMS, PAUSE_MIN_US};
    int64_t after_us;
    enum code code = CODE_OK;

    while (code == CODE_OK && sending.first < batch->count) {
        size_t count = otlp_batch_fit(batch, sending.first, sending.most, BODY_BYTES);

        buf_clear(&deliver->body);
        code = otlp_batch_body(batch, signal, deliver->node, sending.first, count, &deliver->body);
        if (code == CODE_OK)
            code = write_url(deliver, signal); /* metrics may have gone out meanwhile */
        if (code != CODE_OK)
            break;
        switch (post(deliver, signal, &after_us)) {
        case FATE_TAKEN:
            count_taken(deliver, signal, count);
            sending = (struct sending){sending.first + count, BODY_ITEMS, PAUSE_MIN_US};
            break;
        case FATE_TOO_LARGE: part(deliver, &sending, signal, count); break;
        case FATE_WRONG: sending.pause_us = PAUSE_MAX_US; /* fall through */
        case FATE_LATER:
            deliver->rest(deliver->context, after_us > 0 ? after_us : about(sending.pause_us));
            sending.pause_us = sending.pause_us * 2 < PAUSE_MAX_US ? sending.pause_us * 2 : PAUSE_MAX_US;
            break;
        }
    }
    return code;
}

enum code deliver_once(struct deliver *deliver, enum otlp_signal signal, const struct otlp_batch *batch)
{
    enum fate fate;
    int64_t after_us;
    enum code code;

    if (batch->count == 0)
        return CODE_OK;
    buf_clear(&deliver->body);
    code = otlp_batch_body(batch, signal, deliver->node, 0, batch->count, &deliver->body);
    if (code == CODE_OK)
        code = write_url(deliver, signal);
    if (code != CODE_OK)
        return code;
    fate = post(deliver, signal, &after_us);
    if (fate == FATE_TAKEN)
        count_taken(deliver, signal, batch->count);
    else if (fate == FATE_TOO_LARGE)
        complain_once(deliver, signal, "they are too large, or nothing that it reads");
    return code;
}
