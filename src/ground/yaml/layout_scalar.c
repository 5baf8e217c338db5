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

/* A text that stood in several lines and comes into one: where it holds line ends as JSON writes it, which YAML reads, too. */
static void add_in_line(struct buf *out, struct span text)
{
    if (count(text, '\n') == 0)
        add_quoted(out, text, SPAN_NONE, false);
    else
        yaml__write_quoted(out, text);
}

/* A key of several lines, which a `?` or a bracket allows, becomes one. */
void layout__key(struct buf *out, const struct layout_node *node)
{
    if (count(node->key_raw, '\n') > 0)
        add_in_line(out, node->key);
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
