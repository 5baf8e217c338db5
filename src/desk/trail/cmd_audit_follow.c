/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/cmd_audit_priv.h"

#include "query/follow.h"

#include <poll.h>
#include <stdio.h>

#define POLL_MS 200
#define POLL_FLEET_MS 1000

struct following {
    const struct asked *asked;
    struct audit_out *out;
    struct follow *follow;       /* a gate's own files, or */
    struct centre_follow *fleet; /* all gates of a fleet */
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
static bool is_read(const struct following *following)
{
    struct pollfd watch = {.fd = 1, .events = 0};

    return poll(&watch, 1, following->fleet != NULL ? POLL_FLEET_MS : POLL_MS) == 0 ||
           (watch.revents & (POLLERR | POLLHUP)) == 0;
}

static enum code next(struct following *following, const struct query *query, struct why *why)
{
    return following->fleet != NULL ? centre_follow_next(following->fleet, query, take, following, why)
                                    : follow_next(following->follow, query, take, following, why);
}

/* Takes: code: what showing the newest came to. */
static int go_on(struct following *following, enum code code, const struct query *query, struct why *why)
{
    while (code == CODE_OK) {
        code = audit_out_flush(following->out);
        if (code != CODE_OK || is_enough(following) || !is_read(following))
            break;
        code = command_goes_on() ? next(following, query, why) : CODE_DENIED;
    }
    follow_close(&following->follow);
    centre_follow_close(&following->fleet);
    if (code == CODE_DENIED && why->text[0] == '\0')
        return STATUS_CANNOT;
    return code == CODE_OK ? STATUS_DONE : trail_place_complain(code, why);
}

static uint64_t lines_of(const struct asked *asked)
{
    return asked->limit == 0 ? INT64_MAX : asked->limit;
}

int cmd_audit__follow(const char *path, const struct asked *asked, struct audit_out *out, const struct query *query)
{
    struct following following = {.asked = asked, .out = out};
    struct why why = {""};
    enum code code = follow_open(path, &following.follow, &why);

    if (code == CODE_OK)
        code = follow_last(following.follow, query, lines_of(asked), take, &following, &why);
    return go_on(&following, code, query, &why);
}

int cmd_audit__follow_fleet(struct centre *centre, const struct asked *asked, struct audit_out *out, const struct query *query)
{
    struct following following = {.asked = asked, .out = out};
    struct why why = {""};
    enum code code = centre_follow_open(centre, query, lines_of(asked), take, &following, &following.fleet, &why);

    return go_on(&following, code, query, &why);
}
