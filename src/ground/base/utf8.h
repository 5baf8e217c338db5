/* SPDX-License-Identifier: Apache-2.0 */
/* Code points written as UTF-8 and read, and texts cut between them.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes: out: room for 4 bytes; point: a scalar value. Returns: how many bytes were written. */
size_t utf8_put(char *out, uint32_t point);

/* The first `max` bytes, less where that would cut a code point. */
struct span utf8_cut(struct span text, size_t max);

/* Checks the text from `at` up to a code point that begins at `until` or up to 7 bytes behind it. *is_ascii becomes false where
 * a byte is not ASCII.
 * Returns: the place of that code point; SIZE_MAX: the text is not valid UTF-8. */
size_t utf8_check(struct span text, size_t at, size_t until, bool *is_ascii);

/* How many bytes from the front are visible ASCII or blanks (U+0020 to U+007E), which nearly all text is. */
size_t utf8_plain(struct span text);

struct utf8_lead {
    unsigned char len, low, high;
};

/* What a lead byte announces: how many bytes, and where the second one may lie. Overlong forms, surrogates and points
 * past U+10FFFF are excluded by the second byte's range alone (Unicode 15, table 3-7). */
static inline struct utf8_lead utf8__lead(unsigned char byte)
{
    if (byte >= 0xc2 && byte <= 0xdf)
        return (struct utf8_lead){2, 0x80, 0xbf};
    if (byte >= 0xe0 && byte <= 0xef)
        return (struct utf8_lead){3, byte == 0xe0 ? 0xa0 : 0x80, byte == 0xed ? 0x9f : 0xbf};
    if (byte >= 0xf0 && byte <= 0xf4)
        return (struct utf8_lead){4, byte == 0xf0 ? 0x90 : 0x80, byte == 0xf4 ? 0x8f : 0xbf};
    return (struct utf8_lead){0, 0, 0};
}

/* U+0085, U+2028 and U+2029 end a line for some readers of event streams, logs and YAML. Returns: its bytes; 0: it is none. */
static inline size_t utf8_line_end(const unsigned char *at, const unsigned char *end)
{
    if (end - at >= 2 && at[0] == 0xc2 && at[1] == 0x85)
        return 2;
    return end - at >= 3 && at[0] == 0xe2 && at[1] == 0x80 && (at[2] == 0xa8 || at[2] == 0xa9) ? 3 : 0;
}

/* The bytes of the UTF-8 sequence at `at` (1-4), 0 when it is invalid. */
static inline size_t utf8_length(const unsigned char *at, const unsigned char *end)
{
    struct utf8_lead lead;

    if (at == end)
        return 0;
    if (*at < 0x80)
        return 1;
    lead = utf8__lead(*at);
    if (lead.len == 0 || (size_t)(end - at) < lead.len || at[1] < lead.low || at[1] > lead.high)
        return 0;
    for (size_t i = 2; i < lead.len; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return lead.len;
}

#endif
