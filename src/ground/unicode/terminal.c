/* SPDX-License-Identifier: Apache-2.0 */
#include "unicode/terminal.h"

#include "base/num.h"
#include "base/utf8.h"
#include "unicode/unicode.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static enum code add_escape(struct buf *out, uint32_t point)
{
    if (point == '\n' || point == '\r' || point == '\t')
        return buf_addf(out, "\\%c", point == '\n' ? 'n' : point == '\r' ? 'r' : 't');
    if (point > 0xffff)
        return buf_addf(out, "\\u%04x\\u%04x", 0xd800u + ((point - 0x10000) >> 10), 0xdc00u + ((point - 0x10000) & 0x3ff));
    return buf_addf(out, "\\u%04x", (unsigned)point);
}

enum code terminal_add(struct buf *out, struct span text)
{
    while (text.len > 0) {
        size_t taken = utf8_plain(text);
        uint32_t point;

        if (taken > 0) {
            buf_add(out, text.at, taken);
        } else if ((taken = unicode_next(text, &point)) == 0) {
            taken = 1;
            buf_addf(out, "\\x%02x", (unsigned char)text.at[0]);
        } else {
            if (unicode_cells(point) < 0)
                add_escape(out, point);
            else
                buf_add(out, text.at, taken);
        }
        text = span_part(text, taken, SIZE_MAX);
    }
    return buf_code(out);
}

size_t terminal_cells(struct span text)
{
    size_t cells = 0;

    while (text.len > 0) {
        size_t taken = utf8_plain(text);
        uint32_t point;

        if (taken > 0) {
            cells += taken;
        } else {
            taken = unicode_next(text, &point);
            if (taken == 0)
                break;
            cells += (size_t)unicode_cells(point);
        }
        text = span_part(text, taken, SIZE_MAX);
    }
    return cells;
}

static size_t bytes_within(struct span text, size_t cells)
{
    size_t used = 0, len = 0, taken;
    uint32_t point;

    while ((taken = unicode_next(span_part(text, len, SIZE_MAX), &point)) > 0) {
        used += (size_t)unicode_cells(point);
        if (used > cells)
            break;
        len += taken;
    }
    return len;
}

enum code terminal_add_cell(struct buf *out, struct span text, size_t cells, bool pad)
{
    size_t used = terminal_cells(text);

    if (used > cells) {
        size_t len = bytes_within(text, cells > 0 ? cells - 1 : 0);

        buf_add(out, text.at, len);
        if (cells > 0)
            buf_add_text(out, "…");
        used = terminal_cells(span_part(text, 0, len)) + 1;
    } else {
        buf_add_span(out, text);
    }
    for (; pad && used < cells; used++)
        buf_add_byte(out, ' ');
    return buf_code(out);
}

size_t terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size;
    uint64_t number;

    if (columns != NULL && num_u64(span_text(columns), &number) == CODE_OK && number > 0 && number <= 10000)
        return (size_t)number;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}
