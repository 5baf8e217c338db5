/* SPDX-License-Identifier: Apache-2.0 */
#include "unicode/unicode.h"

#include "base/utf8.h"

#include <utf8proc.h>

size_t unicode_next(struct span text, uint32_t *point)
{
    utf8proc_int32_t found;
    utf8proc_ssize_t taken;

    if (text.len == 0)
        return 0;
    if ((unsigned char)text.at[0] < 0x80) {
        *point = (unsigned char)text.at[0];
        return 1;
    }
    /* utf8proc refuses overlong forms, surrogates and what lies past U+10FFFF. */
    taken = utf8proc_iterate((const utf8proc_uint8_t *)text.at, text.len > 4 ? 4 : (utf8proc_ssize_t)text.len, &found);
    if (taken <= 0)
        return 0;
    *point = (uint32_t)found;
    return (size_t)taken;
}

size_t unicode_count(struct span text)
{
    size_t count = 0;
    uint32_t point;

    while (text.len > 0) {
        size_t taken = unicode_next(text, &point);

        if (taken == 0)
            return SIZE_MAX;
        text = span_part(text, taken, SIZE_MAX);
        count++;
    }
    return count;
}

bool unicode_is_utf8(struct span text)
{
    bool is_ascii = true;

    return utf8_check(text, 0, text.len, &is_ascii) != SIZE_MAX;
}

#define ZWNJ 0x200cu
#define ZWJ 0x200du
#define VARIATION_16 0xfe0fu

bool unicode_is_ignorable(uint32_t point)
{
    const utf8proc_property_t *property = utf8proc_get_property((utf8proc_int32_t)point);

    return property->category == UTF8PROC_CATEGORY_CF || property->ignorable || point == 0x2065 ||
           (point >= 0xfff0 && point <= 0xfff8) || (point >= 0x13430 && point <= 0x1343f) ||
           (point >= 0xe0000 && point <= 0xe0fff);
}

/* Scripts whose spelling needs joiners: Arabic, Syriac, Mongolian, the Indic scripts and their neighbours. */
static bool needs_joiners(uint32_t point)
{
    return (point >= 0x0600 && point <= 0x08ff) || (point >= 0x0900 && point <= 0x0dff) ||
           (point >= 0x0f00 && point <= 0x109f) || (point >= 0x1780 && point <= 0x18af) ||
           (point >= 0x1b00 && point <= 0x1c4f) || (point >= 0xa800 && point <= 0xa8ff) ||
           (point >= 0xa980 && point <= 0xaaff) || (point >= 0xfb50 && point <= 0xfdff) ||
           (point >= 0xfe70 && point <= 0xfeff) || (point >= 0x10a00 && point <= 0x11fff);
}

static bool is_pictograph(uint32_t point)
{
    return utf8proc_get_property((utf8proc_int32_t)point)->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC ||
           (point >= 0x1f3fb && point <= 0x1f3ff) || point == VARIATION_16;
}

/* One variation selector may choose the look of a letter or an emoji; a run of them is a hidden message. */
static bool is_variation(uint32_t point)
{
    return point >= 0xfe00 && point <= VARIATION_16;
}

/* Of ASCII only the digits, `#` and `*` of keycaps have two looks. Elsewhere a selector shows nothing, and one
 * behind each letter would be a hidden message. */
static bool variation_is_seen(uint32_t before, uint32_t point)
{
    bool is_keycap = (before >= '0' && before <= '9') || before == '#' || before == '*';

    return before < 0x80 ? is_keycap && point >= VARIATION_16 - 1 : !is_variation(before);
}

/* What no terminal and no font shows, whatever stands around it: control and ignorable characters, blanks of Braille, of Khitan
 * and of music, separators of lines, and noncharacters (Unicode 15, 23.7). */
static bool is_unseen(uint32_t point)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);

    return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP ||
           (unicode_is_ignorable(point) && !is_variation(point)) || point == 0x2800 || point == 0x16fe4 || point == 0x1d159 ||
           (point & 0xfffe) == 0xfffe || (point >= 0xfdd0 && point <= 0xfdef);
}

bool unicode_is_of_word(uint32_t point)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);

    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ND && !is_unseen(point) &&
           !unicode_is_ignorable(point);
}

bool unicode_is_blank(uint32_t point)
{
    return utf8proc_category((utf8proc_int32_t)point) == UTF8PROC_CATEGORY_ZS || point == 0x180e || point == 0xfeff;
}

static bool is_hidden(uint32_t point)
{
    return is_unseen(point) && point != '\t' && point != '\n' && point != '\r';
}

/* Takes: before: the character before the joiner (0: none); after: the text behind it. */
static bool joiner_is_needed(uint32_t joiner, uint32_t before, struct span after)
{
    uint32_t next = 0;

    if (unicode_next(after, &next) == 0 || is_hidden(before) || is_hidden(next))
        return false;
    if (joiner == ZWJ && is_pictograph(before) && is_pictograph(next))
        return true;
    return needs_joiners(before) && needs_joiners(next);
}

bool unicode_deceives(uint32_t before, uint32_t point, struct span after)
{
    if (point == ZWJ || point == ZWNJ)
        return !joiner_is_needed(point, before, after);
    return is_hidden(point) || (is_variation(point) && !variation_is_seen(before, point));
}

bool unicode_is_deceptive(struct span text)
{
    uint32_t point, before = 0;

    while (text.len > 0) {
        size_t plain = utf8_plain(text), taken;

        if (plain > 0) {
            before = (unsigned char)text.at[plain - 1];
            text = span_part(text, plain, SIZE_MAX);
            continue;
        }
        taken = unicode_next(text, &point);
        text = span_part(text, taken, SIZE_MAX);
        if (taken == 0 || unicode_deceives(before, point, text))
            return true;
        before = point;
    }
    return false;
}

int unicode_cells(uint32_t point)
{
    if (point >= 0x20 && point < 0x7f)
        return 1;
    return is_unseen(point) || utf8proc_category((utf8proc_int32_t)point) == UTF8PROC_CATEGORY_CS
               ? -1 : utf8proc_charwidth((utf8proc_int32_t)point);
}
