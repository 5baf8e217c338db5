/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_filter.h"
#include "trail/audit_out.h"
#include "trail/cmd_audit_priv.h"
#include "args/command.h"
#include "args/print.h"
#include "cli/when.h"

#include "base/mem.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_DEFAULT 100

struct asked {
    struct audit_filter filter;
    struct audit_out out;
    const char *config, *order;
    uint64_t from; /* rows before it were given away */
    bool all;
};

static int read_order(const char *text, struct query *query)
{
    if (text == NULL)
        return OPTIONS_GO;
    if (strcmp(text, "newest") == 0)
        query->order = QUERY_NEWEST_FIRST;
    else if (strcmp(text, "oldest") == 0)
        query->order = QUERY_OLDEST_FIRST;
    else
        return complain(STATUS_USAGE, "--order \"%s\" is none; write newest or oldest", text);
    return OPTIONS_GO;
}

static int run(const char *path, struct asked *asked, const struct query *query)
{
    struct trail trail = {0};
    struct why why = {""};
    bool more = false, continues;
    int missing = STATUS_DONE;
    enum code code = trail_find(path, asked->all, &trail, &why);

    if (code == CODE_OK && asked->all)
        missing = trail_place_tell_missing(&trail, asked->from);
    if (code == CODE_OK)
        code = audit_query(&trail, query, audit_out_row, &asked->out, &more, &why);
    if (code == CODE_OK)
        code = audit_out_flush(&asked->out);
    continues = trail.missing_to > 0 && !asked->all;
    trail_fini(&trail);
    if (code != CODE_OK)
        return trail_place_complain(code, &why);
    if (more)
        print_safely(stderr, "callgate: only the %s %" PRIu64 " are shown; --limit 0 shows all\n",
                     query->order == QUERY_OLDEST_FIRST ? "oldest" : "newest", query->limit);
    if (asked->out.rows == 0 && isatty(STDERR_FILENO))
        print_safely(stderr, "callgate: no call matches%s\n", continues ? "; --all asks the sealed files, too" : "");
    return missing;
}

int cmd_audit__query(int argc, char **argv)
{
    struct asked asked = {.all = false};
    struct query query;
    uint64_t limit = LIMIT_DEFAULT;
    char *path = NULL;
    const struct option options[] = {
        AUDIT_DECISION_OPTIONS(&asked.filter),
        AUDIT_OUTCOME_OPTIONS(&asked.filter),
        {.name = "limit", .takes = "N", .help = "so many at most; 100 by default, 0 for all", .number = &limit},
        {.name = "order", .takes = "END", .help = "newest or oldest first; else newest, told forward",
         .value = &asked.order},
        {.name = "all", .help = "also sealed files beside the database", .flag = &asked.all},
        AUDIT_FROM_OPTION(&asked.from),
        AUDIT_OUT_OPTIONS(&asked.out),
        {.name = "config", .takes = "FILE", .help = "names the database where no operand does", .value = &asked.config},
        {0},
    };
    const struct usage usage = {"callgate audit query [DATABASE] [OPTIONS]",
                                "Lists calls. All conditions must hold. Only reads; the gate may go on writing. Sealed\n"
                                "files are indexed by correlation, tenant, tool, principal and rule; in the one that is\n"
                                "written, and for the rest, all rows of the time are looked through.\n"
                                "Exit status 1: with --all, a file of the trail is missing; what is there was asked.",
                                options, 0, 1};
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status != OPTIONS_GO)
        return status;
    status = audit_filter_read(&asked.filter, &query);
    query.limit = limit;
    if (status == OPTIONS_GO)
        status = read_order(asked.order, &query);
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
