/* SPDX-License-Identifier: Apache-2.0 */
#include "base/span.h"

static unsigned char lower(char c)
{
    unsigned char u = (unsigned char)c;

    return u >= 'A' && u <= 'Z' ? (unsigned char)(u + 32) : u;
}

bool span__equals_nocase(struct span a, struct span b)
{
    if (memcmp(a.at, b.at, a.len) == 0) /* written as everybody writes it */
        return true;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.at[i]) != lower(b.at[i]))
            return false;
    return true;
}

int span_compare(struct span a, struct span b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter ? memcmp(a.at, b.at, shorter) : 0;

    if (order != 0)
        return order;
    return a.len < b.len ? -1 : a.len > b.len;
}

size_t span_find(struct span span, char byte)
{
    const char *hit = span.len ? memchr(span.at, byte, span.len) : NULL;

    return hit ? (size_t)(hit - span.at) : span.len;
}

struct span span_cut(struct span span, char byte, struct span *rest)
{
    size_t at = span_find(span, byte);

    *rest = span_part(span, at + 1, SIZE_MAX);
    return span_part(span, 0, at);
}
