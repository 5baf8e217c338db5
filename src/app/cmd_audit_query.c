/* SPDX-License-Identifier: Apache-2.0 */
#include "app/cmd_audit_priv.h"
#include "app/command.h"

#include "audit/query.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/num.h"
#include "json/json.h"
#include "os/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_DEFAULT "100"
#define ROW_BYTES ((size_t)64 << 20)

struct printer {
    struct buf line;
    uint64_t rows;
};

static enum code print_line(struct printer *printer)
{
    struct span line = buf_peek(&printer->line);
    bool written = fwrite(line.at, 1, line.len, stdout) == line.len && fputc('\n', stdout) != EOF;

    buf_clear(&printer->line);
    printer->rows++;
    return written ? CODE_OK : CODE_IO;
}

/* ---- JSON lines -------------------------------------------------------------------------------------------------- */

static bool is_json_column(const char *name)
{
    static const char *const names[] = {"arguments", "rules", "monitor", "rpc_id"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* As JSON where it is JSON; somebody may have changed it. */
static enum code add_json(struct buf *line, struct span text)
{
    struct json_fault fault;
    enum code code = json_read(text, &json_file_rules, line, NULL, NULL, &fault);

    return code == CODE_INVALID || code == CODE_LIMIT ? json_write_string(line, text) : code;
}

static enum code add_json_value(struct buf *line, const char *name, const struct query_value *value)
{
    if (value->text.at == NULL)
        return buf_add_text(line, "null");
    if (value->is_number)
        return buf_add_span(line, value->text);
    return is_json_column(name) ? add_json(line, value->text) : json_write_string(line, value->text);
}

static enum code print_json(void *context, const struct query_row *row)
{
    struct printer *printer = context;
    enum code code = CODE_OK;

    for (int i = 0; i < row->count && code == CODE_OK; i++) {
        code = buf_addf(&printer->line, "%s\"%s\":", i == 0 ? "{" : ",", row->names[i]);
        if (code == CODE_OK)
            code = add_json_value(&printer->line, row->names[i], &row->values[i]);
    }
    if (code == CODE_OK)
        code = buf_add_byte(&printer->line, '}');
    return code == CODE_OK ? print_line(printer) : code;
}

/* ---- CSV (RFC 4180) ---------------------------------------------------------------------------------------------- */

static enum code add_csv_value(struct buf *line, struct span text)
{
    enum code code;

    if (text.len == 0 || (span_find(text, ',') == text.len && span_find(text, '"') == text.len &&
                          span_find(text, '\n') == text.len && span_find(text, '\r') == text.len))
        return buf_add_span(line, text);
    code = buf_add_byte(line, '"');
    for (size_t i = 0; i < text.len && code == CODE_OK; i++) {
        if (text.at[i] == '"')
            code = buf_add_byte(line, '"');
        if (code == CODE_OK)
            code = buf_add_byte(line, text.at[i]);
    }
    return code == CODE_OK ? buf_add_byte(line, '"') : code;
}

static enum code print_csv_line(struct printer *printer, const struct query_row *row, bool names)
{
    enum code code = CODE_OK;

    for (int i = 0; i < row->count && code == CODE_OK; i++) {
        if (i > 0)
            code = buf_add_byte(&printer->line, ',');
        if (code == CODE_OK)
            code = add_csv_value(&printer->line, names ? span_text(row->names[i]) : row->values[i].text);
    }
    if (code == CODE_OK)
        code = buf_add_byte(&printer->line, '\r');
    return code == CODE_OK ? print_line(printer) : code;
}

static enum code print_csv(void *context, const struct query_row *row)
{
    struct printer *printer = context;
    enum code code = printer->rows == 0 ? print_csv_line(printer, row, true) : CODE_OK;

    return code == CODE_OK ? print_csv_line(printer, row, false) : code;
}

/* ---- a table for people ------------------------------------------------------------------------------------------ */

static const struct column {
    const char *name;
    int width;
} shown[] = {
    {"seq", 8}, {"time", 27}, {"tenant", 12}, {"principal", 14}, {"tool", 22}, {"verdict", 7}, {"reason", 16}, {"rule", 20},
    {"outcome", 14}, {"status", 6}, {"correlation", 0},
};

static struct span value_of(const struct query_row *row, const char *name)
{
    for (int i = 0; i < row->count; i++)
        if (strcmp(row->names[i], name) == 0)
            return row->values[i].text;
    return SPAN_NONE;
}

/* What an agent sent must not steer the terminal. */
static enum code add_cell(struct buf *line, struct span text, int width)
{
    size_t cells = 0;
    enum code code = CODE_OK;

    for (size_t i = 0; i < text.len && code == CODE_OK; i++) {
        unsigned char byte = (unsigned char)text.at[i];

        cells += (byte & 0xc0) != 0x80;
        code = buf_add_byte(line, byte < 0x20 || byte == 0x7f || (byte == 0xc2 && i + 1 < text.len &&
                            (unsigned char)text.at[i + 1] < 0xa0) ? '?' : text.at[i]);
    }
    for (; cells < (size_t)width && code == CODE_OK; cells++)
        code = buf_add_byte(line, ' ');
    return code == CODE_OK && width > 0 ? buf_add_text(line, "  ") : code;
}

static enum code print_table(void *context, const struct query_row *row)
{
    struct printer *printer = context;
    enum code code = CODE_OK;

    for (int titles = printer->rows == 0; titles >= 0 && code == CODE_OK; titles--) {
        for (size_t i = 0; i < sizeof shown / sizeof shown[0] && code == CODE_OK; i++) {
            struct span text = titles ? span_text(shown[i].name) : value_of(row, shown[i].name);

            if (!titles && strcmp(shown[i].name, "tool") == 0 && text.at == NULL)
                text = value_of(row, "method");
            code = add_cell(&printer->line, text.at == NULL ? SPAN_LIT("-") : text, shown[i].width);
        }
        if (code == CODE_OK)
            code = print_line(printer);
    }
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* "2h" ago, "2026-11-20" or "2026-11-20T15:04:05Z". */
static int read_time(const char *option, const char *text, int64_t *time_us)
{
    struct tm parts = {0};
    const char *rest;
    uint64_t ms;

    *time_us = 0;
    if (text == NULL)
        return OPTIONS_GO;
    if (num_duration(span_text(text), &ms) == CODE_OK && ms < (uint64_t)INT64_MAX / 1000) {
        *time_us = clock_wall_us() - (int64_t)ms * 1000;
        return OPTIONS_GO;
    }
    rest = strptime(text, "%Y-%m-%d", &parts);
    if (rest != NULL && *rest == 'T')
        rest = strptime(rest, "T%H:%M:%S", &parts);
    if (rest != NULL && *rest == 'Z')
        rest++;
    if (rest == NULL || *rest != '\0')
        return complain(STATUS_USAGE, "--%s \"%s\" is no time; write 2h, 2026-11-20 or 2026-11-20T15:04:05Z (UTC)", option,
                        text);
    *time_us = (int64_t)timegm(&parts) * 1000000;
    return OPTIONS_GO;
}

struct asked {
    const char *tenant, *correlation, *principal, *tool, *verdict, *rule, *reason, *since, *until, *limit;
    bool as_json, as_csv;
};

static int read_query(const struct asked *asked, struct query *query)
{
    int status;

    *query = (struct query){
        .tenant = span_text(asked->tenant), .correlation = span_text(asked->correlation),
        .principal = span_text(asked->principal), .tool = span_text(asked->tool), .verdict = span_text(asked->verdict),
        .rule = span_text(asked->rule), .reason = span_text(asked->reason),
    };
    if (asked->as_json && asked->as_csv)
        return complain(STATUS_USAGE, "--json and --csv exclude each other; name one");
    if (asked->verdict != NULL && !span_is(query->verdict, "permit") && !span_is(query->verdict, "deny") &&
        !span_is(query->verdict, "hold"))
        return complain(STATUS_USAGE, "--verdict \"%s\" is none; write permit, deny or hold", asked->verdict);
    if (num_u64(span_text(asked->limit), &query->limit) != CODE_OK || query->limit >= INT64_MAX)
        return complain(STATUS_USAGE, "--limit \"%s\" is no number; write 0 for all", asked->limit);
    status = read_time("since", asked->since, &query->since_us);
    return status == OPTIONS_GO ? read_time("until", asked->until, &query->until_us) : status;
}

static int run(const char *path, const struct asked *asked, const struct query *query)
{
    query_row_fn print = asked->as_json ? print_json : asked->as_csv ? print_csv : print_table;
    struct printer printer = {0};
    struct why why = {0};
    bool more = false;
    enum code code;

    buf_init(&printer.line, ROW_BYTES);
    code = audit_query(path, query, print, &printer, &more, &why);
    buf_fini(&printer.line);
    if (code == CODE_OK && fflush(stdout) != 0)
        code = why_set(&why, CODE_IO, "the output cannot be written");
    if (code != CODE_OK)
        return complain(STATUS_CANNOT, "%s", why.text);
    if (more)
        fprintf(stderr, "callgate: only the newest %" PRIu64 " are shown; --limit 0 shows all\n", query->limit);
    if (printer.rows == 0 && isatty(STDERR_FILENO))
        fprintf(stderr, "callgate: no call matches\n");
    return STATUS_DONE;
}

int cmd_audit__query(int argc, char **argv)
{
    struct asked asked = {0};
    struct query query;
    const char *config = NULL;
    char *path = NULL;
    const struct option options[] = {
        {.name = "config", .takes = "FILE", .help = "names the database where no operand does", .value = &config},
        {.name = "tenant", .takes = "NAME", .help = "calls of this tenant", .value = &asked.tenant},
        {.name = "correlation", .takes = "ID", .help = "calls that belong together", .value = &asked.correlation},
        {.name = "principal", .takes = "NAME", .help = "calls of this agent", .value = &asked.principal},
        {.name = "tool", .takes = "NAME", .help = "calls of this tool", .value = &asked.tool},
        {.name = "verdict", .takes = "WORD", .help = "permit, deny or hold", .value = &asked.verdict},
        {.name = "rule", .takes = "ID", .help = "decided by this rule", .value = &asked.rule},
        {.name = "reason", .takes = "CODE", .help = "decided for this reason", .value = &asked.reason},
        {.name = "since", .takes = "TIME", .help = "2h (ago), 2026-11-20 or 2026-11-20T15:04:05Z", .value = &asked.since},
        {.name = "until", .takes = "TIME", .help = "likewise; not including it", .value = &asked.until},
        {.name = "limit", .takes = "N", .help = "the newest so many; 100 by default, 0 for all", .value = &asked.limit},
        {.name = "json", .help = "one JSON object a line, every column", .flag = &asked.as_json},
        {.name = "csv", .help = "RFC 4180 with a line of names, every column", .flag = &asked.as_csv},
        {0},
    };
    const struct usage usage = {"callgate audit query [DATABASE] [OPTIONS]",
                                "Lists calls, oldest first. All conditions must hold. The gate may go on writing.",
                                options, 0, 1};
    int operands, status = options_read(&usage, argc, argv, &operands);

    if (status == OPTIONS_GO && asked.limit == NULL)
        asked.limit = LIMIT_DEFAULT;
    if (status == OPTIONS_GO)
        status = read_query(&asked, &query);
    if (status == OPTIONS_GO)
        status = cmd_audit__find(operands > 0 ? argv[0] : NULL, config, &path);
    if (status == OPTIONS_GO)
        status = run(path, &asked, &query);
    mem_free(path);
    return status;
}
