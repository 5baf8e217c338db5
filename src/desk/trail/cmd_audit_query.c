/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_centre.h"
#include "trail/audit_filter.h"
#include "trail/audit_out.h"
#include "trail/cmd_audit_priv.h"
#include "args/print.h"
#include "cli/progress.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SQL_BYTES ((size_t)1 << 20)

/* How far it is, and what was found so far. */
struct looking {
    struct progress progress;
    struct audit_out *out;
    int64_t top; /* the number of the newest row that is meant */
};

static void tell_looked(void *context, int64_t at)
{
    struct looking *looking = context;

    looking->progress.at = at;
    (void)!audit_out_flush(looking->out);
    progress_tell(&looking->progress, at < looking->top ? (uint64_t)(looking->top - at) : 0);
}

static void begin_looking(struct looking *looking, const struct trail *trail, struct audit_out *out, struct query *query)
{
    int64_t last = trail->files[trail->count - 1].last_seq, first = trail->files[0].before_seq;

    looking->out = out;
    looking->top = query->before_seq != 0 && query->before_seq <= last ? query->before_seq - 1 : last;
    first = query->after_seq > first ? query->after_seq : first;
    progress_begin(&looking->progress, "looking", looking->top > first ? (uint64_t)(looking->top - first) : 0);
    query->looked = tell_looked;
    query->context = looking;
}

static int print_sql(const struct query *query)
{
    struct buf text;
    enum code code;

    buf_init(&text, SQL_BYTES);
    code = audit_query_sql(query, &text);
    if (code == CODE_OK)
        code = print_source(buf_peek(&text));
    buf_fini(&text);
    return complain_code(code);
}

/* What is said behind the rows. Takes: nothing: what is said where there are none. */
static void tell_rest(struct audit_out *out, const struct query *query, bool more, const char *nothing)
{
    if (more)
        print_safely(stderr, "callgate: only the %s %" PRIu64 " are shown; --limit 0 shows all\n",
                     query->order == QUERY_OLDEST_FIRST ? "oldest" : "newest", query->limit);
    if (out->rows == 0 && !out->as_json && !out->as_csv)
        out->table.nothing = nothing;
}

static int run_fleet(struct centre *centre, struct audit_out *out, const struct query *query)
{
    struct why why = {""};
    bool more = false;
    enum code code = centre_query(centre, query, audit_out_row, out, &more, &why);

    if (code == CODE_OK)
        code = audit_out_flush(out);
    if (code != CODE_OK)
        return trail_place_complain(code, &why);
    tell_rest(out, query, more, "no call matches");
    return STATUS_DONE;
}

static int run(const char *path, const struct asked *asked, struct audit_out *out, struct query *query)
{
    struct trail trail = {0};
    struct looking looking = {.top = 0};
    struct why why = {""};
    bool more = false, continues;
    int missing = STATUS_DONE;
    enum code code = trail_find(path, asked->all, &trail, &why);

    if (code == CODE_OK && asked->all)
        missing = trail_place_tell_missing(&trail, asked->from);
    if (code == CODE_OK && asked->progress)
        begin_looking(&looking, &trail, out, query);
    if (code == CODE_OK)
        code = audit_query(&trail, query, audit_out_row, out, &more, &why);
    if (code == CODE_OK)
        code = audit_out_flush(out);
    continues = trail.missing_to > 0 && !asked->all;
    trail_fini(&trail);
    if (code != CODE_OK)
        return trail_place_complain(code, &why);
    tell_rest(out, query, more, continues ? "no call matches; --all asks the sealed files, too" : "no call matches");
    return missing;
}

static enum query_order order_of(const char *word)
{
    return word == NULL ? QUERY_NEWEST_FORWARD : strcmp(word, "newest") == 0 ? QUERY_NEWEST_FIRST : QUERY_OLDEST_FIRST;
}

static int check_options(const struct asked *asked)
{
    if (!asked->follow && asked->stop_after != 0)
        return complain(STATUS_USAGE, "--stop-after goes with --follow; --limit bounds what is there");
    if (asked->fleet && (asked->all || asked->progress || (asked->format != NULL && strcmp(asked->format, "sql") == 0)))
        return complain(STATUS_USAGE, "--all, --progress and --format sql are of a gate's own files; leave them out with "
                        "--fleet");
    if (asked->follow && (asked->all || asked->order != NULL || asked->from != 0 || asked->until_us != 0))
        return complain(STATUS_USAGE, "--follow goes on in the order in which calls end; leave --all, --order, --from and "
                        "--until out");
    return OPTIONS_GO;
}

int cmd_audit_query(const struct asked *asked)
{
    unsigned char session[DIGEST_BYTES];
    struct audit_out out = {.rows = 0};
    struct query query;
    struct centre *centre = NULL;
    char *path = NULL;
    int status = check_options(asked);

    if (status == OPTIONS_GO)
        status = audit_filter_read(asked, session, &query);
    if (status == OPTIONS_GO)
        status = audit_out_begin(&out, asked);
    if (status == OPTIONS_GO)
        status = audit_centre_open(asked, 0, &centre);
    if (status == OPTIONS_GO && centre == NULL)
        status = asked_trail(asked, asked_operand(asked, 0), &path);
    query.limit = asked->limit;
    query.order = order_of(asked->order);
    if (status == OPTIONS_GO && asked->format != NULL && strcmp(asked->format, "sql") == 0)
        status = print_sql(&query);
    else if (status == OPTIONS_GO && centre != NULL)
        status = asked->follow ? cmd_audit__follow_fleet(centre, asked, &out, &query) : run_fleet(centre, &out, &query);
    else if (status == OPTIONS_GO)
        status = asked->follow ? cmd_audit__follow(path, asked, &out, &query) : run(path, asked, &out, &query);
    audit_out_end(&out);
    centre_close(&centre);
    mem_free(path);
    return status;
}
