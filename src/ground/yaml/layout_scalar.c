/* SPDX-License-Identifier: Apache-2.0 */
/* Quotes: none around a plain word, single ones around other texts that have some, double ones where they show what nobody
 * would see otherwise. */
#include "yaml/layout_priv.h"
#include "base/ascii.h"
#include "yaml/yaml_priv.h"

/* Whether no reader takes the text for anything but a text, with or without quotes. */
static bool is_word(struct span text)
{
    static const char *const others[] = {"true", "false", "yes", "no", "on", "off", "y", "n", "null", NULL};

    if (text.len == 0 || !ascii_is_of(text.at[0], "a-zA-Z_/") || !ascii_is_all(text, "a-zA-Z0-9_./-"))
        return false;
    for (size_t i = 0; others[i] != NULL; i++)
        if (span_equals_nocase(text, span_text(others[i])))
            return false;
    return true;
}

/* Whether an escape makes something visible, or another quote than those around it would have to be written. */
static bool needs_escapes(struct span raw)
{
    for (size_t i = 0; i + 1 < raw.len; i++)
        if (raw.at[i] == '\\' && memchr("\"\\/", raw.at[++i], 3) == NULL)
            return true;
    return false;
}

static void add_single(struct buf *out, struct span text)
{
    buf_add_byte(out, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (text.at[i] == '\'')
            buf_add_byte(out, '\'');
        buf_add_byte(out, text.at[i]);
    }
    buf_add_byte(out, '\'');
}

static size_t count(struct span text, char c)
{
    size_t found = 0;

    for (size_t i = 0; i < text.len; i++)
        found += text.at[i] == c;
    return found;
}

/* A text that had quotes and stands in one line: between those within which less has to be escaped. */
static void add_quoted(struct buf *out, struct span text, struct span raw, bool is_double)
{
    if (is_word(text)) {
        buf_add_span(out, text);
    } else if (is_double && needs_escapes(raw)) {
        buf_add_span(out, raw);
    } else if (count(text, '"') + count(text, '\\') < count(text, '\'')) {
        yaml__write_quoted(out, text);
    } else {
        add_single(out, text);
    }
}

static void add_blanks(struct buf *out, size_t count)
{
    while (count-- > 0)
        buf_add_byte(out, ' ');
}

static size_t blanks_of(struct span line)
{
    size_t count = 0;

    while (count < line.len && (line.at[count] == ' ' || line.at[count] == '\t'))
        count++;
    return count;
}

void layout__scalar(struct buf *out, const struct layout_node *node, long moved, size_t least)
{
    struct span rest = node->raw;

    if (count(node->raw, '\n') == 0 && !node->is_plain) {
        add_quoted(out, node->text, node->raw, node->is_double);
        return;
    }
    buf_add_span(out, span_cut(rest, '\n', &rest));
    while (rest.len > 0) {
        struct span line = span_cut(rest, '\n', &rest);
        size_t blanks = blanks_of(line);
        long column = (long)blanks + moved;

        buf_add_byte(out, '\n');
        if (blanks < line.len)
            add_blanks(out, column > (long)least ? (size_t)column : least);
        buf_add_span(out, span_part(line, blanks, SIZE_MAX));
    }
}

/* Returns: how long what stands there is, which ends a line for YAML, or which it does not read as it is; 0: it is neither. */
static size_t hidden_at(struct span text, size_t at)
{
    struct span rest = span_part(text, at, SIZE_MAX);
    unsigned char c = (unsigned char)rest.at[0];

    if ((c < 0x20 && c != '\t') || c == 0x7f)
        return 1;
    if (c == 0xc2 && rest.len > 1 && (unsigned char)rest.at[1] < 0xa0)
        return 2;
    return span_starts_with(rest, SPAN_LIT("\u2028")) || span_starts_with(rest, SPAN_LIT("\u2029")) ||
           span_starts_with(rest, SPAN_LIT("\ufeff")) ? 3 : 0;
}

static bool has_hidden(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (hidden_at(text, i) > 0)
            return true;
    return false;
}

static void add_escaped(struct buf *out, struct span text)
{
    buf_add_byte(out, '"');
    for (size_t i = 0, len; i < text.len; i += len > 0 ? len : 1) {
        unsigned char last;

        len = hidden_at(text, i);
        if (len == 0 && (text.at[i] == '"' || text.at[i] == '\\'))
            buf_add_byte(out, '\\');
        if (len == 0) {
            buf_add_byte(out, text.at[i]);
            continue;
        }
        last = (unsigned char)text.at[i + len - 1];
        if (last == '\n') {
            buf_add_text(out, "\\n");
            continue;
        }
        buf_add_text(out, len < 3 ? "\\x" : last == 0xbf ? "\\ufe" : "\\u20");
        last = len < 3 ? last : last == 0xbf ? 0xff : (unsigned char)(last - 0x80);
        buf_add_byte(out, "0123456789abcdef"[last >> 4]);
        buf_add_byte(out, "0123456789abcdef"[last & 15]);
    }
    buf_add_byte(out, '"');
}

/* A text that stood in several lines and comes into one: what would end that, or not be read, is written as an escape. */
static void add_in_line(struct buf *out, struct span text)
{
    if (has_hidden(text))
        add_escaped(out, text);
    else
        add_quoted(out, text, SPAN_NONE, false);
}

/* Behind a `?` such a key is one; where it begins a line, a document begins or ends. */
static bool parts_documents(struct span raw)
{
    return (span_starts_with(raw, SPAN_LIT("---")) || span_starts_with(raw, SPAN_LIT("..."))) &&
           (raw.len == 3 || raw.at[3] == ' ' || raw.at[3] == '\t');
}

/* A key of several lines, which a `?` or a bracket allows, becomes one. */
void layout__key(struct buf *out, const struct layout_node *node)
{
    if (has_hidden(node->key_raw))
        add_in_line(out, node->key);
    else if (node->key_is_plain && parts_documents(node->key_raw))
        add_single(out, node->key);
    else if (node->key_is_plain)
        buf_add_span(out, node->key_raw);
    else
        add_quoted(out, node->key, node->key_raw, node->key_raw.len > 0 && node->key_raw.at[0] == '"');
}

/* Whether the text has the line end that is written behind a block, and no blanks in front of that, which nobody sees. */
static bool can_be_block(struct span text, bool strips)
{
    bool has_end = span_ends_with(text, SPAN_LIT("\n"));
    char last = text.len > has_end ? text.at[text.len - 1 - has_end] : '\0';

    return has_end != strips && last != ' ' && last != '\t';
}

void layout__block(struct buf *out, const struct layout_node *node, size_t column)
{
    struct span rest = node->raw, head = span_cut(rest, '\n', &rest), style = head, probe = rest, line;
    size_t indent = 0;

    style.len = span_find(style, '#');
    for (size_t i = 0; i < style.len; i++)
        if (style.at[i] == '+' || (style.at[i] >= '0' && style.at[i] <= '9'))
            rest.len = 0; /* blanks at an end are part of the text */
    if (!can_be_block(node->text, span_find(style, '-') < style.len))
        rest.len = 0;
    if (rest.len == 0) {
        add_in_line(out, node->text);
        return;
    }
    do {
        line = span_cut(probe, '\n', &probe);
        indent = blanks_of(line);
    } while (indent == line.len && probe.len > 0);
    buf_add_span(out, span_trim(head));
    while (rest.len > 0) {
        line = span_cut(rest, '\n', &rest);
        buf_add_byte(out, '\n');
        if (line.len > indent) {
            add_blanks(out, column);
            buf_add_span(out, span_part(line, indent, SIZE_MAX));
        }
    }
}
