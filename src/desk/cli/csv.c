/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/csv.h"

#include "unicode/terminal.h"

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

/* Returns: bytes before the next quote or semicolon. */
static size_t before_mark(struct span text)
{
    size_t quote = span_find(text, '"'), semicolon = span_find(text, ';');

    return quote < semicolon ? quote : semicolon;
}

enum code csv_add(struct buf *to, struct span text, bool is_number)
{
    bool quoted = span_find(text, ',') < text.len || before_mark(text) < text.len, begins = !is_number;

    if (quoted)
        buf_add_byte(to, '"');
    while (text.len > 0) {
        size_t part = before_mark(text);

        if (begins && looks_like_formula(text))
            buf_add_byte(to, '\'');
        terminal_add(to, span_part(text, 0, part));
        if (part < text.len)
            buf_add_text(to, text.at[part] == '"' ? "\"\"" : ";"); /* a quote is doubled */
        /* At a semicolon spreadsheets of many languages part cells, within our quotes, too, since these begin none there. */
        begins = part < text.len && (text.at[part] == ';' || (begins && part == 0));
        text = span_part(text, part + 1, SIZE_MAX);
    }
    return quoted ? buf_add_byte(to, '"') : buf_code(to);
}
