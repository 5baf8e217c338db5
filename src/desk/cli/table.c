/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include "args/command.h"
#include "args/print.h"
#include "base/num.h"
#include "cli/csv.h"
#include "cli/told.h"
#include "unicode/terminal.h"

#include <stdio.h>
#include <string.h>

#define LINE_BYTES ((size_t)64 << 20)
#define CELLS_BYTES ((size_t)256 << 20)
#define CELL_MIN 4
#define NICE 10 /* cells that an ordinary column should have */
#define GAP 2
#define BAR_CELLS 40

void table_begin(struct table *table, const struct table_column *columns, size_t count, bool as_json)
{
    *table = (struct table){.as_json = as_json, .columns = columns, .count = count};
    for (size_t i = 0; i < count; i++)
        table->hidden[i] = columns[i].is_bar && terminal_width() == 0;
    buf_init(&table->cells, CELLS_BYTES);
    buf_init(&table->line, LINE_BYTES);
}

/* ---- a row ---- */

/* Takes: begin: of the cell, where the cells ended before it. */
static void end_cell(struct table *table, size_t column, size_t begin)
{
    size_t cells = 0;
    uint64_t number;

    if (buf_add_byte(&table->cells, '\n') == CODE_OK) {
        struct span cell = span_part(buf_peek(&table->cells), begin, buf_len(&table->cells) - begin - 1);

        if (!table->columns[column].is_bar)
            cells = terminal_cells(cell);
        else if (num_u64(cell, &number) == CODE_OK && number > table->largest)
            table->largest = number;
    }
    table->width[column] = cells > table->width[column] ? cells : table->width[column];
}

static void add_none(struct table *table, size_t column)
{
    buf_add_text(&table->cells, table->columns[column].none != NULL ? table->columns[column].none : "-");
}

static enum code end_row(struct table *table)
{
    table->rows++;
    if (buf_code(&table->cells) != CODE_OK)
        return buf_code(&table->cells);
    return ++table->waiting == TABLE_BATCH ? table_flush(table) : CODE_OK;
}

enum code table_add_texts(struct table *table, const struct span *texts)
{
    for (size_t i = 0; i < table->count; i++) {
        size_t begin = buf_len(&table->cells);

        if (texts[i].at == NULL)
            add_none(table, i);
        else
            terminal_add(&table->cells, texts[i]);
        end_cell(table, i, begin);
    }
    return end_row(table);
}

enum code table_add_told(struct table *table, const struct json_node *row)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct table_column *column = &table->columns[i];
        size_t begin = buf_len(&table->cells);
        struct span text = told_text(row, column->key != NULL ? column->key : column->title);

        if (column->words != NULL)
            told_add(&table->cells, row, column->words);
        else if (text.at != NULL)
            terminal_add(&table->cells, text);
        if (buf_len(&table->cells) == begin && (column->words != NULL || text.at == NULL))
            add_none(table, i);
        end_cell(table, i, begin);
    }
    return end_row(table);
}

/* ---- CSV ---- */

static const char *key_of(const struct table_column *column)
{
    return column->key != NULL ? column->key : column->title;
}

/* What says nothing is an empty cell. */
static enum code add_csv_cell(struct table *table, const struct table_column *column, const struct json_node *row)
{
    const struct json_node *value = json_member(row, span_text(key_of(column)));

    if (column->words == NULL)
        return csv_add(&table->line, told_text(row, key_of(column)), value != NULL && value->type == JSON_NUMBER);
    buf_clear(&table->cells);
    told_add(&table->cells, row, column->words);
    return csv_add(&table->line, buf_peek(&table->cells), false);
}

/* Takes: row: NULL: the names are written. */
static enum code print_csv(struct table *table, const struct json_node *row)
{
    enum code code;

    for (size_t i = 0; i < table->count; i++) {
        buf_add_text(&table->line, i > 0 ? "," : "");
        if (row == NULL)
            buf_add_text(&table->line, key_of(&table->columns[i]));
        else
            (void)add_csv_cell(table, &table->columns[i], row);
    }
    code = buf_add_text(&table->line, "\r\n");
    if (code == CODE_OK)
        code = print_block(stdout, buf_peek(&table->line));
    buf_clear(&table->line);
    return code;
}

static enum code add_csv(struct table *table, const struct json_node *row)
{
    enum code code = table->titled ? CODE_OK : print_csv(table, NULL);

    table->titled = true;
    table->rows++;
    return code == CODE_OK ? print_csv(table, row) : code;
}

/* ---- a document ---- */

enum code table_add(struct table *table, struct doc **row)
{
    struct told told;
    enum code code;

    if (table->as_json) {
        table->rows++;
        return print_doc(row) == STATUS_DONE ? CODE_OK : CODE_NOMEM;
    }
    code = told_read(&told, *row);
    if (code == CODE_OK)
        code = table->as_csv ? add_csv(table, told.root) : table_add_told(table, told.root);
    told_end(&told);
    doc_free(row);
    return code;
}

/* ---- what waits, on the terminal ---- */

static size_t least_width(const struct table *table, size_t column, size_t usual)
{
    size_t least = table->columns[column].least != 0 ? table->columns[column].least : usual;

    return least < table->width[column] ? least : table->width[column];
}

static size_t least_of_all(const struct table *table)
{
    size_t least = 0;

    for (size_t i = 0; i < table->count; i++)
        least += table->hidden[i] ? 0 : GAP + least_width(table, i, NICE);
    return least;
}

static void leave_out(struct table *table, size_t room)
{
    for (unsigned turn = 1; turn <= TABLE_COLUMNS_MAX && least_of_all(table) > room + GAP; turn++)
        for (size_t i = 0; i < table->count; i++)
            table->hidden[i] = table->hidden[i] || table->columns[i].leaves == turn;
}

/* The widest give way first. */
static void fit(struct table *table, size_t *widths)
{
    size_t room = terminal_width(), total = 0;

    if (room != 0 && !table->titled)
        leave_out(table, room);
    for (size_t i = 0; i < table->count; i++)
        total += table->hidden[i] ? 0 : GAP + widths[i];
    for (size_t i = 0; i < table->count; i++)
        if (table->columns[i].is_bar && !table->hidden[i])
            widths[i] += room + GAP < total ? 0 : room + GAP - total < BAR_CELLS ? room + GAP - total : BAR_CELLS;
    while (room != 0 && total > room + GAP) {
        size_t widest = SIZE_MAX;

        for (size_t i = 0; i < table->count; i++)
            if (!table->hidden[i] && widths[i] > least_width(table, i, CELL_MIN) &&
                (widest == SIZE_MAX || widths[i] > widths[widest]))
                widest = i;
        if (widest == SIZE_MAX)
            return;
        widths[widest]--;
        total--;
    }
}

/* Eighths of a cell, so that small differences show. */
static void add_bar(struct buf *line, struct span number, uint64_t largest, size_t cells)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    uint64_t part = 0, filled;
    size_t used;

    if (num_u64(number, &part) != CODE_OK)
        part = 0;
    filled = largest == 0 ? 0 : (uint64_t)((double)part * 8 * (double)cells / (double)largest + 0.5);
    used = filled / 8 + (filled % 8 != 0);
    for (size_t i = 0; i < filled / 8; i++)
        buf_add_text(line, "█");
    buf_add_text(line, eighths[filled % 8]);
    for (; used < cells; used++)
        buf_add_byte(line, ' ');
}

/* Takes: cells: of the row, which it moves behind; NULL: the titles are written. */
static enum code write_line(struct table *table, const size_t *widths, struct span *cells)
{
    struct buf *line = &table->line;
    enum code code;

    for (size_t i = 0; i < table->count; i++) {
        struct span text = cells != NULL ? span_cut(*cells, '\n', cells) : span_text(table->columns[i].title);
        size_t own = terminal_cells(text);

        if (table->hidden[i])
            continue;
        for (; table->columns[i].is_right && own < widths[i]; own++)
            buf_add_byte(line, ' ');
        if (table->columns[i].is_bar && cells != NULL)
            add_bar(line, text, table->largest, widths[i]);
        else
            terminal_add_cell(line, text, widths[i], !table->columns[i].is_right);
        buf_add_text(line, "  ");
    }
    while (buf_code(line) == CODE_OK && span_ends_with(buf_peek(line), SPAN_LIT(" ")))
        buf_truncate(line, buf_len(line) - 1);
    code = buf_add_byte(line, '\n');
    if (code == CODE_OK)
        code = print_block(stdout, buf_peek(line));
    buf_clear(line);
    return code;
}

static enum code print_waiting(struct table *table)
{
    struct span cells = buf_peek(&table->cells);
    size_t widths[TABLE_COLUMNS_MAX];
    enum code code = CODE_OK;

    for (size_t i = 0; i < table->count; i++) {
        size_t title = strlen(table->columns[i].title);

        table->width[i] = title > table->width[i] ? title : table->width[i];
        widths[i] = table->width[i];
    }
    fit(table, widths);
    if (!table->titled)
        code = write_line(table, widths, NULL);
    table->titled = true;
    for (; table->waiting > 0 && code == CODE_OK; table->waiting--)
        code = write_line(table, widths, &cells);
    buf_clear(&table->cells);
    return code;
}

enum code table_flush(struct table *table)
{
    enum code code = table->waiting > 0 ? print_waiting(table) : CODE_OK;

    return code == CODE_OK && fflush(stdout) != 0 ? CODE_IO : code;
}

enum code table_end(struct table *table)
{
    enum code code = table_flush(table);

    if (table->rows == 0 && !table->as_json && !table->as_csv && table->nothing != NULL)
        print_safely(stdout, "%s\n", table->nothing);
    buf_fini(&table->cells);
    buf_fini(&table->line);
    return code;
}
