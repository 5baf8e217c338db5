/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_out.h"

#include "args/command.h"
#include "cli/csv.h"
#include "query/centre.h"
#include "args/print.h"
#include "rows/row.h"
#include "json/json.h"
#include "unicode/terminal.h"

#include <stdio.h>
#include <string.h>

#define LINE_BYTES ((size_t)64 << 20)
#define TIME_MIN 20 /* up to the second */
#define TABLE_FIELDS_OF_FLEET "node," TABLE_FIELDS
#define TABLE_FIELDS "seq,time,tenant,principal,tool,verdict,reason,rule,outcome,status,latency_us,correlation"

/* ---- fields ---- */

static const char *const *columns_of(const struct audit_out *out)
{
    return out->of_fleet ? centre_columns() : audit_columns();
}

static const char *column_of(const struct audit_out *out, struct span field)
{
    const char *const *name = columns_of(out);

    while (*name != NULL && !span_is(field, *name))
        name++;
    return *name;
}

/* Some columns say nothing when they are cut; a time may lose its fraction. Of those that nobody asked for some go. */
static struct table_column how_to_show(const char *name, bool is_asked_for)
{
    static const char *const whole[] = {"node", "seq", "verdict", "outcome", "status", "latency_us", NULL};
    static const char *const leaving[] = {"latency_us", "correlation", "status", "reason", "principal", "rule", NULL};
    struct table_column column = {.title = name, .least = strcmp(name, "time") == 0 ? TIME_MIN : 0};

    for (size_t i = 0; whole[i] != NULL; i++)
        if (strcmp(whole[i], name) == 0)
            column.least = TABLE_WHOLE;
    for (unsigned i = 0; leaving[i] != NULL && !is_asked_for; i++)
        if (strcmp(leaving[i], name) == 0)
            column.leaves = i + 1;
    return column;
}

static int take_fields(struct audit_out *out, const char *list, bool is_asked_for)
{
    struct span rest = span_text(list);

    while (rest.len > 0) {
        struct span field = span_trim(span_cut(rest, ',', &rest));
        const char *name = column_of(out, field);

        if (out->field_count == TABLE_COLUMNS_MAX)
            return complain(STATUS_USAGE, "--fields names more than %d columns", TABLE_COLUMNS_MAX);
        if (name == NULL) {
            const char *near = why_nearest(field.at, field.len, columns_of(out));

            return complain(STATUS_USAGE, "--fields: there is no column \"%.*s\"; %s%s", SPAN_ARG(field),
                            near != NULL ? "did you mean " : "schema/audit.sql has them, in the view `call`",
                            near != NULL ? near : "");
        }
        out->field[out->field_count++] = how_to_show(name, is_asked_for);
    }
    return OPTIONS_GO;
}

int audit_out_begin(struct audit_out *out, const struct asked *asked)
{
    bool all = asked->fields != NULL && strcmp(asked->fields, "all") == 0;
    int status = OPTIONS_GO;

    buf_init(&out->line, LINE_BYTES);
    buf_init(&out->safe, 2 * LINE_BYTES);
    out->of_fleet = asked->fleet;
    out->as_json = asked->json;
    out->as_csv = asked->format != NULL && !asked->json;
    if (asked->fields != NULL && !all)
        status = take_fields(out, asked->fields, true);
    else if (!out->as_json && !out->as_csv)
        status = all ? complain(STATUS_USAGE, "--fields all needs --json or --format csv; a table has no room for them")
                     : take_fields(out, out->of_fleet ? TABLE_FIELDS_OF_FLEET : TABLE_FIELDS, false);
    if (status == OPTIONS_GO && asked->fields != NULL && !all && out->field_count == 0)
        return complain(STATUS_USAGE, "--fields is empty; name columns of the view `call`");
    table_begin(&out->table, out->field, out->field_count, false);
    return status;
}

void audit_out_end(struct audit_out *out)
{
    (void)table_end(&out->table);
    buf_fini(&out->line);
    buf_fini(&out->safe);
}

static const struct query_value *value_of(const struct query_row *row, const char *name)
{
    static const struct query_value none = {.is_number = false};

    for (int i = 0; i < row->count; i++)
        if (strcmp(name, row->names[i]) == 0)
            return &row->values[i];
    return &none;
}

static enum code print(struct buf *line)
{
    enum code code = buf_code(line);

    if (code == CODE_OK)
        code = print_block(stdout, buf_peek(line));
    buf_clear(line);
    return code;
}

/* ---- JSON lines ---- */

/* As JSON where it is JSON; somebody may have changed it. */
static void add_json(struct buf *line, struct span text)
{
    struct json_fault fault;
    enum code code = json_read(text, &json_file_rules, line, NULL, NULL, &fault);

    if (code == CODE_INVALID || code == CODE_LIMIT)
        json_write_string(line, text);
    else
        buf_fail(line, code);
}

static bool is_json_column(struct span name)
{
#define NAME(NAME, name) #name,
    static const char *const names[] = {
        "arguments", "rpc_id", DECISION_TABLE(ROW_SKIP, ROW_SKIP, ROW_SKIP, ROW_SKIP, NAME, ROW_SKIP, ROW_SKIP)
        OUTCOME_TABLE(ROW_SKIP, ROW_SKIP, ROW_SKIP, NAME) EVENT_TABLE(ROW_SKIP, ROW_SKIP, ROW_SKIP, NAME)
    };
#undef NAME
    bool is_one = false;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        is_one = is_one || span_is(name, names[i]);
    return is_one;
}

static void add_member(struct buf *line, struct span name, const struct query_value *value, bool first)
{
    buf_addf(line, "%s\"%.*s\":", first ? "{" : ",", SPAN_ARG(name));
    if (value->text.at == NULL)
        buf_add_text(line, "null");
    else if (value->is_number)
        buf_add_span(line, value->text);
    else if (is_json_column(name))
        add_json(line, value->text);
    else
        json_write_string(line, value->text);
}

enum code audit_out_json(struct buf *to, const struct audit_out *out, const struct query_row *row)
{
    for (size_t i = 0; i < out->field_count; i++)
        add_member(to, span_text(out->field[i].title), value_of(row, out->field[i].title), i == 0);
    for (int i = 0; out->field_count == 0 && i < row->count; i++)
        add_member(to, span_text(row->names[i]), &row->values[i], i == 0);
    return buf_add_byte(to, '}');
}

static enum code json_row(struct audit_out *out, const struct query_row *row)
{
    buf_clear(&out->line);
    if (buf_fail(&out->safe, audit_out_json(&out->line, out, row)) == CODE_OK)
        terminal_add(&out->safe, buf_peek(&out->line));
    buf_add_byte(&out->safe, '\n');
    return print(&out->safe);
}

/* ---- CSV (RFC 4180) ---- */

static enum code csv_line(struct audit_out *out, const struct query_row *row, bool names)
{
    size_t count = out->field_count != 0 ? out->field_count : (size_t)row->count;

    for (size_t i = 0; i < count; i++) {
        const char *name = out->field_count != 0 ? out->field[i].title : row->names[i];
        const struct query_value *value = value_of(row, name);

        if (i > 0)
            buf_add_byte(&out->line, ',');
        csv_add(&out->line, names ? span_text(name) : value->text, !names && value->is_number);
    }
    buf_add_text(&out->line, "\r\n");
    return print(&out->line);
}

static enum code csv_row(struct audit_out *out, const struct query_row *row)
{
    enum code code = out->titled ? CODE_OK : csv_line(out, row, true);

    out->titled = true;
    return code == CODE_OK ? csv_line(out, row, false) : code;
}

/* ---- a table for people ---- */

static enum code table_row(struct audit_out *out, const struct query_row *row)
{
    struct span texts[TABLE_COLUMNS_MAX];

    for (size_t i = 0; i < out->field_count; i++) {
        texts[i] = value_of(row, out->field[i].title)->text;
        if (texts[i].at == NULL && strcmp(out->field[i].title, "tool") == 0)
            texts[i] = query_value(row, "method");
    }
    return table_add_texts(&out->table, texts);
}

enum code audit_out_row(void *context, const struct query_row *row)
{
    struct audit_out *out = context;

    out->rows++;
    if (out->as_json)
        return json_row(out, row);
    return out->as_csv ? csv_row(out, row) : table_row(out, row);
}

enum code audit_out_flush(struct audit_out *out)
{
    return table_flush(&out->table);
}
