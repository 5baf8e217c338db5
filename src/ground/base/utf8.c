/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <endian.h>

size_t utf8_put(char *out, uint32_t point)
{
    if (point < 0x80) {
        out[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        out[0] = (char)(0xc0 | point >> 6);
        out[1] = (char)(0x80 | (point & 0x3f));
        return 2;
    }
    if (point < 0x10000) {
        out[0] = (char)(0xe0 | point >> 12);
        out[1] = (char)(0x80 | (point >> 6 & 0x3f));
        out[2] = (char)(0x80 | (point & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | point >> 18);
    out[1] = (char)(0x80 | (point >> 12 & 0x3f));
    out[2] = (char)(0x80 | (point >> 6 & 0x3f));
    out[3] = (char)(0x80 | (point & 0x3f));
    return 4;
}

struct span utf8_cut(struct span text, size_t max)
{
    while (max > 0 && max < text.len && ((unsigned char)text.at[max] & 0xc0) == 0x80)
        max--;
    return span_part(text, 0, max);
}

/* How many of eight bytes come before the first that is not ASCII. */
static inline size_t ascii_of(const unsigned char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    word = le64toh(word) & UINT64_C(0x8080808080808080);
    return word == 0 ? sizeof word : (size_t)__builtin_ctzll(word) / 8;
}

size_t utf8_check(struct span text, size_t at, size_t until, bool *is_ascii)
{
    const unsigned char *bytes = (const unsigned char *)text.at;

    while (at < until) {
        size_t len;

        if (bytes[at] < 0x80) {
            at += text.len - at >= sizeof(uint64_t) ? ascii_of(bytes + at) : 1;
            continue;
        }
        len = utf8_length(bytes + at, bytes + text.len);
        if (len == 0)
            return SIZE_MAX;
        *is_ascii = false;
        at += len;
    }
    return at;
}

#define STEP 16
typedef signed char step_bytes __attribute__((vector_size(STEP)));

size_t utf8_plain(struct span text)
{
    size_t at = 0;

    for (; text.len - at >= STEP; at += STEP) {
        step_bytes bytes, stops;
        uint64_t half[2];

        memcpy(&bytes, text.at + at, STEP);
        stops = (bytes < 0x20) | (bytes == 0x7f); /* what is not ASCII is below 0 */
        memcpy(half, &stops, STEP);
        if (half[0] != 0)
            return at + (size_t)__builtin_ctzll(le64toh(half[0])) / 8;
        if (half[1] != 0)
            return at + STEP / 2 + (size_t)__builtin_ctzll(le64toh(half[1])) / 8;
    }
    while (at < text.len && text.at[at] >= 0x20 && text.at[at] < 0x7f)
        at++;
    return at;
}
