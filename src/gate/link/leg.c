/* SPDX-License-Identifier: Apache-2.0 */
#include "link/leg.h"

#include "base/bug.h"

#include <string.h>

/* A TLS stream reads at most this many records a turn, so that one fast peer does not hold the worker. */
#define READS_A_TURN 4

static void watch_ready(void *context, unsigned ready)
{
    leg_ready(context, ready);
}

void leg_init(struct leg *leg, struct worker *worker, struct connection *connection, size_t in_cap_bytes,
              size_t out_cap_bytes)
{
    memset(leg, 0, sizeof *leg);
    leg->worker = worker;
    leg->connection = connection;
    buf_init(&leg->in, in_cap_bytes);
    buf_init(&leg->out, out_cap_bytes);
}

void leg_open(struct leg *leg, struct stream *stream)
{
    BUG_ON(leg->stream != NULL);
    leg->stream = stream;
    leg->read_bytes = leg->written_bytes = 0;
    leg->read_size = LEG_READ_MIN_BYTES;
    leg->wanted = 0;
    leg->is_ready = leg->is_eof = leg->is_broken = leg->is_ended = false;
    leg->write_blocked = leg->reads_on_write = leg->writes_on_read = false;
    leg->may_pend = stream->ops->pending != NULL;
    leg->handshake_wants = LOOP_READ | LOOP_WRITE;
    loop_watch_init(&leg->watch, stream->fd, watch_ready, leg);
}

/* Gives empty blocks back, so that the next leg to read or write on this worker builds on one that the caches still hold. */
static void give_back(struct leg *leg)
{
    if (leg->in.size > 0 && buf_is_empty(&leg->in))
        buf_fini(&leg->in);
    if (leg->out.size > 0 && buf_is_empty(&leg->out) && buf_code(&leg->out) == CODE_OK)
        buf_fini(&leg->out);
}

struct stream *leg_take(struct leg *leg)
{
    struct stream *stream = leg->stream;

    if (stream != NULL && stream->fd != -1)
        loop_watch_remove(leg->worker->loop, &leg->watch);
    leg->stream = NULL;
    leg->is_ready = false;
    leg->wanted = 0;
    buf_clear(&leg->in);
    buf_clear(&leg->out);
    leg->rest = SPAN_NONE;
    return stream;
}

void leg_drop(struct leg *leg)
{
    struct stream *stream = leg_take(leg);

    if (stream != NULL)
        worker_retire(leg->worker, stream);
}

void leg_fini(struct leg *leg)
{
    struct stream *stream = leg_take(leg);

    stream_close(&stream);
    buf_fini(&leg->in);
    buf_fini(&leg->out);
}

void leg_rest(struct leg *leg)
{
    leg->read_size = LEG_READ_MIN_BYTES;
    give_back(leg);
}

static void shake_hands(struct leg *leg)
{
    enum io io = stream_handshake(leg->stream);

    leg->handshake_wants = io == IO_WANT_READ ? LOOP_READ : io == IO_WANT_WRITE ? LOOP_WRITE : 0;
    leg->is_ready = io == IO_OK;
    leg->is_broken = io == IO_FAIL || io == IO_EOF;
}

void leg_ready(struct leg *leg, unsigned ready)
{
    if (leg->stream == NULL)
        return;
    if (!leg->is_ready && !leg->is_broken)
        shake_hands(leg);
    if (leg->is_ready) {
        if (ready & (LOOP_READ | LOOP_HANGUP) || (leg->reads_on_write && ready & LOOP_WRITE))
            leg_fill(leg);
        if (ready & (LOOP_WRITE | LOOP_HANGUP) || (leg->writes_on_read && ready & LOOP_READ))
            leg_drain(leg);
    }
    worker_stir(leg->worker, leg->connection);
}

/* Returns: whether another read may bring more at once. */
static bool read_once(struct leg *leg)
{
    size_t room = buf_room(&leg->in);
    size_t done = 0;
    char *at;
    enum io io;

    if (room > leg->read_size)
        room = leg->read_size;
    if (room == 0)
        return false;
    buf_borrow(&leg->in);
    if (buf_reserve(&leg->in, room, &at) != CODE_OK) {
        leg->is_broken = true; /* out of memory ends this one connection */
        return false;
    }
    io = stream_read(leg->stream, at, room, &done);
    buf_commit(&leg->in, done);
    leg->read_bytes += done;
    if (done == leg->read_size && leg->read_size < LEG_READ_MAX_BYTES)
        leg->read_size *= 2;
    leg->reads_on_write = io == IO_WANT_WRITE;
    if (io == IO_EOF)
        leg->is_eof = true;
    else if (io == IO_FAIL)
        leg->is_broken = true;
    return io == IO_OK && stream_pending(leg->stream) > 0;
}

void leg_fill(struct leg *leg)
{
    if (!leg->is_ready)
        return;
    for (int i = 0; i < READS_A_TURN; i++)
        if (leg->is_eof || leg->is_broken || !read_once(leg))
            break;
}

void leg_drain(struct leg *leg)
{
    leg->write_blocked = false;
    if (buf_code(&leg->out) != CODE_OK)
        leg->is_broken = true; /* a message that lacks something does not go out */
    while (leg->is_ready && !leg->is_broken && !leg->is_ended && leg_unsent(leg) > 0) {
        bool is_rest = buf_is_empty(&leg->out);
        struct span bytes = is_rest ? leg->rest : buf_peek(&leg->out);
        size_t done = 0;
        enum io io = stream_write(leg->stream, bytes.at, bytes.len, &done);

        if (is_rest)
            leg->rest = span_part(leg->rest, done, SIZE_MAX);
        else
            buf_drop(&leg->out, done);
        leg->written_bytes += done;
        leg->writes_on_read = io == IO_WANT_READ;
        if (io == IO_WANT_WRITE || io == IO_WANT_READ) {
            leg->write_blocked = true;
            return;
        }
        if (io != IO_OK)
            leg->is_broken = true;
    }
}

void leg_end(struct leg *leg)
{
    if (!leg->is_ready || leg->is_broken || leg->is_ended || leg_unsent(leg) > 0)
        return;
    /* A goodbye that cannot be sent at once is not waited for: the descriptor's end says the same. */
    (void)stream_end(leg->stream);
    leg->is_ended = true;
}

static unsigned wants(const struct leg *leg)
{
    unsigned wanted = 0;

    if (leg->stream == NULL || leg->is_broken)
        return 0;
    if (!leg->is_ready)
        return leg->handshake_wants;
    if (!leg->is_eof && buf_room(&leg->in) > 0)
        wanted |= leg->reads_on_write ? LOOP_WRITE : LOOP_READ;
    if (leg_unsent(leg) > 0 && !leg->is_ended)
        wanted |= leg->writes_on_read ? LOOP_READ : LOOP_WRITE;
    return wanted;
}

void leg_settle(struct leg *leg)
{
    unsigned wanted = wants(leg);

    give_back(leg);
    leg->wanted = wanted;
    if (leg->stream != NULL && leg->stream->fd != -1)
        loop_watch_want(leg->worker->loop, &leg->watch, wanted);
}

bool leg_has_pending(const struct leg *leg)
{
    return leg->may_pend && leg->is_ready && !leg->is_eof && !leg->is_broken && buf_room(&leg->in) > 0 &&
           stream_pending(leg->stream) > 0;
}
