/* SPDX-License-Identifier: Apache-2.0 */
/* Escapes inside a text: those that are well formed become what they stand for, the rest stays. One pass, so that what an
 * escape gives is not read again. */
#include "texts/decode_text.h"

#include "base/ascii.h"
#include "base/num.h"
#include "base/utf8.h"

#include <entity_tbl.h>
#include <stdlib.h>

int decode_escape_at(struct span text, size_t at)
{
    int high = at + 2 < text.len && text.at[at] == '%' ? num_hex_digit(text.at[at + 1]) : -1;
    int low = high >= 0 ? num_hex_digit(text.at[at + 2]) : -1;

    return low >= 0 ? high << 4 | low : -1;
}

size_t decode_percent(struct span text, char *out)
{
    size_t len = 0;

    for (size_t i = 0; i < text.len; i++) {
        int byte = decode_escape_at(text, i);

        if (byte >= 0)
            i += 2;
        out[len++] = byte >= 0 ? (char)byte : text.at[i];
    }
    return len;
}

/* Bytes of escapes that are no UTF-8 become U+FFFD, as readers have it, so that one such escape does not hide what stands
 * beside it. That takes three bytes, as the escape did. What stands there unescaped is whole characters. */
size_t decode_percent_utf8(struct span text, char *out)
{
    size_t len = 0;

    for (size_t i = 0; i < text.len;) {
        unsigned char bytes[4];
        size_t read = 0, taken;

        for (int byte = 0; read < sizeof bytes && byte >= 0; read += byte >= 0) {
            byte = decode_escape_at(text, i + 3 * read);
            bytes[read] = (unsigned char)byte;
        }
        taken = utf8_length(bytes, bytes + read);
        if (read == 0)
            out[len++] = text.at[i++];
        else if (taken == 0)
            len += utf8_put(out + len, 0xfffd);
        memcpy(out + len, bytes, taken);
        len += taken;
        i += read == 0 ? 0 : taken == 0 ? 3 : 3 * taken;
    }
    return len;
}

/* ---- character references ---- */

#define NAME_MAX_BYTES 31
#define TEXT_MAX_BYTES 7

static const struct entity {
    char name[NAME_MAX_BYTES + 1], text[TEXT_MAX_BYTES + 1];
} entities[] = {
#define X(name, text) {name, text},
    ENTITY_TABLE(X)
#undef X
};

static int name_against(const void *name, const void *entity)
{
    return span_compare(*(const struct span *)name, span_text(((const struct entity *)entity)->name));
}

static const char *entity_text(struct span name)
{
    const struct entity *entity =
        bsearch(&name, entities, sizeof entities / sizeof *entities, sizeof *entities, name_against);

    return entity != NULL ? entity->text : NULL;
}

/* Behind `&`. Returns: bytes up to and with the semicolon, or 0; *text: what it stands for. */
static size_t read_name(struct span rest, const char **text)
{
    size_t len = 0;

    while (len < rest.len && len <= NAME_MAX_BYTES && ascii_is_word(rest.at[len]))
        len++;
    if (len == rest.len || rest.at[len] != ';')
        return 0;
    *text = entity_text(span_part(rest, 0, len));
    return *text != NULL ? len + 1 : 0;
}

/* Behind `&#`. Returns: bytes up to and with the semicolon, which browsers do not ask for, or 0. */
static size_t read_number(struct span rest, uint32_t *point)
{
    bool hex = rest.len > 0 && (rest.at[0] | 32) == 'x';
    size_t begin = hex ? 1 : 0, at = begin;

    *point = 0;
    for (; at < rest.len; at++) {
        int digit = num_hex_digit(rest.at[at]);

        if (digit < 0 || digit >= (hex ? 16 : 10))
            break;
        *point = *point * (hex ? 16 : 10) + (uint32_t)digit;
        if (*point > 0x10ffff)
            return 0;
    }
    if (at == begin || *point == 0 || (*point >= 0xd800 && *point <= 0xdfff))
        return 0;
    return at + (at < rest.len && rest.at[at] == ';');
}

/* `&nGt;` is five bytes and becomes six; nothing grows by more. */
size_t decode_html_growth(size_t len)
{
    return len / 5;
}

size_t decode_html(struct span text, char *out)
{
    size_t len = 0;

    for (size_t i = 0; i < text.len;) {
        bool number = i + 1 < text.len && text.at[i + 1] == '#';
        struct span rest = span_part(text, i + (number ? 2 : 1), SIZE_MAX);
        const char *name = NULL;
        uint32_t point = 0;
        size_t taken = text.at[i] != '&' ? 0 : number ? read_number(rest, &point) : read_name(rest, &name);

        if (taken == 0) {
            out[len++] = text.at[i++];
            continue;
        }
        if (number) {
            len += utf8_put(out + len, point);
        } else {
            memcpy(out + len, name, strlen(name));
            len += strlen(name);
        }
        i += taken + (number ? 2 : 1);
    }
    return len;
}
