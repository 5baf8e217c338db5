/* SPDX-License-Identifier: Apache-2.0 */
#include "yaml/layout_priv.h"

#define WIDTH 140 /* characters of a line, as far as what stands in brackets can be broken */
#define ROUNDS_MAX 8
#define STEP 2    /* columns of one level */

struct writer {
    struct buf *out;
    size_t begin; /* of the line that is being written */
};

static void write_value(struct writer *w, const struct layout_node *node, size_t indent, size_t tail);

/* ---- places ---- */

static size_t width_of(struct span text)
{
    size_t width = 0;

    for (size_t i = 0; i < text.len; i++)
        width += ((unsigned char)text.at[i] & 0xc0) != 0x80;
    return width;
}

/* How many characters the line has so far. */
static size_t column_of(struct writer *w)
{
    struct span text;

    if (buf_code(w->out) != CODE_OK)
        return 0;
    text = span_part(buf_peek(w->out), w->begin, SIZE_MAX);
    for (size_t end; (end = span_find(text, '\n')) < text.len;) {
        text = span_part(text, end + 1, SIZE_MAX);
        w->begin += end + 1;
    }
    return width_of(text);
}

static void pad(struct writer *w, size_t column)
{
    for (size_t at = column_of(w); at < column; at++)
        buf_add_byte(w->out, ' ');
}

static void begin_line(struct writer *w, size_t column)
{
    buf_add_byte(w->out, '\n');
    pad(w, column);
}

/* Takes: is_first: nothing stands in front of them that a blank line would part them from. */
static void write_comments(struct writer *w, const struct layout_comment *comment, size_t column, bool is_first)
{
    for (; comment != NULL; comment = comment->next, is_first = false) {
        if (comment->after_blank && !is_first)
            buf_add_byte(w->out, '\n');
        pad(w, column);
        buf_add_span(w->out, comment->text);
        buf_add_byte(w->out, '\n');
    }
}

/* A comment stays in its column, since others may stand above and below it there, as long as its line has room for that. */
static void write_behind(struct writer *w, const struct layout_comment *comment)
{
    size_t at = comment != NULL ? column_of(w) : 0;
    bool stays = comment != NULL && comment->column > at && comment->column + width_of(comment->text) <= WIDTH;

    if (comment == NULL)
        return;
    pad(w, stays ? comment->column : at + 2);
    buf_add_span(w->out, comment->text);
}

/* ---- what stands in brackets ---- */

/* Up to its first break. */
static size_t flow_width(struct writer *w, const struct layout_node *node, bool *breaks)
{
    size_t width = 0;
    struct buf out;

    buf_init(&out, SIZE_MAX / 2);
    if (node->has_key)
        layout__key(&out, node);
    if (node->has_key)
        buf_add_text(&out, ": ");
    if (node->kind == LAYOUT_SCALAR)
        layout__scalar(&out, node, 0, 0);
    if (buf_fail(w->out, buf_code(&out)) == CODE_OK) {
        struct span text = buf_peek(&out);
        size_t end = span_find(text, '\n');

        *breaks = end < text.len;
        width = width_of(span_part(text, 0, end));
    }
    buf_fini(&out);
    width += node->kind != LAYOUT_SCALAR;
    for (const struct layout_node *child = node->child; child != NULL && !*breaks; child = child->next) {
        *breaks = child->before != NULL || (child != node->child && child->breaks);
        width += *breaks ? 0 : flow_width(w, child, breaks) + (child->next != NULL ? 2 : 1);
        *breaks |= child->behind != NULL;
    }
    return width + (node->kind != LAYOUT_SCALAR && node->child == NULL);
}

static bool needs_break(struct writer *w, const struct layout_node *child, size_t tail)
{
    bool breaks = false;
    size_t width = flow_width(w, child, &breaks);

    return child->breaks || column_of(w) + 1 + width + (breaks ? 0 : tail) > WIDTH;
}

static void write_flow(struct writer *w, const struct layout_node *node, size_t tail)
{
    bool is_map = node->kind == LAYOUT_MAP, is_open = false; /* is_open: a line ended behind a comment */
    size_t column;

    buf_add_byte(w->out, is_map ? '{' : '[');
    column = column_of(w);
    for (const struct layout_node *child = node->child; child != NULL; child = child->next) {
        size_t behind = child->next != NULL ? 1 : tail + 1;

        if (is_open || child->before != NULL || (child != node->child && needs_break(w, child, behind)))
            begin_line(w, column);
        else if (child != node->child)
            buf_add_byte(w->out, ' ');
        write_comments(w, child->before, column, true);
        pad(w, column);
        if (child->has_key) {
            layout__key(w->out, child);
            buf_add_text(w->out, ": ");
        }
        write_value(w, child, column, behind);
        if (child->next != NULL)
            buf_add_byte(w->out, ',');
        write_behind(w, child->behind);
        is_open = child->behind != NULL;
    }
    if (node->foot != NULL || is_open)
        begin_line(w, node->foot != NULL ? column : column - 1);
    write_comments(w, node->foot, column, true);
    if (node->foot != NULL)
        pad(w, column - 1);
    buf_add_byte(w->out, is_map ? '}' : ']');
}

/* ---- what does not ---- */

static bool is_block(const struct layout_node *node)
{
    return node->kind != LAYOUT_SCALAR && !node->is_flow;
}

/* Takes: tail: how many characters follow in its line. */
static void write_value(struct writer *w, const struct layout_node *node, size_t indent, size_t tail)
{
    if (node->kind != LAYOUT_SCALAR)
        write_flow(w, node, tail);
    else if (node->has_bar)
        layout__block(w->out, node, indent + STEP);
    else
        layout__scalar(w->out, node, (long)indent - (long)node->column, indent + (node->has_key ? STEP : 0));
}

static void write_block(struct writer *w, const struct layout_node *node, size_t indent, bool is_behind_dash);

static void write_entry(struct writer *w, const struct layout_node *node, size_t indent)
{
    bool breaks = false, lies_below;

    layout__key(w->out, node);
    buf_add_byte(w->out, ':');
    if (is_block(node)) {
        write_behind(w, node->behind_key);
        buf_add_byte(w->out, '\n');
        write_block(w, node, indent + STEP, false);
        return;
    }
    lies_below = node->value_breaks && !node->has_bar && indent + flow_width(w, node, &breaks) > WIDTH;
    if (lies_below)
        begin_line(w, indent + STEP);
    else if (node->kind != LAYOUT_SCALAR || node->raw.len > 0)
        buf_add_byte(w->out, ' ');
    write_value(w, node, indent, 0);
    write_behind(w, node->behind);
    buf_add_byte(w->out, '\n');
}

static void write_item(struct writer *w, const struct layout_node *node, size_t indent)
{
    buf_add_text(w->out, "- ");
    if (is_block(node)) {
        write_block(w, node, indent + STEP, true);
        return;
    }
    write_value(w, node, indent + STEP, 0);
    write_behind(w, node->behind);
    buf_add_byte(w->out, '\n');
}

/* Comments in front of a member; of a list also those of what its dash begins, which cannot stand behind it. */
static void write_front(struct writer *w, const struct layout_node *list, const struct layout_node *child, size_t indent)
{
    bool is_first = child == list->child;

    if (child->before == NULL && child->after_blank && !is_first)
        buf_add_byte(w->out, '\n');
    write_comments(w, child->before, indent, is_first);
    if (child->before != NULL && child->after_blank)
        buf_add_byte(w->out, '\n');
    while (list->kind == LAYOUT_LIST && is_block(child) && child->child != NULL) {
        list = child;
        child = child->child;
        write_comments(w, child->before, indent, true);
    }
}

/* Takes: is_behind_dash: its first member goes on in the line that the dash has begun. */
static void write_block(struct writer *w, const struct layout_node *node, size_t indent, bool is_behind_dash)
{
    for (const struct layout_node *child = node->child; child != NULL; child = child->next) {
        if (child != node->child || !is_behind_dash)
            write_front(w, node, child, indent);
        pad(w, indent);
        if (node->kind == LAYOUT_LIST)
            write_item(w, child, indent);
        else
            write_entry(w, child, indent);
    }
    write_comments(w, node->foot, indent, node->child == NULL);
}

static enum code write_once(struct layout *layout, struct buf *out)
{
    struct writer w = {.out = out};

    write_comments(&w, layout->head, 0, true);
    if (layout->gap && layout->root != NULL)
        buf_add_byte(out, '\n');
    if (layout->root != NULL && is_block(layout->root)) {
        write_block(&w, layout->root, 0, false);
    } else if (layout->root != NULL) {
        write_value(&w, layout->root, 0, 0);
        write_behind(&w, layout->root->behind);
        buf_add_byte(out, '\n');
    }
    write_comments(&w, layout->foot, 0, layout->root == NULL);
    return buf_code(out);
}

/* A line that was broken may leave room in what was below it. So the text is written until it stays: nearly all do at once. */
enum code layout_write(struct layout *layout, struct buf *out)
{
    size_t begin = buf_len(out);
    enum code code = write_once(layout, out);
    bool stays = false;

    for (unsigned round = 0; round < ROUNDS_MAX && code == CODE_OK && !stays; round++) {
        struct layout *again = NULL;
        struct buf text;

        buf_init(&text, SIZE_MAX / 2);
        code = layout_read(span_part(buf_peek(out), begin, SIZE_MAX), &again);
        if (code == CODE_OK)
            code = write_once(again, &text);
        stays = code == CODE_OK && span_equals(buf_peek(&text), span_part(buf_peek(out), begin, SIZE_MAX));
        if (code == CODE_OK && !stays) {
            buf_truncate(out, begin);
            code = buf_add_span(out, buf_peek(&text));
        }
        layout_free(&again);
        buf_fini(&text);
    }
    return code;
}
