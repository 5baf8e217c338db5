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

enum code csv_add(struct buf *to, struct span text, bool is_number)
{
    static const char parting[] = ",\";"; /* at a semicolon spreadsheets of many languages part cells */
    bool quoted = false;

    for (const char *at = parting; *at != '\0'; at++)
        quoted = quoted || span_find(text, *at) < text.len;
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
