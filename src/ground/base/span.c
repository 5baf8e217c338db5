/* SPDX-License-Identifier: Apache-2.0 */
#include "base/span.h"

#define ONES UINT64_C(0x0101010101010101)

/* Eight bytes with their ASCII capitals made small. */
static uint64_t lower(uint64_t word)
{
    uint64_t low = word & (ONES * 0x7f);
    uint64_t is_capital = (low + ONES * (0x80 - 'A')) & ~(low + ONES * (0x7f - 'Z')) & ~word & (ONES * 0x80);

    return word | is_capital >> 2;
}

static uint64_t eight(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof word);
    return word;
}

/* Reads fewer than eight bytes, each at least once. Takes: len: 1 to 7. */
static uint64_t fewer(const char *at, size_t len)
{
    uint32_t begin, end;

    if (len < 4)
        return (unsigned char)at[0] | (uint64_t)(unsigned char)at[len / 2] << 8 | (uint64_t)(unsigned char)at[len - 1] << 16;
    memcpy(&begin, at, sizeof begin);
    memcpy(&end, at + len - sizeof end, sizeof end);
    return begin | (uint64_t)end << 32;
}

static bool is_like(uint64_t a, uint64_t b)
{
    return a == b || lower(a) == lower(b); /* most senders write a name alike */
}

bool span__equals_nocase(struct span a, struct span b)
{
    if (a.len < 8)
        return is_like(fewer(a.at, a.len), fewer(b.at, b.len));
    for (size_t i = 0; i + 8 < a.len; i += 8)
        if (!is_like(eight(a.at + i), eight(b.at + i)))
            return false;
    return is_like(eight(a.at + a.len - 8), eight(b.at + b.len - 8));
}

int span_compare(struct span a, struct span b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter ? memcmp(a.at, b.at, shorter) : 0;

    if (order != 0)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

int span_order(const void *a, const void *b)
{
    return span_compare(*(const struct span *)a, *(const struct span *)b);
}
