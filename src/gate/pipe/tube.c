/* SPDX-License-Identifier: Apache-2.0 */
#include "pipe/tube.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define READ_BYTES ((size_t)64 << 10)
#define QUIET_BYTES ((size_t)4 << 10) /* an empty buffer keeps no more than this */

static void stir(struct tube *tube)
{
    /* Without memory for the timer the next event stirs again. */
    if (tube->stirs->place == 0 && loop_timer_arm(tube->loop, tube->stirs, 0) != CODE_OK)
        loop_again(tube->loop);
}

static void fill(struct tube *tube)
{
    size_t room = buf_room(&tube->in) < READ_BYTES ? buf_room(&tube->in) : READ_BYTES;
    ssize_t got;
    char *at;

    if (room == 0 || tube->is_eof || tube->is_paused)
        return;
    if (buf_reserve(&tube->in, room, &at) != CODE_OK) {
        tube->is_broken = tube->is_eof = true;
        return;
    }
    while ((got = read(tube->fd, at, room)) < 0 && errno == EINTR)
        continue;
    if (got > 0)
        buf_commit(&tube->in, (size_t)got);
    else if (got == 0 || errno != EAGAIN)
        tube->is_eof = true;
}

static void drain(struct tube *tube)
{
    if (buf_code(&tube->out) != CODE_OK)
        tube->is_broken = true; /* a message that lacks a part must not go out */
    while (!tube->is_broken && !buf_is_empty(&tube->out)) {
        struct span bytes = buf_peek(&tube->out);
        ssize_t done = write(tube->fd, bytes.at, bytes.len);

        if (done > 0)
            buf_drop(&tube->out, (size_t)done);
        else if (done == 0 || errno == EAGAIN)
            return;
        else
            tube->is_broken = errno != EINTR;
    }
}

static void is_ready(void *context, unsigned ready)
{
    struct tube *tube = context;

    if ((ready & (LOOP_READ | LOOP_HANGUP)) != 0)
        fill(tube);
    if ((ready & LOOP_HANGUP) != 0 && tube->is_eof)
        tube->is_broken = true; /* the other side neither reads nor writes any more, so the tube is of no use */
    if ((ready & LOOP_HANGUP) != 0 && (tube->watch.wanted & LOOP_READ) == 0)
        tube->is_broken = true;
    drain(tube);
    stir(tube);
}

void tube_open(struct tube *tube, struct loop *loop, int fd, size_t in_bytes, struct loop_timer *stirs)
{
    *tube = (struct tube){.loop = loop, .fd = fd, .stirs = stirs};
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    buf_init(&tube->in, in_bytes);
    buf_init(&tube->out, SIZE_MAX / 2);
    loop_watch_init(&tube->watch, fd, is_ready, tube);
    tube_settle(tube);
}

void tube_close(struct tube *tube)
{
    if (tube->loop == NULL)
        return;
    if (tube->fd >= 0) {
        loop_watch_remove(tube->loop, &tube->watch);
        (void)close(tube->fd);
    }
    tube->fd = -1;
    tube->is_eof = tube->is_broken = true;
    buf_fini(&tube->in);
    buf_fini(&tube->out);
}

void tube_settle(struct tube *tube)
{
    unsigned wanted = 0;

    if (tube->fd < 0)
        return;
    drain(tube);
    if (tube->is_broken)
        buf_fini(&tube->out);
    if (!tube->is_eof && !tube->is_paused && buf_room(&tube->in) > 0)
        wanted |= LOOP_READ;
    if (!buf_is_empty(&tube->out))
        wanted |= LOOP_WRITE;
    if (buf_is_empty(&tube->in) && tube->in.size > QUIET_BYTES)
        buf_fini(&tube->in);
    if (buf_is_empty(&tube->out) && tube->out.size > QUIET_BYTES)
        buf_fini(&tube->out);
    if (tube->is_eof && tube->is_broken)
        loop_watch_remove(tube->loop, &tube->watch);
    else
        loop_watch_want(tube->loop, &tube->watch, wanted);
}
