/* SPDX-License-Identifier: Apache-2.0 */
#include "os/inbox.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void inbox_ready(void *context, unsigned ready)
{
    struct inbox *inbox = context;

    (void)ready;
    /* Cleared before the call, so that whatever is published after the call began brings a poke of its own. */
    atomic_store(&inbox->poked, false);
    inbox->arrived(inbox->context);
}

enum code inbox_init(struct inbox *inbox, struct loop *loop, void (*arrived)(void *context), void *context)
{
    inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (inbox->fd == -1)
        return CODE_IO;
    inbox->loop = loop;
    inbox->arrived = arrived;
    inbox->context = context;
    atomic_init(&inbox->poked, false);
    loop_watch_init(&inbox->watch, inbox->fd, inbox_ready, inbox);
    inbox->watch.is_edge = true; /* its counter is never read: it takes 2^64 pokes to be full */
    if (loop_watch_begin(loop, &inbox->watch, LOOP_READ) != CODE_OK) {
        close(inbox->fd);
        inbox->fd = -1;
        return CODE_IO;
    }
    return CODE_OK;
}

void inbox_fini(struct inbox *inbox)
{
    if (inbox->fd == -1)
        return;
    loop_watch_remove(inbox->loop, &inbox->watch);
    close(inbox->fd);
    inbox->fd = -1;
}

void inbox_poke(struct inbox *inbox)
{
    static const uint64_t one = 1;

    if (atomic_exchange(&inbox->poked, true))
        return;
    while (write(inbox->fd, &one, sizeof one) == -1 && errno == EINTR)
        ;
}
