/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_filter.h"
#include "trail/audit_out.h"
#include "trail/cmd_audit_priv.h"
#include "args/command.h"
#include "cli/when.h"

#include "base/mem.h"
#include "query/follow.h"

#include <poll.h>
#include <stdio.h>

#define LINES_DEFAULT 10
#define POLL_MS 200

struct asked {
    struct audit_filter filter;
    struct audit_out out;
    const char *config;
    uint64_t line_count, stop_after; /* stop_after 0: never */
};

/* Prints what comes, and stops where enough was asked for. */
static enum code take(void *context, const struct query_row *row)
{
    struct asked *asked = context;

    if (asked->stop_after != 0 && asked->out.rows >= asked->stop_after)
        return CODE_OK;
    return audit_out_row(&asked->out, row);
}

/* A reader that went away is noticed also while nothing is written. */
static bool is_read(void)
{
    struct pollfd watch = {.fd = 1, .events = 0};

    return poll(&watch, 1, POLL_MS) == 0 || (watch.revents & (POLLERR | POLLHUP)) == 0;
}

static int run(const char *path, struct asked *asked, const struct query *query)
{
    struct follow *follow = NULL;
    struct why why = {""};
    enum code code = follow_open(path, &follow, &why);

    if (code == CODE_OK)
        code = follow_last(follow, query, asked->line_count, take, asked, &why);
    while (code == CODE_OK) {
        code = audit_out_flush(&asked->out);
        if (code != CODE_OK || (asked->stop_after != 0 && asked->out.rows >= asked->stop_after) || !is_read())
            break;
        code = follow_next(follow, query, take, asked, &why);
    }
    follow_close(&follow);
    return code == CODE_OK ? STATUS_DONE : trail_place_complain(code, &why);
}

int cmd_audit__tail(int argc, char **argv)
{
    struct asked asked = {.line_count = LINES_DEFAULT};
    struct query query;
    char *path = NULL;
    const struct option options[] = {
        AUDIT_DECISION_OPTIONS(&asked.filter),
        AUDIT_OUTCOME_OPTIONS(&asked.filter),
        {.name = "lines", .takes = "N", .help = "begin with the newest so many; 10 by default", .number = &asked.line_count},
        {.name = "stop-after", .takes = "N", .help = "end once so many were shown", .number = &asked.stop_after,
         .least = 1},
        AUDIT_OUT_OPTIONS(&asked.out),
        {.name = "config", .takes = "FILE", .help = "names the database where no operand does", .value = &asked.config},
        {0},
    };
    const struct usage usage = {"callgate audit tail [DATABASE] [OPTIONS]",
                                "Shows calls as they end, until it is interrupted: denials at once, permitted calls when\n"
                                "their outcome is there. Follows the trail over rotations.",
                                options, 0, 1};
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status != OPTIONS_GO)
        return status;
    status = audit_filter_read(&asked.filter, &query);
    if (status == OPTIONS_GO)
        status = audit_out_begin(&asked.out);
    if (status == OPTIONS_GO)
        status = trail_place_find(operands > 0 ? argv[0] : NULL, asked.config, &path);
    if (status == OPTIONS_GO)
        status = run(path, &asked, &query);
    audit_out_end(&asked.out);
    mem_free(path);
    return status;
}
