/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as ASCII has them, whatever the locale says.
 *
 * Threads: any.
 * Owns: nothing.
 * Lifetime: none.
 * Errors: none. */
#ifndef BASE_ASCII_H
#define BASE_ASCII_H

#include "base/span.h"

#include <stdint.h>

static inline bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool ascii_is_word(char c) /* a letter or a digit */
{
    return ascii_is_letter(c) || ascii_is_digit(c);
}

#define ASCII_VISIBLE "!-~"       /* sets: without the blank */
#define ASCII_UNQUOTED "!#-[]-~"  /* likewise, and without what ends or escapes in quotes: a scope (RFC 6749, 3.3), an id */

/* Takes: set: characters, and from one to another as in "a-z0-9_-"; a dash at its end is itself. */
static inline bool ascii_is_of(char c, const char *set)
{
    for (; *set != '\0'; set += set[1] == '-' && set[2] != '\0' ? 3 : 1)
        if (set[1] == '-' && set[2] != '\0' ? c >= set[0] && c <= set[2] : c == *set)
            return true;
    return false;
}

static inline bool ascii_is_all(struct span text, const char *set) /* an empty text is */
{
    for (size_t i = 0; i < text.len; i++)
        if (!ascii_is_of(text.at[i], set))
            return false;
    return true;
}

static inline bool ascii_is_only(struct span text) /* no byte is beyond ASCII */
{
    uint64_t all = 0, word;
    size_t at = 0;

    for (; text.len - at >= sizeof word; at += sizeof word) { /* to the end, since most texts are */
        memcpy(&word, text.at + at, sizeof word);
        all |= word;
    }
    for (; at < text.len; at++)
        all |= (unsigned char)text.at[at];
    return (all & UINT64_C(0x8080808080808080)) == 0;
}

static inline char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

/* Takes: out: room for as many bytes; it may be the text's own. Returns: what stands there. */
static inline struct span ascii_lower_all(struct span text, char *out)
{
    for (size_t i = 0; i < text.len; i++)
        out[i] = ascii_lower(text.at[i]);
    return span_of(out, text.len);
}

#endif
