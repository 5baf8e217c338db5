/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- numbers: as ECMAScript writes a double (RFC 8785, 3.2.2.3) ---- */

#define WHOLE_MAX 21 /* digits before the point that are written without an exponent */

/* The fewest significant digits that are read as the same double. *exponent: the value is 0.d1d2... times 10^exponent. */
static size_t shortest(double value, char digits[20], int *exponent)
{
    char text[40];
    size_t count = 0;

    for (int places = 0; places < 17; places++) {
        snprintf(text, sizeof text, "%.*e", places, value);
        if (strtod(text, NULL) == value)
            break;
    }
    for (const char *at = text; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9')
            digits[count++] = *at;
    while (count > 1 && digits[count - 1] == '0')
        count--;
    *exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10) + 1;
    return count;
}

static void add_zeros(struct buf *out, int count)
{
    for (; count > 0; count--)
        buf_add_byte(out, '0');
}

static void add_double(struct buf *out, double value)
{
    char digits[20];
    int whole, count = (int)shortest(fabs(value), digits, &whole);

    if (value < 0)
        buf_add_byte(out, '-');
    if (count <= whole && whole <= WHOLE_MAX) {
        buf_add(out, digits, (size_t)count);
        add_zeros(out, whole - count);
    } else if (whole > 0 && whole <= WHOLE_MAX) {
        buf_addf(out, "%.*s.%.*s", whole, digits, count - whole, digits + whole);
    } else if (whole > -6 && whole <= 0) {
        buf_add_text(out, "0.");
        add_zeros(out, -whole);
        buf_add(out, digits, (size_t)count);
    } else {
        buf_addf(out, "%c%s%.*se%+d", digits[0], count > 1 ? "." : "", count - 1, digits + 1, whole - 1);
    }
}

/* A number that no double holds exactly has no canonical form, since two readers of it could mean two numbers. */
static enum code add_number(struct buf *out, struct span lexeme)
{
    char text[JSON__DIGITS_MAX + 32];
    size_t begin = buf_len(out);
    double value;

    if (lexeme.len >= sizeof text)
        return buf_fail(out, CODE_INVALID);
    memcpy(text, lexeme.at, lexeme.len);
    text[lexeme.len] = '\0';
    value = strtod(text, NULL);
    if (value == 0)
        buf_add_byte(out, '0');
    else
        add_double(out, value);
    if (buf_code(out) == CODE_OK && json_number_compare(lexeme, span_part(buf_peek(out), begin, SIZE_MAX)) != 0)
        return buf_fail(out, CODE_INVALID);
    return buf_code(out);
}

/* ---- strings: escaped where they must be, and in one way ---- */

static void add_string(struct buf *out, struct span text)
{
    static const char named[] = {['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    size_t plain = 0;

    buf_add_byte(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];

        if (c >= ' ' && c != '"' && c != '\\')
            continue;
        buf_add_span(out, span_part(text, plain, i - plain));
        plain = i + 1;
        if (c >= ' ')
            buf_addf(out, "\\%c", c);
        else if (c < sizeof named && named[c] != '\0')
            buf_addf(out, "\\%c", named[c]);
        else
            buf_addf(out, "\\u%04x", c);
    }
    buf_add_span(out, span_part(text, plain, SIZE_MAX));
    buf_add_byte(out, '"');
}

/* ---- objects: by names, as UTF-16 orders them ---- */

/* Bytes of UTF-8 are in the order of code points; in UTF-16 those beyond U+FFFF come before U+E000 to U+FFFF. */
static int compare_keys(const void *left, const void *right)
{
    struct span a = (*(const struct json_node *const *)left)->key, b = (*(const struct json_node *const *)right)->key;
    size_t i = 0;
    unsigned char x, y;

    while (i < a.len && i < b.len && a.at[i] == b.at[i])
        i++;
    if (i == a.len || i == b.len)
        return (a.len > b.len) - (a.len < b.len);
    x = (unsigned char)a.at[i];
    y = (unsigned char)b.at[i];
    if ((x >= 0xf0) != (y >= 0xf0) && x >= 0xee && y >= 0xee)
        return x >= 0xf0 ? -1 : 1;
    return x < y ? -1 : 1;
}

static enum code add_object(struct buf *out, const struct json_node *object)
{
    const struct json_node **members = mem_array(object->count + 1, sizeof(struct json_node *));
    uint32_t count = 0;

    if (members == NULL)
        return buf_fail(out, CODE_NOMEM);
    for (const struct json_node *child = object->child; child != NULL; child = child->next)
        members[count++] = child;
    qsort(members, count, sizeof(struct json_node *), compare_keys);
    buf_add_byte(out, '{');
    for (uint32_t i = 0; i < count && buf_code(out) == CODE_OK; i++) {
        if (i > 0)
            buf_add_byte(out, ',');
        add_string(out, members[i]->key);
        buf_add_byte(out, ':');
        (void)json_canonical(members[i], out);
    }
    mem_free(members);
    return buf_add_byte(out, '}');
}

/* Recursion goes no deeper than the reader's rules let a document be (128). */
enum code json_canonical(const struct json_node *node, struct buf *out)
{
    switch (node->type) {
    case JSON_NONE:
        return buf_fail(out, CODE_INVALID);
    case JSON_NULL:
    case JSON_FALSE:
    case JSON_TRUE:
        return buf_add_span(out, node->raw);
    case JSON_NUMBER:
        return add_number(out, node->raw);
    case JSON_STRING:
        add_string(out, node->text);
        return buf_code(out);
    case JSON_OBJECT:
        return add_object(out, node);
    case JSON_ARRAY:
        break;
    }
    buf_add_byte(out, '[');
    for (const struct json_node *child = node->child; child != NULL && buf_code(out) == CODE_OK; child = child->next) {
        if (child != node->child)
            buf_add_byte(out, ',');
        (void)json_canonical(child, out);
    }
    return buf_add_byte(out, ']');
}
