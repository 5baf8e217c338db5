/* SPDX-License-Identifier: Apache-2.0 */
#include "link/listener.h"

#include "base/log.h"
#include "base/reason.h"

#include <errno.h>

#define TELL_US (INT64_C(60000000))
#define ACCEPTS_A_TURN 64          /* so that a flood of new connections does not starve those that are there */
#define SLEEP_US (INT64_C(1000000)) /* when descriptors are used up: asking again at once would only spin */

static void go_to_sleep(struct listener *listener)
{
    log_warn("link", "no descriptor or memory left for new connections; accepting again in a second");
    loop_watch_want(listener->worker->loop, &listener->watch, 0);
    if (loop_timer_arm(listener->worker->loop, &listener->sleep, SLEEP_US) != CODE_OK)
        loop_watch_want(listener->worker->loop, &listener->watch, LOOP_READ);
}

static void wake_up(void *context)
{
    struct listener *listener = context;

    if (!listener->is_stopped && !listener->is_paused)
        loop_watch_want(listener->worker->loop, &listener->watch, LOOP_READ);
}

/* Said now and then, since a flood of agents must not become a flood of lines. */
static void refuse(struct listener *listener, int *fd)
{
    int64_t now_us = loop_now_us(listener->worker->loop);

    reason_count(REASON_CONNECTION_LIMIT);
    sock_close(fd);
    if (listener->told_us != 0 && now_us - listener->told_us < TELL_US)
        return;
    listener->told_us = now_us;
    log_warn("link", "%u connections are open, as many as the descriptor limit allows; new ones are closed unheard",
             listener->worker->budget->connections_max);
}

static void take_one(struct listener *listener, int fd, const struct sock_address *peer)
{
    if (!budget_take_connection(listener->worker->budget)) {
        refuse(listener, &fd);
        return;
    }
    listener->accepted(listener->context, fd, peer);
}

static void listener_ready(void *context, unsigned ready)
{
    struct listener *listener = context;

    if (ready & LOOP_HANGUP) { /* epoll took it off for want of memory */
        go_to_sleep(listener);
        return;
    }
    for (int i = 0; i < ACCEPTS_A_TURN && !listener->is_stopped && !listener->is_paused; i++) {
        struct sock_address peer;
        int fd = -1;
        enum code code = sock_accept(listener->fd, &fd, &peer);

        if (code == CODE_BUSY)
            return;
        if (code == CODE_LIMIT) {
            go_to_sleep(listener);
            return;
        }
        if (code != CODE_OK) {
            log_error("link", "a listening socket failed: %s; it accepts no more, restart the gate",
                      strerror(errno));
            listener_stop(listener, false);
            return;
        }
        take_one(listener, fd, &peer);
    }
}

enum code listener_open(struct listener *listener, struct worker *worker, int fd, listener_accepted_fn accepted,
                        void *context)
{
    *listener = (struct listener){.worker = worker, .accepted = accepted, .context = context, .fd = fd};
    loop_timer_init(&listener->sleep, wake_up, listener);
    loop_watch_init(&listener->watch, fd, listener_ready, listener);
    return loop_watch_begin(worker->loop, &listener->watch, LOOP_READ);
}

void listener_pause(struct listener *listener, bool pauses)
{
    if (listener->is_stopped)
        return;
    listener->is_paused = pauses;
    loop_watch_want(listener->worker->loop, &listener->watch, pauses ? 0 : LOOP_READ);
}

void listener_stop(struct listener *listener, bool accepts_rest)
{
    if (listener->is_stopped || listener->worker == NULL)
        return;
    if (accepts_rest)
        listener_ready(listener, LOOP_READ);
    listener->is_stopped = true;
    loop_timer_cancel(listener->worker->loop, &listener->sleep);
    loop_watch_remove(listener->worker->loop, &listener->watch);
    sock_close(&listener->fd);
}

void listener_fini(struct listener *listener)
{
    listener_stop(listener, false);
}
