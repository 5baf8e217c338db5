/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/cmd_audit_priv.h"

#include "query/follow.h"

#include <poll.h>
#include <stdio.h>

#define POLL_MS 200

struct following {
    const struct asked *asked;
    struct audit_out *out;
};

static bool is_enough(const struct following *following)
{
    return following->asked->stop_after != 0 && following->out->rows >= following->asked->stop_after;
}

/* Prints what comes, and stops where enough was asked for. */
static enum code take(void *context, const struct query_row *row)
{
    struct following *following = context;

    return is_enough(following) ? CODE_OK : audit_out_row(following->out, row);
}

/* A reader that went away is noticed also while nothing is written. */
static bool is_read(void)
{
    struct pollfd watch = {.fd = 1, .events = 0};

    return poll(&watch, 1, POLL_MS) == 0 || (watch.revents & (POLLERR | POLLHUP)) == 0;
}

int cmd_audit__follow(const char *path, const struct asked *asked, struct audit_out *out, const struct query *query)
{
    struct following following = {.asked = asked, .out = out};
    struct follow *follow = NULL;
    struct why why = {""};
    enum code code = follow_open(path, &follow, &why);

    if (code == CODE_OK)
        code = follow_last(follow, query, asked->limit == 0 ? INT64_MAX : asked->limit, take, &following, &why);
    while (code == CODE_OK) {
        code = audit_out_flush(out);
        if (code != CODE_OK || is_enough(&following) || !is_read())
            break;
        code = command_goes_on() ? follow_next(follow, query, take, &following, &why) : CODE_DENIED;
    }
    follow_close(&follow);
    if (code == CODE_DENIED)
        return STATUS_CANNOT;
    return code == CODE_OK ? STATUS_DONE : trail_place_complain(code, &why);
}
