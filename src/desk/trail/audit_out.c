/* SPDX-License-Identifier: Apache-2.0 */
#include "trail/audit_out.h"

#include "args/command.h"
#include "args/print.h"
#include "rows/row.h"
#include "json/json.h"
#include "unicode/terminal.h"

#include <stdio.h>
#include <string.h>

#define LINE_BYTES ((size_t)64 << 20)
#define CELLS_BYTES ((size_t)256 << 20)
#define CELL_MIN 4
#define TIME_MIN 20 /* up to the second */
#define NICE 10     /* cells that an ordinary column should have */
#define GAP 2
#define TABLE_FIELDS "seq,time,tenant,principal,tool,verdict,reason,rule,outcome,status,latency_us,correlation"

/* ---- fields ---- */

static int take_fields(struct audit_out *out, const char *list)
{
    struct span rest = span_text(list);

    while (rest.len > 0) {
        struct span field = span_trim(span_cut(rest, ',', &rest));

        if (out->field_count == AUDIT_OUT_FIELDS_MAX)
            return complain(STATUS_USAGE, "--fields names more than %d columns", AUDIT_OUT_FIELDS_MAX);
        if (!audit_has_column(field)) {
            const char *near = why_nearest(field.at, field.len, audit_columns());

            return complain(STATUS_USAGE, "--fields: there is no column \"%.*s\"; %s%s", SPAN_ARG(field),
                            near != NULL ? "did you mean " : "schema/audit.sql has them, in the view `call`",
                            near != NULL ? near : "");
        }
        out->field[out->field_count++] = field;
    }
    return OPTIONS_GO;
}

int audit_out_begin(struct audit_out *out, const struct asked *asked)
{
    bool all = asked->fields != NULL && strcmp(asked->fields, "all") == 0;
    int status = OPTIONS_GO;

    buf_init(&out->cells, CELLS_BYTES);
    buf_init(&out->line, LINE_BYTES);
    buf_init(&out->safe, 2 * LINE_BYTES);
    out->as_json = asked->json;
    out->as_csv = asked->csv;
    out->is_usual = asked->fields == NULL;
    if (out->as_json && out->as_csv)
        return complain(STATUS_USAGE, "--json and --csv exclude each other; name one");
    if (asked->fields != NULL && !all)
        status = take_fields(out, asked->fields);
    else if (!out->as_json && !out->as_csv)
        status = all ? complain(STATUS_USAGE, "--fields all needs --json or --csv; a table has no room for them")
                     : take_fields(out, TABLE_FIELDS);
    if (status == OPTIONS_GO && asked->fields != NULL && !all && out->field_count == 0)
        return complain(STATUS_USAGE, "--fields is empty; name columns of the view `call`");
    return status;
}

void audit_out_end(struct audit_out *out)
{
    buf_fini(&out->cells);
    buf_fini(&out->line);
    buf_fini(&out->safe);
}

static const struct query_value *value_of(const struct query_row *row, struct span name)
{
    static const struct query_value none = {.is_number = false};

    for (int i = 0; i < row->count; i++)
        if (span_is(name, row->names[i]))
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
        "arguments", "rpc_id", DECISION_TABLE(ROW_SKIP, ROW_SKIP, ROW_SKIP, NAME, ROW_SKIP, ROW_SKIP)
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
        add_member(to, out->field[i], value_of(row, out->field[i]), i == 0);
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

/* Spreadsheets run what begins like this; also in its full-width forms. */
static bool looks_like_formula(struct span text)
{
    static const char *const beginnings[] = {"=", "+", "-", "@", "\t", "\r", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
                                             "\xef\xbc\xa0", NULL};

    for (size_t i = 0; beginnings[i] != NULL; i++)
        if (span_starts_with(text, span_text(beginnings[i])))
            return true;
    return false;
}

enum code audit_out_csv(struct buf *to, struct span text, bool is_number)
{
    bool quoted = span_find(text, ',') < text.len || span_find(text, '"') < text.len;

    if (quoted)
        buf_add_byte(to, '"');
    if (!is_number && looks_like_formula(text))
        buf_add_byte(to, '\'');
    while (text.len > 0) { /* a quote is doubled */
        size_t part = span_find(text, '"');

        terminal_add(to, span_part(text, 0, part));
        if (part < text.len)
            buf_add_text(to, "\"\"");
        text = span_part(text, part + 1, SIZE_MAX);
    }
    return quoted ? buf_add_byte(to, '"') : buf_code(to);
}

static enum code csv_line(struct audit_out *out, const struct query_row *row, bool names)
{
    size_t count = out->field_count != 0 ? out->field_count : (size_t)row->count;

    for (size_t i = 0; i < count; i++) {
        struct span name = out->field_count != 0 ? out->field[i] : span_text(row->names[i]);
        const struct query_value *value = value_of(row, name);

        if (i > 0)
            buf_add_byte(&out->line, ',');
        audit_out_csv(&out->line, names ? name : value->text, !names && value->is_number);
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
    for (size_t i = 0; i < out->field_count; i++) {
        struct span text = value_of(row, out->field[i])->text;
        size_t begin = buf_len(&out->cells), cells;

        if (text.at == NULL && span_is(out->field[i], "tool"))
            text = query_value(row, "method");
        terminal_add(&out->cells, text.at == NULL ? SPAN_LIT("-") : text);
        if (buf_add_byte(&out->cells, '\n') != CODE_OK)
            return buf_code(&out->cells);
        cells = terminal_cells(span_part(buf_peek(&out->cells), begin, buf_len(&out->cells) - begin - 1));
        out->width[i] = cells > out->width[i] ? cells : out->width[i];
    }
    return ++out->waiting == AUDIT_OUT_BATCH ? audit_out_flush(out) : CODE_OK;
}

/* Some columns say nothing when they are cut; a time may lose its fraction. */
static size_t least_width(struct span field, size_t width, size_t cell_min)
{
    static const char *const whole[] = {"seq", "verdict", "outcome", "status", "latency_us", NULL};
    size_t least = span_is(field, "time") ? TIME_MIN : cell_min;

    for (size_t i = 0; whole[i] != NULL; i++)
        if (span_is(field, whole[i]))
            return width;
    return least < width ? least : width;
}

/* Where nobody asked for certain columns, a narrow terminal gets fewer. */
static void leave_out(struct audit_out *out, size_t room)
{
    static const char *const dispensable[] = {"latency_us", "correlation", "status", "reason", "principal", "rule", NULL};

    for (size_t d = 0; dispensable[d] != NULL; d++) {
        size_t least = 0;

        for (size_t i = 0; i < out->field_count; i++)
            least += out->hidden[i] ? 0 : GAP + least_width(out->field[i], out->width[i], NICE);
        for (size_t i = 0; i < out->field_count && least > room + GAP; i++)
            out->hidden[i] = out->hidden[i] || span_is(out->field[i], dispensable[d]);
    }
}

/* The widest give way first. */
static void fit(struct audit_out *out, size_t *widths)
{
    size_t room = terminal_width(), total = 0;

    if (room != 0 && out->is_usual && !out->titled)
        leave_out(out, room);
    for (size_t i = 0; i < out->field_count; i++)
        total += out->hidden[i] ? 0 : GAP + widths[i];
    while (room != 0 && total > room + GAP) {
        size_t widest = SIZE_MAX;

        for (size_t i = 0; i < out->field_count; i++)
            if (!out->hidden[i] && widths[i] > least_width(out->field[i], out->width[i], CELL_MIN) &&
                (widest == SIZE_MAX || widths[i] > widths[widest]))
                widest = i;
        if (widest == SIZE_MAX)
            return;
        widths[widest]--;
        total--;
    }
}

static enum code table_line(struct audit_out *out, const size_t *widths, struct span *cells)
{
    for (size_t i = 0; i < out->field_count; i++) {
        struct span text = cells != NULL ? span_cut(*cells, '\n', cells) : out->field[i];

        if (out->hidden[i])
            continue;
        terminal_add_cell(&out->line, text, widths[i], true);
        buf_add_text(&out->line, "  ");
    }
    while (buf_code(&out->line) == CODE_OK && span_ends_with(buf_peek(&out->line), SPAN_LIT(" ")))
        buf_truncate(&out->line, buf_len(&out->line) - 1);
    buf_add_byte(&out->line, '\n');
    return print(&out->line);
}

static enum code print_table(struct audit_out *out)
{
    struct span cells = buf_peek(&out->cells);
    size_t widths[AUDIT_OUT_FIELDS_MAX];
    enum code code = CODE_OK;

    for (size_t i = 0; i < out->field_count; i++) {
        out->width[i] = out->field[i].len > out->width[i] ? out->field[i].len : out->width[i];
        widths[i] = out->width[i];
    }
    fit(out, widths);
    if (!out->titled)
        code = table_line(out, widths, NULL);
    out->titled = true;
    for (; out->waiting > 0 && code == CODE_OK; out->waiting--)
        code = table_line(out, widths, &cells);
    buf_clear(&out->cells);
    return code;
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
    enum code code = out->waiting > 0 ? print_table(out) : CODE_OK;

    return code == CODE_OK && fflush(stdout) != 0 ? CODE_IO : code;
}
