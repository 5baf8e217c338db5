/* SPDX-License-Identifier: Apache-2.0 */
#include "back/reply_priv.h"
#include "back/upstream_priv.h"

#include "base/log.h"

/* An errand: one POST of the gate's own to an upstream, on a connection of its own, whose answer nobody needs. It tells a
 * server that its request was not delivered. */

#define ERRAND_US INT64_C(10000000)

struct errand {
    struct connection connection; /* first */
    struct lane *lane;
    struct leg leg;
    struct http_reader answer;
    struct loop_timer timer;
    bool is_over;
};

static void errand_free(struct connection *connection)
{
    struct errand *errand = (struct errand *)connection;

    loop_timer_cancel(errand->lane->worker.loop, &errand->timer);
    leg_fini(&errand->leg);
    http_reader_fini(&errand->answer);
    errand->lane->errands--;
    mem_free(errand);
}

struct leg *errand__leg(struct connection *connection)
{
    return &((struct errand *)connection)->leg;
}

/* The answer is read to its end, so that the server does not see a reset. */
static void read_answer(struct errand *errand)
{
    struct leg *leg = &errand->leg;

    while (!errand->is_over) {
        size_t used = 0;
        struct span body;
        enum http_step step = http_reader_feed(&errand->answer, buf_peek(&leg->in), &used, &body);

        buf_drop(&leg->in, used);
        if (step == HTTP_STEP_NEED_MORE)
            break;
        errand->is_over = step == HTTP_STEP_FAULT || step == HTTP_STEP_MESSAGE_DONE;
    }
}

static void errand_drive(struct connection *connection)
{
    struct errand *errand = (struct errand *)connection;
    struct leg *leg = &errand->leg;

    leg_drain(leg);
    read_answer(errand);
    if (errand->is_over || leg->is_eof || leg->is_broken || errand->lane->is_stopping)
        worker_bury(&errand->lane->worker, connection);
    else
        leg_settle(leg);
}

static void expire(void *context)
{
    struct errand *errand = context;

    errand->is_over = true;
    worker_stir(&errand->lane->worker, &errand->connection);
}

static struct errand *errand_new(struct lane *lane)
{
    struct errand *errand = mem_zalloc(sizeof *errand);

    if (errand == NULL)
        return NULL;
    errand->connection.drive = errand_drive;
    errand->connection.free = errand_free;
    errand->lane = lane;
    leg_init(&errand->leg, &lane->worker, &errand->connection, LEG_READ_MAX_BYTES, SIZE_MAX / 2);
    buf_wipes(&errand->leg.out);
    http_reader_init_reply(&errand->answer);
    http_reader_next(&errand->answer, HTTP_METHOD_POST);
    loop_timer_init(&errand->timer, expire, errand);
    worker_add(&lane->worker, &errand->connection);
    lane->errands++;
    return errand;
}

static bool dial(struct errand *errand, const struct pair *pair)
{
    const struct proxy_upstream *upstream = &pair->exchange.route->upstream;
    struct lane *lane = errand->lane;
    const struct sock_address *addresses;
    size_t count = upstream__addresses(pair, &addresses);
    struct stream *stream;

    for (size_t i = 0; i < count; i++)
        if (lane->dial(lane->dial_context, upstream, &addresses[i], &stream) == CODE_OK) {
            leg_open(&errand->leg, stream);
            return true;
        }
    return false;
}

void errand__send(struct pair *pair, struct span body)
{
    struct lane *lane = pair->lane;
    struct errand *errand;
    bool waits;

    if (pair->is_pipe) {
        (void)stream__emit_refusal(pair, body); /* a pipe has no other connection to the server, so the process that carries
                                                 * this stream hands the refusal over */
        return;
    }
    errand = lane->errands < ERRANDS_MAX && outgoing_settle(pair, false, &waits) == REASON_UNSET ? errand_new(lane) : NULL;
    if (errand == NULL) {
        log_warn("proxy", "a server's denied request stays without an answer: too many of them, no credential, or no memory");
        return;
    }
    if (upstream__write_head(pair, HTTP_METHOD_POST, body.len, true, &errand->leg.out) != CODE_OK ||
        buf_add_span(&errand->leg.out, body) != CODE_OK ||
        loop_timer_arm(lane->worker.loop, &errand->timer, ERRAND_US) != CODE_OK || !dial(errand, pair)) {
        worker_bury(&lane->worker, &errand->connection);
        return;
    }
    leg_ready(&errand->leg, LOOP_WRITE);
}
