/* SPDX-License-Identifier: Apache-2.0 */
#include "pipe/child_priv.h"

#include "base/mem.h"
#include "base/num.h"
#include "crypto/digest.h"

#include <unistd.h>

/* Requests go to children first, then lines to connections; what has gone is freed when nobody looks at it any more. */
static void settle(void *context)
{
    struct desk *desk = context;
    struct list *link, *next;

    LIST_EACH(link, next, &desk->talks)
        talk__step(LIST_ENTRY(link, struct talk, of_desk));
    LIST_EACH(link, next, &desk->children)
        child__step(LIST_ENTRY(link, struct pipe_child, of_desk));
    LIST_EACH(link, next, &desk->talks)
        talk__settle(LIST_ENTRY(link, struct talk, of_desk));
    LIST_EACH(link, next, &desk->children)
        child__settle(LIST_ENTRY(link, struct pipe_child, of_desk));
}

void desk__init(struct desk *desk, struct loop *loop, choose_fn choose, void *context)
{
    *desk = (struct desk){.loop = loop, .choose = choose, .context = context};
    loop_timer_init(&desk->stirs, settle, desk);
    list_init(&desk->talks);
    list_init(&desk->children);
}

void desk__fini(struct desk *desk)
{
    struct list *link, *next;

    LIST_EACH(link, next, &desk->talks)
        talk__free(LIST_ENTRY(link, struct talk, of_desk));
    loop_timer_cancel(desk->loop, &desk->stirs);
}

void desk__stir(struct desk *desk)
{
    if (desk->stirs.place == 0 && loop_timer_arm(desk->loop, &desk->stirs, 0) != CODE_OK)
        loop_again(desk->loop);
}

void desk__name_session(char out[SESSION_BYTES])
{
    unsigned char bytes[SESSION_BYTES / 2];

    random_bytes(bytes, sizeof bytes);
    num_hex(bytes, sizeof bytes, out);
    out[SESSION_BYTES - 1] = '\0';
}

enum code desk__serve(struct desk *desk, int fd_take, void *tag)
{
    struct talk *talk = mem_zalloc(sizeof *talk);

    if (talk == NULL) {
        (void)close(fd_take);
        return CODE_NOMEM;
    }
    talk->desk = desk;
    talk->tag = tag;
    http_reader_init_request(&talk->reader, NULL);
    buf_init(&talk->body, SIZE_MAX / 2);
    list_append(&desk->talks, &talk->of_desk);
    tube_open(&talk->tube, desk->loop, fd_take, CLOGGED_BYTES, &desk->stirs);
    return CODE_OK;
}
