/* SPDX-License-Identifier: Apache-2.0 */
/* A call may be written as JSON. JSON takes characters that YAML does not, and writes some as two surrogates; they are
 * rewritten as escapes of YAML. */
#include "language/compile_priv.h"

#include "unicode/unicode.h"

#define TREE_MAX_BYTES ((size_t)256 << 20)

static bool is_plain(struct span text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.at[i] >= 0x7f || text.at[i] == '\\')
            return false;
    return true;
}

/* Escapes the characters that YAML does not take. Takes: canonical JSON, in which they stand in strings only. */
static enum code add_escaped(struct buf *out, struct span json)
{
    enum code code = CODE_OK;
    uint32_t point;
    size_t taken;

    while ((taken = unicode_next(json, &point)) > 0 && code == CODE_OK) {
        if (point < 0x7f || unicode_cells(point) >= 0)
            code = buf_add(out, json.at, taken);
        else
            code = buf_addf(out, point > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)point);
        json = span_part(json, taken, SIZE_MAX);
    }
    return code;
}

enum code compile__call_text(struct span text, struct buf *out)
{
    const struct json_node *root;
    struct json_fault fault;
    struct arena arena;
    struct buf canonical;
    enum code code;

    if (is_plain(text))
        return buf_add_span(out, text);
    arena_init(&arena, TREE_MAX_BYTES);
    buf_init(&canonical, TREE_MAX_BYTES);
    code = json_read(text, &json_file_rules, &canonical, &arena, &root, &fault);
    if (code == CODE_OK)
        code = add_escaped(out, buf_peek(&canonical));
    else if (code != CODE_NOMEM)
        code = buf_add_span(out, text); /* perhaps it is YAML: its reader decides */
    buf_fini(&canonical);
    arena_fini(&arena);
    return code;
}
