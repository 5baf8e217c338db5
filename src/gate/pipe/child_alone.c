/* SPDX-License-Identifier: Apache-2.0 */
/* A child with a desk of its own, as `callgate pipe` has it. */
#include "pipe/child_priv.h"

#include "base/mem.h"

static void choose_only(void *context, const struct request *request, struct choice *choice)
{
    struct pipe_child *child = context;

    if (child->state == CHILD_RUNS)
        choice->child = child;
    if (request->is_initialize)
        desk__name_session(choice->session);
}

enum code pipe_child_start(const struct pipe_child_conf *conf, struct pipe_child **out, struct why *why)
{
    struct desk *desk = mem_zalloc(sizeof *desk);
    enum code code;

    *out = NULL;
    if (desk == NULL)
        return why_set(why, CODE_NOMEM, "%s cannot be started: out of memory", conf->argv[0]);
    desk__init(desk, conf->loop, choose_only, NULL);
    code = child__start(desk, conf, out, why);
    if (code != CODE_OK) {
        desk__fini(desk);
        mem_free(desk);
        return code;
    }
    desk->context = *out;
    (*out)->own_desk = desk;
    return CODE_OK;
}

void pipe_child_say(struct pipe_child *child, struct span message)
{
    (void)child__say(child, message); /* where it cannot be said, the child has ended or is about to end */
}

enum code pipe_child_serve(struct pipe_child *child, int fd_take)
{
    return desk__serve(child->desk, fd_take, NULL);
}
