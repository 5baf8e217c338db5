/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "base/bug.h"
#include "base/utf8.h"
#include "yaml/yaml_priv.h"

#include <stdio.h>

size_t yaml__quoted_bytes(struct span text)
{
    size_t len = 3; /* two quotes, and the NUL that snprintf writes */

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];

        len += c < 0x20 || c == 0xc2 || c == 0xe2 ? 6 : c == '"' || c == '\\' ? 2 : 1;
    }
    return len;
}

size_t yaml__quote(struct span text, char *out)
{
    static const char names[] = "btn\0fr"; /* of 0x08 to 0x0d */
    const unsigned char *bytes = (const unsigned char *)text.at;
    char *at = out;

    *at++ = '"';
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = bytes[i];
        size_t skip = utf8_line_end(bytes + i, bytes + text.len);

        if (skip > 0) {
            at += snprintf(at, 7, "\\u%04x", skip == 2 ? 0x85u : 0x2028u + bytes[i + 2] - 0xa8u);
            i += skip - 1;
        } else if (c == '"' || c == '\\' || (c >= 8 && c <= 13 && names[c - 8] != '\0')) {
            *at++ = '\\';
            *at++ = c == '"' || c == '\\' ? (char)c : names[c - 8];
        } else if (c < 0x20) {
            at += snprintf(at, 7, "\\u%04x", (unsigned)c);
        } else {
            *at++ = (char)c;
        }
    }
    *at++ = '"';
    return (size_t)(at - out);
}

void yaml__write_quoted(struct buf *out, struct span text)
{
    char *at;
    enum code code = buf_reserve(out, yaml__quoted_bytes(text), &at);

    if (buf_fail(out, code) == CODE_OK)
        buf_commit(out, yaml__quote(text, at));
}

/* Recursion is bounded by the reader's 64 levels. */
enum code yaml_to_json(const struct yaml_node *node, struct buf *out)
{
    bool map = node->type == YAML_MAP;

    if (!map && node->type != YAML_LIST)
        return buf_add_span(out, node->json);
    buf_add_byte(out, map ? '{' : '[');
    for (const struct yaml_node *child = node->child; child != NULL; child = child->next) {
        if (child != node->child)
            buf_add_byte(out, ',');
        if (map) {
            yaml__write_quoted(out, child->key);
            buf_add_byte(out, ':');
        }
        yaml_to_json(child, out);
    }
    return buf_add_byte(out, map ? '}' : ']');
}
