/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_filter.h"
#include "trail/audit_out.h"
#include "trail/cmd_audit_priv.h"

#include "base/mem.h"
#include "query/follow.h"

#include <poll.h>
#include <stdio.h>

#define POLL_MS 200

struct tailing {
    const struct asked *asked;
    uint64_t lines; /* of what was there before */
    struct audit_out out;
};

static bool is_enough(const struct tailing *tailing)
{
    return tailing->asked->stop_after != 0 && tailing->out.rows >= tailing->asked->stop_after;
}

/* Prints what comes, and stops where enough was asked for. */
static enum code take(void *context, const struct query_row *row)
{
    struct tailing *tailing = context;

    return is_enough(tailing) ? CODE_OK : audit_out_row(&tailing->out, row);
}

/* A reader that went away is noticed also while nothing is written. */
static bool is_read(void)
{
    struct pollfd watch = {.fd = 1, .events = 0};

    return poll(&watch, 1, POLL_MS) == 0 || (watch.revents & (POLLERR | POLLHUP)) == 0;
}

static int run(const char *path, struct tailing *tailing, const struct query *query)
{
    struct follow *follow = NULL;
    struct why why = {""};
    enum code code = follow_open(path, &follow, &why);

    if (code == CODE_OK)
        code = follow_last(follow, query, tailing->lines, take, tailing, &why);
    while (code == CODE_OK) {
        code = audit_out_flush(&tailing->out);
        if (code != CODE_OK || is_enough(tailing) || !is_read())
            break;
        code = follow_next(follow, query, take, tailing, &why);
    }
    follow_close(&follow);
    return code == CODE_OK ? STATUS_DONE : trail_place_complain(code, &why);
}

int cmd_audit__follow(const struct asked *asked, uint64_t lines)
{
    unsigned char session[DIGEST_BYTES];
    struct tailing tailing = {.asked = asked, .lines = lines};
    struct query query;
    char *path = NULL;
    int status = audit_filter_read(asked, session, &query);

    if (status == OPTIONS_GO)
        status = audit_out_begin(&tailing.out, asked);
    if (status == OPTIONS_GO)
        status = asked_trail(asked, asked_operand(asked, 0), &path);
    if (status == OPTIONS_GO)
        status = run(path, &tailing, &query);
    audit_out_end(&tailing.out);
    mem_free(path);
    return status;
}

int cmd_audit_tail(const struct asked *asked)
{
    return cmd_audit__follow(asked, asked->lines);
}
