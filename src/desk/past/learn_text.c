/* SPDX-License-Identifier: Apache-2.0 */
/* A draft is YAML that people edit: plain words where no reader could take them for anything else, and nothing that hides. */
#include "past/learn_priv.h"

#include "base/ascii.h"
#include "policy/variable.h"
#include "unicode/unicode.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_BYTES 512

void draft__line(struct draft *draft, const char *format, ...)
{
    char text[LINE_BYTES];
    va_list arguments;
    int len;

    va_start(arguments, format);
    len = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    buf_addf(draft->out, "%*s", 2 * (int)draft->indent, "");
    if (buf_fail(draft->out, len >= 0 && (size_t)len < sizeof text ? CODE_OK : CODE_LIMIT) == CODE_OK)
        buf_add(draft->out, text, (size_t)len);
}

/* ---- strings ---- */

/* What YAML 1.1 readers take for truth or nothing stays quoted, too. */
static bool is_word_of_yaml(struct span text)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (span_equals_nocase(text, span_text(words[i])))
            return true;
    return false;
}

static bool is_plain(struct span text)
{
    return text.len > 0 && text.len <= 80 && ascii_is_of(text.at[0], "a-zA-Z/$_") && !is_word_of_yaml(text) &&
           ascii_is_all(text, "a-zA-Z0-9_./$-");
}

/* Written as it is; all else as an escape. Private and unassigned ones are harmless. */
static bool is_visible(struct span character, uint32_t point)
{
    return point >= 0x20 && !unicode_is_deceptive(character);
}

static void add_character(struct draft *draft, struct span character, uint32_t point)
{
    if (point == '"' || point == '\\')
        buf_addf(draft->out, "\\%c", (char)point);
    else if (point == '\n')
        buf_addf(draft->out, "\\n");
    else if (is_visible(character, point))
        buf_addf(draft->out, "%.*s", SPAN_ARG(character));
    else
        buf_addf(draft->out, point > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)point);
}

void draft__quoted(struct draft *draft, struct span text)
{
    uint32_t point;
    size_t len;

    buf_addf(draft->out, "\"");
    while ((len = unicode_next(text, &point)) > 0) {
        add_character(draft, span_part(text, 0, len), point);
        text = span_part(text, len, SIZE_MAX);
    }
    buf_addf(draft->out, "\"");
}

void draft__text(struct draft *draft, struct span text)
{
    if (is_plain(text))
        buf_addf(draft->out, "%.*s", SPAN_ARG(text));
    else
        draft__quoted(draft, text);
}

/* A text that was made for it; gives the buffer back. */
static void add_made(struct draft *draft, struct buf *text)
{
    if (buf_fail(draft->out, buf_code(text)) == CODE_OK)
        draft__text(draft, buf_peek(text));
    buf_fini(text);
}

/* Of an operator: what it holds is no variable. */
void draft__operand(struct draft *draft, struct span text)
{
    struct buf out;

    buf_init(&out, SIZE_MAX / 2);
    variable_quote(text, &out);
    add_made(draft, &out);
}

/* ---- names ---- */

static void escaped(struct draft *draft, struct span text, const char *special)
{
    struct buf out;

    buf_init(&out, SIZE_MAX / 2);
    for (size_t i = 0; i < text.len; i++) {
        if (strchr(special, text.at[i]) != NULL)
            buf_add_byte(&out, '\\');
        buf_add_byte(&out, text.at[i]);
    }
    add_made(draft, &out);
}

void draft__name(struct draft *draft, struct span name)
{
    escaped(draft, name, variable_in(name) ? "*?\\}" : "*?\\"); /* `match` has no variables, and refuses what looks like one */
}

/* ---- values ---- */

void draft__value(struct draft *draft, const struct json_node *value)
{
    bool object = value->type == JSON_OBJECT;

    if (value->type == JSON_STRING) {
        draft__text(draft, value->text);
        return;
    }
    if (!object && value->type != JSON_ARRAY) {
        buf_addf(draft->out, "%.*s", SPAN_ARG(value->raw));
        return;
    }
    buf_addf(draft->out, object ? "{" : "[");
    for (const struct json_node *child = value->child; child != NULL; child = child->next) {
        if (object) {
            draft__text(draft, child->key);
            buf_addf(draft->out, ": ");
        }
        draft__value(draft, child);
        buf_addf(draft->out, child->next != NULL ? ", " : "");
    }
    buf_addf(draft->out, object ? "}" : "]");
}

/* ---- patterns ---- */

static void add_literal(struct buf *pattern, struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.at[i];

        if (c > ' ' && c < 0x7f && !ascii_is_word(c))
            buf_add_byte(pattern, '\\');
        buf_add_byte(pattern, c);
    }
}

void draft__pattern(struct draft *draft, const struct shape *shape)
{
    const struct {
        bool seen;
        const char *text;
    } words[] = {
        {shape->nulls > 0, "null"}, {shape->trues > 0, "true"}, {shape->falses > 0, "false"},
        {shape->numbers > 0, "-?[0-9][-+.0-9Ee]*"},
    };
    struct buf pattern;

    buf_init(&pattern, 1 << 20);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (words[i].seen)
            buf_addf(&pattern, "%s%s", buf_is_empty(&pattern) ? "" : "|", words[i].text);
    if (shape->strings > 0) {
        buf_add_byte(&pattern, '|'); /* never the only type */
        add_literal(&pattern, shape->prefix);
        buf_add_text(&pattern, "[\\s\\S]*");
    }
    add_made(draft, &pattern);
}

/* ---- paths ---- */

static bool is_path_word(struct span name)
{
    return name.len > 0 && !ascii_is_digit(name.at[0]) && ascii_is_all(name, "a-zA-Z0-9_");
}

static void add_step(struct buf *path, const struct shape *shape)
{
    if (shape->parent->element == shape) {
        buf_add_text(path, "[*]");
        return;
    }
    if (is_path_word(shape->name)) {
        buf_add_byte(path, '.');
        buf_add_span(path, shape->name);
        return;
    }
    buf_add_text(path, "['");
    for (size_t i = 0; i < shape->name.len; i++) {
        unsigned char c = (unsigned char)shape->name.at[i];

        if (c < 0x20)
            buf_addf(path, "\\u%04x", c);
        else
            buf_addf(path, c == '\'' || c == '\\' ? "\\%c" : "%c", c);
    }
    buf_add_text(path, "']");
}

void draft__path(struct draft *draft, const struct shape *shape, const char *tail)
{
    const struct shape *steps[LEARN_DEPTH_MAX + 2];
    size_t count = 0;
    struct buf path;

    if (shape->depth == 1 && tail[0] == '\0' && is_path_word(shape->name)) {
        draft__text(draft, shape->name);
        return;
    }
    for (; shape->parent != NULL && count < sizeof steps / sizeof steps[0]; shape = shape->parent)
        steps[count++] = shape;
    buf_init(&path, 1 << 20);
    buf_add_byte(&path, '$');
    while (count > 0)
        add_step(&path, steps[--count]);
    buf_add_text(&path, tail);
    add_made(draft, &path);
}
