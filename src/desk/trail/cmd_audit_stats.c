/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_centre.h"
#include "trail/audit_filter.h"
#include "trail/cmd_audit_priv.h"
#include "args/print.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/told.h"

#include "base/mem.h"
#include "query/stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_CELLS 32

static int read_per(const char *text, unsigned *bys)
{
    const char *words[STATS_BYS + 1] = {NULL};
    struct span rest = span_text(text);

    for (int by = 0; by < STATS_BYS; by++)
        words[by] = stats_by_text((enum stats_by)by);
    *bys = text == NULL ? 1u << STATS_TENANT | 1u << STATS_TOOL | 1u << STATS_VERDICT | 1u << STATS_REASON | 1u << STATS_RULE |
                              1u << STATS_PRINCIPAL : 0;
    while (rest.len > 0) {
        struct span word = span_trim(span_cut(rest, ',', &rest));
        const char *near = why_nearest(word.at, word.len, words);
        int by = 0;

        while (by < STATS_BYS && !span_is(word, words[by]))
            by++;
        if (by == STATS_BYS)
            return complain(STATUS_USAGE, "--per: \"%.*s\" is no kind; %s%s", SPAN_ARG(word), near != NULL ? "did you mean " :
                            "`callgate help audit stats` lists them", near != NULL ? near : "");
        *bys |= 1u << by;
    }
    return OPTIONS_GO;
}

/* ---- the document ---- */

static void fill_figures(struct doc *to, const struct stats_group *group)
{
    doc_int(to, "calls", (int64_t)group->calls);
    doc_int(to, "permitted", (int64_t)group->permitted);
    doc_int(to, "denied", (int64_t)group->denied);
    doc_int(to, "held", (int64_t)group->held);
    doc_int(to, "failed", (int64_t)group->failed);
    doc_int(to, "open", (int64_t)group->open);
    doc_int(to, "redacted", (int64_t)group->redacted);
    doc_int(to, "withheld", (int64_t)group->withheld);
    doc_int(to, "flagged", (int64_t)group->flagged);
    doc_int(to, "answers", (int64_t)(group->redacted + group->withheld + group->flagged));
    doc_int(to, "p50_us", stats_percentile(group, 50));
    doc_int(to, "p95_us", stats_percentile(group, 95));
    doc_int(to, "p99_us", stats_percentile(group, 99));
    doc_int(to, "max_us", group->max_latency_us);
    print_time(to, "first", group->first_us);
    print_time(to, "last", group->last_us);
}

/* Returns: how many groups were left out. */
static size_t fill_groups(struct doc *list, const struct stats *stats, enum stats_by by, uint64_t top)
{
    const struct stats_group *const *groups;
    size_t count = stats_groups(stats, by, &groups), shown = top == 0 || count < top ? count : top;

    for (size_t i = 0; i < shown; i++) {
        struct doc *one = doc_add_object(list, NULL);

        doc_text_or_null(one, "name", groups[i]->name);
        doc_bool(one, "rest", groups[i]->is_rest);
        fill_figures(one, groups[i]);
    }
    return count - shown;
}

static struct doc *doc_of(const struct stats *stats, const struct asked *asked, unsigned bys)
{
    struct doc *doc = doc_object(), *by_what, *left_out;

    fill_figures(doc, stats_total(stats));
    by_what = doc_add_object(doc, "per");
    left_out = doc_add_object(doc, "left_out");
    for (int by = 0; by < STATS_BYS; by++)
        if ((bys & (1u << by)) != 0) {
            const char *name = stats_by_text((enum stats_by)by);

            doc_int(left_out, name, (int64_t)fill_groups(doc_add_array(by_what, name), stats, (enum stats_by)by, asked->top));
        }
    return doc;
}

/* ---- for people ---- */

static const char total_words[] =
    "[{!calls}no call matches\n]"
    "[{?calls}{calls} calls from {first} to {last}\npermitted {permitted}, denied {denied}, held {held}; of the permitted, "
    "failed {failed}, without outcome yet {open}\n"
    "[{?answers}answers redacted {redacted}, withheld {withheld}, flagged {flagged}\n]"
    "latency p50 {p50_us:us}, p95 {p95_us:us}, p99 {p99_us:us}, longest {max_us:us}\n]";

static enum code print_groups(const struct json_node *list, const struct json_node *left_out)
{
    char title[64];
    const struct table_column columns[] = {
        {.title = title, .words = "[{name}][{?rest}(all others)]", .least = NAME_CELLS},
        {.title = "calls", .is_right = true, .least = TABLE_WHOLE}, {.title = "", .key = "calls", .is_bar = true},
        {.title = "denied", .words = "{denied:share calls}", .is_right = true, .least = TABLE_WHOLE},
        {.title = "held", .words = "{held:share calls}", .is_right = true, .least = TABLE_WHOLE},
        {.title = "failed", .words = "{failed:share calls}", .is_right = true, .least = TABLE_WHOLE},
        {.title = "p50", .words = "{p50_us:us}", .is_right = true, .least = TABLE_WHOLE},
        {.title = "p95", .words = "{p95_us:us}", .is_right = true, .least = TABLE_WHOLE},
        {.title = "p99", .words = "{p99_us:us}", .is_right = true, .least = TABLE_WHOLE},
    };
    enum code code = CODE_OK, ended;
    struct table table;

    (void)snprintf(title, sizeof title, "per %.*s", SPAN_ARG(list->key));
    putchar('\n');
    TABLE_BEGIN(&table, columns, false);
    for (const struct json_node *group = list->child; group != NULL && code == CODE_OK; group = group->next)
        code = table_add_told(&table, group);
    ended = table_end(&table);
    if (!span_is(left_out->raw, "0"))
        told_say(left_out, "and {.} more; --top 0 shows all\n");
    return code == CODE_OK ? ended : code;
}

static int tell(struct doc **doc, bool as_json)
{
    const struct json_node *list, *left_out;
    struct told told;
    enum code code;

    if (as_json)
        return print_doc(doc);
    code = told_read(&told, *doc);
    if (code == CODE_OK) {
        told_say(told.root, total_words);
        list = json_member(told.root, SPAN_LIT("per"))->child;
        left_out = json_member(told.root, SPAN_LIT("left_out"))->child;
        for (; list != NULL && code == CODE_OK && !span_is(told_text(told.root, "calls"), "0"); list = list->next) {
            code = print_groups(list, left_out);
            left_out = left_out->next;
        }
    }
    told_end(&told);
    doc_free(doc);
    return complain_code(code);
}

static void tell_counted(void *context, int64_t calls)
{
    progress_tell(context, (uint64_t)calls);
}

/* Takes: trail: NULL where the centre is asked. */
static enum code count(const struct trail *trail, struct centre *centre, const struct asked *asked, unsigned bys,
                       struct query *query, struct stats **stats, struct why *why)
{
    struct progress progress;
    enum code code;

    query->limit = asked->newest;
    query->looked = tell_counted;
    query->context = &progress;
    progress_begin(&progress, "counting", asked->newest);
    code = centre != NULL ? centre_stats(centre, query, bys, stats, why) : audit_stats(trail, query, bys, stats, why);
    progress_end(&progress);
    return code;
}

static int tell_stats(struct stats **stats, const struct asked *asked, unsigned bys)
{
    struct doc *doc = doc_of(*stats, asked, bys);

    stats_free(stats);
    return tell(&doc, asked->json);
}

static int run_fleet(struct centre *centre, const struct asked *asked, unsigned bys, struct query *query)
{
    struct stats *stats = NULL;
    struct why why = {""};
    enum code code = count(NULL, centre, asked, bys, query, &stats, &why);

    return code == CODE_OK ? tell_stats(&stats, asked, bys) : trail_place_complain(code, &why);
}

static int run(const char *path, const struct asked *asked, unsigned bys, struct query *query)
{
    struct trail trail = {0};
    struct stats *stats = NULL;
    struct why why = {""};
    enum code code = trail_find(path, asked->all, &trail, &why);
    int64_t sealed;
    int missing = STATUS_DONE;

    if (code == CODE_OK && asked->all)
        missing = trail_place_tell_missing(&trail, asked->from);
    if (code == CODE_OK)
        code = count(&trail, NULL, asked, bys, query, &stats, &why);
    sealed = asked->all ? 0 : trail.missing_to;
    trail_fini(&trail);
    if (code != CODE_OK)
        return trail_place_complain(code, &why);
    if (sealed > 0 && !asked->json)
        fprintf(stderr, "callgate: rows up to %" PRId64 " are in sealed files; --all counts them, too\n", sealed);
    return trail_place_worse(tell_stats(&stats, asked, bys), missing);
}

int cmd_audit_stats(const struct asked *asked)
{
    unsigned char session[DIGEST_BYTES];
    struct query query;
    struct centre *centre = NULL;
    char *path = NULL;
    unsigned bys = 0;
    int status = audit_filter_read(asked, session, &query);

    if (status == OPTIONS_GO)
        status = read_per(asked->per, &bys);
    if (status == OPTIONS_GO && asked->fleet && (asked->all || asked->progress))
        status = complain(STATUS_USAGE, "--all and --progress are of a gate's own files; leave them out with --fleet");
    if (asked->fleet && asked->per == NULL)
        bys |= 1u << STATS_NODE;
    if (status == OPTIONS_GO)
        status = audit_centre_open(asked, 0, &centre);
    if (status == OPTIONS_GO && centre != NULL)
        status = run_fleet(centre, asked, bys, &query);
    if (status == OPTIONS_GO)
        status = asked_trail(asked, asked_operand(asked, 0), &path);
    if (status == OPTIONS_GO)
        status = run(path, asked, bys, &query);
    centre_close(&centre);
    mem_free(path);
    return status;
}
