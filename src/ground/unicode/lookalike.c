/* SPDX-License-Identifier: Apache-2.0 */
#include "unicode/lookalike.h"

#include "base/utf8.h"
#include "unicode/unicode.h"

#include <lookalike_tbl.h>
#include <stdlib.h>

enum script { /* bits */
    SCRIPT_NONE = 0, SCRIPT_LATIN = 1, SCRIPT_GREEK = 2, SCRIPT_CYRILLIC = 4, SCRIPT_ARMENIAN = 8, SCRIPT_CHEROKEE = 16
};

static const struct range {
    uint32_t first, last;
    enum script script;
} ranges[] = {
    {'A', 'Z', SCRIPT_LATIN},           {'a', 'z', SCRIPT_LATIN},           {0x00c0, 0x024f, SCRIPT_LATIN},
    {0x0250, 0x02af, SCRIPT_LATIN},     {0x0370, 0x03ff, SCRIPT_GREEK},     {0x0400, 0x052f, SCRIPT_CYRILLIC},
    {0x0530, 0x058f, SCRIPT_ARMENIAN},  {0x13a0, 0x13ff, SCRIPT_CHEROKEE},  {0x1c80, 0x1c8f, SCRIPT_CYRILLIC},
    {0x1e00, 0x1eff, SCRIPT_LATIN},     {0x1f00, 0x1fff, SCRIPT_GREEK},     {0x2de0, 0x2dff, SCRIPT_CYRILLIC},
    {0xa640, 0xa69f, SCRIPT_CYRILLIC},  {0xab70, 0xabbf, SCRIPT_CHEROKEE},  {0xff21, 0xff3a, SCRIPT_LATIN},
    {0xff41, 0xff5a, SCRIPT_LATIN},
};

/* Sorted by code point, for bsearch. No entry is longer than its character is in UTF-8. */
static const struct look {
    uint32_t point;
    char seen[4]; /* fewer end with NUL */
} looks[] = {
#define X(point, seen) {point, seen},
    LOOKALIKE_TABLE(X)
#undef X
};

static int point_against(const void *point, const void *look)
{
    uint32_t a = *(const uint32_t *)point, b = ((const struct look *)look)->point;

    return a < b ? -1 : a > b;
}

/* Takes one code point from the front and writes it, or what it looks like, to `seen`, which has room for 4 bytes.
 * Returns: how many bytes were taken; 0: the end. */
static size_t next_seen(struct span text, char *seen, size_t *len)
{
    const struct look *look = NULL;
    uint32_t point;
    size_t taken = unicode_next(text, &point);

    if (taken > 1)
        look = bsearch(&point, looks, sizeof looks / sizeof *looks, sizeof *looks, point_against);
    *len = look != NULL ? strnlen(look->seen, sizeof look->seen) : taken;
    memcpy(seen, look != NULL ? look->seen : text.at, *len);
    return taken;
}

/* Folds case, and digits that look like letters. For names, not for texts. */
static char folded(char c)
{
    return c == '0' ? 'o' : c == '1' || c == '|' ? 'l' : c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

size_t lookalike_skeleton(struct span name, char *out, size_t size)
{
    size_t len = 0, taken, more;
    char seen[4];

    while ((taken = next_seen(name, seen, &more)) > 0) {
        if (more > size - len)
            return 0;
        for (size_t i = 0; i < more; i++)
            out[len++] = folded(seen[i]);
        name = span_part(name, taken, SIZE_MAX);
    }
    return len;
}

enum code lookalike_plain(struct span text, struct buf *out)
{
    struct buf plain;
    struct span rest;
    enum code code;
    size_t len = 0;
    char *at;

    buf_init(&plain, buf_room(out));
    code = unicode_plain(text, &plain);
    rest = buf_peek(&plain);
    if (code == CODE_OK)
        code = buf_reserve(out, rest.len, &at);
    while (code == CODE_OK && rest.len > 0) {
        size_t ascii = utf8_plain(rest), taken, more = 0;

        memcpy(at + len, rest.at, ascii);
        rest = span_part(rest, ascii, SIZE_MAX);
        taken = next_seen(rest, at + len + ascii, &more);
        len += ascii + more;
        rest = span_part(rest, taken, SIZE_MAX);
    }
    if (code == CODE_OK)
        buf_commit(out, len);
    buf_fini(&plain);
    return code;
}

bool lookalike_mixes_scripts(struct span name)
{
    unsigned scripts = 0;
    size_t taken;
    uint32_t point;

    while ((taken = unicode_next(name, &point)) > 0) {
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
            if (point >= ranges[i].first && point <= ranges[i].last)
                scripts |= ranges[i].script;
        name = span_part(name, taken, SIZE_MAX);
    }
    return (scripts & (scripts - 1)) != 0;
}
