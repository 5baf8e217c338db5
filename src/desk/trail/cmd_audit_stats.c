/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_filter.h"
#include "trail/cmd_audit_priv.h"
#include "args/print.h"
#include "unicode/terminal.h"

#include "base/mem.h"
#include "query/stats.h"
#include "os/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_CELLS 32
#define BAR_MAX 40
#define FIGURES 78 /* columns that a line takes beside name and bar */

static int read_by(const char *text, unsigned *bys)
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
            return complain(STATUS_USAGE, "--by: \"%.*s\" is no kind; %s%s", SPAN_ARG(word), near != NULL ? "did you mean " :
                            "write tenant, tool, verdict, reason, rule, principal, upstream, method, outcome, answer, "
                            "answer_rule or detector",
                            near != NULL ? near : "");
        *bys |= 1u << by;
    }
    return OPTIONS_GO;
}

/* ---- JSON ---- */

static void print_figures(struct doc *to, const struct stats_group *group)
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
    doc_int(to, "p50_us", stats_percentile(group, 50));
    doc_int(to, "p95_us", stats_percentile(group, 95));
    doc_int(to, "p99_us", stats_percentile(group, 99));
    doc_int(to, "max_us", group->max_latency_us);
}

static int print_json(const struct stats *stats, const struct asked *asked, unsigned bys)
{
    struct doc *doc = doc_object(), *by_what;
    int64_t first_us, last_us;

    stats_range(stats, &first_us, &last_us);
    print_time(doc, "first", first_us);
    print_time(doc, "last", last_us);
    print_figures(doc, stats_total(stats));
    by_what = doc_add_object(doc, "by");
    for (int by = 0; by < STATS_BYS; by++) {
        const struct stats_group *const *groups;
        struct doc *list;
        size_t count;

        if ((bys & (1u << by)) == 0)
            continue;
        count = stats_groups(stats, (enum stats_by)by, &groups);
        list = doc_add_array(by_what, stats_by_text((enum stats_by)by));
        for (size_t i = 0; i < count && (asked->top == 0 || i < asked->top); i++) {
            struct doc *one = doc_add_object(list, NULL);

            if (groups[i]->name.at != NULL)
                doc_text(one, "name", groups[i]->name);
            else
                doc_null(one, "name");
            doc_bool(one, "rest", groups[i]->is_rest);
            print_figures(one, groups[i]);
        }
    }
    return print_doc(&doc);
}

/* ---- for people ---- */

/* "850 us", "12.3 ms", "4.56 s": three figures. */
static const char *duration(int64_t us, char out[24])
{
    static const struct { int64_t below; double unit; const char *name; } units[] = {
        {1000, 1, "us"}, {1000000, 1e3, "ms"}, {INT64_MAX, 1e6, "s"},
    };
    double value;
    size_t i = 0;

    while (us >= units[i].below && i < 2)
        i++;
    value = (double)us / units[i].unit;
    (void)snprintf(out, 24, "%.*f %s", i == 0 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0, value, units[i].name);
    return out;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

/* Eighths of a cell, so that small differences show. */
static void add_bar(struct buf *line, uint64_t part, uint64_t whole, size_t cells)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    uint64_t filled = whole == 0 ? 0 : (uint64_t)((double)part * 8 * (double)cells / (double)whole + 0.5);
    size_t used = filled / 8 + (filled % 8 != 0);

    for (size_t i = 0; i < filled / 8; i++)
        buf_add_text(line, "█");
    buf_add_text(line, eighths[filled % 8]);
    for (; used < cells + 1; used++)
        buf_add_byte(line, ' ');
}

static void add_group(struct buf *line, const struct stats_group *group, uint64_t most, size_t bar)
{
    char p50[24], p95[24], p99[24];
    struct buf name;

    buf_init(&name, (size_t)1 << 20);
    terminal_add(&name, group->is_rest ? SPAN_LIT("(all others)") : group->name.at != NULL ? group->name : SPAN_LIT("-"));
    buf_add_text(line, "  ");
    if (buf_fail(line, buf_code(&name)) == CODE_OK)
        terminal_add_cell(line, buf_peek(&name), NAME_CELLS, true);
    buf_fini(&name);
    buf_addf(line, "%10" PRIu64 " ", group->calls);
    if (bar > 0)
        add_bar(line, group->calls, most, bar);
    buf_addf(line, "%7.1f %% %7.1f %% %7.1f %%  %9s  %9s  %9s\n", percent(group->denied, group->calls),
             percent(group->held, group->calls), percent(group->failed, group->calls),
             duration(stats_percentile(group, 50), p50), duration(stats_percentile(group, 95), p95),
             duration(stats_percentile(group, 99), p99));
}

static size_t bar_cells(void)
{
    size_t width = terminal_width(), room = width > NAME_CELLS + FIGURES ? width - NAME_CELLS - FIGURES : 0;

    return room < 4 ? 0 : room < BAR_MAX ? room : BAR_MAX;
}

static void add_kind(struct buf *text, const struct stats *stats, enum stats_by by, uint64_t rows)
{
    const struct stats_group *const *groups;
    size_t count = stats_groups(stats, by, &groups), bar = bar_cells(), shown = rows == 0 || count < rows ? count : rows;

    buf_addf(text, "\nby %-*s%10s %*s%9s %9s %9s  %9s  %9s  %9s\n", NAME_CELLS - 1, stats_by_text(by), "calls",
             bar > 0 ? (int)bar + 1 : 0, "", "denied", "held", "failed", "p50", "p95", "p99");
    for (size_t i = 0; i < shown; i++)
        add_group(text, groups[i], groups[0]->calls, bar);
    if (shown < count)
        buf_addf(text, "  and %zu more; --top 0 shows all\n", count - shown);
}

static void add_total(struct buf *text, const struct stats *stats)
{
    const struct stats_group *total = stats_total(stats);
    char first[CLOCK_TEXT_BYTES], last[CLOCK_TEXT_BYTES], p50[24], p95[24], p99[24], max[24];
    int64_t first_us, last_us;

    stats_range(stats, &first_us, &last_us);
    clock_text(first_us, first);
    clock_text(last_us, last);
    buf_addf(text, "%" PRIu64 " calls from %s to %s\npermitted %" PRIu64 ", denied %" PRIu64 ", held %" PRIu64
             "; of the permitted, failed %" PRIu64 ", without outcome yet %" PRIu64 "\n", total->calls, first, last,
             total->permitted, total->denied, total->held, total->failed, total->open);
    if (total->redacted + total->withheld + total->flagged > 0)
        buf_addf(text, "answers redacted %" PRIu64 ", withheld %" PRIu64 ", flagged %" PRIu64 "\n", total->redacted,
                 total->withheld, total->flagged);
    buf_addf(text, "latency p50 %s, p95 %s, p99 %s, longest %s\n", duration(stats_percentile(total, 50), p50),
             duration(stats_percentile(total, 95), p95), duration(stats_percentile(total, 99), p99),
             duration(total->max_latency_us, max));
}

static int print_text(const struct stats *stats, const struct asked *asked, unsigned bys)
{
    struct buf text;
    enum code code;

    buf_init(&text, (size_t)64 << 20);
    if (stats_total(stats)->calls == 0)
        buf_add_text(&text, "no call matches\n");
    else
        add_total(&text, stats);
    for (int by = 0; by < STATS_BYS && stats_total(stats)->calls > 0; by++)
        if ((bys & (1u << by)) != 0)
            add_kind(&text, stats, (enum stats_by)by, asked->top);
    code = buf_code(&text);
    if (code == CODE_OK)
        code = print_block(stdout, buf_peek(&text));
    buf_fini(&text);
    return code == CODE_OK ? STATUS_DONE : complain(STATUS_CANNOT, "%s", code_text(code));
}

static int run(const char *path, const struct asked *asked, unsigned bys, const struct query *query)
{
    struct trail trail = {0};
    struct stats *stats = NULL;
    struct why why = {""};
    enum code code = trail_find(path, asked->all, &trail, &why);
    int64_t sealed;
    int status, missing = STATUS_DONE;

    if (code == CODE_OK && asked->all)
        missing = trail_place_tell_missing(&trail, asked->from);
    if (code == CODE_OK)
        code = audit_stats(&trail, query, bys, &stats, &why);
    sealed = asked->all ? 0 : trail.missing_to;
    trail_fini(&trail);
    if (code != CODE_OK)
        return trail_place_complain(code, &why);
    if (sealed > 0 && !asked->json)
        fprintf(stderr, "callgate: rows up to %" PRId64 " are in sealed files; --all counts them, too\n", sealed);
    status = asked->json ? print_json(stats, asked, bys) : print_text(stats, asked, bys);
    stats_free(&stats);
    return trail_place_worse(status, missing);
}

int cmd_audit_stats(const struct asked *asked)
{
    unsigned char session[DIGEST_BYTES];
    struct query query;
    char *path = NULL;
    unsigned bys = 0;
    int status = audit_filter_read(asked, session, &query);

    if (status == OPTIONS_GO)
        status = read_by(asked->breakdown, &bys);
    if (status == OPTIONS_GO)
        status = asked_trail(asked, asked_operand(asked, 0), &path);
    if (status == OPTIONS_GO)
        status = run(path, asked, bys, &query);
    mem_free(path);
    return status;
}
